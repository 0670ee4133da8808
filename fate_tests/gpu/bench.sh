#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs parts of the benchmarks from a bundle (make bench-bundle) where a GPU is. Usage: bench.sh OUTPUT_FOLDER [PART...]
# The parts are run.sh's; environment as there, for what shall differ from the bundle.
set -euo pipefail
bundle=$(cd "$(dirname "$0")" && pwd)
list() { ls "$bundle/$1"/* 2>/dev/null | tr '\n' ' ' || true; }
export PICTURES=${PICTURES-$(list pictures)} CLIPS=${CLIPS-$(list clips)}
[ ! -f "$bundle/lib/libnvjpeg.so.13" ] || export NVJPEG_LIBRARY=${NVJPEG_LIBRARY-$bundle/lib/libnvjpeg.so.13}
[ ! -f "$bundle/lib/libnvjpeg2k.so.0" ] || export NVJPEG2K_LIBRARY=${NVJPEG2K_LIBRARY-$bundle/lib/libnvjpeg2k.so.0}
[ ! -f "$bundle/lib/libopenjp2.so.7" ] || export OPENJPEG=${OPENJPEG-$bundle/lib/libopenjp2.so.7}
[ ! -f "$bundle/lib/libturbojpeg.so.0" ] || export TURBOJPEG=${TURBOJPEG-$bundle/lib/libturbojpeg.so.0}
for x264 in "$bundle"/lib/libx264.so.*; do [ ! -f "$x264" ] || export X264=${X264-$x264}; done
wrap() { # PROGRAM VARIABLE: its libraries are beside it
    [ -f "$bundle/bin/$1" ] && [ -z "${!2-}" ] || return 0
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$bundle/lib/$1" "$bundle/bin/$1" >"$wrappers/$1"
    chmod +x "$wrappers/$1"
    export "$2=$wrappers/$1"
}
wrappers=$(mktemp -d)
wrap grk_compress GRK_COMPRESS
wrap ojph_compress OJPH_COMPRESS
status=0
"$bundle/scripts/run.sh" "$bundle/bin" "$@" || status=$?
rm -rf "$wrappers"
exit $status
