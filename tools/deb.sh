#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes Debian packages of what was built: libcudaenc0, libcudaenc-dev, and ffmpeg-cudaenc, whose programs stand beside the
# distribution's. Usage: deb.sh BUILD OUTPUT    The same files give the same packages.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/${1:?usage: deb.sh BUILD OUTPUT}
output=$PWD/${2:?usage: deb.sh BUILD OUTPUT}
version=$(sed -n 's/^Version: //p' "$build/lib/pkgconfig/libcudaenc.pc")
architecture=$(dpkg --print-architecture)
libraries=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# Lays the files of a package; what it needs is read from its binaries.
package() { # NAME SECTION DEPENDS DESCRIPTION; files are in $work/NAME
    local root=$work/$1 needs=
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$1"
    {
        echo "cudaenc $version, https://www.gnu.org/licenses/old-licenses/lgpl-2.1.html"
        echo
        cat LICENSE
    } >"$root/usr/share/doc/$1/copyright"
    mkdir -p "$work/debian" # where dpkg-shlibdeps looks
    printf 'Source: cudaenc\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
    local binaries
    binaries=$(find "$root" -type f \( -name '*.so.*' -o -path '*/bin/*' \))
    # shellcheck disable=SC2086 # names without spaces
    [ -z "$binaries" ] || needs=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info $binaries 2>/dev/null | sed 's/^shlibs:Depends=//')
    needs=$3${3:+${needs:+, }}$needs
    {
        echo "Package: $1"
        echo "Source: cudaenc"
        echo "Version: $version-1"
        echo "Architecture: $architecture"
        echo "Maintainer: the cudaenc developers <cudaenc@localhost>"
        echo "Installed-Size: $(find "$root" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{ n += int(($1 + 1023) / 1024) } END { print n }')"
        [ -z "$needs" ] || echo "Depends: $needs"
        echo "Section: $2"
        echo "Priority: optional"
        [ "$1" != libcudaenc0 ] || echo "Multi-Arch: same"
        echo "Description: $4"
    } >"$root/DEBIAN/control"
    (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$root" "$work/package.deb" >/dev/null
    mv "$work/package.deb" "$output/$1_$version-1_$architecture.deb" # it has its name when it is whole
    echo "$output/$1_$version-1_$architecture.deb"
}

mkdir -p "$output"
rm -f "$output"/libcudaenc0_*.deb "$output"/libcudaenc-dev_*.deb "$output"/ffmpeg-cudaenc_*.deb
"${MAKE:-make}" --no-print-directory -o do-lib do-install B="${build#"$PWD/"}" DESTDIR="$work/all" PREFIX=/usr LIBDIR="$libraries" >/dev/null

lib=$work/libcudaenc0
mkdir -p "$lib$libraries" "$lib/DEBIAN"
mv "$work/all$libraries"/libcudaenc.so.* "$lib$libraries/"
strip --strip-unneeded "$lib$libraries"/libcudaenc.so.*.*
echo "libcudaenc 0 libcudaenc0 (>= $version)" >"$lib/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$lib/DEBIAN/triggers"
package libcudaenc0 libs "" "JPEG 2000, JPEG and H.264 on NVIDIA GPUs and on the CPU
 The shared library. It opens NVIDIA's driver where there is one."

mkdir -p "$work/libcudaenc-dev"
mv "$work/all/usr" "$work/libcudaenc-dev/"
mkdir -p "$work/libcudaenc-dev/usr/share/doc/libcudaenc-dev/examples"
cp examples/*.c docs/library.md "$work/libcudaenc-dev/usr/share/doc/libcudaenc-dev/examples/"
package libcudaenc-dev libdevel "libcudaenc0 (= $version-1), libstdc++-$(g++ -dumpversion | cut -d. -f1)-dev | libstdc++-dev" "JPEG 2000, JPEG and H.264 on NVIDIA GPUs, for developers
 The header, the static library, pkg-config's file and examples."

if [ -x "$build/bin/ffmpeg" ]; then
    mkdir -p "$work/ffmpeg-cudaenc/usr/bin"
    for program in ffmpeg ffprobe; do install -m 755 "$build/bin/$program" "$work/ffmpeg-cudaenc/usr/bin/$program-cudaenc"; done
    package ffmpeg-cudaenc video "" "FFmpeg with JPEG 2000, JPEG and H.264 on NVIDIA GPUs
 ffmpeg-cudaenc and ffprobe-cudaenc stand beside the distribution's programs."
fi
