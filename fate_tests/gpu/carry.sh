#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Lays programs of a build into a folder that another machine can run: at the same paths below it, the tests' library in
# emu/, and what else they load, but for the C library, in lib/. Says what that machine has to have.
# Usage: carry.sh BUILD FOLDER PROGRAM...   PROGRAM: a path below BUILD   Ends with 1 where a library is the machine's.
set -euo pipefail
build=$1 folder=$2
shift 2
mkdir -p "$folder/emu" "$folder/lib"
folder=$(cd "$folder" && pwd)

# The libraries of a program, but the C library's: name and path.
loads() { ldd "$1" | awk '$2 == "=>" && $1 !~ /^(libc|libm|libdl|libpthread|librt)\.so/ { print $1, $3 }'; }

for program; do
    mkdir -p "$folder/$(dirname "$program")"
    strip -o "$folder/$program" "$build/$program"
    loads "$build/$program"
done | sort -u | while read -r name path; do
    to=$folder/lib
    [ "$name" != libcudaenc_emu.so ] || to=$folder/emu
    strip --strip-unneeded -o "$to/$name" "$path"
done

missing=$(for program; do LD_LIBRARY_PATH=$folder/emu loads "$folder/$program"; done | awk -v folder="$folder/" 'index($2, folder) != 1 { print $1 }' | sort -u)
if [ -n "$missing" ]; then
    echo "$folder: needs libraries of the machine:" $missing
    exit 1
fi
version=$(cd "$folder" && objdump -T "$@" emu/* lib/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
echo "$folder: $# programs that need ${version/_/ } or later, and NVIDIA's driver for a GPU"
