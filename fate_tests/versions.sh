#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# FFmpeg's branches: each takes the codecs in and gives them back, its patches apply, and a minimal build without a warning
# makes the streams of all references, and MXF that says what is in them. Usage: versions.sh BRANCH...   MAKE=make
# Ends in a line "N passed, N failed".
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
make=${MAKE:-make}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

result() { # NAME STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $1"; fi
}
check() { # NAME COMMAND...
    local name=$1 status=0
    shift
    "$@" >"$work/log" 2>&1 || { status=1 && tail -n 20 "$work/log"; }
    result "$name" $status
}
# The tests of a command whose last line is "N passed, N failed".
count_in() { # NAME COMMAND...
    local name=$1 good bad
    shift
    "$@" >"$work/log" 2>&1 || true
    read -r good _ bad _ <<<"$(tail -n 1 "$work/log")"
    if [ -n "${bad-}" ] && [ "$good" -gt 0 ] 2>/dev/null; then
        passed=$((passed + good)) failed=$((failed + bad))
        [ "$bad" = 0 ] || tail -n 20 "$work/log"
    else
        tail -n 20 "$work/log"
        result "$name" 1
    fi
}
same() { diff -r --no-dereference "$1" "$2"; }

prepare() { FFMPEG_SRC=$work/tree "$root/patches/prepare.sh" "$@"; }
# A tree of a fork: nothing is touched by a dry run, all comes and goes, and comes once.
goes_in_and_out() {
    prepare --dry-run && same "$work/pristine" "$work/tree" || return 1
    "$root/patches/hooks.py" "$work/tree" && cp -a "$work/tree" "$work/hooked" || return 1
    "$root/patches/hooks.py" "$work/tree" && same "$work/hooked" "$work/tree" || return 1
    [ -z "$(find "$work/tree" -type l -lname "$root/*")" ] || return 1
    prepare --undo && same "$work/pristine" "$work/tree" || return 1
    # Without what goes beyond the codecs other libraries are left alone; what was there goes out.
    "$root/patches/hooks.py" "$work/tree" && "$root/patches/hooks.py" --codecs-only "$work/tree" || return 1
    for library in libavformat libavutil; do same "$work/pristine/$library" "$work/tree/$library" || return 1; done
    prepare --undo && same "$work/pristine" "$work/tree"
}
# A list that is not found: one line says which, and no file has changed.
all_or_nothing() {
    local status=0
    sed -i '/^extern const FFCodec ff_h264_cuvid_decoder;/d' "$work/tree/libavcodec/allcodecs.c"
    cp -a "$work/tree" "$work/other"
    "$root/patches/hooks.py" "$work/tree" >"$work/refused" 2>&1 && status=1
    [ "$(wc -l <"$work/refused")" = 1 ] && grep -q 'libavcodec/allcodecs.c has 0 lines' "$work/refused" || status=1
    same "$work/other" "$work/tree" || status=1
    cp "$work/pristine/libavcodec/allcodecs.c" "$work/tree/libavcodec/"
    return $status
}
# An older library: configure says which is wanted.
says_what_is_missing() {
    rm -rf "$work/old" && mkdir "$work/old"
    printf '%s\n' 'Name: libcudaenc' 'Description: old' 'Version: 0.0.9' 'Libs:' 'Cflags:' >"$work/old/libcudaenc.pc"
    (cd "$work/old" && ! PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$work/old "$work/hooked/configure" --disable-everything \
        --disable-autodetect --disable-x86asm --disable-doc --enable-libcudaenc) >"$work/refused" 2>&1 &&
        grep -q '^ERROR: libcudaenc >= 0.2.0 not found' "$work/refused"
}
of_another_branch() {
    ! prepare 4.4 >"$work/refused" 2>&1 && grep -q "is FFmpeg $branch, not 4.4" "$work/refused"
}
git_here() { git -C "$work/repository" -c user.name=t -c user.email=t@example.org -c core.autocrlf=false "$@"; }
# The patches make what hooks.py makes, but for Changelog and the notes of each.
git_am() {
    for kind in fork upstream; do
        "$root/patches/series.py" $kind "$work/pristine" "$work/$kind" || return 1
        git_here checkout --quiet --force -B $kind base && git_here am --quiet "$work/$kind"/*.patch || return 1
    done
    git_here checkout --quiet fork
    diff -r --no-dereference -x .git -x .cudaenc -x Changelog "$work/hooked" "$work/repository"
}
# For upstream each patch builds its codec without a warning, and leaves no condition on FFmpeg's versions.
each_patch_builds() {
    local patch object
    for ((patch = $(ls "$work"/upstream | wc -l) - 1; patch >= 0; patch--)); do
        git_here checkout --quiet --force "upstream~$patch" && rm -rf "$work/object" && mkdir "$work/object" || return 1
        ! grep -E '^#.*(LIBAV|ndef AV_|ndef FF_)' "$work"/repository/libavcodec/*cuda*.[ch] | grep -v cuvid || return 1
        (cd "$work/object" && PKG_CONFIG_PATH=$root/build/lib/pkgconfig:$root/build/src/ffnvcodec/lib/pkgconfig \
            "$work/repository/configure" --disable-everything --disable-autodetect --disable-x86asm --disable-doc --disable-programs \
            --enable-ffnvcodec --enable-libcudaenc --enable-encoder=j2k_cuda,mjpeg_cuda,h264_cavlc_cuda --enable-decoder=mjpeg_cuda,j2k_cuda) || return 1
        for object in $(git_here diff --name-only base "upstream~$patch" -- 'libavcodec/*.c' | grep cuda | sed 's/c$/o/'); do
            "$make" --no-print-directory -C "$work/object" "$object" >"$work/made" 2>&1 && ! grep warning: "$work/made" || return 1
        done
    done
}
no_warnings() { ! grep -A 2 -E '^(src/|.*/)?((libavcodec|tests)/[a-z0-9_]*cuda[a-z0-9_]*|libavformat/mxfenc)\.[ch]:.*warning' "$root/build/ffmpeg-$branch-minimal/make.log"; }
# A camera's frames: limited range becomes full, as JPEG has it, without a word of the user's.
takes_yuv420p() {
    head -c 6144 /dev/zero | "$root/build/ffmpeg-$branch-minimal/ffmpeg" -v error -f rawvideo -pixel_format yuv420p -video_size 64x64 -i pipe:0 \
        -c:v mjpeg_cuda -device cpu -f framecrc pipe:1 | grep -q '^0,'
}

# A picture that was turned does not tell once more to turn it, whatever type EXIF gave the orientation (LONG here); its
# resolution stays.
turns_once() {
    local ffmpeg=$root/build/ffmpeg-$branch-minimal/ffmpeg picture=$work/picture.jpg turned=$work/turned.jpg
    head -c 3072 /dev/zero | "$ffmpeg" -v error -y -f rawvideo -pixel_format yuvj420p -video_size 64x32 -i pipe:0 \
        -c:v mjpeg_cuda -device cpu -f image2pipe "$picture" || return 1
    python3 - "$picture" <<'PYTHON' || return 1
import struct, sys
data = open(sys.argv[1], 'rb').read()
tiff = b'MM\0*' + struct.pack('>IH', 8, 2) + struct.pack('>HHII', 0x112, 4, 1, 6) + struct.pack('>HHII', 0x11A, 5, 1, 38) + struct.pack('>3I', 0, 317, 1)
open(sys.argv[1], 'wb').write(data[:2] + struct.pack('>HH', 0xFFE1, len(tiff) + 8) + b'Exif\0\0' + tiff + data[2:])
PYTHON
    "$ffmpeg" -v error -y -f jpeg_pipe -c:v mjpeg_cuda -device cpu -i "$picture" -c:v mjpeg_cuda -device cpu -f image2pipe "$turned" || return 1
    # Frames carry all of EXIF from 8.1 on.
    python3 - "$turned" "$branch" <<'PYTHON'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'\xff\xc0')
assert struct.unpack('>HH', data[at + 5:at + 9]) == (64, 32), 'not turned'
exif = data[:data.index(b'\xff\xdb')]
assert b'\x01\x12\x00' not in exif and b'\x12\x01\x04' not in exif and b'\x12\x01\x03' not in exif, 'the orientation is told again'
has_exif = tuple(map(int, sys.argv[2].split('.'))) >= (8, 1)
assert not has_exif or struct.pack('>2I', 317, 1) in exif or struct.pack('<2I', 317, 1) in exif, 'no resolution'
PYTHON
}

for branch; do
    echo "FFmpeg $branch"
    count_in "$branch: streams" "$make" --no-print-directory -C "$root" FFMPEG="$branch" do-check-version
    check "$branch: warnings" no_warnings
    check "$branch: yuv420p into mjpeg_cuda" takes_yuv420p
    check "$branch: pictures are turned once" turns_once
    count_in "$branch: MXF" "$root/fate_tests/interop/mxf.py" "$root/build/ffmpeg-$branch-minimal"
    rm -rf "$work"/{pristine,tree,hooked,other,repository,fork,upstream}
    mkdir "$work/pristine"
    tar --no-same-owner --strip-components=1 -xf "$(find "$root/build/cache" -name "ffmpeg-$branch*.tar.xz" -print -quit)" -C "$work/pristine"
    cp -a "$work/pristine" "$work/tree"
    check "$branch: in and out" goes_in_and_out
    check "$branch: all or nothing" all_or_nothing
    check "$branch: an older library" says_what_is_missing
    check "$branch: another branch" of_another_branch
    cp -a "$work/pristine" "$work/repository"
    git_here init --quiet --initial-branch=base
    git_here add --all --force && git_here commit --quiet --message=FFmpeg
    check "$branch: git am" git_am
    check "$branch: each patch builds" each_patch_builds
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
