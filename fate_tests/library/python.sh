#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The wheel in a fresh virtual environment, with the library inside it and with the emulator's in its place; its type hints, by mypy.
# Usage: python.sh BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${1:?usage: python.sh BUILD}
work=$build/check/python
rm -rf "$work"
python3 -m venv --without-pip "$work/venv" # a pip of its own takes 4 s
build/venv/bin/pip --python "$work/venv/bin/python" --quiet --disable-pip-version-check install "$(echo build/python/*.whl)[video,dicom]" pillow mypy pylibjpeg pylibjpeg-openjpeg \
    pylibjpeg-libjpeg python-gdcm
cp python/tests/*.py "$work/"
cd "$work" # where no source of the package is
status=0
cat >options.py <<'PYTHON'
import cudaenc, cudaenc.mp4
cudaenc.encode([], quality=85, prog="rpcl", file_format="j2k")
cudaenc.encode([], "h264", format="yuv420p", crf=20, gop_size=250)
cudaenc.mp4.Writer(None, bit_rate=4_000_000, profile="high")
PYTHON
sed 's/85/85, qualty=1/; s/crf=20/crf=20, profile="hihg"/; s/4_000_000/"fast"/' options.py >misspelt.py
types() { venv/bin/mypy --ignore-missing-imports "$@" >>log.types 2>&1; }
types="3 passed, 0"
if ! types -p cudaenc || ! types options.py || types misspelt.py || [ "$(grep -o "^misspelt.py:[0-9]*: error" log.types | sort -u | wc -l)" -ne 3 ]; then
    types="0 passed, 3" status=1
    cat log.types
fi
for library in "" "$build/emu/libcudaenc_emu.so"; do
    env ${library:+CUDAENC_LIBRARY="$library"} venv/bin/python run.py >"log${library:+.emu}" 2>&1 || status=1
    cat "log${library:+.emu}"
done
echo "$types failed" >>log
awk '/^[0-9]+ passed, [0-9]+ failed/ { n += $1; bad += $3 } END { print n + 0 " passed, " bad + 0 " failed" }' log log.emu
exit $status
