#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# mjpeg_cuda's decoder against libjpeg-turbo: the same samples of the streams of FATE's tests, of what cjpeg and jpegtran make
# of real and synthetic pictures, of the files of a corpus, and of those that the machine has. And through FFmpeg.
# Usage: jpeg_decode.sh FFMPEG_BUILD [MEDIA_DIR]; DEVICE=cpu   Ends in a line "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
media=${2-}
device=${DEVICE:-cpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../tally.sh"
ffmpeg() { "$build/ffmpeg" -nostdin -y -v error "$@"; }
PKG_CONFIG_PATH=$(cd "$build/.." && pwd)/fate/pkgconfig:${PKG_CONFIG_PATH-}
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # flags are many words
${CXX:-g++} -std=c++20 -O2 -o "$work/jpeg_decode" "$here/jpeg_decode.cpp" $(pkg-config --static --cflags --libs libcudaenc) -ljpeg

${CXX:-g++} -std=c++20 -O2 -Wall -Wextra -o "$work/cmyk" "$here/cmyk.cpp" -ljpeg

# compare NAME MOST_REFUSED FILE...
compare() {
    local name=$1 most=$2 out count
    shift 2
    [ $# != 0 ] || return 0
    out=$("$work/jpeg_decode" "$device" "$@") || true
    sed '$d' <<<"$out" | sed "s/^/$name: /"
    count=$(tail -n 1 <<<"$out")
    passed=$((passed + ${count%% *})) count=${count#*, }
    failed=$((failed + ${count%% *}))
    result "$name: most files are decoded" "$(awk -v most="$most" '/ files with the same samples/ {
        sub(/.* samples, /, ""); if ($1 > most) print $1 " are refused" }' <<<"$out")"
}

# ---- cjpeg's and jpegtran's streams: samplings, qualities, tables, restart intervals, scans, scripts of progressive coding
odd=testsrc2=s=238x172,format=rgb24,crop=237:171 # testsrc2 itself has even sizes only
ffmpeg -f lavfi -i $odd -frames:v 1 -pix_fmt rgb24 "$work/synthetic.ppm"
ffmpeg -f lavfi -i mandelbrot=s=256x144 -frames:v 1 -pix_fmt rgb24 "$work/mandelbrot.ppm"
for picture in ${media:+"$media"/kodim*.png "$media"/screen*.png}; do
    ffmpeg -i "$picture" -pix_fmt rgb24 "$work/$(basename "$picture" .png).ppm"
done
printf '0;\n2;\n1;\n' >"$work/scans"
printf '0,1,2: 0-0, 0, 2;\n0: 1-63, 0, 1;\n0,1,2: 0-0, 2, 1;\n2: 1-63, 0, 0;\n0: 1-63, 1, 0;\n0,1,2: 0-0, 1, 0;\n1: 6-63, 0, 0;\n1: 1-5, 0, 0;\n' \
    >"$work/script"
for picture in "$work"/*.ppm; do
    to=${picture%.ppm}
    for sampling in 1x1 2x1 1x2 2x2 4x1 4x2 1x4; do
        cjpeg -quality 80 -sample $sampling -outfile "$to-$sampling.jpg" "$picture"
        cjpeg -quality 60 -sample $sampling -progressive -restart 3B -outfile "$to-$sampling-progressive.jpg" "$picture"
    done
    for quality in 5 50 90 98 100; do
        cjpeg -quality $quality -baseline -outfile "$to-q$quality.jpg" "$picture"
        cjpeg -quality $quality -progressive -optimize -outfile "$to-q$quality-progressive.jpg" "$picture"
    done
    for restart in 1B 5B 1 3; do cjpeg -restart $restart -optimize -outfile "$to-r$restart.jpg" "$picture"; done
    cjpeg -grayscale -outfile "$to-gray.jpg" "$picture"
    cjpeg -rgb -outfile "$to-rgb.jpg" "$picture"
    cjpeg -scans "$work/scans" -outfile "$to-scans.jpg" "$picture"
    cjpeg -scans "$work/script" -outfile "$to-script.jpg" "$picture"
    for inks in "cmyk 1" "cmyk 2" "ycck 1 7" "ycck 2"; do
        # shellcheck disable=SC2086 # of two or three words
        "$work/cmyk" $inks <"$picture" >"$to-inks-${inks// /-}.jpg"
    done
    jpegtran -rotate 90 -outfile "$to-rotated.jpg" "$to-2x2.jpg"
    jpegtran -crop 33x17+8+8 -outfile "$to-cropped.jpg" "$to-2x2.jpg"
done
compare cjpeg 0 "$work"/*.jpg

# ---- What tells the colours: all combinations of markers, identifiers and samplings, as libjpeg reads them
"$here/jpeg_colours.py" "$work/colours" "$work"/synthetic-{1x1,2x1,2x2}.jpg "$work"/synthetic-inks-{cmyk-1,cmyk-2}.jpg
compare colours 0 "$work"/colours/*.jpg

# ---- mjpeg_cuda's own, which mjpeg.sh makes as well
exec 9>"$build/mjpeg-streams.lock"
flock 9
make --no-print-directory -s -C "$build" mjpeg_cuda-streams CUDAENC_FATE_DEVICE=cpu >/dev/null
for stream in "$build"/tests/data/fate/mjpeg_cuda-*.image2pipe; do cp "$stream" "$work/$(basename "$stream" .image2pipe).own"; done
exec 9>&-
compare FATE 0 "$work"/*.own

# ---- Files of many cameras and programs
corpus=${media:+$media/../corpora/jpeg}
[ ! -d "$corpus" ] || compare corpus 19 "$corpus"/*.jpg
# Debian's packages with the most photographs, all of whose files that libjpeg decodes have the same samples (3137 of 3186 in
# Debian 12; 49 have no picture): golang-github-rwcarlsen-goexif-dev (cameras and phones), pysiogame, marble-qt-data, cimg-doc,
# fotoxx-common, kphotoalbum, hugin-data, labelme-examples, wand-doc, openuniverse-common, xsane-common, nip2,
# mate-backgrounds, povray-examples, gnome-control-center-data, budgie-control-center-data. What is installed is compared.
mapfile -t files < <(find /usr/share -type f \( -iname '*.jpg' -o -iname '*.jpeg' \) 2>/dev/null | sort)
compare machine "${#files[@]}" "${files[@]}"

# ---- Ten files that are broken: the emulator decodes what the CPU does
# shellcheck disable=SC2046 # flags are many words
${CXX:-g++} -std=c++20 -O2 -Wall -Wextra -o "$work/jpeg_broken" "$here/jpeg_broken.cpp" $(pkg-config --static --cflags --libs libcudaenc)
for way in gray 2x2 1x1 r1 4x1 rgb scans 2x2-progressive inks-ycck-2 inks-cmyk-1; do
    djpeg -scale 1/4 -outfile "$work/tiny.ppm" "$work/synthetic-1x1.jpg"
    case $way in
    inks*) "$work/cmyk" $(sed 's/-/ /g; s/inks//' <<<"$way") <"$work/tiny.ppm" >"$work/tiny-$way" ;;
    gray) cjpeg -grayscale -outfile "$work/tiny-$way" "$work/tiny.ppm" ;;
    r1) cjpeg -restart 1B -optimize -outfile "$work/tiny-$way" "$work/tiny.ppm" ;;
    rgb) cjpeg -rgb -outfile "$work/tiny-$way" "$work/tiny.ppm" ;;
    scans) cjpeg -scans "$work/scans" -outfile "$work/tiny-$way" "$work/tiny.ppm" ;;
    *-progressive) cjpeg -sample "${way%%-*}" -progressive -outfile "$work/tiny-$way" "$work/tiny.ppm" ;;
    *) cjpeg -sample "$way" -outfile "$work/tiny-$way" "$work/tiny.ppm" ;;
    esac
done
out=$("$work/jpeg_broken" emu "${BROKEN:-20}" "${PREFIX_STEP:-50}" "$work"/tiny-*) || true
sed '$d' <<<"$out"
count=$(tail -n 1 <<<"$out")
passed=$((passed + ${count%% *})) count=${count#*, }
failed=$((failed + ${count%% *}))

# ---- FFmpeg's decoder of the same name: properties, and pictures that change within a stream
shown() { # shown DECODER ARGUMENTS...: what the frames are, from FFmpeg's log
    local decoder=$1
    shift
    "$build/ffmpeg" -nostdin -hide_banner -noautorotate -c:v $decoder "$@" -frames:v 1 -f rawvideo -y /dev/null 2>&1 |
        sed -n '/^Output/,$ { /Video:/p }'
}
for file in "$work"/synthetic-*.jpg; do
    result "$(basename "$file"): frames" "$(diff <(shown mjpeg -i "$file") <(shown mjpeg_cuda -device "$device" -i "$file") || true)"
done
# alike NAME DEPTH FILE: frames by both decoders of FFmpeg, whose inverse DCTs differ.
alike() {
    local decoder
    for decoder in mjpeg "mjpeg_cuda -device $device -async_depth $2"; do
        # shellcheck disable=SC2086 # of many words
        ffmpeg -c:v $decoder -i "$3" -f rawvideo "$work/${decoder%% *}.raw"
    done
    result "$1" "$(python3 - "$work/mjpeg.raw" "$work/mjpeg_cuda.raw" <<'PYTHON'
import sys
a, b = (open(name, 'rb').read() for name in sys.argv[1:])
worst = max((abs(x - y) for x, y in zip(a, b)), default=999)
if len(a) != len(b) or worst > 3:
    print(len(a), len(b), 'bytes; samples differ by', worst)
PYTHON
    )"
}
for file in "$work"/synthetic-inks-*.jpg; do alike "$(basename "$file"): light" 3 "$file"; done
for file in "$work"/synthetic-{4x2,1x4}.jpg; do alike "$(basename "$file"): scaled" 3 "$file"; done
for factors in 222112 222211 221122 121211 212111 211121 221221 221211 112222; do # each component's, which cjpeg takes as a list
    cjpeg -sample "$(sed 's/\(.\)\(.\)/\1x\2,/g; s/,$//' <<<$factors)" -outfile "$work/factors-$factors.jpg" "$work/synthetic.ppm"
    alike "factors $factors: scaled" 3 "$work/factors-$factors.jpg"
done
for format in yuvj420p yuvj422p yuvj444p yuvj440p yuvj411p; do # JPEG 2000 without loss has the decoded samples
    ffmpeg -f lavfi -i $odd -frames:v 2 -pix_fmt $format -c:v mjpeg_cuda -device cpu "$work/camera.avi"
    ffmpeg -c:v mjpeg_cuda -device "$device" -i "$work/camera.avi" -f rawvideo "$work/camera.raw"
    ffmpeg -c:v mjpeg_cuda -device "$device" -i "$work/camera.avi" -c:v j2k_cuda -device cpu -pred dwt53 "$work/camera.mkv"
    ffmpeg -i "$work/camera.mkv" -f rawvideo "$work/archive.raw"
    result "$format, archived" "$(cmp "$work/camera.raw" "$work/archive.raw" 2>&1 || true)"
done
result "a wrong device" "$([ "$("$build/ffmpeg" -nostdin -c:v mjpeg_cuda -device foo -i "$work/camera.avi" -f null - 2>&1 |
    grep -c "device 'foo' is not allowed")" = 1 ] || echo "is not told of once")"
for sampling in 1x1 2x1 2x2; do # frames of two fields
    files=()
    for field in 1 2 3 4 5 6; do
        cjpeg -quality $((50 + 8 * field)) -sample $sampling -outfile "$work/field$field" "$work/mandelbrot.ppm"
        files+=("$work/field$field")
    done
    "$here/fields.py" 256 288 "${files[@]}" >"$work/fields-$sampling.avi"
    for depth in 0 1 2 64; do alike "fields, $sampling, depth $depth" $depth "$work/fields-$sampling.avi"; done
    # The decoder opens for a picture, then for two fields: as many frames are in flight.
    depths=$("$build/ffmpeg" -nostdin -v repeat+verbose -c:v mjpeg_cuda -device "$device" -i "$work/fields-$sampling.avi" -f null - 2>&1 |
        sed -n 's/.*, async depth //p')
    result "fields, $sampling: frames in flight" "$([ "$(wc -l <<<"$depths")/$(uniq <<<"$depths" | wc -l)" = 2/1 ] || echo "$depths")"
    # FFmpeg's decoder forgets that they are interlaced.
    result "fields, $sampling: frames" "$(diff <(shown mjpeg -i "$work/fields-$sampling.avi" | sed 's/, progressive)/)/') \
        <(shown mjpeg_cuda -device "$device" -i "$work/fields-$sampling.avi" | sed 's/, bottom coded first (swapped))/)/') || true)"
done
head -c $(($(wc -c <"$work/fields-1x1.avi") - 9000)) "$work/fields-1x1.avi" >"$work/fields-cut.avi"
result "fields: one is missing" "$("$build/ffmpeg" -nostdin -y -v warning -c:v mjpeg_cuda -device "$device" -i "$work/fields-cut.avi" \
    -f null - 2>&1 | grep -q 'second field is missing\|JPEG: ' || echo "nothing is said")"
for depth in 1 4 64; do
    cat "$work"/synthetic-q*.jpg "$work"/mandelbrot-2x1.jpg "$work"/mandelbrot-gray.jpg \
        "$work"/mandelbrot-inks-ycck-2.jpg >"$work/stream"
    ffmpeg -c:v mjpeg_cuda -device "$device" -async_depth $depth -f jpeg_pipe -i "$work/stream" -noautoscale -f framemd5 "$work/md5-$depth"
    result "a stream of changing formats, depth $depth" "$(diff "$work/md5-1" "$work/md5-$depth" | head -n 3)"
done
head -c 5000 "$work/synthetic-q100.jpg" >"$work/cut.jpg"
result "a file that was cut" "$("$build/ffmpeg" -nostdin -y -v warning -c:v mjpeg_cuda -device "$device" -i "$work/cut.jpg" -f rawvideo "$work/cut" 2>&1 | grep -q 'JPEG: ' || echo "nothing is said")"
result "... is an error where errors are to end decoding" "$(ffmpeg -err_detect explode -c:v mjpeg_cuda -device "$device" -i "$work/cut.jpg" -f framemd5 - 2>/dev/null | grep '^0' || true)"
for lowres in 1 2 3; do
    djpeg -scale 1/$((1 << lowres)) -grayscale -outfile "$work/small.pgm" "$work/synthetic-gray.jpg"
    ffmpeg -f image2 -c:v pgm -i "$work/small.pgm" -f rawvideo "$work/small.raw"
    ffmpeg -c:v mjpeg_cuda -device "$device" -lowres $lowres -i "$work/synthetic-gray.jpg" -f rawvideo "$work/lowres.raw"
    result "lowres $lowres" "$(cmp "$work/small.raw" "$work/lowres.raw" 2>&1)"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
