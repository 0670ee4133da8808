#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds and runs the fuzz targets as OSS-Fuzz's base-builder and base-runner do, with this machine's clang: a copy of
# the tracked files, their compilers, flags, C++ library and engine. Each target then runs its seeds and 1000 more.
# Usage: check.sh BUILD [address|undefined]. Ends in a line "N passed, N failed".
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
sanitizer=${2:-address}
work=$root/$1/oss-fuzz/$sanitizer
export SRC=$work/src OUT=$work/out
rm -rf "$work"
mkdir -p "$SRC/cudaenc/build" "$OUT"
(cd "$root" && git ls-files -z | xargs -0 cp --parents -t "$SRC/cudaenc")
[ ! -d "$root/build/cache" ] || ln -s "$root/build/cache" "$SRC/cudaenc/build/cache" # what is fetched

# What base-builder and its `compile` set.
behaviour=array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,object-size,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound,vptr
case $sanitizer in
address) flags="-fsanitize=address -fsanitize-address-use-after-scope" ;;
undefined) flags="-fsanitize=$behaviour -fno-sanitize-recover=$behaviour" ;;
*) echo "check.sh: sanitizer $sanitizer is neither address nor undefined" && exit 1 ;;
esac
for v in 19 18 21 20 17 16; do
    ! command -v "clang++-$v" >/dev/null || { export CC=clang-$v CXX=clang++-$v && break; }
done
export CFLAGS="-O1 -fno-omit-frame-pointer -gline-tables-only -Wno-error=deprecated-declarations -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION $flags -fsanitize=fuzzer-no-link"
# A distribution's engine is compiled for libstdc++.
export CXXFLAGS="$CFLAGS -stdlib=libc++" LIB_FUZZING_ENGINE="-fsanitize=fuzzer -Wl,-lstdc++" FUZZING_ENGINE=libfuzzer SANITIZER=$sanitizer
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES SANITIZE

"$SRC/cudaenc/patches/prepare.sh" 7.1 # as Dockerfile does
cp "$SRC/cudaenc/fate_tests/fuzz/oss-fuzz/build.sh" "$SRC/"
(cd "$SRC/cudaenc" && bash -eu "$SRC/build.sh")

passed=0 failed=0
for source in "$root"/fate_tests/fuzz/targets/*.cpp; do
    name=fuzz_$(basename "$source" .cpp)
    seeds=$work/$name
    mkdir "$seeds"
    if unzip -q "$OUT/${name}_seed_corpus.zip" -d "$seeds" &&
        (cd "$work" && "$OUT/$name" -rss_limit_mb=2560 -timeout=25 -max_len=1024 -runs=$(($(find "$seeds" -type f | wc -l) + 1000)) "$seeds") >"$work/$name.log" 2>&1 &&
        grep -q '^Done' "$work/$name.log"; then
        passed=$((passed + 1))
        echo "$name: $(grep '^Done' "$work/$name.log")"
    else
        failed=$((failed + 1))
        tail -n 20 "$work/$name.log" || true
        echo "$name failed"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
