#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# j2k_cuda's decoder in FFmpeg: formats without loss come back; FFmpeg's jpeg2000 gives the same of coded streams, and of a
# lower resolution; broken files are marked, or errors.
# Usage: j2k_decode.sh FFMPEG_BUILD; DEVICE=cpu   Ends in a line "N passed, N failed".
set -euo pipefail
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../tally.sh"
ffmpeg() { "$build/ffmpeg" -nostdin -y -v error "$@"; }
# sum_of OPTION...: the checksum of a frame
sum_of() { ffmpeg "$@" -f framemd5 - | grep '^0' || true; }
device=${DEVICE:-cpu}
decode=(-c:v j2k_cuda -device "$device")

for format in gray gray10 gray12 gray16 ya8 ya16 gbrp gbrp10 gbrp12 gbrap yuv420p yuv422p yuv444p yuva420p yuva444p yuv420p10 yuv422p10 \
    yuv444p12; do
    source=(-f lavfi -i testsrc2=s=202x150 -frames:v 1 -vf "format=$format")
    ffmpeg "${source[@]}" -f rawvideo "$work/source.raw"
    for style in 0 bypass+termall ht; do
        ffmpeg -f rawvideo -s 202x150 -pix_fmt "$format" -i "$work/source.raw" -c:v j2k_cuda -device cpu -pred dwt53 \
            -cblk_style $style -f image2 -update 1 "$work/a.jp2" 2>"$work/said" || continue
        result "$format, style $style" "$([ "$(sum_of -f rawvideo -s 202x150 -pix_fmt "$format" -i "$work/source.raw")" = \
            "$(sum_of "${decode[@]}" -i "$work/a.jp2" -pix_fmt "$format")" ] || echo "other samples")"
    done
done
for options in "-pred dwt53 -tile_width 64 -tile_height 48" "-pred dwt53 -layers 4 -prog rpcl" "-pred dwt53 -sop 1 -eph 1 -prog cprl"; do
    # shellcheck disable=SC2086 # options are many words
    ffmpeg -f lavfi -i testsrc2=s=202x150 -frames:v 1 -pix_fmt yuv420p -c:v j2k_cuda -device cpu $options -f image2 -update 1 "$work/b.jp2"
    for lowres in 0 1 2; do
        result "$options, lowres $lowres" "$([ "$(sum_of -lowres $lowres -c:v jpeg2000 -i "$work/b.jp2")" = \
            "$(sum_of -lowres $lowres "${decode[@]}" -i "$work/b.jp2")" ] || echo "other samples than FFmpeg's")"
    done
done
# A region is a crop of the picture.
for region in 0,0,202,150 40,30,64,48 100,2,1,1 2,148,200,2; do
    IFS=, read -r x y w h <<<"$region"
    result "region $region" "$([ "$(sum_of "${decode[@]}" -i "$work/b.jp2" -vf "crop=$w:$h:$x:$y:exact=1")" = \
        "$(sum_of "${decode[@]}" -region $region -i "$work/b.jp2")" ] || echo "other samples than those of the crop")"
done
result "region 40,32,64,48, lowres 1" "$([ "$(sum_of -lowres 1 "${decode[@]}" -i "$work/b.jp2" -vf crop=32:24:20:16:exact=1)" = \
    "$(sum_of -lowres 1 "${decode[@]}" -region 40,32,64,48 -i "$work/b.jp2")" ] || echo "other samples than those of the crop")"
said=$("$build/ffmpeg" -nostdin -v error "${decode[@]}" -region 200,0,4,4 -i "$work/b.jp2" -f null - 2>&1 || true)
result "a region beyond the picture" "$(grep -q 'within the picture of 202x150' <<<"$said" || echo "it says $said")"
ffmpeg -f lavfi -i testsrc2=s=202x150 -frames:v 1 -pix_fmt yuv420p -c:v j2k_cuda -device cpu -layers 3 -f image2 -update 1 "$work/layers.jp2"
result "layers: all" "$([ "$(sum_of "${decode[@]}" -layers 3 -i "$work/layers.jp2")" = "$(sum_of "${decode[@]}" -i "$work/layers.jp2")" ] || echo "other samples")"
result "layers: fewer" "$([ "$(sum_of "${decode[@]}" -layers 1 -i "$work/layers.jp2")" != "$(sum_of "${decode[@]}" -i "$work/layers.jp2")" ] || echo "the same samples")"
head -c 9000 "$work/b.jp2" >"$work/cut.jp2"
result "a file that was cut" "$("$build/ffmpeg" -nostdin -v warning "${decode[@]}" -i "$work/cut.jp2" -f null - 2>&1 | grep -q 'JPEG 2000: ' || echo "nothing is said")"
result "... is an error where errors are to end decoding" "$(sum_of -err_detect explode "${decode[@]}" -i "$work/cut.jp2" 2>/dev/null)"
ffmpeg -f lavfi -i testsrc2=s=64x64 -frames:v 1 -c:v j2k_cuda -device cpu -levels 2 -f image2 -update 1 "$work/c.jp2"
said=$("$build/ffmpeg" -nostdin -v error -lowres 3 "${decode[@]}" -i "$work/c.jp2" -f null - 2>&1 || true)
result "more lowres than levels" "$(grep -q 'lowres 3 of 2 decomposition levels' <<<"$said" || echo "it says $said")"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
