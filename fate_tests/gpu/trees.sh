#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Prints the git trees of what a GPU runs, as it is in the work tree, committed or not.
set -eu
cd "$(dirname "$0")/../.."
for room in common cuda_kernels libavcodec_ext; do
    index=$(mktemp -u)
    GIT_INDEX_FILE=$index git add "$room"
    echo "tree $room $(GIT_INDEX_FILE=$index git write-tree --prefix="$room/")"
    rm -f "$index"
done
