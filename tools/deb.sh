#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes Debian packages of what was built: libcudaenc0, libcudaenc-dev, and ffmpeg-cudaenc, whose programs stand beside the
# distribution's. Usage: deb.sh BUILD OUTPUT    The same files give the same packages.
# Environment: CXX: what compiled them, for its machine; DEB=lib leaves FFmpeg out; FFMPEG_TREE: its source, for notices; DEBFULLNAME and DEBEMAIL: who maintains them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/${1:?usage: deb.sh BUILD OUTPUT}
output=$PWD/${2:?usage: deb.sh BUILD OUTPUT}
version=$(sed -n 's/^Version: //p' "$build/lib/pkgconfig/libcudaenc.pc")
machine=$(${CXX:-g++} -dumpmachine)
architecture=$(dpkg-architecture -f -t"$machine" -qDEB_HOST_ARCH)
gcc=$(${CXX:-g++} -dumpversion | cut -d. -f1)
libraries=/usr/lib/$(dpkg-architecture -f -t"$machine" -qDEB_HOST_MULTIARCH)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}
export SOURCE_DATE_EPOCH
maintainer="${DEBFULLNAME:-the cudaenc developers} <${DEBEMAIL:-cudaenc@example.org}>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# The notices of what a package holds, as Debian's policy has them.
copyright() { # NAME
    cat <<'TEXT'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cudaenc

Files: *
Copyright: 2026 the cudaenc developers
License: LGPL-2.1+
 On Debian systems the text of the GNU Lesser General Public License, version 2.1, is in
 /usr/share/common-licenses/LGPL-2.1.
Comment:
 The declarations of NVIDIA's driver, of nv-codec-headers, are compiled in:
TEXT
    sed -n '/^  Copyright/,$p' python/NOTICES | sed 's/^  / /; s/^$/ ./'
    [ "$1" = ffmpeg-cudaenc ] || return 0
    cat <<'TEXT'
 .
 FFmpeg, https://ffmpeg.org, is Copyright (c) 2000-2026 the FFmpeg developers, under the GNU Lesser General Public License,
 version 2.1 or later: it is configured without --enable-gpl, --enable-version3 and --enable-nonfree. LICENSE.md and
 CREDITS beside this file name the parts with licences of their own. This software is based in part on the work of the
 Independent JPEG Group. zlib, Copyright (c) 1995-2022 Jean-loup Gailly and Mark Adler, and libstdc++, Copyright (c) the Free
 Software Foundation, under the GNU General Public License, version 3, with the GCC Runtime Library Exception, version 3.1,
 are linked statically. The source is FFmpeg's release with the files and patches of cudaenc's source, see `make series`.
TEXT
}

changes() { # NAME: what changed, for users and for Debian
    gzip -9n <CHANGELOG.md >"$work/$1/usr/share/doc/$1/changelog.gz"
    {
        printf 'cudaenc (%s-1) unstable; urgency=medium\n\n  * Version %s; changelog.gz tells what it brings.\n\n' "$version" "$version"
        printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$work/$1/usr/share/doc/$1/changelog.Debian.gz"
}

# Lays the files of a package; what it needs is read from its binaries.
package() { # NAME SECTION DEPENDS DESCRIPTION; files are in $work/NAME
    local root=$work/$1 needs=
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$1"
    copyright "$1" >"$root/usr/share/doc/$1/copyright"
    changes "$1"
    mkdir -p "$work/debian" # where dpkg-shlibdeps looks
    printf 'Source: cudaenc\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
    local binaries
    binaries=$(find "$root" -type f \( -name '*.so.*' -o -path '*/bin/*' \))
    # shellcheck disable=SC2086 # names without spaces
    [ -z "$binaries" ] || needs=$(cd "$work" && DEB_HOST_ARCH=$architecture dpkg-shlibdeps -O --ignore-missing-info "-l/usr/$machine/lib" $binaries 2>/dev/null |
        sed "s/^shlibs:Depends=//; s/:$architecture//g; s/-$architecture-cross//g; s/libstdc++6\(,\|$\)/libstdc++6 (>= $gcc)\1/") # cross packages tell less
    needs=$3${3:+${needs:+, }}$needs
    {
        echo "Package: $1"
        echo "Source: cudaenc"
        echo "Version: $version-1"
        echo "Architecture: $architecture"
        echo "Maintainer: $maintainer"
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
"$(command -v "$machine-strip" || echo strip)" --strip-unneeded "$lib$libraries"/libcudaenc.so.*.*
echo "libcudaenc 0 libcudaenc0 (>= $version)" >"$lib/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$lib/DEBIAN/triggers"
package libcudaenc0 libs "" "JPEG 2000, JPEG and H.264 on NVIDIA GPUs and on the CPU
 The shared library. It opens NVIDIA's driver where there is one."

mkdir -p "$work/libcudaenc-dev"
mv "$work/all/usr" "$work/libcudaenc-dev/"
mkdir -p "$work/libcudaenc-dev/usr/share/doc/libcudaenc-dev/examples"
cp examples/*.c docs/library.md "$work/libcudaenc-dev/usr/share/doc/libcudaenc-dev/examples/"
package libcudaenc-dev libdevel "libcudaenc0 (= $version-1), libstdc++-$gcc-dev | libstdc++-dev" "JPEG 2000, JPEG and H.264 on NVIDIA GPUs, for developers
 The header, the static library, pkg-config's file and examples."

if [ -x "$build/bin/ffmpeg" ] && [ "${DEB-}" != lib ]; then
    manual=$work/ffmpeg-cudaenc/usr/share/man/man1
    mkdir -p "$work"/ffmpeg-cudaenc/usr/{bin,share/doc/ffmpeg-cudaenc} "$manual"
    for notice in LICENSE.md CREDITS; do
        [ ! -f "${FFMPEG_TREE-}/$notice" ] || install -m 644 "$FFMPEG_TREE/$notice" "$work/ffmpeg-cudaenc/usr/share/doc/ffmpeg-cudaenc/"
    done
    python3 tools/man_page.py "$version" | gzip -9n >"$manual/ffmpeg-cudaenc.1.gz"
    ln -s ffmpeg-cudaenc.1.gz "$manual/ffprobe-cudaenc.1.gz"
    mkdir -p "$work/ffmpeg-cudaenc/usr/share/lintian/overrides" # the programs stand beside the distribution's FFmpeg, whole
    echo "ffmpeg-cudaenc: embedded-library *" >"$work/ffmpeg-cudaenc/usr/share/lintian/overrides/ffmpeg-cudaenc"
    for program in ffmpeg ffprobe; do install -m 755 "$build/bin/$program" "$work/ffmpeg-cudaenc/usr/bin/$program-cudaenc"; done
    package ffmpeg-cudaenc video "" "FFmpeg with JPEG 2000, JPEG and H.264 on NVIDIA GPUs
 ffmpeg-cudaenc and ffprobe-cudaenc stand beside the distribution's programs."
fi
