#!/bin/bash -eu
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the fuzz targets as OSS-Fuzz calls it: its compilers, flags and engine are in the environment.
cd "$SRC/cudaenc"
make -j"$(nproc)" SANITIZE=fuzzer sanitize= FUZZER="$LIB_FUZZING_ENGINE" CC="$CC" CXX="$CXX" CXXFLAGS="$CXXFLAGS" fuzzer-programs
for program in build/fuzzer/bin/fuzz_*; do
    cp "$program" "$OUT/"
    name=${program##*/fuzz_}
    zip -qj "$OUT/fuzz_${name}_seed_corpus.zip" "fate_tests/fuzz/corpus/${name/_device/}"/* # that of the same packets
done
