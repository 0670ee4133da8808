#!/bin/sh
# Installs the distribution packages that goals of make need and the machine lacks, or says which command does.
# Usage: patches/deps.sh [GOAL...]   none: those of the tests   SPDX-License-Identifier: LGPL-2.1-or-later
set -eu

# What builds the library and FFmpeg; all goals but these are tests.
packages="g++ make nasm pkg-config xz-utils curl ca-certificates python3 zlib1g-dev"
tests=1
filters= # of the whole FFmpeg, which clang compiles
case " $* " in *" ffmpeg "*) filters=1 ;; esac
case " $* " in *" demo "* | *" lib "* | *" ffmpeg "* | *" install "*) tests= ;; esac
for goal; do case $goal in demo | lib | ffmpeg | install) ;; *) tests=1 ;; esac; done
[ -z "$tests" ] || packages="$packages patch git python3-venv libboost-context-dev check graphviz libopenjp2-tools
          libopenjp2-7-dev libjpeg-turbo-progs libjpeg-dev mediainfo parallel libimage-exiftool-perl imagemagick python3-pil"
case "$*" in *bench*) packages="$packages python3-matplotlib libturbojpeg0-dev libx264-dev" ;; esac
case "$*" in *check-packages*) packages="$packages debootstrap dpkg-dev" ;; esac
case "$*" in *check-windows*) packages="$packages g++-mingw-w64-x86-64-posix wine wine64" ;; esac
case "$*" in *check-cluster*) packages="$packages slurm-wlm munge openssh-server openssh-client" ;; esac
case "$*" in *fuzz-targets* | *check-oss-fuzz*) packages="$packages clang-19 libclang-rt-19-dev" ;; esac
case "$*" in *check-oss-fuzz*) packages="$packages libc++-19-dev libc++abi-19-dev zip unzip" ;; esac
clang_versions="19 18 21 20 17 16" # any can compile the kernels

if ! command -v apt-get >/dev/null; then
    echo "deps: not a Debian or Ubuntu system; what they call" "$packages" "clang-19${tests:+ clang-format-19 grokj2k-tools} is needed" >&2
    exit 0
fi

installed() { dpkg-query --show --showformat='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
version_offered() { apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'; }
offered() { [ -n "$(version_offered "$1")" ]; }

# The first clang that is installed or offered. For the library nvcc does as well.
clang() {
    [ -n "$tests$filters" ] || ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null || return 0
    for v in $clang_versions; do installed "clang-$v" && echo "clang-$v" && return; done
    for v in $clang_versions; do offered "clang-$v" && echo "clang-$v" && return; done
    echo clang-19
}

# What ImageMagick reads JPEG 2000 with, by its version.
magick_codecs() { apt-cache search --names-only '^libmagickcore-[67]\.q16-[0-9]+-extra$' 2>/dev/null | awk '{ print $1 }'; }

# Packages that some of these distributions do not have; the tests say what they skip without them.
optional() {
    for p in ${tests:+clang-format-19 grokj2k-tools openjph-tools libopenh264-dev $(magick_codecs)}; do
        if installed $p || offered $p; then echo $p; fi
    done
    # Older ones are of no use to FFmpeg; prepare.sh then finds a source package.
    if dpkg --compare-versions "$(version_offered libffmpeg-nvenc-dev)" ge 12.1.14; then echo libffmpeg-nvenc-dev; fi
}

missing() {
    for p in $packages $(clang) $(optional); do installed "$p" || printf '%s ' "$p"; done
}

wanted=$(missing)
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" = 0 ]; then
    sudo=
elif sudo -n true 2>/dev/null; then
    sudo=sudo
else
    echo "deps: packages are missing. Please run, and then make again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y $wanted" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get -q=2 update # before it, a bare machine does not know what is offered
wanted=$(missing)
echo "deps: installing $wanted"
# shellcheck disable=SC2086 # they are words
$sudo apt-get -q=2 install -y --no-install-recommends $wanted >/dev/null
