#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the encoders must refuse: each case fails with a clear line of its own and no crash. Usage: errors.sh FFMPEG_BUILD
# VALGRIND=1 runs every case under valgrind. Ends in a line "N passed, N failed".
set -uo pipefail
# FFmpeg's program sees after a period of its statistics that it failed.
ffmpeg=("${1:?usage: errors.sh FFMPEG_BUILD}/ffmpeg" -stats_period 0.02)
checker=()
[ -z "${VALGRIND-}" ] || checker=(valgrind --quiet --max-threads=4000 --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 lines=1 # of the encoder; two where a frame is lost
encoder=j2k_cuda

# report NAME PATTERN STATUS: in $work/log a line has the pattern, and the encoder says no other but those that libavutil adds
# to its own.
report() {
    local own
    own=$(grep -c "^\[$encoder @ " "$work/log")
    [ "$(grep -c "^\[$encoder @ .*\(Unable to parse\|Error setting option\)" "$work/log")" = 0 ] || own=1
    if [ "$3" = 0 ] || [ "$3" = 99 ] || { [ "$3" -gt 127 ] && [ "$3" -lt 160 ]; }; then
        echo "FAILED $1: exit status $3"
    elif [ "$own" != $lines ]; then
        echo "FAILED $1: $own lines of the encoder, $lines wanted"
    elif ! grep -qE -e "$2" "$work/log"; then
        echo "FAILED $1: no line '$2'"
    else
        passed=$((passed + 1))
        return
    fi
    sed 's/^/    /' "$work/log" | cut -c 1-200 | head -n 6
    failed=$((failed + 1))
}

# refuse SIZE,FORMAT PATTERN OPTION...
refuse() {
    local input=$1 pattern=$2 status=0
    shift 2
    "${checker[@]}" "${ffmpeg[@]}" -nostdin -v error -f lavfi -i "color=s=${input%%,*}:d=0.1" -vf "format=${input#*,}" -c:v "$encoder" \
        -device cpu "$@" -f null - >"$work/log" 2>&1 || status=$?
    report "$encoder $input $(echo "$*" | cut -c 1-60)" "$pattern" $status
}

refuse_qualities_and_fields() {
    refuse $any "quality 0 is not allowed: it is 1 to 100" -quality 0
    refuse $any "'quality' out of range" -quality 101
    refuse $any "q:v 0 is out of range: the quality is 1 .* to 100" -q:v 0
    refuse $any "q:v 101 is out of range: the quality is 1 .* to 100" -q:v 101
    refuse $any "global_quality 101 is out of range: the quality is 1 .* to 100" -global_quality 101
    refuse 64x50,yuv420p "height 50 is not allowed with fields: it is a multiple of 4" -vf setparams=field_mode=tff,format=yuv420p
}

any=64x48,yuv420p
refuse_qualities_and_fields
refuse $any "'levels' out of range \[-1 - 32\]" -levels 33
refuse $any "'levels' out of range \[-1 - 32\]" -levels -2
refuse $any "cblk_width 48 is not allowed: it is a power of two, 4 to 1024" -cblk_width 48
refuse $any "cblk_height 5 is not allowed: it is a power of two, 4 to 1024" -cblk_height 5
refuse $any "cblk_width 2 is not allowed: it is a power of two, 4 to 1024, or 0 \(default\)" -cblk_width 2
refuse $any "'cblk_height' out of range \[0 - 1024\]" -cblk_height 2048
refuse $any "cblk_width 128 x cblk_height 64 is not allowed: .* at most 4096" -cblk_width 128 -cblk_height 64
refuse $any "b, frame_bytes, compression_ratio, psnr and layer_rates are not allowed together" -b:v 1M -frame_bytes 1000
refuse $any "b, frame_bytes, compression_ratio, psnr and layer_rates are not allowed together" -psnr 40 -compression_ratio 5
refuse $any "rate_control pst, psb, bpi and psp are not allowed with psnr: allowed are pcrd and auto" -psnr 40 -rate_control psp
refuse $any "psnr 0.5 is not allowed: it is 1 to 150" -psnr 0.5
refuse $any "rate_control needs a target" -rate_control pcrd
refuse $any "rate_control none is not allowed with a target" -rate_control none -frame_bytes 1000
refuse $any "option rate_control to value foo" -rate_control foo
refuse $any "'pst_lag' out of range \[1 - 64\]" -rate_control pst -pst_lag 65 -frame_bytes 1000
refuse $any "'frame_bytes' out of range" -frame_bytes -1
refuse $any "compression_ratio 0.5 is not allowed: it is 1 to 1000000" -compression_ratio 0.5
refuse $any "a frame of 20 bytes is not possible: with nothing coded it takes [0-9]*" -frame_bytes 20 -format j2k
for rates in foo 10, 10,20 10,0.5 10,10; do
    refuse $any "layer_rates '$rates' is not allowed: it is compression ratios" -layer_rates $rates
done
refuse $any "layer_rates '20,10' has 2 layers: layers says 3" -layer_rates 20,10 -layers 3
refuse $any "option cblk_style to value foo" -cblk_style foo
refuse $any "option cblk_style to value bypass\+foo" -cblk_style bypass+foo
refuse $any "cblk_style 128 is not allowed: it is 0 to 127" -cblk_style 128
refuse $any "cblk_style ht is not allowed with another style: it is ht alone" -cblk_style ht+vsc
for mode in pst psb bpi; do
    refuse $any "rate_control pst, psb and bpi are not allowed with cblk_style ht: allowed are psp, pcrd and auto" -cblk_style ht -frame_bytes 5000 -rate_control $mode
done
refuse $any "layers 2 is not allowed with cblk_style ht and a target: the last of layer_rates is 1" -cblk_style ht -layer_rates 20,10
for target in "frame_bytes 5000" "b:v 900k" "compression_ratio 4" "psnr 40"; do
    # shellcheck disable=SC2086 # two words
    refuse $any "layers 2 is not allowed with cblk_style ht and a target: " -cblk_style ht -layers 2 -$target
done
refuse $any "roi '1,2,3,4' is not allowed with cblk_style ht: there is none" -cblk_style ht -roi 1,2,3,4
for precincts in foo 32 32x 32x32, ,32x32 32x32x32 32x-32 99999999999x32; do
    refuse $any "precincts '$precincts'.* is not allowed: " -precincts "$precincts"
done
refuse $any "precincts '100x100'.* is not allowed: .* powers of two" -precincts 100x100
refuse $any "precincts '0x0'.* is not allowed: .* powers of two" -precincts 0x0
refuse $any "precincts '1x1'.* is not allowed: .* lowest resolution" -precincts 1x1
refuse $any "precincts '65536x65536'.* is not allowed: .* 32768" -precincts 65536x65536
refuse $any "'tile_width' out of range" -tile_width -5
refuse 300x300,gray "tile_width 1, tile_height 1 cut .* at most 65535" -tile_width 1 -tile_height 1
refuse $any "mct 1 is not allowed: .* three components of one size" -mct 1
refuse 64x48,gray "mct 1 is not allowed: .* three components of one size" -mct 1
refuse $any "'mct' out of range" -mct 2
refuse $any "guard_bits 0 is not allowed: it is 1 to 7" -guard_bits 0
refuse $any "'guard_bits' out of range \[-1 - 7\]" -guard_bits 8
refuse $any "option prog to value xyz" -prog xyz
refuse $any "option format to value tif" -format tif
refuse $any "option pred to value dwt99" -pred dwt99
refuse $any "pred has the values: auto, dwt97, dwt97int, dwt53" -pred lossless
refuse $any "cblk_style has the values: bypass, reset, termall, vsc, erterm, segsym" -cblk_style bypass+foo
refuse $any "option sop to value maybe" -sop maybe
refuse $any "tile_x_offset 6 is not allowed with x_offset 5: it is at most that" -x_offset 5 -tile_x_offset 6
refuse $any "tile_y_offset 1 is not allowed with y_offset 0: it is at most that" -tile_y_offset 1
refuse $any "tile_x_offset 1 is not allowed with x_offset 9 and tile_width 8: the first tile has nothing" -x_offset 9 -tile_x_offset 1 -tile_width 8
refuse $any "tile_y_offset 0 is not allowed with y_offset 8 and tile_height 8: the first tile has nothing" -y_offset 8 -tile_height 8
refuse 64x48,yuv420p "y_offset 3 is not allowed with sub-sampled components: it is a multiple of 2" -x_offset 2 -y_offset 3
refuse 64x48,rgb24 "x_offset 4 is not allowed where frames become X'Y'Z': it is 0" -xyz on -x_offset 4
for roi in foo 1,2,3 1,2,3,4,5 0,0,0,1 0,-1,2,2 60,0,5,5 0,40,4,9 2147483647,0,2147483647,1; do
    refuse $any "roi '$roi' is not allowed: " -roi $roi
done
refuse 64x48,gray14 "roi '0,0,8,8' is not allowed with [0-9]* bit-planes: there are at most 14" -roi 0,0,8,8 -pred dwt53
for poc in foo 0,0,1,6,3 0,0,1,6,3,xyz 0,0,1,6,3,cprl/ 0,0,1,6,3,cprl,; do
    refuse $any "poc '$poc' is not allowed: " -poc $poc
done
refuse $any "poc '0,0,1,7,3,lrcp': resolutions 0 to 7 are not allowed: they are 0 to 6" -poc 0,0,1,7,3,lrcp
refuse $any "poc '0,2,1,6,2,lrcp': components 2 to 2 are not allowed: they are 0 to 3" -poc 0,2,1,6,2,lrcp
refuse $any "poc '0,0,2,6,3,lrcp': layers 0 to 2 are not allowed: they are 0 to 1" -poc 0,0,2,6,3,lrcp
refuse $any "poc '0,0,1,5,3,lrcp' leaves out resolution 5 of component 0" -poc 0,0,1,5,3,lrcp
refuse $any "poc '0,0,2,6,3,lrcp' leaves out resolution 0 of component 0 in layer 2" -layers 3 -poc 0,0,2,6,3,lrcp
refuse $any "a frame of 1 bytes is not possible" -b:v 1 -format j2k
refuse $any "layers 0 is not allowed: it is 1 to 100, or -1 \(default\)" -layers 0
refuse $any "'layers' out of range \[-1 - 100\]" -layers 101
refuse $any "option tile_parts to value layer" -tile_parts layer
refuse 64x48,gray "tile_parts cut a tile into 256: at most 255 are allowed" -tile_parts resolution -layers 64 -levels 3
refuse 256x256,gray "tile_parts cut a tile into [0-9]*: at most 255 are allowed" -tile_parts resolution -prog pcrl -precincts 8x8
# Profiles.
profile() { # PROFILE SIZE,FORMAT PATTERN OPTION...
    local name=$1 input=$2 pattern=$3
    shift 3
    refuse "$input" "profile $name: $pattern" -profile "$name" "$@"
}
dcp=64x48,xyz12le
profile cinema2k 2050x48,xyz12le "picture size 2050x48 is not allowed: it is at most 2048x1080 \(T.800 Table A.46\)"
profile cinema4k 64x2162,xyz12le "picture size 64x2162 is not allowed: it is at most 4096x2160"
profile imf2k 64x1557,gray "picture size 64x1557 is not allowed: it is at most 2048x1556 \(T.800 Table A.51\)"
profile imf4k 4098x2,gray "picture size 4098x2 is not allowed: it is at most 4096x3112"
profile imf8k_r 8194x2,gray "picture size 8194x2 is not allowed: it is at most 8192x6224 \(T.800 Table A.52\)"
profile cinema2k 64x48,gbrp12le "a format other than XYZ is not allowed: .*\(SMPTE ST 428-1\)" -xyz off
profile cinema2k 64x48,gbrap12le "a format other than XYZ is not allowed"
refuse 64x48,gray "xyz 1 is not allowed: it takes RGB and YUV without alpha" -xyz on
refuse 64x48,gbrp10le "xyz 2 is not allowed with depth 10: it is 12 or 16" -xyz already
refuse 64x48,rgba64 "xyz 2 is not allowed: it takes RGB without alpha, of 12 or 16 bits" -xyz already
refuse 64x48,gbrp "xyz: frames of transfer 16 are not converted: xyz_transfer names another, or xyz_lut is given" \
    -xyz on -vf setparams=color_trc=smpte2084
refuse 64x48,gbrp "xyz_lut '/nonexistent.cube' is not allowed: it cannot be opened" -xyz on -xyz_lut /nonexistent.cube
profile imf2k 64x48,rgba "4 components is not allowed: there are at most 3"
profile broadcast 64x48,gray14 "depth 14 of component 0 is not allowed: it is 8 to 12 \(T.800 Table A.48\)"
profile imf2k 64x48,yuv420p "component 1 sub-sampled by 2, 2 is not allowed: it is 4:4:4 or 4:2:2"
profile broadcast 64x48,yuv411p "component 1 sub-sampled by 4, 1 is not allowed"
profile cinema2k $dcp "tile_width 32, tile_height 48 is not allowed: there is one tile" -tile_width 32
profile imf4k_r 1500x48,gray "tile_width 1024, tile_height 48 is not allowed: .* 1024x1024 or 2048x2048" -tile_width 1024
for tile in 512 1536; do
    profile imf4k_r 1600x1600,gray "tile_width $tile, tile_height $tile is not allowed" -tile_width $tile -tile_height $tile
done
for tile in 32x48 16x48 40x24 32x30; do
    profile broadcast 64x48,gray "tile_width ${tile%x*}, tile_height ${tile#*x} is not allowed: .* four equal ones" \
        -tile_width ${tile%x*} -tile_height ${tile#*x}
done
profile cinema2k $dcp "pred dwt53 is not allowed: it is dwt97" -pred dwt53
profile imf2k_r 64x48,gray "pred dwt97 is not allowed: it is dwt53" -pred dwt97
profile cinema2k $dcp "levels 4 is not allowed: it is 5 \(SMPTE ST 429-2\)" -levels 4
for levels in 0 5; do
    profile cinema4k $dcp "levels $levels is not allowed: it is 6 \(SMPTE ST 429-2\)" -levels $levels
done
for segment in plt sop eph; do
    profile cinema2k $dcp "$segment 1 is not allowed: there is no such marker segment \(SMPTE ST 429-4\)" -$segment 1
done
profile cinema2k $dcp "a frame rate of 24000/1001 is not allowed: it is 16, 200/11, 20, 240/11, 24, 25, 30, 48, 50, 60 or 96 " -r 24000/1001
profile cinema4k $dcp "a frame rate of 96/1 is not allowed: it is .* 25 or 30, with hfr 48, 50 or 60" -r 96
profile cinema4k $dcp "a frame rate of 48/1 is not allowed: it is .* 25 or 30, with hfr 48, 50 or 60" -r 48
profile cinema4k $dcp "a frame rate of 96/1 is not allowed: it is .* 50 or 60" -r 96 -hfr 1
profile cinema2k $dcp "format jp2 is not allowed: frames are bare codestreams \(SMPTE ST 429-4\)" -format jp2
profile cinema2k $dcp "a frame rate of 96/1 is not allowed: it is .* 50 or 60" -r 96 -stereo 1
profile cinema4k $dcp "stereo 1 is not allowed: stereoscopic pictures are 2K" -stereo 1
profile cinema2k $dcp "hfr 1 at 48 frames/s is not allowed: it begins at 60" -hfr 1 -r 48
profile cinema4k $dcp "hfr 1 at 30 frames/s is not allowed: it begins at 48" -hfr 1 -r 30
refuse $any "hfr and stereo are not allowed without profile cinema2k or cinema4k" -hfr 1
refuse $any "hfr and stereo are not allowed without profile cinema2k or cinema4k" -stereo 1 -profile broadcast
refuse 64x48,gray "profile imf2k: an unknown frame rate is not allowed" -profile imf2k -vf "format=gray,settb=1/1000,setpts=N*40" -fps_mode vfr
refuse $dcp "min_frame_bytes 1250000 is not allowed: with these options it is at most 1249994" -profile cinema2k -min_frame_bytes 1250000
refuse $any "min_frame_bytes 5000 is not allowed: with these options it is at most 3994" -frame_bytes 4000 -min_frame_bytes 5000
while read -r width most; do
    profile imf8k_r "${width}x2,gray" "levels $((most + 1)) is not allowed: it is 1 to $most with tiles $width wide" -levels $((most + 1))
done <<'END'
64 4
2047 4
2048 5
4095 5
4096 6
8191 6
END
profile imf2k 64x48,gray "cblk_width 64, cblk_height 64 is not allowed: code-blocks are 32x32" -cblk_width 64 -cblk_height 64
profile broadcast 64x48,gray "cblk_width 16, cblk_height 32 is not allowed" -cblk_width 16
profile imf2k 64x48,gray "an offset of picture or tiles is not allowed: they begin at 0, 0" -y_offset 2
profile imf2k 64x48,gray "roi is not allowed: there is no region of interest" -roi 0,0,8,8
profile imf2k 64x48,gray "cblk_style is not allowed: code-blocks have no style" -cblk_style segsym
profile imf2k 64x48,gray "cblk_style ht is not allowed: code-blocks have no style; profiles imf_ht and imf_ht_r have it \(T.800 Table A.51\)" -cblk_style ht
profile cinema2k $dcp "cblk_style ht is not allowed: code-blocks have no style \(T.800 Table A.46\)" -cblk_style ht
profile imf2k 64x48,gray "layers 2 is not allowed: there is one quality layer" -layers 2
profile cinema2k $dcp "layers 3 is not allowed: there is one quality layer" -layers 3
profile broadcast 64x48,gray "layers 2 is not allowed: there is one quality layer" -layers 2
profile imf2k 64x48,gray "precincts 128x128 of resolution 1 is not allowed" -precincts 128x128
profile imf2k 64x48,gray "prog other than cprl is not allowed: it is cprl" -prog rpcl
profile imf2k 64x48,gray "poc is not allowed: there are no progression order changes" -poc 0,0,1,6,1,cprl
for poc in 0,0,1,7,3,cprl 0,0,1,7,3,cprl/6,0,1,7,3,cprl 0,0,1,6,3,cprl/0,0,1,7,3,cprl 0,0,1,6,3,rpcl/6,0,1,7,3,cprl \
    0,0,1,6,3,cprl/6,0,1,7,3,lrcp; do
    profile cinema4k $dcp "poc is not allowed: it puts the 2K picture first" -poc $poc
done
profile imf2k 64x48,gray "tile_parts resolution is not allowed" -tile_parts resolution
profile imf2k 64x48,gray "tlm 0 is not allowed" -tlm 0
profile cinema2k $dcp "mct 0 is not allowed: it is 1 \(DCI DCSS 4.3.1\)" -mct 0
profile cinema2k $dcp "guard_bits 2 is not allowed: it is 1 \(SMPTE ST 429-4\)" -guard_bits 2
profile cinema4k $dcp "guard_bits 1 is not allowed: it is 2" -guard_bits 1
profile cinema2k $dcp "main_level or sub_level is not allowed" -main_level 1
profile imf2k 2048x1556,yuv422p10le "159.3 million samples/s with main_level 2 is not allowed: there are at most 130 \(T.800 Table A.53\)" -main_level 2
profile imf2k 64x48,gray "sub_level 2 is not allowed: it is 1 to 1 with main_level 1 \(T.800 Table A.54\)" -sub_level 2 -main_level 1
profile imf2k 64x48,gray "sub_level 0 is not allowed: lossy streams have 1 or more \(SMPTE ST 2067-21\)" -sub_level 0
for lossless in imf2k_r imf4k_r imf8k_r imf_ht_r; do
    profile $lossless 64x48,gray "b 50000000 is not allowed: it is lossless" -b:v 50M
    profile $lossless 64x48,gray "frame_bytes 2000 is not allowed: it is lossless" -frame_bytes 2000
    profile $lossless 64x48,gray "compression_ratio 4 is not allowed: it is lossless" -compression_ratio 4
    profile $lossless 64x48,gray "psnr 50 is not allowed: it is lossless" -psnr 50
    profile $lossless 64x48,gray "layer_rates '4' is not allowed: it is lossless" -layer_rates 4
done
profile imf2k_r 64x48,gbrp12le "xyz on is not allowed: it is lossless" -xyz on
profile imf2k_r 64x48,gray "sub_level 1 is not allowed: lossless streams have 0 \(SMPTE ST 2067-21\)" -sub_level 1
profile broadcast 64x48,gray "main_level 8 is not allowed: it is 1 to 7 \(T.800 Table A.49\)" -main_level 8
profile broadcast 64x48,gray "main_level 5 is not allowed: it is 6 to 7 \(T.800 Table A.50\)" -pred dwt53 -main_level 5
profile broadcast 64x48,gray "sub_level 1 is not allowed: there is none" -sub_level 1
# IMF's profiles with the HT block coder.
annex_h="\(SMPTE ST 2067-21 Annex H\)"
profile imf_ht 8194x2,gray "picture size 8194x2 is not allowed: it is at most 8192x6224 $annex_h"
profile imf_ht 64x48,yuv420p "component 1 sub-sampled by 2, 2 is not allowed: it is 4:4:4 or 4:2:2 $annex_h"
profile imf_ht 64x48,gray "tile_width 32, tile_height 48 is not allowed: there is one tile $annex_h" -tile_width 32
profile imf_ht 64x48,gray "pred dwt53 is not allowed: it is dwt97 $annex_h" -pred dwt53
profile imf_ht_r 64x48,gray "pred dwt97 is not allowed: it is dwt53 $annex_h" -pred dwt97
profile imf_ht 64x48,gray "levels 0 is not allowed: it is 1 to 5 in a picture of this size $annex_h" -levels 0
profile imf_ht 2050x4,gray "levels 7 is not allowed: it is 1 to 6 in a picture of this size $annex_h" -levels 7
profile imf_ht 64x48,gray "cblk_width 32, cblk_height 128 is not allowed: the width is 32 to 128, the height 32 or 64 $annex_h" -cblk_height 128
profile imf_ht 64x48,gray "cblk_style other than ht is not allowed: it is ht $annex_h" -cblk_style segsym
profile imf_ht 64x48,gray "layers 2 is not allowed: there is one quality layer $annex_h" -layers 2
profile imf_ht 64x48,gray "precincts 128x128 of resolution 1 is not allowed: .* $annex_h" -precincts 128x128
profile imf_ht 64x48,gray "prog other than rpcl is not allowed: it is rpcl $annex_h" -prog cprl
profile imf_ht 64x48,gray "poc is not allowed: there are no progression order changes $annex_h" -poc 0,0,1,6,1,rpcl
profile imf_ht 64x48,gray "tlm 0 is not allowed: TLM marker segments are demanded $annex_h" -tlm 0
profile imf_ht 64x48,gray "main_level or sub_level is not allowed: there are no levels $annex_h" -main_level 2
refuse 64x48,gray "roi '0,0,8,8' is not allowed with cblk_style ht: there is none" -profile imf_ht_r -roi 0,0,8,8
# DICOM's transfer syntaxes of HTJ2K.
profile dicom_ht_lossless 64x48,rgb24 "pred dwt97 is not allowed: it is lossless" -pred dwt97
profile dicom_ht_rpcl 64x48,rgb24 "frame_bytes 5000 is not allowed: it is lossless" -frame_bytes 5000
profile dicom_ht 64x48,rgba "a picture of 4 components is not allowed: there are 1 or 3 \(DICOM PS3.5 Table 8.2.4-1\)"
profile dicom_ht 64x48,yuv422p "component 1, which is sub-sampled, is not allowed: none is \(DICOM PS3.5 Table 8.2.4-1\)"
profile dicom_ht 64x48,gray "cblk_style other than ht is not allowed: it is ht \(DICOM PS3.5 10.18\)" -cblk_style bypass
profile dicom_ht 64x48,gray "format jp2 is not allowed: frames are bare codestreams \(DICOM PS3.5 A.4.4\)" -format jp2
profile dicom_ht_rpcl 64x48,gray "prog other than rpcl is not allowed: it is rpcl \(DICOM PS3.5 10.18\)" -prog lrcp
profile dicom_ht_rpcl 64x48,gray "poc is not allowed: the order is rpcl \(DICOM PS3.5 10.18\)" -poc 0,0,1,6,1,rpcl
profile dicom_ht_rpcl 64x48,gray "tlm 0 is not allowed: TLM marker segments are demanded \(DICOM PS3.5 10.18\)" -tlm 0
profile dicom_ht_rpcl 400x300,gray "levels 2 is not allowed: it is 3 or more, so that the lowest resolution has a width or height of at most 64 " -levels 2
refuse $any "main_level and sub_level are not allowed without a profile of IMF or broadcast" -main_level 1
refuse $any "main_level and sub_level are not allowed without a profile of IMF or broadcast" -profile access -main_level 1
refuse $any "hfr and stereo are not allowed without profile cinema2k or cinema4k" -profile archive_lossless -hfr 1
master=(-profile archive_lossless)
refuse $any "profile archive_lossless: pred dwt97 is not allowed: it is lossless" "${master[@]}" -pred dwt97
refuse $any "profile archive_lossless: b 900000 is not allowed: it is lossless" "${master[@]}" -b:v 900k
refuse $any "profile archive_lossless: frame_bytes 9000 is not allowed: it is lossless" "${master[@]}" -frame_bytes 9000
refuse $any "profile archive_lossless: compression_ratio 2 is not allowed: it is lossless" "${master[@]}" -compression_ratio 2
refuse $any "profile archive_lossless: psnr 60 is not allowed: it is lossless" "${master[@]}" -psnr 60
refuse 64x48,rgb24 "profile archive_lossless: xyz on is not allowed: it is lossless" "${master[@]}" -xyz on
refuse $any "profile archive_lossless: layer_rates '9,3', whose last one is not 1, is not allowed: it is lossless" "${master[@]}" -layer_rates 9,3
printf 'no RDF' >"$work/none"
refuse $any "xmp '/nowhere' is not allowed: it cannot be opened" -xmp /nowhere
refuse $any "xmp '.*' is not allowed: it is no XMP, which has an element rdf:RDF in UTF-8" -xmp "$work/none"
refuse $any "xmp '/' is not allowed: it cannot be read, or is empty" -xmp /
refuse $any "iptc '.*' is not allowed: it is neither IPTC-IIM, which .*, nor Photoshop image resources" -iptc "$work/none"
refuse $any "capture_ppi 0.5 is not allowed: it is 1 to 100000, or 0 \(default\)" -capture_ppi 0.5
refuse $any "'display_ppi' out of range" -display_ppi 100001
refuse $any "option profile to value dcp" -profile dcp
refuse $any "visual_weights 1 is not allowed without a target of bytes" -visual_weights 1
refuse $any "visual_weights 1 is not allowed without a target of bytes" -visual_weights 1 -psnr 40
# Frames that are too large are cut, as a whole and by component, and no shorter than they have to be.
shrink() {
    local name=$1 most=$2 size
    shift 2
    "${checker[@]}" "${ffmpeg[@]}" -nostdin -y -v error "$@" -c:v j2k_cuda -device cpu "${options[@]}" -f image2pipe "$work/cut.j2k" \
        >"$work/log" 2>&1 || echo "$name failed" >>"$work/log"
    size=$(stat -c %s "$work/cut.j2k" || echo 0)
    if [ "$size" -le "$most" ] && [ $((size * 1000)) -ge $((most * 995)) ] && [ ! -s "$work/log" ]; then
        passed=$((passed + 1))
    else
        echo "FAILED $name: $size bytes, not $most"
        failed=$((failed + 1))
    fi
}
"${ffmpeg[@]}" -nostdin -v error -f lavfi -i color=s=2048x1080:d=0.04 -vf noise=alls=100:allf=t,format=rgb48le -f rawvideo "$work/noise.raw"
noise=(-f rawvideo -video_size 2048x1080 -i "$work/noise.raw")
options=(-profile cinema2k -quality 99)
shrink "cinema2k, 25 frames/s" 1250000 -pixel_format xyz12le "${noise[@]}"
shrink "cinema2k, 24 frames/s" 1302083 -framerate 24 -pixel_format xyz12le "${noise[@]}"
shrink "cinema2k, 24 frames/s, a target" 1000000 -framerate 24 -pixel_format xyz12le "${noise[@]}" -b:v 192M
shrink "cinema2k, 60 frames/s, HFR" 1041666 -framerate 60 -pixel_format xyz12le "${noise[@]}" -hfr 1
shrink "cinema2k, an eye's, 24 frames/s" 651041 -framerate 24 -pixel_format xyz12le "${noise[@]}" -stereo 1
options=(-profile imf2k -quality 99 -sub_level 1)
shrink "imf2k, sub level 1" 1000000 -pixel_format gbrp12le "${noise[@]}"
# What a profile cuts, what validators refuse, and which of FFmpeg's options do nothing, is said once.
warns() { # SIZE,FORMAT PATTERN OPTION...
    local input=$1 pattern=$2
    shift 2
    "${checker[@]}" "${ffmpeg[@]}" -nostdin -v warning -f lavfi -i "color=s=${input%%,*}:r=24:d=0.2" -vf "format=${input#*,}" -c:v $encoder \
        -device cpu "$@" -f null - >"$work/log" 2>&1
    if [ "$(grep -c "^\[$encoder @ " "$work/log")" = 1 ] && grep -qE -e "$pattern" "$work/log"; then
        passed=$((passed + 1))
    else
        echo "FAILED warning '$pattern'"
        sed 's/^/    /' "$work/log" | cut -c 1-200 | head -n 6
        failed=$((failed + 1))
    fi
}
warns 64x48,rgb24 "FFmpeg \(a picture far from the grid's origin\)" -x_offset 20000 -y_offset 20000
warns $dcp "profile cinema2k: b 500000000 is not reached: frames have at most 1302083 bytes \(250 Mbit/s\)" -profile cinema2k -b:v 500M
warns $dcp "profile cinema2k: frame_bytes 1302084 is not reached: .* 1302083 bytes" -profile cinema2k -frame_bytes 1302084
warns 2050x4,xyz12le "profile cinema4k: psnr 40 is missed where it takes more: .* 1302083 bytes" -profile cinema4k -psnr 40
warns $dcp "profile cinema4k: validators refuse pictures of 64 columns: it is for more than 2048" -profile cinema4k
warns 64x48,gray "profile imf2k: b 250000000 is not reached: .* 1041666 bytes \(200 Mbit/s\)" -profile imf2k -main_level 3 -b:v 250M
warns 64x48,gray "profile imf4k: validators refuse pictures of 64 columns: it is for more than 2048" -profile imf4k
warns 64x48,yuv420p "xyz: the frames do not tell all of their colours, taken are primaries bt709, transfer gamma24, matrix bt601: " \
    -profile cinema2k
warns 64x48,rgb24 "xyz_range, .* and xyz_lut have no effect: frames do not become X'Y'Z'" -format j2k -xyz_primaries p3d65
warns 64x48,gray "profile imf2k: validators refuse main level 7: it is 1 to 6" -profile imf2k -main_level 7
warns 64x48,gray "xmp, iptc, capture_ppi and display_ppi have no effect: format j2k has no place for them" -format j2k -capture_ppi 300
warns 64x48,yuv444p "format j2k cannot tell of YUV 4:4:4: FFmpeg's decoder takes it for RGB" -format j2k
warns 64x48,gray "format jp2 cannot tell of limited range: decoders of .jp2 files take samples for full-range grey" -vf format=gray,setparams=range=tv
warns 64x48,gray "pred dwt53 has no quality: 40 has no effect" -format j2k -pred dwt53 -quality 40
warns 64x48,gray "regions of interest have no effect: they weigh errors where the MQ coder meets a target of bytes" -format j2k \
    -vf addroi=8:8:16:16:-1/8
warns 64x48,gray "pred dwt53 has no quality: 40 has no effect" -profile:v archive_lossless -quality 40
for encoder in j2k_cuda mjpeg_cuda; do
    warns 64x48,gray "-maxrate and -bufsize have no effect: -b:v limits each frame" -maxrate 1M
    warns 64x48,gray "-maxrate and -bufsize have no effect: -b:v limits each frame" -bufsize 1M
done
encoder=j2k_cuda
warns 64x48,gray "-maxrate has no effect: no frame exceeds -b:v" -b:v 2M -maxrate 1M
warns 64x48,gray "-minrate has no effect$" -b:v 2M -maxrate 2M -minrate 2M
for encoder in j2k_cuda mjpeg_cuda h264_cavlc_cuda; do
    warns 64x48,gray "-pass has no effect: frames are coded in one pass" -pass 1 -passlogfile "$work/pass"
    warns 64x48,gray "the frame rate is not known, and taken for 25: -r sets it" -b:v 100k -vf "format=gray,settb=1/1000,setpts=N*40" -fps_mode vfr
done
warns 64x48,gray "-bf has no effect: there are no B pictures" -bf 2
warns 64x48,yuv420p "-bf has no effect: there are no B pictures" -g 12 -bf 2
warns 1280x720,yuv422p10le "the frame rate is not known, and taken for 25: -r sets it" -avcintra-class 100 \
    -vf "format=yuv422p10le,settb=1/1000,setpts=N*40" -fps_mode vfr
warns 64x48,gray "-minrate has no effect: -cbr 1 fills the stream up to its bit rate" -b:v 2M -minrate 2M
encoder=h264_cavlc_cuda lines=1
refuse 64x48,yuv444p "gop_size 12 is not allowed with profile cavlc444, which is all intra: it goes with any other" -g 12 -profile:v cavlc444
refuse 64x48,yuv444p "profile high422 is not allowed with 4:4:4 of 8 bits" -g 12 -profile:v high422
refuse 64x48,yuv420p "gop_size 12 is not allowed with effort 2: it goes with 0" -g 12 -effort 2
refuse 64x48,yuv420p "gop_size 12 is not allowed with encryption" -g 12 -encrypt_key 00112233445566778899aabbccddeeff -encrypt_iv 00112233445566778899aabbccddeeff
refuse 64x48,yuv420p "min_gop_size 13 is not allowed: it is 0 to 12" -g 12 -keyint_min 13
refuse 64x48,yuv420p "intra_refresh 12 is not allowed: it is 0 to 11" -g 12 -intra_refresh 12
refuse 64x48,yuv420p "slice_max_bytes 639 is not allowed: it is 640 to 1000000, or 0" -g 12 -slice_max_bytes 639
refuse 64x48,yuv420p "slice_max_bytes 1200 is not allowed with gop_size 1: it goes with P pictures" -slice_max_bytes 1200
refuse 64x48,yuv420p "slices 2 is not allowed with slice_max_bytes, which divides pictures" -g 12 -slice_max_bytes 1200 -slices 2
refuse 64x48,yuv420p "lookahead 8 is not allowed with gop_size 1: it goes with P pictures" -lookahead 8
refuse 64x48,yuv420p "lookahead 8 is not allowed with intra_refresh: it is 0" -g 12 -lookahead 8 -intra_refresh 4
refuse 64x48,yuv420p "lookahead 8 is not allowed with -flags low_delay: it is 0" -g 12 -lookahead 8 -flags low_delay
refuse 64x48,yuv420p "intra_refresh 5 is not allowed with gop_size 1: it goes with P pictures" -intra_refresh 5
refuse 64x48,yuv420p "'sc_threshold' out of range \[0 - 100\]" -g 12 -sc_threshold 101
refuse 64x48,yuv420p "gop_size 2000000 is not allowed: it is 1 to 1000000" -g 2000000
encoder=j2k_cuda lines=1
refuse 32769x2,gray "size 32769x2 is not allowed: .* 1 to 32768"
refuse 2x32769,gray "size 2x32769 is not allowed: .* 1 to 32768"

# Of both encoders: devices, and a picture of another size or format within a stream.
"${ffmpeg[@]}" -nostdin -v error -f lavfi -i color=s=64x48 -frames:v 1 -pix_fmt rgb24 "$work/1.ppm"
for encoder in j2k_cuda mjpeg_cuda; do
    refuse $any "device 'foo' is not allowed: it is auto, cpu, cuda or cuda:N" -device foo
    refuse $any "device 'cuda:x' is not allowed: it is auto, cpu, cuda or cuda:N" -device cuda:x
    refuse $any "[Cc][Uu][Dd][Aa]" -device cuda:99
    refuse $any "'async_depth' out of range \[0 - 64\]" -async_depth -1
    refuse $any "'async_depth' out of range \[0 - 64\]" -async_depth 65
    refuse $any "threads 2000 is not allowed: it is 0 to 1024" -threads 2000
    refuse $any "comment of 70000 bytes is not allowed: .* at most" -comment "$(printf '%070000d' 1)"
    for size in 48x48 64x64; do
        "${ffmpeg[@]}" -nostdin -y -v error -f lavfi -i color=s=$size -frames:v 1 -pix_fmt rgb24 "$work/2.ppm"
        status=0
        "${checker[@]}" "${ffmpeg[@]}" -nostdin -v error -i "$work/%d.ppm" -noautoscale -c:v $encoder -device cpu -f null - >"$work/log" 2>&1 || status=$?
        report "$encoder: another size" "$size rgb24 in a stream of 64x48 rgb24: size and format cannot change" $status
    done
done

encoder=mjpeg_cuda
any=64x48,yuvj420p
matrix() { printf "$1%s" "$(printf ',16%.0s' {1..63})"; } # its first divisor
warns $any "JPEG cannot tell of colour matrix 1: decoders take samples for those of BT.601" -vf format=yuvj420p,setparams=colorspace=bt709
refuse_qualities_and_fields
refuse $any "huffman has the values: default, optimal$" -huffman xyz
refuse $any "option matrix to value xyz" -matrix xyz
refuse $any "'matrix' out of range \[0 - 2\]" -matrix 3
refuse $any "matrix 1 is not allowed with luma_matrix or chroma_matrix" -matrix flat -intra_matrix "$(matrix 16)"
refuse $any "option trellis to value 2" -trellis 2
refuse $any "'restart_interval' out of range \[-1 - 65535\]" -restart_interval -2
refuse $any "'restart_interval' out of range \[-1 - 65535\]" -restart_interval 65536
refuse $any "option restart_interval to value column" -restart_interval column
refuse $any "mct 1 is not allowed: it takes RGB" -mct 1
refuse 64x48,rgb24 "option mct to value 2" -mct 2
refuse $any "luma_matrix: divisor 0 at row 0, column 0 is not allowed: it is 1 to 255" -intra_matrix "$(matrix 0)"
refuse $any "chroma_matrix: divisor 256 at row 0, column 0 is not allowed: it is 1 to 255" -chroma_intra_matrix "$(matrix 256)"
refuse $any "-maxrate and -bufsize are not supported" -b:v 1M -maxrate 2M
refuse $any "-maxrate and -bufsize are not supported" -b:v 1M -bufsize 2M
refuse $any "quality_max 20 is not allowed: it is 50 to 100" -b:v 1M -qmin 50 -qmax 20
refuse $any "quality_max 101 is not allowed: it is 1 to 100" -b:v 1M -qmax 101
refuse $any "frame_bytes 40000000000 is not allowed: it is 0 to 2147483647" -b:v 8000G
refuse 65536x2,gray "size 65536x2 is not allowed: .* 1 to 65535"
refuse 2x65536,gray "size 2x65536 is not allowed: .* 1 to 65535"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
