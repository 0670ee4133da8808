#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The wheel and the source archive as others get them: what the wheel needs of glibc, its size and notices; the archive makes
# the library, and is installed to be edited.
# Usage: wheel.sh BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${1:?usage: wheel.sh BUILD}
work=$build/check/wheel
rm -rf "$work"
mkdir -p "$work"
. fate_tests/tally.sh
wheel=$(echo build/python/*.whl) archive=$(echo build/python/*.tar.gz)
version=$(sed -n 's/^Version: //p' "$build/lib/pkgconfig/libcudaenc.pc")
python=$work/venv/bin/python
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install auditwheel twine 'setuptools>=77' wheel cffi numpy

check "names" [ "$(basename "$wheel") $(basename "$archive")" = "cudaenc-$version-py3-none-manylinux_2_28_$(uname -m).whl cudaenc-$version.tar.gz" ]
check "twine" "$python" -m twine check --strict "$wheel" "$archive"
older_glibc() { # auditwheel's own tag is that of the oldest glibc
    "$python" -m auditwheel show "$wheel" | tee "$work/audit" && grep -oE 'manylinux_2_[0-9]+' "$work/audit" | sort -t_ -k3n | head -n 1 | awk -F_ '{ exit $3 > 28 }'
}
check "glibc 2.28 is enough" older_glibc
# Where a foreign glibc is installed, a compiler finds that one's loader, too.
printf '#!/bin/sh\ncase "$1" in -print-file-name=ld-linux-*) echo "%s" ;; *) exec c++ "$@" ;; esac\n' "$(c++ -print-file-name=libc.so.6)" >"$work/c++"
chmod +x "$work/c++"
python3 tools/glibc_stubs.py 2.28 "$work/c++" "$work/stubs"
check "one loader" [ "$(cd "$work/stubs" && echo ld-linux-*)" = "$(cd build/wheel/glibc && echo ld-linux-*)" ]
check "under 60 MB" [ "$(stat -c %s "$wheel")" -lt 60000000 ]
unpacked() { (cd "$work" && "$python" -m zipfile -e "$OLDPWD/$wheel" wheel && tar xzf "$OLDPWD/$archive"); }
check "they are unpacked" unpacked
check "the licence is inside" cmp LICENSE "$work/wheel/cudaenc-$version.dist-info/licenses/LICENSE"
check "and notices" grep -q 'GCC' "$work/wheel/cudaenc-$version.dist-info/licenses/NOTICES"
check "exports are those of the shared library" diff <(nm -D --defined-only "$work/wheel/cudaenc/libcudaenc.so.0" | awk '{ print $2, $3 }') \
    <(nm -D --defined-only "$build/shared/libcudaenc.so" | awk '{ print $2, $3 }')

# The archive makes the library; objects that are here already are not compiled again.
source=$work/cudaenc-$version
mkdir -p "$source/source/build/obj"
cp -rp build/src "$source/source/build/" 2>/dev/null || true
rm -rf "$source"/source/build/src/ffmpeg-* "$source"/source/build/src/state-*
cp -rp "$build"/obj/{common,cuda_kernels,flags} "$source/source/build/obj/"
(unset MAKEFLAGS MAKELEVEL
    export MAX_JOBS=${JOBS:-$(nproc)} KERNEL_COMPILER=none
    cd "$source"
    "$work/venv/bin/pip" --disable-pip-version-check wheel --no-deps --no-build-isolation --wheel-dir "$work/made" . >"$work/made.log" 2>&1 || tail -n 30 "$work/made.log")
check "the archive makes a wheel" test -f "$work/made/cudaenc-$version-py3-none-linux_$(uname -m).whl"
round_trip() { # in a folder without the package
    cd "$work"
    "$python" -c '
import cudaenc, numpy
picture = numpy.arange(30 * 40 * 3, dtype=numpy.uint16).reshape(30, 40, 3)
assert all((plane == picture[..., i]).all() for i, plane in enumerate(cudaenc.decode(cudaenc.encode(picture, depth=12)).planes))
print(cudaenc._native.path)'
}
"$work/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps "$work"/made/*.whl
check "it encodes" round_trip
"$work/venv/bin/pip" --quiet --disable-pip-version-check uninstall -y cudaenc
"$work/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps --no-build-isolation -e "$source"
check "installed to be edited, it encodes" grep -q "^$source/cudaenc/" <(round_trip)

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
