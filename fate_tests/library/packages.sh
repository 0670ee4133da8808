#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Packages, as a distribution makes and uses them: the library is built twice, offline, in folders of other names and without
# compilers of kernels; both have the same bytes. The packages are installed into a clean chroot and used there.
# Usage: check.sh [SUITE]    As root, with debootstrap. CHROOT names a folder that debootstrap filled already.
# Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
work=$root/build/check/packages
. fate_tests/tally.sh
mkdir -p "$work"

# ---- offline, twice, without nvcc and clang
headers=$(ls -d build/cache/nv-codec-headers-*.tar.xz 2>/dev/null | tail -n 1 || true)
[ -n "$headers" ] || { [ ! -d build/src/ffnvcodec/source ] || headers=build/src/ffnvcodec/source; }
if [ -z "$headers" ]; then
    echo "note: nv-codec-headers are installed, so the offline build takes those"
fi
offline() { # FOLDER
    rm -rf "$1"
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard Makefile make common cuda_kernels patches examples tools python/NOTICES fate_tests/tally.sh docs/library.md LICENSE CHANGELOG.md |
        xargs -0 cp --parents -t "$1"
    [ -z "$headers" ] || cp -r "$headers" "$1/"
    # The compilers of kernels are out of sight; no interface is up in a new network namespace.
    (cd "$1" && CCACHE_DISABLE=1 unshare -n "${MAKE:-make}" --no-print-directory lib NVCC= CLANG= ${headers:+NVCODEC_SRC="$1/$(basename "$headers")"}) |
        tee "$work/offline.log"
}
check "an offline build without nvcc and clang" offline "$work/first"
check "it says that it has no kernels" grep -q 'neither nvcc nor clang >= 16 is here: the library has no kernels' "$work/offline.log"
check "and once more, elsewhere" offline "$work/second/folder"
for file in lib/libcudaenc.a shared/libcudaenc.so; do
    check "the same bytes: $file" cmp "$work/first/build/$file" "$work/second/folder/build/$file"
done

# ---- packages
packages() { # FOLDER
    [ ! -x "$root/build/bin/ffmpeg" ] || { mkdir -p "$1/build/bin" && cp "$root"/build/bin/ff{mpeg,probe} "$1/build/bin/"; }
    (cd "$1" && FFMPEG_TREE=$(ls -d "$root"/build/src/ffmpeg-*/ 2>/dev/null | head -n 1) SOURCE_DATE_EPOCH=1767225600 tools/deb.sh build build/deb)
}
check "packages" packages "$work/first"
check "and once more" packages "$work/second/folder"
check "the version is CHANGELOG's first" grep -qx "## $(sed -n 's/^Version: //p' "$work/first/build/lib/pkgconfig/libcudaenc.pc")" <(grep '^## ' CHANGELOG.md | head -n 1)
if command -v lintian >/dev/null; then
    check "lintian" lintian --fail-on error "$work/first/build/deb"/*.deb
else
    echo "skipped: no lintian here"
fi
check "the same packages" diff -r "$work/first/build/deb" "$work/second/folder/build/deb"

# ---- a clean chroot
chroot=${CHROOT:-$work/chroot}
inside() { chroot "$chroot" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
mirror=$(awk '/^(URIs: |deb )/ { for (i = 2; i <= NF; i++) if ($i ~ /^http/) { print $i; exit } }' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)
[ -d "$chroot/usr/bin" ] || check "debootstrap" debootstrap --variant=minbase "$suite" "$chroot" $mirror
for file in /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf; do [ ! -f "$file" ] || cp "$file" "$chroot$file" 2>/dev/null || true; done
rm -rf "$chroot/packages"
cp -r "$work/first/build/deb" "$chroot/packages"
cp examples/encode_planes.c "$chroot/packages/"
check "apt installs the library" inside sh -c 'apt-get -q=2 update && apt-get -q=2 install -y --no-install-recommends /packages/libcudaenc0_*.deb'
check "and the rest" inside sh -c 'apt-get -q=2 install -y --no-install-recommends gcc libc6-dev pkg-config /packages/*.deb'
check "a program is built on it" inside sh -c 'cd /packages && gcc encode_planes.c -o encode_planes $(pkg-config --cflags --libs libcudaenc) -lpthread'
check "and runs" inside sh -c 'cd /packages && head -c 27000 /dev/zero >in.yuv && ./encode_planes in.yuv yuvj420p 100 60 out cpu && [ "$(ls out*.jp2 out*.jpg | wc -l)" = 6 ]'
if [ -x build/bin/ffmpeg ]; then
    check "ffmpeg-cudaenc" inside sh -c 'ffmpeg-cudaenc -v error -f lavfi -i testsrc2=s=128x96 -frames:v 3 -c:v j2k_cuda -device cpu /packages/out.mxf && ffprobe-cudaenc -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 /packages/out.mxf | grep -qx 3'
fi
check "they are taken away" inside sh -c 'apt-get -q=2 purge -y libcudaenc0 libcudaenc-dev && ! ls /usr/lib/*/libcudaenc* /usr/include/cudaenc.h 2>/dev/null'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
