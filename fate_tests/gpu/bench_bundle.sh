#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Gathers what fate_tests/bench/run.sh needs into build/bench-bundle, so that it runs on a machine that builds nothing.
# Usage: bench_bundle.sh BUILD [MEDIA]   MEDIA: folder of real pictures
# Environment: NVJPEG_LIBRARY, NVJPEG2K_LIBRARY: files (nvJPEG is also found where a CUDA toolkit has it). Clips need a system's ffmpeg with x264 and x265; they are made once.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 media=${2:-} bundle=$1/bench-bundle
mkdir -p "$bundle"
rm -rf "${bundle:?}"/{bin,emu,scripts,lib,pictures,bench.sh}
mkdir -p "$bundle"/{bin,scripts,lib,pictures,clips}
fate_tests/gpu/carry.sh "$build" "$bundle" bin/cudaenc_bench bin/ffmpeg
cp fate_tests/bench/{rate,rows,run,chain,clip_time,cpu_peers,decode_rate,h264_rate}.sh "$bundle/scripts/"
git describe --always --dirty --exclude '*' >"$bundle/scripts/commit" 2>/dev/null || echo unknown >"$bundle/scripts/commit"
cp fate_tests/gpu/bench.sh "$bundle/"

# Peers, each with the libraries that it needs but the C library's.
libraries() { ldd "$1" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt)\.so/ { print $3 }'; }
if [ -f "${NVJPEG2K_LIBRARY-}" ]; then cp "$NVJPEG2K_LIBRARY" "$bundle/lib/libnvjpeg2k.so.0"; else echo "bench-bundle: without nvJPEG2000"; fi
if [ -f "${NVJPEG_LIBRARY-}" ]; then cp "$NVJPEG_LIBRARY" "$bundle/lib/libnvjpeg.so.13"; fi
openjpeg=$(ldconfig -p | awk '/libopenjp2\.so\.7/ && !found++ { print $NF }')
if [ -n "$openjpeg" ]; then cp "$openjpeg" "$bundle/lib/"; else echo "bench-bundle: without OpenJPEG"; fi
turbojpeg=$(ldconfig -p | awk '/libturbojpeg\.so\.0/ && !found++ { print $NF }')
if [ -n "$turbojpeg" ]; then cp "$turbojpeg" "$bundle/lib/"; else echo "bench-bundle: without libjpeg-turbo"; fi
x264=$(ldconfig -p | awk '/libx264\.so\./ && !found++ { print $NF }')
if [ -n "$x264" ]; then cp "$x264" "$bundle/lib/"; else echo "bench-bundle: without x264"; fi
for peer in grk_compress ojph_compress; do
    if program=$(command -v "$peer"); then
        cp "$program" "$bundle/bin/"
        mkdir -p "$bundle/lib/$peer" # apart, since a newer system's libraries suit its own programs
        libraries "$program" | xargs -I{} cp -L {} "$bundle/lib/$peer/"
    else
        echo "bench-bundle: without $peer"
    fi
done

# Photographs. The first was never coded lossily; bench.sh names them in this order.
if [ -d "$media" ]; then
    cp "$media/manchester_3840x2160_rgb8.png" "$bundle/pictures/1-manchester.png"
    cp "$media/forest_2048x1080_rgb12in16.png" "$bundle/pictures/2-forest.png"
    "$build/bin/ffmpeg" -v error -nostdin -y -i "$media/desk_3840x2160_2f_yuv420p.mkv" -frames:v 1 -update 1 -pix_fmt rgb24 "$bundle/pictures/3-desk.png"
    cp "$media/tulips_2048x878_rgb8.png" "$bundle/pictures/4-tulips.png"
    [ -f "$bundle/clips/4k-hevc.mp4" ] || fate_tests/bench/clips.sh ffmpeg "$media/manchester_3840x2160_rgb8.png" "$bundle/clips" ||
        echo "bench-bundle: without clips, which need an ffmpeg with libx264 and libx265"
fi
chmod -R u+w "$bundle"
du -sm "$bundle" "$bundle"/* | sort -n
