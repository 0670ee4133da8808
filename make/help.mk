# SPDX-License-Identifier: LGPL-2.1-or-later
# What 'make help' prints.

define help_text
The two to start with (each gets what is missing first):
  make demo [INPUT=file]   FFmpeg with the encoders encodes a clip; speed, size, PSNR and build/demo/demo.png
                           INPUT: H.264, HEVC, MPEG-2, ProRes, DNxHD, JPEG, JPEG 2000, FFV1, v210, PNG, TIFF, raw video
                           of others, such as VP9 or MPEG-4: 'make ffmpeg' first, whose decoders the demo then has
  make check [MEDIA=dir]   every test that needs no GPU; MEDIA: pictures of that folder too
  make check-long          the same with more that is random: options, formats, pictures (SEED=number: these again)
To work on a stage:
  make test T=stage [CASE=name] [DEVICE=emu|cpu|cuda] [BENCH=1]   checks it, and times it; without T: the stages
Parts of them:
  make deps [FOR=lib]      distribution packages: installs what is missing, or says how; FOR: what this goal needs
  make lib                 build/lib/libcudaenc.a, build/shared/libcudaenc.so, pkg-config file; no source of FFmpeg
  make wheel               build/python/cudaenc-*: the Python package with the library inside, for glibc 2.28 and later; its source archive
  make deb [DEB=lib]       build/deb: libcudaenc0, libcudaenc-dev, ffmpeg-cudaenc; DEB=lib: not the last one
  make check-packages      builds the library offline and twice, uses the packages in a clean chroot, and PyAV (as root, debootstrap)
  make windows             build/windows/libcudaenc-0.dll, for the CPU, by mingw-w64
  make check-windows       the library for Windows under Wine
  make check-arm           library, Debian packages and wheel for aarch64 under qemu: the same bytes
  make check-cluster       a clip over Slurm's jobs and over hosts by ssh, some of which die, on this machine (as root)
  make ffmpeg              build/bin/ffmpeg and ffprobe
  make check-versions      FFmpeg 5.1, 7.1, 8.1, 9.0: takes the codecs in, builds, makes the same streams
  make series FFMPEG=9.0   patches for 'git am': build/series/9.0/fork and upstream (AUTHOR='you <you@example.org>')
  make fate                the FATE tests, in FFmpeg's own harness, on the CPU and on the emulator
  make fuzz                random options, formats and pictures (FUZZ="ROUNDS FIRST_SEED" or "soak FRAMES SEED")
  make fuzz-targets        libFuzzer's programs, build/fuzzer/bin/fuzz_*; clang and its runtime make them
  make check-oss-fuzz      builds and runs them as OSS-Fuzz does, with its build script, under both of its sanitizers
  make check-sanitize      make check under AddressSanitizer and UndefinedBehaviorSanitizer, in build/address
  make check-tsan          the check programs on CPU threads under ThreadSanitizer, in build/thread
On a machine with a GPU:
  make check-gpu           the tests that need one; leaves build/gpu-bundle/gpu-record.txt
  make gpu-bundle          the same, to be carried to a machine that builds nothing: build/gpu-bundle/run.sh
  make bench               all that docs/benchmarks.md tells of; BENCH="options": one run of cudaenc_bench
  make bench-report        its tables and plots, and README's, from RESULTS=build/bench (KEEP=1: only what that measured)
  make bench-bundle        the same, to be carried: build/bench-bundle/bench.sh
Others:
  make install, uninstall  PREFIX=$(PREFIX)  LIBDIR=  DESTDIR=  SHARED=1 (FFmpeg's shared libraries too)
  make clean               removes all but build/cache
  make format              clang-format on all sources
  make include-graph       draws docs/include-graph.svg
  make house               names long functions and sentences, dead links, and what knows a block coder
Variables: ARCH=aarch64 (lib, wheel, deb, ffmpeg, install: for that processor, in build/aarch64)
           FFMPEG=$(FFMPEG) (branch)  FFMPEG_SRC=tree  FFMPEG_URL=tarball  NONFREE=1 (CUDA filters built by nvcc)
           NVCODEC_SRC=tree or tarball of nv-codec-headers
           KERNEL_COMPILER=nvcc|clang|none (for the CPU only)  GPU_ARCHS='90' (nvcc: only these, to build faster)  JOBS=$(JOBS)
  bench:   PICTURES='files' (the first is the one of all tables)  CLIPS='files' for the chain  PARTS='rates sweep ...'
           NVJPEG=folder of nvjpeg.h  NVJPEG2K=folder of nvjpeg2k.h (with NVIDIA's libraries as well), NVJPEG_LIBRARY=file
           NVJPEG2K_LIBRARY=file
endef
