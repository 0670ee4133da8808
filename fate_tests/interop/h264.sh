#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every stream of FATE's tests of h264_cavlc_cuda: FFmpeg's decoder and OpenH264 (8 bits, 4:2:0) show the encoder's own
# reconstruction, bit by bit, and trace_headers parses all of it. Containers hand the same pictures on.
# Usage: h264.sh FFMPEG_BUILD [MEDIA_DIR]; DEVICE=cpu; LDECOD=program: the decoder of the JM reference software, where a machine has
# it. Ends in a line "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
media=${2-}
device=${DEVICE:-cpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../tally.sh"
ffmpeg() { "$build/ffmpeg" -hide_banner -nostdin -y -v error "$@"; }
encode=(-c:v h264_cavlc_cuda -device "$device")

${CXX:-g++} -std=c++20 -O2 -o "$work/own" "$here/h264_decode.cpp"
openh264=
if pkg-config --exists openh264; then
    # shellcheck disable=SC2046 # words
    ${CXX:-g++} -std=c++20 -O2 -o "$work/openh264" "$here/openh264_decode.cpp" $(pkg-config --cflags --libs openh264)
    openh264=yes
else
    echo "skipped: OpenH264, which this machine does not have (libopenh264-dev)"
fi

ldecod=${LDECOD:-$(command -v ldecod || true)}

# check STREAM [RECONSTRUCTIONS]: what is wrong with it. Of intra pictures the reconstruction is before the deblocking filter, as they are
# predicted from that; what decoders show is behind it.
check() {
    local profile chroma depth prefix fields format zeros=()
    [[ $1 != *avcintra* ]] || zeros=(-z)
    "$work/own" "${zeros[@]}" "$1" "$work/own.yuv" ${2:+"$2"} >"$work/own.log" 2>&1 || { echo "the tests' decoder: $(head -n 1 "$work/own.log")"; return; }
    read -r profile chroma depth prefix fields <"$work/own.log"
    case $chroma in 0) format=gray ;; 1) format=yuv420p ;; 2) format=yuv422p ;; 3) format=yuv444p ;; esac
    [ "$depth" = 8 ] || format=${format}10le
    ffmpeg -f h264 -i "$1" -pix_fmt $format -f rawvideo "$work/ffmpeg.yuv" 2>&1 | head -n 1
    cmp "$work/own.yuv" "$work/ffmpeg.yuv" 2>&1 | head -n 1
    # OpenH264 has not all of High: no level_prefix above 15, no fields.
    if [ -n "$openh264" ] && [ "$fields" = 0 ] && [ "$profile" -le 100 ] && [ "$profile" != 44 ] && [ "$chroma" = 1 ] && [ "$prefix" -le 15 ]; then
        echo "$1" >>"$work/with_openh264"
        "$work/openh264" "$1" "$work/openh264.yuv" 2>&1 | grep -v '^\[OpenH264\]' | head -n 1 || true
        cmp "$work/openh264.yuv" "$work/own.yuv" 2>&1 | head -n 1
    fi
    if [ -n "$ldecod" ] && [ "$chroma" != 0 ]; then # of gray pictures it writes chroma, too
        echo "$1" >>"$work/with_jm"
        (cd "$work" && "$ldecod" -p Silent=1 -p InputFile="$(readlink -f "$1")" -p OutputFile=jm.yuv 2>&1) >"$work/jm.log" || echo "JM: $(tail -n 1 "$work/jm.log")"
        cmp "$work/own.yuv" "$work/jm.yuv" 2>&1 | head -n 1
    fi
    "$build/ffmpeg" -hide_banner -nostdin -v info -f h264 -i "$1" -c copy -bsf:v trace_headers -f null - >"$work/trace.log" 2>&1 ||
        echo "trace_headers failed"
    grep -iE 'error|invalid|out of range' "$work/trace.log" | head -n 1 || true
    grep -q 'slice_data\|Slice Header' "$work/trace.log" || echo "trace_headers saw no slice"
}

while IFS=' ' read -r name format _; do
    [ -n "$format" ] || continue # make tells of a new source, by a tab
    [[ $name != avcintra-interlaced* ]] || continue # MBAFF, which the tests' decoder has not: interlaced.py
    stream=$build/tests/data/fate/h264_cavlc_cuda-$name.h264
    reconstructions=$work/reconstructions
    [[ $name != encrypt* ]] || reconstructions= # decoders show other pictures
    result "$name" "$([ -s "$stream" ] && check "$stream" "$reconstructions" || echo "no stream")"
done < <(CUDAENC_RECONSTRUCTIONS=$work/reconstructions make --no-print-directory -s -C "$build" h264_cavlc_cuda-streams CUDAENC_FATE_DEVICE="$device")

# ---- Containers. FFmpeg's MOV muxer takes 10 bits in some sizes for AVC-Intra, whose parameter sets it leaves out: there they are
# in the packets.
for format in yuv420p yuv422p10; do
    source=(-f lavfi -i testsrc2=s=1280x720:r=25 -frames:v 3 -pix_fmt $format "${encode[@]}" -bitexact)
    ffmpeg "${source[@]}" -f h264 "$work/bare.h264"
    wanted=$(ffmpeg -f h264 -i "$work/bare.h264" -f rawvideo - | md5sum)
    for container in mp4 mov mxf ts mkv nut; do
        message=$(ffmpeg "${source[@]}" "$work/out.$container" 2>&1 | head -n 1)
        [ -n "$message" ] || message=$(ffmpeg -i "$work/out.$container" -f null - 2>&1 | head -n 1)
        [ -n "$message" ] || [ "$(ffmpeg -i "$work/out.$container" -fps_mode passthrough -f rawvideo - | md5sum)" = "$wanted" ] ||
            message="other pictures"
        result "$container, $format" "$message"
    done
    # Parameter sets of the container, or those of packets.
    ffmpeg "${source[@]}" "$work/out.mp4"
    ffmpeg -i "$work/out.mp4" -c copy -bsf:v h264_mp4toannexb -f h264 "$work/out.h264"
    result "MP4 to a byte stream, $format" "$([ "$(ffmpeg -f h264 -i "$work/out.h264" -f rawvideo - | md5sum)" = "$wanted" ] || echo "other pictures")"
    result "whole stream, $format" "$(check "$work/bare.h264")"
done
# ---- Key frames: those that are asked for, and scene cuts.
keys() { # WANTED INPUT... -- OPTIONS...: numbers of key packets in MP4
    local wanted=$1 input=() got
    shift
    while [ "$1" != -- ]; do input+=("$1") && shift; done
    ffmpeg "${input[@]}" -pix_fmt yuv420p "${encode[@]}" "${@:2}" "$work/keys.mp4"
    got=$("$build/ffprobe" -v error -show_entries packet=flags -of csv=p=0 "$work/keys.mp4" | awk '/K/ { printf "%s%d", n++ ? " " : "", NR - 1 }')
    result "key frames, ${*:2}" "$([ "$got" = "$wanted" ] || echo "$got, not $wanted")"
}
source=(-f lavfi -i testsrc2=s=96x64:r=25 -frames:v 20)
keys "0 5 9 19" "${source[@]}" -- -g 10 -force_key_frames 0.2,0.36
keys "0 7 14" "${source[@]}" -- -g 50 -force_key_frames "expr:eq(mod(n,7),0)" -b:v 200k
for number in 1 2; do
    ffmpeg -f lavfi -i "$([ $number = 1 ] && echo testsrc2 || echo mandelbrot)=s=96x64:r=25" -frames:v 10 -pix_fmt yuv420p -f rawvideo "$work/scene$number.yuv"
done
cat "$work"/scene[12].yuv >"$work/scenes.yuv"
source=(-f rawvideo -s 96x64 -pix_fmt yuv420p -i "$work/scenes.yuv")
keys "0 10" "${source[@]}" -- -g 100 -crf 26
keys "0" "${source[@]}" -- -g 100 -keyint_min 11
keys "0" "${source[@]}" -- -g 100 -sc_threshold 0

# ---- P pictures in containers: packets in the order of pictures, dts as pts, IDR pictures as keys, the samples of the byte stream.
# FFmpeg's parser, without which MPEG-TS has no packets, calls recovery points keys, too.
shown() { ffmpeg "$@" -fps_mode passthrough -f rawvideo - | md5sum; }
for options in "-g 8 -profile baseline" "-g 8 -aud 1 -slices 3" "-g 50 -intra_refresh 6" "-g 8 -slice_max_bytes 700" "-g 8 -pix_fmt yuv422p10 -slices 2" "-g 8 -pix_fmt yuv444p"; do
    # shellcheck disable=SC2206 # words
    source=(-f lavfi -i testsrc2=s=176x144:r=25 -frames:v 20 -pix_fmt yuv420p "${encode[@]}" $options -sc_threshold 0 -crf 26 -bitexact)
    ffmpeg "${source[@]}" -f h264 "$work/gop.h264"
    rm -f "$work/gop.sums"
    CUDAENC_RECONSTRUCTIONS=$work/gop.sums ffmpeg "${source[@]}" -device cpu -f h264 "$work/cpu.h264"
    cmp -s "$work/gop.h264" "$work/cpu.h264" && message=$(check "$work/cpu.h264" "$work/gop.sums") || message="other bytes on a CPU"
    result "whole stream, $options" "$message"
    wanted=$(shown -f h264 -i "$work/gop.h264")
    while read -r name muxer; do
        numbers="0 8 16" parser=(-fflags noparse)
        [[ $name != *ts ]] || parser=()
        [[ $options != *refresh* ]] || { [[ $name = *ts ]] && numbers="0 1 7 13 19" || numbers=0; }
        # shellcheck disable=SC2086 # words
        message=$(ffmpeg "${source[@]}" $muxer "$work/$name" 2>&1 | head -n 1)
        got=$("$build/ffprobe" -v error "${parser[@]}" -show_entries packet=pts,dts,flags -of csv=p=0 "$work/$name" |
            awk -F, '{ n++; late += $1 == "N/A" || $1 != $2; if ($3 ~ /K/) keys = keys " " n - 1 } END { print n " packets, " late + 0 " late, keys" keys }')
        [ "$got" = "20 packets, 0 late, keys $numbers" ] || message+=" $got"
        [ "$(shown -i "$work/$name")" = "$wanted" ] || message+=" other pictures"
        result "$name, $options" "$message"
    done <<END
gop.mp4
fragments.mp4 -movflags frag_keyframe+empty_moov+default_base_moof
frames.mp4 -movflags frag_every_frame+empty_moov+default_base_moof
gop.mov
gop.mkv
gop.ts
gop.nut
END
    most=500 most_nal=0 # slices of 700 bytes are not divided
    [[ $options != *slice_max* ]] || most=712 most_nal=700
    ffmpeg "${source[@]}" -f rtp -packetsize $most "$work/gop.rtp" >"$work/gop.sdp"
    message=$(python3 "$here/h264_rtp.py" "$work/gop.rtp" $most $most_nal 2>&1 >"$work/rtp.h264" | tail -n 1)
    [ "$(shown -f h264 -i "$work/rtp.h264")" = "$wanted" ] || message+=" other pictures"
    result "RTP, $options" "$message"
done

for format in 960x720,yuv420p10 1440x1080,yuv420p10 1920x1080,yuv422p10 2048x1080,yuv422p10 3840x2160,yuv422p10 4096x2160,yuv422p10; do
    ffmpeg -f lavfi -i color=gray:s=${format%,*}:r=25 -frames:v 1 -pix_fmt ${format#*,} "${encode[@]}" "$work/out.mov"
    result "MOV, $format" "$(ffmpeg -i "$work/out.mov" -f null - 2>&1 | head -n 1)"
done
# What was copied has the same pictures. To a MOV file of these sizes it needs start codes, or a tag that is not AVC-Intra's.
ffmpeg -f lavfi -i testsrc2=s=1280x720:r=25 -frames:v 2 -pix_fmt yuv422p10 "${encode[@]}" "$work/from.mp4"
wanted=$(ffmpeg -i "$work/from.mp4" -f rawvideo - | md5sum)
while read -r from to options; do
    # shellcheck disable=SC2086 # words
    ffmpeg -i "$work/from.$from" -c copy $options "$work/from.$to"
    result "$from to $to $options" "$([ "$(ffmpeg -i "$work/from.$to" -fps_mode passthrough -f rawvideo - 2>&1 | md5sum)" = "$wanted" ] || echo "other pictures")"
done <<END
mp4 mkv
mkv ts
ts mxf
mkv mov -bsf:v h264_mp4toannexb
mkv mov -strict unofficial
mxf mkv
mov mp4
END
# A container tells the odd size that the stream cannot.
ffmpeg -f lavfi -i testsrc2=s=128x64 -vf format=yuv420p,crop=127:63:0:0:exact=1 -frames:v 1 "${encode[@]}" "$work/odd.mp4"
size=$("$build/ffprobe" -v error -show_entries stream=width,height -of csv=p=0 "$work/odd.mp4")
result "odd size in MP4" "$([ "$size" = 127,63 ] || echo "$size")"

# ---- AVC-Intra and XAVC Intra: packets of one size, MXF's labels (SMPTE RP 2027), the same pictures again.
while read -r class flavor size rate bytes label effort; do
    ffmpeg -f lavfi -i "testsrc2=s=$size:r=$rate" -frames:v 2 -pix_fmt yuv422p10 "${encode[@]}" -effort "$effort" -avcintra-class "$class" \
        -avcintra-flavor "$flavor" "$work/avcintra.mxf"
    ffmpeg -i "$work/avcintra.mxf" -c copy -f h264 "$work/avcintra.h264"
    message=$(check "$work/avcintra.h264")
    sizes=$("$build/ffprobe" -v error -show_entries packet=size -of csv=p=0 "$work/avcintra.mxf" | sort | uniq -c | xargs)
    [ "$sizes" = "2 $bytes" ] || message+=" packets: $sizes"
    [ "$(od -An -v -tx1 "$work/avcintra.mxf" | tr -d ' \n' | grep -o '060e2b340401010a04010202[0-9a-f]\{8\}' | sort -u | head -n 1)" = "$label" ] || message+=" label"
    [ "$(ffmpeg -i "$work/avcintra.mxf" -f rawvideo - | md5sum)" = "$(ffmpeg -f h264 -i "$work/avcintra.h264" -f rawvideo - | md5sum)" ] ||
        message+=" other pictures"
    result "class $class of $flavor, $size, $rate frames/s, effort $effort" "$message"
done <<END
100 panasonic 1280x720 60000/1001 236544 060e2b340401010a0401020201323108 0
100 panasonic 1920x1080 30000/1001 472576 060e2b340401010a0401020201323103 1
100 panasonic 1920x1080 25 568832 060e2b340401010a0401020201323104 0
200 panasonic 1920x1080 25 1144320 060e2b340401010a0401020201323001 1
100 sony 1920x1080 50 568832 060e2b340401010a0401020201323104 0
300 sony 3840x2160 24000/1001 1260032 060e2b340401010a0401020201323001 1
480 sony 3840x2160 25 2009600 060e2b340401010a0401020201323001 0
END

# ---- White noise and a flat picture at QP 0, and the largest picture (level 6; more than OpenH264 takes, hence High 10 Intra).
noise="geq=lum=random(1)*255:cb=random(2)*255:cr=random(3)*255"
for format in gray yuv420p yuv422p yuv444p yuv420p10 yuv422p10 yuv444p10; do
    for picture in "nullsrc=s=117x83,format=yuv444p,$noise" "color=gray:s=117x83"; do
        ffmpeg -f lavfi -i "$picture" -frames:v 2 -pix_fmt $format "${encode[@]}" -qp 0 -f h264 "$work/qp0.h264"
        result "${picture%%=*} at QP 0, $format" "$(check "$work/qp0.h264")"
    done
done
ffmpeg -f lavfi -i testsrc2=s=8192x4320:r=24 -frames:v 1 -pix_fmt yuv420p "${encode[@]}" -profile high10 -f h264 "$work/large.h264"
result "8192x4320" "$(check "$work/large.h264")"

# ---- SEI messages: written by the library, read by FFmpeg's decoder, written by the encoder, read again.
export PKG_CONFIG_PATH=$build/../fate/pkgconfig
# shellcheck disable=SC2046 # words
${CXX:-g++} -std=c++20 -o "$work/sei" "$here/h264_sei.cpp" $(pkg-config --static --cflags --libs libcudaenc)
"$work/sei" "$work/sei.h264"
ffmpeg -f h264 -i "$work/sei.h264" "${encode[@]}" -udu_sei 1 -s12m_tc 1 "$work/sei.mkv"
side_data() { "$build/ffprobe" -v error -show_frames -show_entries frame=key_frame:frame_side_data "$1" | sort; }
result "side data" "$([ "$(side_data "$work/sei.h264")" = "$(side_data "$work/sei.mkv")" ] || echo "got lost")"
result "side data, all kinds" "$([ "$(side_data "$work/sei.mkv" | grep -c '^side_data_type\|^value=11:22:33:0')" = 18 ] || echo "are not there")"

# ---- Regions of interest: a region that is given more has the lower error, one that is given less the higher.
for options in "-qp 30" "-crf 30" "-qp 30 -g 6" "-b:v 3M -effort 2"; do
    source=(-f lavfi -i "testsrc2=s=192x160:r=25,noise=alls=40:allf=t" -frames:v 6 -pix_fmt yuv420p)
    errors=()
    for offset in 0 -1/4 1/4; do
        # shellcheck disable=SC2086 # words
        ffmpeg "${source[@]}" -vf addroi=64:48:64:64:$offset "${encode[@]}" $options "$work/roi.h264"
        errors+=("$("$build/ffmpeg" -nostdin -hide_banner -i "$work/roi.h264" "${source[@]}" -lavfi \
            "[0:v]crop=64:64:64:48[a];[1:v]crop=64:64:64:48[b];[a][b]psnr" -f null - 2>&1 | sed -n 's/.*average:\([0-9]*\).*/\1/p')")
    done
    result "a region of interest, $options" "$([ "${errors[1]}" -gt "${errors[0]}" ] && [ "${errors[2]}" -lt "${errors[0]}" ] || echo "PSNR ${errors[*]}")"
done

# ---- Encryption: every decoder decodes the stream, nobody sees the picture, and the key brings it back.
# shellcheck disable=SC2046 # words
${CXX:-g++} -std=c++20 -I"$build" -I"$build/src" -o "$work/decrypt" "$here/../../docs/examples/h264_decrypt.cpp" \
    $(pkg-config --static --cflags --libs libcudaenc) -L"$build/libavutil" -lavutil -lm
keys=(000102030405060708090a0b0c0d0e0f{,1011121314151617{,18191a1b1c1d1e1f}})
key=${keys[0]}
for number in 1 2; do # of 24 and 32 bytes
    source=(-f lavfi -i testsrc2=s=64x48 -frames:v 2 -pix_fmt yuv420p "${encode[@]}" -qp 20)
    ffmpeg "${source[@]}" "$work/clear.h264" && ffmpeg "${source[@]}" -encrypt_key ${keys[number]} -encrypt_iv ${keys[0]} "$work/secret.h264"
    "$work/decrypt" ${keys[number]} "$work/secret.h264" "$work/restored.h264" ${keys[0]} || true
    result "a key of $((8 * number + 16)) bytes" "$(cmp "$work/clear.h264" "$work/restored.h264" 2>&1 || true)"
done
for options in "-qp 20" "-qp 20 -slices 3 -pix_fmt yuv422p10" "-qp 0 -pix_fmt yuv444p" "-qp 0 -profile baseline" "-qp -12 -pix_fmt yuv420p10"; do
    iv=00000000000000000000000000000000
    [[ $options != *444* ]] || iv=ffffffffffffffffffffffffffffffff
    source=(-f lavfi -i "testsrc2=s=176x144:r=25,noise=alls=60" -frames:v 3 -pix_fmt yuv420p "${encode[@]}")
    # shellcheck disable=SC2086 # words
    ffmpeg "${source[@]}" $options "$work/clear.h264" && ffmpeg "${source[@]}" $options -encrypt_key $key -encrypt_iv $iv "$work/secret.h264"
    message=$(check "$work/secret.h264")
    "$work/decrypt" $key "$work/secret.h264" "$work/restored.h264" $iv || true
    cmp -s "$work/clear.h264" "$work/secret.h264" && message+=" not encrypted"
    cmp -s "$work/clear.h264" "$work/restored.h264" || message+=" not restored"
    result "encryption, $options" "$message"
    for part in places:1 modes:2 places+modes:3; do
        # shellcheck disable=SC2086 # words
        ffmpeg "${source[@]}" $options -encrypt_key $key -encrypt_iv $iv -encrypt_parts ${part%:*} "$work/parts.h264"
        message=$(check "$work/parts.h264")
        "$work/decrypt" $key "$work/parts.h264" "$work/restored.h264" $iv "${part#*:}" || true
        # Others are I_PCM, which has neither.
        [[ $options != "-qp 20"* ]] || ! cmp -s "$work/secret.h264" "$work/parts.h264" || message+=" as without"
        cmp -s "$work/clear.h264" "$work/restored.h264" || message+=" not restored"
        result "encryption of $part, $options" "$message"
    done
done

# ---- Hiding: a file in the signs of trailing ones comes back, and the stream keeps its bits.
# shellcheck disable=SC2046 # words
${CXX:-g++} -std=c++20 -o "$work/hide" "$here/../../docs/examples/h264_hide.cpp" $(pkg-config --static --cflags --libs libcudaenc)
head -c 5 "$work/decrypt" >"$work/hidden"
for options in "" "-pix_fmt yuv422p10" "-pix_fmt yuv444p -qp 30"; do
    source=(-f lavfi -i "testsrc2=s=352x288:r=25,noise=alls=20" -frames:v 2 -pix_fmt yuv420p "${encode[@]}" -qp 20)
    # shellcheck disable=SC2086 # words
    ffmpeg "${source[@]}" $options "$work/clear.h264"
    for every in 1 3; do
        message=
        "$work/hide" hide "$work/clear.h264" "$work/hides.h264" "$work/hidden" $every >/dev/null || message+=" not hidden"
        "$work/hide" read "$work/hides.h264" "$work/read" $every || true
        cmp -s "$work/hidden" "$work/read" || message+=" not read"
        cmp -s "$work/clear.h264" "$work/hides.h264" && message+=" as it was"
        message+=$(check "$work/hides.h264")
        result "hiding, one of $every, $options" "$message"
    done
done
"$work/hide" hide "$work/clear.h264" "$work/hides.h264" "$work/hide" >/dev/null 2>"$work/hide.log" && echo >"$work/hide.log"
result "hiding, too large a file" "$(grep -q 'the stream room for' "$work/hide.log" || echo "is not refused")"

# ---- FFmpeg's own options
md5() { ffmpeg -f lavfi -i testsrc2=s=204x118:r=25,crop=203:117:exact=1 -frames:v 3 -pix_fmt yuv420p "${encode[@]}" "$@" -f md5 -; }
result "-q:v" "$([ "$(md5 -q:v 30)" = "$(md5 -qp 30)" ] || echo "is not the QP")"
for limit in "-b:v 50M -qmin 0" "-b:v 10k -qmax 0"; do
    # shellcheck disable=SC2086 # words
    result "$limit" "$([ "$(md5 -pix_fmt yuv420p10 $limit -level 5.2)" != "$(md5 -pix_fmt yuv420p10 ${limit% -q*} -level 5.2)" ] ||
        echo "does nothing")"
done
result "-threads" "$([ "$(md5 -threads 1 -b:v 400k)" = "$(md5 -threads 5 -b:v 400k)" ] || echo "changes bytes")"
result "-async_depth" "$([ "$(md5 -async_depth 1 -b:v 400k)" = "$(md5 -async_depth 9 -b:v 400k)" ] || echo "changes bytes")"
bytes=$(ffmpeg -f lavfi -i "testsrc2=s=352x288:r=25:d=20,noise=alls=20,select='not(mod(n,5))'" -fps_mode vfr -pix_fmt yuv420p "${encode[@]}" \
    -b:v 800k -f h264 - | wc -c)
result "-b:v of a variable rate" "$([ "$bytes" -gt 1900000 ] && [ "$bytes" -lt 2100000 ] || echo "$bytes bytes in 20 s")"
refused() { # refused LINE OPTIONS...
    local said
    said=$(md5 -stats_period 0.02 "${@:2}" 2>&1 || true) # after which FFmpeg's program sees that it failed
    result "${*:2}" "$([[ $said == *"$1"* ]] || echo "was taken")"
}
refused "exclude each other" -b:v 1M -qp 20
refused "level 1.0 is not allowed" -level 1
refused "profile main is not allowed" -pix_fmt yuv422p -profile main
refused "slices 9 is not allowed" -slices 9
refused "max_rate and buffer_size are not allowed" -qp 20 -maxrate 1M
refused "max_rate 100000 is not allowed" -b:v 1M -maxrate 100k
refused "buffer_size 1000 is not allowed" -b:v 1M -bufsize 1k
refused "encrypt_key of 3 bytes is not allowed" -encrypt_key 010203
refused "encrypt_key is not allowed without encrypt_iv" -encrypt_key $key
refused "encrypt_parts is not allowed without encrypt_key" -encrypt_parts modes
refused "encrypt_iv of 3 bytes is not allowed" -encrypt_key $key -encrypt_iv 010203
refused "hrd 1 is not allowed without a buffer" -qp 20 -nal-hrd vbr
refused "qp -5 is not allowed" -qp -5
refused "crf -5 is not allowed" -crf -5
refused "level 9.9 is not allowed" -level 9.9
refused "level 40.6 is not allowed" -level 40.6
refused "level 4.15 is not allowed" -level 4.15
refused "level 1b is not allowed" -level 1b
result "-level 4.1 and 41" "$([ "$(md5 -qp 30 -level 4.1)" = "$(md5 -qp 30 -level 41)" ] || echo "differ")"
said=$(ffmpeg -v warning -f lavfi -i testsrc2=s=64x48 -frames:v 1 -pix_fmt yuv420p "${encode[@]}" -repeat_headers 0 -f h264 "$work/bare.h264" 2>&1 || true)
result "-repeat_headers 0" "$([[ $said == *"no packet has parameter sets"* ]] || echo "is not told of")"
refused "coded with CABAC" -avcintra-class 50
refused "4:2:2 of 10 bits" -avcintra-class 100
refused "is not allowed with avc_intra_class 100: it has" -pix_fmt yuv422p10 -avcintra-class 100
refused "not allowed with avcintra-class" -avcintra-class 100 -qp 20
refused "not allowed with avcintra-class" -avcintra-class 100 -b:v 1M

# ---- Real pictures
for clip in ${media:+"$media"/*_yuv420p*.mkv}; do
    for options in "-qp 20" "-crf 28 -slices 4" "-b:v 40M -bufsize 16M -cbr 1"; do
        # shellcheck disable=SC2086 # words
        ffmpeg -i "$clip" -frames:v 3 "${encode[@]}" $options -f h264 "$work/clip.h264"
        result "$(basename "$clip") $options" "$(check "$work/clip.h264")"
    done
done
[ -z "$openh264" ] || echo "$(wc -l <"$work/with_openh264") streams read by OpenH264 too"
[ -z "$ldecod" ] || echo "$(wc -l <"$work/with_jm") streams read by JM too"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
