#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The wheel in a fresh virtual environment, with the library inside it and with the emulator's in its place; its type hints, by mypy.
# Usage: python.sh BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${1:?usage: python.sh BUILD}
work=$build/check/python
rm -rf "$work"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install "$(echo build/python/*.whl)[video,dicom]" pillow mypy pylibjpeg pylibjpeg-openjpeg \
    pylibjpeg-libjpeg python-gdcm
cp python/tests/*.py "$work/"
cd "$work" # where no source of the package is
status=0
if venv/bin/mypy --ignore-missing-imports -p cudaenc >log.types 2>&1; then types="1 passed, 0"; else types="0 passed, 1"; status=1; cat log.types; fi
for library in "" "$build/emu/libcudaenc_emu.so"; do
    env ${library:+CUDAENC_LIBRARY="$library"} venv/bin/python run.py >"log${library:+.emu}" 2>&1 || status=1
    cat "log${library:+.emu}"
done
echo "$types failed" >>log
awk '/^[0-9]+ passed, [0-9]+ failed/ { n += $1; bad += $3 } END { print n + 0 " passed, " bad + 0 " failed" }' log log.emu
exit $status
