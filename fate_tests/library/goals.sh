#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What goals of make need: patches/deps.sh on bare machines that are made up, and FFmpeg's options without clang.
# Usage: goals.sh    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. fate_tests/tally.sh

# A machine has a shell and apt, offers every package but libffmpeg-nvenc-dev, and its user may not install any.
machine() { # COMMAND...: which it has as well
    rm -rf "$work/bin"
    mkdir "$work/bin"
    for command in awk grep cat; do ln -s "$(command -v $command)" "$work/bin/$command"; done
    for command in apt-get "$@"; do printf '#!/bin/sh\nexit 0\n' >"$work/bin/$command"; done
    printf '#!/bin/sh\nexit 1\n' | tee "$work/bin/dpkg-query" "$work/bin/dpkg" >"$work/bin/sudo"
    printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
    printf '#!/bin/sh\n[ "$1" != policy ] || [ "$2" = libffmpeg-nvenc-dev ] || echo "Candidate: 1"\n' >"$work/bin/apt-cache"
    chmod +x "$work"/bin/*
}
deps() { # STATUS [VARIABLE=VALUE...] GOAL...
    local expected=$1 status=0
    shift
    # shellcheck disable=SC2016 # the inner shell expands
    env -i PATH="$work/bin" CUDA_HOME="$work" /usr/bin/env "$@" >"$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ "$status" = "$expected" ]
}
names() { # STATUS GOALS PACKAGE...: deps says that these are missing
    local status=$1 goals=$2 package
    shift 2
    # shellcheck disable=SC2086 # words
    deps "$status" /bin/sh patches/deps.sh $goals || return 1
    for package; do grep -q "install -y.* $package " "$work/said" || { echo "without $package"; return 1; }; done
}
# shellcheck disable=SC2251 # it returns
lacks() { ! grep -q " $1 " "$work/said"; }
machine
check "lib" names 1 lib g++ make pkg-config xz-utils clang-19
check "not what FFmpeg needs" lacks nasm
check "wheel" names 1 wheel g++ python3-venv
check "deb" names 1 deb nasm dpkg-dev clang-19
check "deb of the library alone" deps 1 DEB=lib /bin/sh patches/deps.sh deb
check "not what FFmpeg needs" lacks nasm
check "ffmpeg" names 1 ffmpeg g++ nasm curl python3 clang-19
check "wheel for another processor" deps 1 ARCH=aarch64 /bin/sh patches/deps.sh wheel
check "its compiler" grep -q " g++-aarch64-linux-gnu " "$work/said"
check "deb for another processor" deps 1 ARCH=aarch64 /bin/sh patches/deps.sh deb
check "what FFmpeg needs" grep -q " nasm .* g++-aarch64-linux-gnu " "$work/said"
check "install" names 1 install g++ clang-19
check "windows" names 1 windows g++-mingw-w64-x86-64-posix
check "demo" names 1 demo nasm curl
check "check" names 1 check nasm check libboost-context-dev clang-19 clang-tidy-19
builders=(g++ make pkg-config xz nasm curl python3)
machine "${builders[@]}" nvcc
check "ffmpeg wants clang beside nvcc" names 1 ffmpeg ca-certificates clang-19
check "lib does not" deps 0 /bin/sh patches/deps.sh lib
machine "${builders[@]}"
check "lib goes on without a compiler of kernels" names 0 lib clang-19
check "and wants none where none is wanted" deps 0 KERNEL_COMPILER=none /bin/sh patches/deps.sh lib
check "says nothing then" [ ! -s "$work/said" ]
check "nor where clang is out of sight" deps 0 CLANG= NVCC= /bin/sh patches/deps.sh lib install
check "says nothing then" [ ! -s "$work/said" ]

# ---- FFmpeg's own filters on CUDA
options() { "${MAKE:-make}" --no-print-directory -s --eval='options: ; @: $(info $(ffmpeg_options))' "$@" options; }
check "cuda-llvm where clang is" grep -q -- --enable-cuda-llvm <(options CLANG=clang++)
check "not where it is not" bash -c '! grep -q cuda-llvm' <<<"$(options CLANG=)"
check "nor for the CPU alone" bash -c '! grep -q cuda-llvm' <<<"$(options CLANG= KERNEL_COMPILER=none)"

# ---- an input that the demo's FFmpeg cannot read
mkdir "$work/ffmpeg"
printf '#!/bin/sh\nexit 1\n' >"$work/ffmpeg/ffmpeg"
chmod +x "$work/ffmpeg/ffmpeg"
check "the demo fails" bash -c '! fate_tests/demo.sh "$1/ffmpeg" . "$1/demo" clip.webm 2>"$1/said"' demo "$work"
check "it says what is to be done" grep -qF "INPUT 'clip.webm' cannot be read: 'make help' says which codecs are; for others 'make ffmpeg' first" "$work/said"
check "make help says which" grep -q "INPUT: H.264, .*JPEG 2000" <("${MAKE:-make}" --no-print-directory help)

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
