#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library as a program outside finds it: installs it into a folder of its own, builds the examples and programs of
# other versions of the header on it, runs them, and takes it away again. Ends in a line "N passed, N failed".
# Usage: run.sh BUILD FATE_BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${1:?usage: run.sh BUILD FATE_BUILD}
fate=$PWD/${2:?usage: run.sh BUILD FATE_BUILD}
here=$PWD/fate_tests/library
work=$build/check/library
prefix=$work/installed
rm -rf "$work"
mkdir -p "$work"
. fate_tests/tally.sh

check "make install" "${MAKE:-make}" --no-print-directory -o do-lib do-install PREFIX="$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
so=$prefix/lib/libcudaenc.so

# ---- what the shared library says of itself
declared() { # of the header, what is no inline function
    grep -v '^static inline' common/cudaenc.h | grep -o '^[a-z].*\bcudaenc_[a-z0-9_]*(' | grep -o 'cudaenc_[a-z0-9_]*' | sort
}
exported() { nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }
check "what is exported is what the header declares" diff <(declared) <(exported)
check "more than 20 of them" [ "$(exported | wc -l)" -gt 20 ]
check "soname" grep -q 'SONAME.*\[libcudaenc\.so\.0\]' <(readelf -d "$so")
check "version" grep -q "$(pkg-config --modversion libcudaenc | sed 's/\./\\./g')" <(readlink -f "$so")

# ---- the examples, on both libraries
flags="-std=c11 -Wall -Wextra -Wpedantic -Werror -O1"
build_planes() { # OUTPUT LINKER_FLAG [--static]
    # shellcheck disable=SC2046,SC2086 # flags are many words
    cc $flags -D_GNU_SOURCE examples/encode_planes.c -o "$1" $2 $(pkg-config ${3-} --cflags --libs libcudaenc) -lpthread
}
check "encode_planes on the shared library" build_planes "$work/encode_planes" ""
check "a program names no library but this one" [ "$(pkg-config --libs-only-l libcudaenc | xargs)" = -lcudaenc ]
check "pkg-config knows the prefix" [ "$(pkg-config --variable=prefix libcudaenc)" = "$prefix" ]
check "and another one" [ "$(pkg-config --define-variable=prefix=/moved --cflags-only-I libcudaenc | xargs)" = -I/moved/include ]
check "it needs the soname" grep -q 'NEEDED.*libcudaenc\.so\.0' <(readelf -d "$work/encode_planes")
mkdir "$work/static"
cp "$prefix/lib/libcudaenc.a" "$work/static/"
check "encode_planes on the static library" build_planes "$work/encode_planes_static" "-L$work/static -Wl,-Bstatic -lcudaenc -Wl,-Bdynamic" --static
check "it needs no shared one" bash -c "! readelf -d '$work/encode_planes_static' | grep 'NEEDED.*cudaenc'"
by_cmake() {
    mkdir "$work/cmake" && cp examples/encode_planes.c "$work/cmake/" && cat >"$work/cmake/CMakeLists.txt" <<'CMAKE' || return 1
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(cudaenc 0.2 REQUIRED)
foreach(kind cudaenc static)
  add_executable(planes_${kind} encode_planes.c)
  target_compile_definitions(planes_${kind} PRIVATE _GNU_SOURCE)
  target_link_libraries(planes_${kind} cudaenc::${kind} Threads::Threads)
endforeach()
CMAKE
    cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/cmake/build" || return 1
    readelf -d "$work/cmake/build/planes_cudaenc" | grep -q 'NEEDED.*libcudaenc\.so\.0' && ! readelf -d "$work/cmake/build/planes_static" | grep -q 'NEEDED.*cudaenc'
}
if command -v cmake >/dev/null; then
    check "CMake finds both" by_cmake
else
    echo "skipped: no cmake here"
fi
mkdir "$work/shared.out" "$work/static.out" "$work/ffmpeg.out"
"$fate/ffmpeg" -v error -f lavfi -i testsrc2=s=100x60 -frames:v 6 -vf scale=out_range=full,format=yuvj420p -f rawvideo "$work/in.yuv"
check "encode_planes" "$work/encode_planes" "$work/in.yuv" yuvj420p 100 60 "$work/shared.out/" cpu
check "encode_planes, static" "$work/encode_planes_static" "$work/in.yuv" yuvj420p 100 60 "$work/static.out/" cpu
check "the same bytes" diff -r "$work/shared.out" "$work/static.out"
check "all packets" [ "$(ls "$work/shared.out" | wc -l)" = 12 ]
ffmpeg_encodes() { # ENDING OPTIONS...
    "$fate/ffmpeg" -v error -f rawvideo -pix_fmt yuvj420p -s 100x60 -i "$work/in.yuv" -start_number 0 "${@:2}" -device cpu "$work/ffmpeg.out/%04d.$1"
}
check "ffmpeg, JPEG 2000" ffmpeg_encodes jp2 -c:v j2k_cuda -pred dwt53
check "ffmpeg, JPEG" ffmpeg_encodes jpg -c:v mjpeg_cuda -q:v 90
check "ffmpeg's bytes" diff -r "$work/shared.out" "$work/ffmpeg.out"
check "encode_planes refuses a format" bash -c "! '$work/encode_planes' '$work/in.yuv' yuv999 100 60 '$work/none' cpu"
head -c 20000 "$work/in.yuv" >"$work/cut.yuv"
check "encode_planes tells of an input that is cut" \
    bash -c "! '$work/encode_planes' '$work/cut.yuv' yuvj420p 100 60 '$work/cut.' cpu 2>'$work/errors' && grep -q 'within frame 2' '$work/errors'"
check "encode_planes tells of a file that it cannot write" \
    bash -c "! '$work/encode_planes' '$work/in.yuv' yuvj420p 100 60 '$work/none/' cpu 2>'$work/errors' && grep -c 'none/0000.jp2: No such file' '$work/errors' | grep -qx 1"

# ---- the programs of docs/library.md, which free what they have
documented() { # NUMBER OUTPUT
    awk -v number="$1" '/^    #include <cudaenc.h>/ { n++ } /^[^ ]/ { inside = 0 } /^    #include/ { inside = 1 }
        inside && n == number { print substr($0, 5) }' docs/library.md >"$2.c"
    # shellcheck disable=SC2046,SC2086 # flags are many words
    cc $flags -fsanitize=address "$2.c" -o "$2" $(pkg-config --cflags --libs libcudaenc)
}
check "docs/library.md, a session" documented 1 "$work/documented_session"
check "docs/library.md, a decoder" documented 2 "$work/documented_decoder"
check "it writes a picture" bash -c "'$work/documented_session' >'$work/black.jp2' 2>'$work/black.log'"
check "a black one" cmp <("$fate/ffmpeg" -v error -i "$work/black.jp2" -f rawvideo -) <(head -c $((1920 * 1080 * 6)) /dev/zero)
check "it reads a picture" bash -c "'$work/documented_decoder' <'$work/shared.out/0000.jpg' >'$work/decoded.yuv' 2>'$work/decoded.log'"
check "that of the codec of FFmpeg" cmp "$work/decoded.yuv" <("$fate/ffmpeg" -v error -c:v mjpeg_cuda -i "$work/shared.out/0000.jpg" -f rawvideo -)
check "docs/library.md, CAVLC" documented 3 "$work/documented_cavlc"
check "blocks of zeros, a bit each" cmp <("$work/documented_cavlc" </dev/zero) <(head -c 1020 /dev/zero | tr '\0' '\377')
check "it refuses what is none" bash -c "! '$work/documented_decoder' <'$work/black.jp2' 2>'$work/none.log' && grep -q . '$work/none.log'"

value() { sed -n "s/^$1=//p" "$fate/ffbuild/config.mak"; }
on_ffmpeg() { # SOURCE OUTPUT FLAGS...
    # shellcheck disable=SC2046,SC2086 # flags are many words
    (cd "$fate" && cc $flags -Wno-pedantic -I. -I"$(value SRC_PATH)" "$1" -o "$2" "${@:3}" $(value LDFLAGS) -Llibavcodec -Llibswresample \
        -Llibavutil -lavcodec -lswresample -lavutil $(value EXTRALIBS-avcodec) $(value EXTRALIBS-swresample) $(value EXTRALIBS-avutil))
}
check "encode_hwframes" on_ffmpeg "$PWD/examples/encode_hwframes.c" "$work/encode_hwframes"
for codec in j2k_cuda mjpeg_cuda h264_cavlc_cuda; do
    frames() {
        "$work/encode_hwframes" $codec cpu "$work/$codec" >"$work/pts" &&
            diff <(seq 0 24) <(sed 's/pts *\([0-9]*\):.*/\1/' "$work/pts") &&
            [ "$(awk '{ n += $3 } END { print n }' "$work/pts")" = "$(wc -c <"$work/$codec")" ]
    }
    check "encode_hwframes, $codec" frames
done
if [ -e /dev/nvidiactl ]; then
    check "encode_hwframes in GPU memory" "$work/encode_hwframes" j2k_cuda cuda "$work/j2k_cuda.gpu"
    check "the same bytes as on the CPU" cmp "$work/j2k_cuda" "$work/j2k_cuda.gpu"
fi
check "under 120 lines" [ "$(cat examples/*.c | wc -l)" -lt 360 ]

# ---- formats, against FFmpeg's
check "formats by name" on_ffmpeg "$here/formats.c" "$work/formats" -I"$prefix/include"
check "formats are FFmpeg's" "$work/formats"

# ---- the ABI: headers of earlier versions, and one of a later version
# shellcheck disable=SC2086 # flags are many words
program() { # HEADER OUTPUT FLAGS...
    mkdir -p "$2.include"
    cp "$1" "$2.include/cudaenc.h"
    cc $flags -Wno-pedantic -I"$2.include" "$here/program.c" -o "$2" "${@:3}" -L"$prefix/lib" -lcudaenc
}
check "program" program common/cudaenc.h "$work/program"
"$work/program" >"$work/program.out" || true
check "its output" [ "$(grep -c . "$work/program.out")" = 19 ]
shopt -s nullglob
for header in "$here"/headers/*.h; do
    name=$(basename "$header" .h)
    check "header $name" program "$header" "$work/$name"
    "$work/$name" >"$work/$name.out" || true
    check "a program with the header $name" diff "$work/program.out" "$work/$name.out"
done
later=$work/later.h
sed -E 's/^\} (CudaencConfig|CudaencFrame|CudaencPacket|CudaencDecoderConfig|CudaencPictureInfo|CudaencCodedPicture|CudaencDecodedPicture|CudaencCavlcConfig|CudaencCavlcPlane);/    int64_t later[3];\n&/
    s/^\} (CudaencJ2kOptions|CudaencMjpegOptions|CudaencH264Options);/    int64_t later_option[2];\n&/' common/cudaenc.h >"$later"
check "a later header" [ "$(grep -c '    int64_t later' "$later")" = 12 ]
check "header of later" program "$later" "$work/later" -DLATER
"$work/later" >"$work/later.out" || true
check "a program with a later header" diff "$work/program.out" "$work/later.out"

# ---- and away
check "make uninstall" "${MAKE:-make}" --no-print-directory uninstall PREFIX="$prefix"
check "nothing is left" [ -z "$(find "$prefix" ! -type d)" ]

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
