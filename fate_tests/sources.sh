#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Prints the sources that clang-format keeps. FFmpeg's style rules the glue.
cd "$(dirname "$0")/.." && find common cuda_kernels fate_tests -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh'
