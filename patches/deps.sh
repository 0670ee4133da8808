#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs the distribution packages that goals of make need and the machine lacks, or says which command does.
# Usage: patches/deps.sh [GOAL...]   none: those of the tests
# Environment: KERNEL_COMPILER, CLANG, NVCC, ARCH, CUDA_HOME, CXX, DEB and SHARED as make has them; an empty CLANG or NVCC is a compiler that is not wanted.
set -eu

# What builds the library, what builds FFmpeg, and what the tests need. Goals that are not named here are tests.
packages="g++ make pkg-config xz-utils"
ffmpeg= tests= kernels=
[ $# != 0 ] || tests=1
for goal; do
    case $goal in
    lib) kernels=1 ;;
    install) kernels=1 && [ -z "${SHARED-}" ] || ffmpeg=1 ;;
    wheel) kernels=1 packages="$packages python3 python3-venv" ;;
    windows) packages="$packages g++-mingw-w64-x86-64-posix" ;;
    demo) ffmpeg=1 && [ ! -e /dev/nvidiactl ] || kernels=1 ;;
    ffmpeg) kernels=1 ffmpeg=1 ;;
    deb)
        kernels=1 packages="$packages dpkg-dev python3"
        [ "${DEB-}" = lib ] || ffmpeg=1
        ;;
    *) tests=1 ;;
    esac
done
[ -z "$ffmpeg$tests" ] || packages="$packages nasm curl ca-certificates python3 zlib1g-dev"
[ -z "$tests" ] || packages="$packages patch git cmake python3-venv libboost-context-dev check graphviz libopenjp2-tools
          libopenjp2-7-dev libjpeg-turbo-progs libjpeg-dev mediainfo parallel libimage-exiftool-perl imagemagick python3-pil"
case "$*" in *bench*) packages="$packages python3-matplotlib libturbojpeg0-dev libx264-dev" ;; esac
case "$*" in *check-packages*) packages="$packages debootstrap dpkg-dev lintian" ;; esac
case "$*" in *check-arm*) packages="$packages g++-aarch64-linux-gnu qemu-user dpkg-dev" ;; esac
case "${ARCH-}" in aarch64) packages="$packages g++-aarch64-linux-gnu" ;; x86_64) packages="$packages g++-x86-64-linux-gnu" ;; esac
case "$*" in *check-windows*) packages="$packages g++-mingw-w64-x86-64-posix wine wine64" ;; esac
case "$*" in *check-cluster*) packages="$packages slurm-wlm munge openssh-server openssh-client" ;; esac
case "$*" in *fuzz-targets* | *check-oss-fuzz*) packages="$packages clang-19 libclang-rt-19-dev" ;; esac
case "$*" in *check-oss-fuzz*) packages="$packages libc++-19-dev libc++abi-19-dev zip unzip" ;; esac
clang_versions="19 18 21 20 17 16" # any can compile the kernels

if ! command -v apt-get >/dev/null; then
    echo "deps: not a Debian or Ubuntu system; what they call" "$packages" "clang-19${tests:+ clang-format-19 clang-tidy-19 grokj2k-tools} is needed" >&2
    exit 0
fi

installed() { dpkg-query --show --showformat='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
version_offered() { apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'; }
offered() { [ -n "$(version_offered "$1")" ]; }

# Whether a package is there, or what a user may have in its place.
present() {
    case $1 in
    g++) command -v "${CXX:-g++}" >/dev/null ;;
    make | pkg-config | nasm | curl | python3 | git | patch) command -v "$1" >/dev/null ;;
    xz-utils) command -v xz >/dev/null ;;
    zlib1g-dev) [ -f /usr/include/zlib.h ] ;;
    *) false ;;
    esac || installed "$1"
}

# The first clang that is installed or offered: compiles the kernels where nvcc does not, what tests compare, and the CUDA
# filters of the whole FFmpeg. Only tests cannot do without it.
clang() {
    [ -n "${CLANG-19}" ] || return 0
    case " $* " in
    *" ffmpeg "*) ;;
    *)
        [ -n "$tests$kernels" ] || return 0
        [ "${KERNEL_COMPILER-}" != none ] || [ -n "$tests" ] || return 0
        [ -n "$tests" ] || [ -z "${NVCC-nvcc}" ] || ! PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc >/dev/null || return 0
        ;;
    esac
    for v in $clang_versions; do command -v "clang++-$v" >/dev/null && return; done
    version=$(clang++ -dumpversion 2>/dev/null || true)
    [ "${version%%.*}" -lt 16 ] 2>/dev/null || [ -z "$version" ] || return 0
    for v in $clang_versions; do offered "clang-$v" && echo "clang-$v" && return; done
    echo clang-19
}

# What ImageMagick reads JPEG 2000 with, by its version.
magick_codecs() { apt-cache search --names-only '^libmagickcore-[67]\.q16-[0-9]+-extra$' 2>/dev/null | awk '{ print $1 }'; }

# Packages that some of these distributions do not have; the tests say what they skip without them.
optional() {
    for p in ${tests:+clang-format-19 clang-tidy-19 grokj2k-tools openjph-tools libopenh264-dev $(magick_codecs)}; do
        if installed $p || offered $p; then echo $p; fi
    done
    # Older ones are of no use to FFmpeg; prepare.sh then finds a source package.
    if dpkg --compare-versions "$(version_offered libffmpeg-nvenc-dev)" ge 12.1.14; then echo libffmpeg-nvenc-dev; fi
}

missing() {
    for p; do present "$p" || printf '%s ' "$p"; done
}

# shellcheck disable=SC2046,SC2086 # they are words
wanted() { missing $packages $(clang "$@") $(optional); }

wanted=$(wanted "$@")
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" = 0 ]; then
    sudo=
elif sudo -n true 2>/dev/null; then
    sudo=sudo
else
    # shellcheck disable=SC2086 # they are words
    needed=$(missing $packages ${tests:+$(clang "$@")})
    echo "deps: packages are missing. Please run${needed:+, and then make again}:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y $wanted" >&2
    [ -z "$needed" ] || exit 1
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get -q=2 update # before it, a bare machine does not know what is offered
wanted=$(wanted "$@")
echo "deps: installing $wanted"
# shellcheck disable=SC2086 # they are words
$sudo apt-get -q=2 install -y --no-install-recommends $wanted >/dev/null
