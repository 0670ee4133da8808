#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Other programs take what mjpeg_cuda makes: libjpeg-turbo and FFmpeg's decoder read every stream without a warning and agree,
# containers and RTP carry it, real pictures become no smaller and no better by libjpeg-turbo's encoder. And what mjpeg_cuda
# makes of FFmpeg's own options. Usage: mjpeg.sh FFMPEG_BUILD [MEDIA_DIR]; DEVICE=cpu
# Ends in a line "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
media=${2-}
device=${DEVICE:-cpu}
for tool in cjpeg djpeg; do
    command -v $tool >/dev/null || { echo "$tool is missing (libjpeg-turbo-progs)"; echo "0 passed, 1 failed"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../tally.sh"
ffmpeg() { "$build/ffmpeg" -nostdin -y -v error "$@"; }
strict() { # strict FILE: what djpeg says
    djpeg -strict -pnm -outfile "$work/out.pnm" "$1" 2>&1 | head -n 1
}
# What FFmpeg says, but that it misses EOI where a scan has a few bytes only (in libjpeg-turbo's streams as well), of yuvj, and of raw video.
warnings() { # ARGUMENTS...
    "$build/ffmpeg" -nostdin -y -v warning "$@" 2>&1 |
        grep -v -e 'EOI missing, emulating' -e 'deprecated pixel format' -e 'bitrate parameter' -e 'Last message repeated' | head -n 3
}
largest_difference() { # FILE FILE, each sixteen times, since tiny_psnr says nothing of a few bytes
    local file
    for file in "$1" "$2"; do yes "$file" | head -n 16 | xargs cat >"$file.16"; done
    "$build/tests/tiny_psnr" "$1.16" "$2.16" 1 0 0 | sed -n 's/.*MAXDIFF: *\([0-9]*\) bytes: *\([0-9]*\)\/ *\2$/\1/p'
}
# Luma, or RGB, of a stream's first picture by both decoders: within a code value and a half of rounding, each.
agree() { # FILE PIXEL_FORMAT
    local take=(-grayscale) format=gray filter=extractplanes=y difference
    case $1:$2 in
    *mct*) ;; # back to RGB, they differ by their own rounding
    *:*rgb* | *:*bgr* | *:gbrp) take=() format=rgb24 filter=format=rgb24 ;;
    *:gray) filter=null ;;
    esac
    djpeg "${take[@]}" -pnm -outfile "$work/a.pnm" "$1"
    ffmpeg -f image2 -c:v "$([ $format = gray ] && echo pgm || echo ppm)" -i "$work/a.pnm" -pix_fmt $format -f rawvideo "$work/a.raw"
    warnings -f jpeg_pipe -i "$1" -frames:v 1 -vf "$filter" -f rawvideo "$work/b.raw"
    difference=$(largest_difference "$work/a.raw" "$work/b.raw")
    [ -n "$difference" ] && [ "$difference" -le 2 ] || echo "the decoders differ by ${difference:-their sizes}"
}

encode=(-c:v mjpeg_cuda -device "$device")

# ---- The streams of FATE's tests, which jpeg_decode.sh makes as well
exec 9>"$build/mjpeg-streams.lock"
flock 9
while read -r name format _; do
    stream=$build/tests/data/fate/mjpeg_cuda-$name.image2pipe
    result "$name" "$([ -s "$stream" ] && strict "$stream" || echo "no stream")"
    # FFmpeg does not know 4:1:0.
    [ "$format" = yuv410p ] || [ ! -s "$stream" ] || result "$name, both decoders" "$(agree "$stream" "$format")"
done < <(make --no-print-directory -s -C "$build" mjpeg_cuda-streams CUDAENC_FATE_DEVICE="$device")
exec 9>&-

# ---- Sizes 1 to 32 squared of all samplings, which the check program makes
check=$build/../check/test_mjpeg
if [ -x "$check" ]; then
    mkdir "$work/sizes"
    JPEG_FILES=$work/sizes CK_RUN_SUITE=mjpeg "$check" >"$work/sizes.log" || true
    # shellcheck disable=SC2016 # the inner shell expands
    find "$work/sizes" -name '*.jpg' -print0 | xargs -0 -P "$(nproc)" -n 64 sh -c \
        'for f; do said=$(djpeg -strict -outfile /dev/null "$f" 2>&1); [ -z "$said" ] || echo "${f##*/}: $said"; done' djpeg >"$work/strict.log"
    count=$(find "$work/sizes" -name '*-????.jpg' | wc -l)
    result "sizes, libjpeg-turbo" "$([ "$count" = 12288 ] || echo "$count streams instead of 12288")$(head -n 3 "$work/strict.log")"
    for format in $(find "$work/sizes" -name '*-0001.jpg' -printf '%f\n' | sed 's/-0001.jpg//'); do
        [ "$format" != yuv410p ] || continue
        result "sizes of $format, FFmpeg" "$(warnings -i "$work/sizes/$format-%04d.jpg" -noautoscale -fps_mode passthrough -f null -)"
    done
    # What FFmpeg makes of other samplings, as docs/encoders.md has it: a pixel format with other chroma, or nothing.
    while read -r sampling format; do
        file=$work/sizes/sampling-$sampling.jpg
        found=$({ "$build/ffmpeg" -hide_banner -nostdin -y -i "$file" -frames:v 1 -f null - 2>&1 || true; } |
            sed -n 's/.*wrapped_avframe, \([a-z0-9]*\).*/\1/p')
        result "sampling $sampling, libjpeg-turbo" "$(strict "$file")"
        [ "${found:-none}" = "$format" ] || echo "note: FFmpeg reads sampling $sampling as ${found:-none}, docs/encoders.md says $format"
    done <<END
1x4-1x4 yuvj440p
2x4-2x4 yuvj420p
4x2-4x2 yuvj420p
4x4-4x4 none
2x1-1x1 yuvj444p
END
else
    echo "skipped: ../check/test_mjpeg is not here, which makes streams of all sizes"
fi

# ---- Extremes
extreme() { # NAME SOURCE OPTIONS...
    local name=$1 source=$2
    shift 2
    ffmpeg -f lavfi -i "$source" -frames:v 1 "${encode[@]}" -strict unofficial "$@" -f image2 -update 1 "$work/extreme.jpg"
    result "$name" "$(strict "$work/extreme.jpg")"
    result "$name, both decoders" "$(agree "$work/extreme.jpg" yuv)"
}
noise="nullsrc=s=640x368,geq=random(1)*255:random(2)*255:random(3)*255"
for huffman in default optimal; do
    extreme "white noise, quality 100, $huffman" "$noise,format=yuv444p" -quality 100 -huffman $huffman
    extreme "white noise, 4:2:0, quality 100, $huffman" "$noise,format=yuv420p" -quality 100 -huffman $huffman -restart_interval 1
done
extreme "65500 columns" "color=s=65500x17,noise=alls=40,format=yuv420p" -restart_interval row # as many as libjpeg takes
extreme "65500 rows" "color=s=17x65500,noise=alls=40,format=yuv422p"
for size in 65535x17 17x65535; do
    ffmpeg -f lavfi -i "color=s=$size,noise=alls=40,format=yuvj420p" -frames:v 1 "${encode[@]}" -f image2 -update 1 "$work/extreme.jpg"
    result "$size, FFmpeg" "$(warnings -i "$work/extreme.jpg" -f null -)"
done

# ---- Containers: the same pictures come out as of the stream alone
source=(-f lavfi -i "testsrc2=s=204x118:r=25,crop=203:117:exact=1,format=yuvj422p" -frames:v 6)
ffmpeg "${source[@]}" "${encode[@]}" -f image2pipe "$work/stream.mjpeg"
pictures() { ffmpeg "$@" -pix_fmt yuvj422p -f framemd5 - | grep -v '^#' | awk '{ print $NF }'; }
expected=$(pictures -f jpeg_pipe -i "$work/stream.mjpeg")
for file in out.avi out.mov out.mkv out.mp4 out.nut; do
    ffmpeg "${source[@]}" "${encode[@]}" "$work/$file"
    result "$file" "$([ "$(pictures -i "$work/$file")" = "$expected" ] || echo "other pictures than the stream's")"
done
ffmpeg "${source[@]}" "${encode[@]}" "$work/image%03d.jpg"
result "image sequence" "$([ "$(pictures -i "$work/image%03d.jpg")" = "$expected" ] || echo "other pictures than the stream's")"
# RTP (RFC 2435) sends no tables of Huffman codes, and only 4:2:0 and 4:2:2 are in it.
rtp() { # FORMAT HUFFMAN: what the muxer says
    ffmpeg -f lavfi -i testsrc2=s=352x288 -frames:v 3 -pix_fmt "$1" "${encode[@]}" -huffman "$2" -f rtp -packetsize 1400 "$work/out.rtp" 2>&1 |
        grep '^\[rtp' | head -n 1
}
for format in yuvj420p yuvj422p; do result "RTP, $format" "$(rtp $format default)$([ -s "$work/out.rtp" ] || echo "no packets")"; done
result "RTP, optimal tables" "$([[ $(rtp yuvj420p optimal) == *"standard Huffman tables"* ]] || echo "were sent")"

# ---- FFmpeg's own options
md5() { ffmpeg -f lavfi -i testsrc2=s=204x118,crop=203:117:exact=1 -frames:v 2 -pix_fmt yuvj420p "${encode[@]}" "$@" -f md5 -; }
result "-q:v" "$([ "$(md5 -q:v 30)" = "$(md5 -quality 30)" ] || echo "is not the quality")"
result "-global_quality" "$([ "$(md5 -global_quality 30)" = "$(md5 -quality 30)" ] || echo "is not the quality")"
said() { "$build/ffmpeg" -nostdin -hide_banner -f lavfi -i testsrc2=s=204x118,crop=203:117:exact=1 -frames:v 2 "$@" -f null - 2>&1; }
result "-q:v 2" "$([ "$(said -pix_fmt yuvj420p "${encode[@]}" -q:v 2 | grep -c '1 is the worst and 100 the best')" = 1 ] || echo "is not warned of once")"
result "-q:v 90" "$(said -pix_fmt yuvj420p "${encode[@]}" -q:v 90 | grep '1 is the worst')"
for matrix in bt470bg smpte170m; do
    result "colour matrix $matrix" "$(said -vf format=yuvj420p,setparams=colorspace=$matrix "${encode[@]}" | grep 'cannot tell of colour matrix')"
done
result "RGB" "$([ "$(said -pix_fmt rgb24 "${encode[@]}" | grep -c 'RGB stays RGB')" = 1 ] || echo "is not told of once")"
result "-q:v beside -quality" "$([ "$(md5 -q:v 30 -quality 70)" = "$(md5 -quality 70)" ] || echo "wins")"
result "-qmin" "$([ "$(md5 -b:v 1 -qmin 40)" = "$(md5 -quality 40)" ] || echo "is not the least quality")"
result "-qmax" "$([ "$(md5 -b:v 1G -qmax 60)" = "$(md5 -quality 60)" ] || echo "is not the greatest quality")"
flat=$(printf '16%.0s,' {1..63})16
result "-intra_matrix" "$([ "$(md5 -intra_matrix "$flat")" != "$(md5)" ] || echo "does nothing")"
result "-chroma_intra_matrix" "$([ "$(md5 -chroma_intra_matrix "$flat")" != "$(md5)" ] || echo "does nothing")"
# Limited range: converted by who makes the frames, but where the standard need not be kept; then it is marked.
range() { # OPTIONS...: the range that FFmpeg's decoder finds
    ffmpeg -f lavfi -i testsrc2=s=64x48,format=yuv420p,setrange=tv -frames:v 1 "${encode[@]}" "$@" -f image2 -update 1 "$work/range.jpg"
    "$build/ffmpeg" -hide_banner -nostdin -i "$work/range.jpg" 2>&1 | grep -o 'yuvj*420p([a-z]*' || true
}
result "limited range" "$([ "$(range)" = "yuvj420p(pc" ] || echo "is not converted: $(range)")"
result "limited range, -pix_fmt" "$([ "$(range -pix_fmt yuv420p)" = "yuvj420p(pc" ] || echo "is not converted: $(range -pix_fmt yuv420p)")"
result "limited range, unofficial" "$([ "$(range -strict unofficial)" = "yuv420p(tv" ] || echo "is not kept: $(range -strict unofficial)")"

# ---- Real pictures. Equal tables: at most 0.5 % larger than cjpeg's, and at most 0.05 dB worse. Sub-sampling is off, since
# cjpeg's is its own.
for picture in ${media:+"$media"/*_rgb8.png "$media"/*_yuv420p.mkv}; do
    ffmpeg -i "$picture" -frames:v 1 -pix_fmt rgb24 "$work/in.ppm"
    for quality in 50 75 90 100; do
        for huffman in default optimal; do
            ffmpeg -i "$work/in.ppm" "${encode[@]}" -mct 1 -quality $quality -huffman $huffman -f image2 -update 1 "$work/ours.jpg"
            cjpeg -quality $quality -sample 1x1 $([ $huffman = default ] || echo -optimize) -outfile "$work/theirs.jpg" "$work/in.ppm"
            message=$(strict "$work/ours.jpg")
            psnr() {
                djpeg -pnm -outfile "$work/out.pnm" "$work/$1.jpg"
                "$build/tests/tiny_psnr" "$work/in.ppm" "$work/out.pnm" 1 0 0 | sed 's/.*PSNR: *\([0-9.]*\).*/\1/'
            }
            ours=$(stat -c %s "$work/ours.jpg") theirs=$(stat -c %s "$work/theirs.jpg")
            [ -n "$message" ] || message=$(awk -v a="$ours" -v b="$theirs" -v p="$(psnr ours)" -v q="$(psnr theirs)" 'BEGIN {
                if (a > 1.005 * b) print a " bytes, cjpeg " b; else if (p < q - 0.05) print p " dB, cjpeg " q }')
            result "$(basename "$picture") quality $quality, huffman $huffman" "$message"
        done
    done
    # Sizes that are asked for, from a quarter of quality 90's to twice it: within 5 %.
    ffmpeg -i "$work/in.ppm" -pix_fmt yuvj420p "${encode[@]}" -f image2 -update 1 "$work/ours.jpg"
    base=$(stat -c %s "$work/ours.jpg")
    ffmpeg -i "$work/in.ppm" -pix_fmt yuvj420p "${encode[@]}" -quality 100 -f image2 -update 1 "$work/ours.jpg"
    most=$(stat -c %s "$work/ours.jpg")
    for percent in 25 50 100 200; do
        target=$((base * percent / 100))
        [ $target -le "$most" ] || target=$most
        ffmpeg -framerate 25 -i "$work/in.ppm" -pix_fmt yuvj420p "${encode[@]}" -b:v $((target * 200)) -f image2 -update 1 "$work/ours.jpg"
        size=$(stat -c %s "$work/ours.jpg")
        result "$(basename "$picture") -b:v, $percent %" "$(awk -v a="$size" -v b="$target" 'BEGIN {
            if (a > 1.05 * b || a < 0.95 * b) print a " bytes instead of " b }')"
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
