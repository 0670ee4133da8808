# cudaenc: GPU encoders inside FFmpeg. 'make help' lists the targets. SPDX-License-Identifier: LGPL-2.1-or-later
#
# Everything that is made lies below build/. Sources are found by name: see "What is built from what".
FFMPEG ?= $(if $(FFMPEG_SRC),$(or $(shell patches/hooks.py --branch '$(FFMPEG_SRC)'),$(error FFMPEG_SRC)),7.1)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
JOBS   ?= $(shell nproc)
export JOBS
ifeq ($(MAKELEVEL),0) # the makes below share these jobs
MAKEFLAGS += -j$(JOBS)
endif
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# SANITIZE=address (and undefined behaviour), thread, fuzzer: instrumented, in a folder of its own, without FFmpeg's own
# code. Sources, kernels' images and Python's packages are the same in all of them.
B    := build$(SANITIZE:%=/%)
TREE := build/src/ffmpeg-$(FFMPEG)
behaviour          := address,undefined,float-cast-overflow
sanitizers/address := $(behaviour)
sanitizers/thread  := thread
sanitizers/fuzzer  := $(behaviour),fuzzer-no-link
sanitize           := $(if $(SANITIZE),-fsanitize=$(sanitizers/$(SANITIZE)) -fno-sanitize-recover=all)

define help_text
The two to start with (each gets what is missing first):
  make demo [INPUT=file]   FFmpeg with the encoders encodes a clip; speed, size, PSNR and build/demo/demo.png
  make check [MEDIA=dir]   every test that needs no GPU; MEDIA: pictures of that folder too
  make check-long          the same with more that is random: options, formats, pictures (SEED=number: these again)
To work on a stage:
  make test T=stage [CASE=name] [DEVICE=emu|cpu|cuda] [BENCH=1]   checks it, and times it; without T: the stages
Parts of them:
  make deps [FOR=lib]      distribution packages: installs what is missing, or says how; FOR: what this goal needs
  make lib                 build/lib/libcudaenc.a, build/shared/libcudaenc.so, pkg-config file; no source of FFmpeg
  make wheel               build/python/cudaenc-*.whl: the Python package with the library inside
  make deb                 build/deb: libcudaenc0, libcudaenc-dev, ffmpeg-cudaenc
  make check-packages      builds the library offline and twice, uses the packages in a clean chroot, and PyAV (as root, debootstrap)
  make windows             build/windows/libcudaenc-0.dll, for the CPU, by mingw-w64
  make check-windows       the library for Windows under Wine
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
Variables: FFMPEG=$(FFMPEG) (branch)  FFMPEG_SRC=tree  FFMPEG_URL=tarball  NONFREE=1 (CUDA filters built by nvcc)
           NVCODEC_SRC=tree or tarball of nv-codec-headers
           KERNEL_COMPILER=nvcc|clang|none (for the CPU only)  GPU_ARCHS='90' (nvcc: only these, to build faster)  JOBS=$(JOBS)
  bench:   PICTURES='files' (the first is the one of all tables)  CLIPS='files' for the chain  PARTS='rates sweep ...'
           NVJPEG=folder of nvjpeg.h  NVJPEG2K=folder of nvjpeg2k.h (with NVIDIA's libraries as well), NVJPEG_LIBRARY=file
           NVJPEG2K_LIBRARY=file
endef
help:
	@:$(info $(help_text))

# ---- Goals that need the distribution's packages. They start anew after 'deps', since what follows looks for compilers.
goals := demo check check-long check-versions check-packages check-cluster check-windows check-sanitize check-tsan check-oss-fuzz fate fuzz fuzz-targets bench bench-bundle gpu-bundle check-gpu
.PHONY: series sanitized-programs help deps $(goals) $(goals:%=do-%) bench-report do-kernels do-kernel-size lib wheel deb windows ffmpeg install uninstall clean format FORCE
deps:
	@patches/deps.sh $(filter-out deps,$(MAKECMDGOALS)) $(FOR)
$(goals): deps
	@$(MAKE) --no-print-directory do-$@

# ---- Compilers
CXX ?= g++
CXXFLAGS ?=
optimise := -O3
NVCC := $(firstword $(wildcard $(CUDA_HOME:%=%/bin/nvcc)) $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
CLANG := $(firstword $(foreach v,19 18 21 20 17 16,$(shell command -v clang++-$(v))) \
           $(shell clang++ -dumpversion 2>/dev/null | awk -F. '$$1 >= 16 { print "clang++" }'))
KERNEL_COMPILER ?= $(if $(NVCC),nvcc,$(if $(CLANG),clang,none))
ifdef SANITIZE
# Clones for several processors would take minutes to compile, and have the same code.
optimise := -O1 -g -fno-omit-frame-pointer -DCUDAENC_ONE_TARGET= $(sanitize)
ifeq ($(SANITIZE)$(origin CXX),fuzzerdefault)
CXX := $(CLANG)
CC  := $(subst clang++,clang,$(CLANG))
endif
endif

# No contraction: a float result is the same on every device and with every compiler.
cxxflags := -std=c++20 -fPIC $(optimise) -Wall -Wextra $(if $(findstring clang,$(CXX)),,-Wno-restrict) -ffp-contract=off \
            -fvisibility=default -Icommon -Icuda_kernels -Ibuild/src/ffnvcodec/include -pthread $(CXXFLAGS)

# nvcc: machine code for these GPUs, of which it may not know all, and PTX of the newest for those that come later. The
# smallest compression wants a driver of CUDA 12.4, which is more than what nvcc 12 makes wants otherwise.
GPU_ARCHS ?= 75 80 86 89 90 100 120
archs := $(filter $(patsubst sm_%,%,$(if $(NVCC),$(shell $(NVCC) --list-gpu-code))),$(GPU_ARCHS))
nvccflags := -fatbin -std=c++20 -O3 --fmad=false -Wno-deprecated-gpu-targets -Icommon -Icuda_kernels \
            $(if $(shell $(or $(NVCC),true) --version | grep -E 'release (1[3-9]|[2-9][0-9])'),--compress-mode=size) \
            $(foreach a,$(archs),-gencode arch=compute_$(a),code=sm_$(a)) \
            -gencode arch=compute_$(lastword $(archs)),code=compute_$(lastword $(archs))

# clang: PTX for the oldest, with nothing of NVIDIA's, and the same whether a CUDA toolkit is there or not.
clangflags := -x cuda -S --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-feature=+ptx70 --cuda-path=/nonexistent \
              -nocudalib -nocudainc -std=c++20 -O3 -ffp-contract=off -Wall -Wextra -Icommon -Icuda_kernels

# ---- What is built from what
host_sources   := $(shell find common cuda_kernels -name "*.cpp" | sort)
kernels        := $(shell find cuda_kernels -name "*.cu" | sort)
test_kernels   := $(wildcard fate_tests/emu/*.cu fate_tests/bench/*.cu)
emu_sources    := $(wildcard fate_tests/emu/*.cpp)
check_sources  := $(wildcard fate_tests/check/test_*.cpp)
bench_sources  := $(wildcard fate_tests/bench/*.cpp)
fuzz_sources   := $(wildcard fate_tests/fuzz/*.cpp)

objects        := $(host_sources:%.cpp=$(B)/obj/%.o)
check_programs := $(check_sources:fate_tests/check/%.cpp=$(B)/check/%)

# What a flag or a compiler changes is built again: $(call stamp,file,text) touches the file when the text has changed.
define stamp
$(1): FORCE
	@mkdir -p $$(@D); printf '%s\n' '$(2)' | cmp -s - $$@ || printf '%s\n' '$(2)' >$$@
endef
$(eval $(call stamp,$(B)/obj/flags,$(CXX) $(shell $(CXX) -dumpfullversion 2>/dev/null) $(cxxflags)))

$(B)/obj/%.o: %.cpp $(B)/obj/flags | build/src/headers
	@mkdir -p $(@D)
	@echo "CXX     $<"
	@$(CXX) $(cxxflags) $(includes) -MMD -MP -c $< -o $@
ifdef SANITIZE # functions of lanes take minutes to instrument once they are inlined into each other
$(B)/obj/common/h264/macroblock_lanes.o: private cxxflags += -Dalways_inline=noinline
endif
# NVIDIA's libraries that the tests know where their headers are there; a CUDA toolkit has nvJPEG's, and what it includes.
toolkit := $(if $(NVCC),$(abspath $(dir $(NVCC))../include))
NVJPEG  ?= $(if $(wildcard $(toolkit)/nvjpeg.h),$(toolkit))
$(B)/obj/fate_tests/%.o: includes := -Ifate_tests/emu $(NVJPEG2K:%=-I%) $(if $(NVJPEG),-I$(NVJPEG) $(toolkit:%=-I%))
$(eval $(call stamp,$(B)/obj/nvidia,$(NVJPEG2K) $(NVJPEG)))
$(addprefix $(B)/obj/fate_tests/,bench/jpeg_decode.o bench/peer_nvjpeg2k.o bench/peer_nvjpeg.o check/test_nvjpeg.o): $(B)/obj/nvidia
$(addprefix $(B)/obj/fate_tests/,bench/peer_openjpeg.o fuzz/fuzz.o fuzz/soak.o): includes += $(shell pkg-config --cflags libopenjp2 2>/dev/null)

# Kernels, into images that the driver loads, all embedded by one assembly file. A module's name is the path of its source
# below cuda_kernels, or the file's name in the tests.
kernel_version := $(shell $(or $(if $(filter nvcc,$(KERNEL_COMPILER)),$(NVCC),$(CLANG)),false) --version 2>/dev/null | tr -d "'" | tr '\n' ' ')
image_ending   := $(if $(filter nvcc,$(KERNEL_COMPILER)),fatbin,ptx)
compiled        = $(if $(filter none,$(KERNEL_COMPILER)),,$(1:%.cu=build/kernels/%.$(image_ending)))
images         := $(call compiled,$(kernels))
test_images    := $(images) $(call compiled,$(test_kernels))
$(eval $(call stamp,build/kernels/flags,$(kernel_version) $(nvccflags) $(clangflags)))

build/kernels/%.fatbin: %.cu build/kernels/flags
	@mkdir -p $(@D)
	@echo "NVCC    $<"
	@$(NVCC) $(nvccflags) -MD -MP -MF $@.d $< -o $@
build/kernels/%.ptx: %.cu build/kernels/flags
	@mkdir -p $(@D)
	@echo "CLANG   $<"
	@$(CLANG) $(clangflags) -MMD -MP -MF $@.d $< -o $@

define embed # $(call embed,images): struct CudaencImage { const char *module; const unsigned char *data; size_t size; } of each
	{ i=0; \
	  for image in $(1); do i=$$((i + 1)); module=$${image#build/kernels/}; module=$${module#cuda_kernels/}; \
	    module=$${module#fate_tests/*/}; \
	    echo ".section .rodata"; echo ".balign 64"; echo "data$$i: .incbin \"$$image\""; echo "end$$i: .byte 0"; \
	    echo "name$$i: .asciz \"$${module%.*}\""; done; \
	  echo '.section .data.rel.ro.local,"aw"'; echo ".balign 8"; echo ".globl cudaenc_images"; echo "cudaenc_images:"; \
	  for n in $$(seq $$i); do echo ".quad name$$n, data$$n, end$$n - data$$n"; done; \
	  echo ".quad 0, 0, 0"; echo '.section .note.GNU-stack,"",@progbits'; } >$@
endef
$(eval $(call stamp,build/kernels/list,$(test_images)))
build/kernels/images.S: $(images) build/kernels/list
	@$(call embed,$(images))
build/kernels/no_images.S:
	@mkdir -p $(@D)
	@$(call embed)
build/kernels/test_images.S: $(test_images) build/kernels/list
	@$(call embed,$(test_images))
%.o: %.S
	@$(CXX) -c $< -o $@

# The library, and the tests' variant of it, which has the emulator and the tests' kernels as well.
define archive
	@mkdir -p $(@D)
	@echo "AR      $@"
	@rm -f $@ && $(AR) rcsD $@ $^
endef
library_parts := $(objects) build/kernels/$(if $(filter fuzzer,$(SANITIZE)),no_)images.o
$(B)/lib/libcudaenc.a: $(library_parts)
	$(archive)
$(B)/emu/libcudaenc.a: $(objects) build/kernels/test_images.o $(B)/emu/emulator.o
	$(archive)

$(B)/emu/obj/%.o: %.cu $(B)/obj/flags
	@mkdir -p $(@D)
	@echo "EMU     $<"
	@$(CXX) $(cxxflags) -DCUDAENC_EMU -Ifate_tests/emu -MMD -MP -x c++ -c $< -o $@
# One object, since kernels register themselves: nobody asks an archive for them by name.
$(B)/emu/emulator.o: $(emu_sources:%.cpp=$(B)/obj/%.o) $(patsubst %.cu,$(B)/emu/obj/%.o,$(kernels) $(test_kernels))
	@$(LD) -r -o $@ $^

# The tests' library for Python.
$(B)/emu/shared/libcudaenc.so: $(B)/emu/libcudaenc.a
	@mkdir -p $(@D)
	@echo "LINK    $@"
	@$(CXX) -shared -pthread -o $@ -Wl,--whole-archive $< -Wl,--no-whole-archive -lboost_context -lm -ldl

version := $(shell awk '/define CUDAENC_VERSION_(MAJOR|MINOR|PATCH) / { v = v (v ? "." : "") $$3 } END { print v }' common/cudaenc.h)
# The shared library exports what cudaenc.h declares. Its soname has the number of the ABI.
abi := 0
$(B)/shared/libcudaenc.map: common/cudaenc.h Makefile
	@mkdir -p $(@D)
	@{ echo 'CUDAENC_$(abi) { global:'; grep -v '^static inline' $< | grep -o '^[a-z].*\bcudaenc_[a-z0-9_]*(' | grep -o 'cudaenc_[a-z0-9_]*($$' | tr '(' ';' | sort; echo 'local: *; };'; } >$@
$(B)/shared/libcudaenc.so.$(version): $(library_parts) $(B)/shared/libcudaenc.map $(B)/obj/flags
	@echo "LINK    $@"
	@$(CXX) $(CXXFLAGS) -shared -pthread -o $@ $(library_parts) -Wl,-soname,libcudaenc.so.$(abi) -Wl,--version-script=$(B)/shared/libcudaenc.map \
	    -Wl,-z,defs,-z,relro,-z,now,--as-needed,--build-id=sha1 $(LDFLAGS) -lm -ldl
$(B)/shared/libcudaenc.so: $(B)/shared/libcudaenc.so.$(version)
	@ln -sf $(<F) $@.$(abi) && ln -sf libcudaenc.so.$(abi) $@

define pkgconfig # $(call pkgconfig,file,include folder,library folder,options before the library,libraries it needs)
	@printf '%s\n' 'Name: libcudaenc' 'Description: GPU video encoders' 'Version: $(version)' 'Cflags: -I$(2)' \
	    'Libs: -L$(3) $(4) $(sanitize) -lcudaenc $(strip $(5) -lstdc++ -lm -ldl -lpthread)' >'$(1)'
endef
$(eval $(call stamp,$(B)/obj/folder,$(CURDIR)))
$(B)/lib/pkgconfig/libcudaenc.pc $(B)/shared/pkgconfig/libcudaenc.pc: $(B)/%/pkgconfig/libcudaenc.pc: Makefile common/cudaenc.h $(B)/obj/folder
	@mkdir -p $(@D)
	$(call pkgconfig,$@,$(CURDIR)/common,$(CURDIR)/$(B)/$*)
$(B)/emu/pkgconfig/libcudaenc.pc: Makefile common/cudaenc.h $(B)/obj/folder
	@mkdir -p $(@D)
	$(call pkgconfig,$@,$(CURDIR)/common,$(CURDIR)/$(B)/emu,-Wl$(,)-u$(,)cudaenc_emulator_anchor,-lboost_context)
, := ,

lib: $(B)/lib/libcudaenc.a $(B)/lib/pkgconfig/libcudaenc.pc $(B)/shared/libcudaenc.so
	@$(if $(images),:,echo "note: $(if $(NVCC)$(CLANG),KERNEL_COMPILER=none,neither nvcc nor clang >= 16 is here): the library has no kernels and runs on the CPU only")

# Programs find these before the shared ones, so that they need nothing but the C library where they run. Sanitizers want
# to intercept what the shared ones have.
static_libraries := boost_context check_pic subunit $(if $(SANITIZE),,z stdc++)
static           := -L$(B)/static $(if $(SANITIZE),$(sanitize),-static-libgcc)
$(B)/static:
	@mkdir -p $@.new
	@for library in $(static_libraries); do \
	    file=$$($(CXX) -print-file-name=lib$$library.a); [ ! -f "$$file" ] || ln -sf "$$file" $@.new/; done
	@mv $@.new $@

# For Windows, by mingw-w64: the CPU's part, as a DLL that needs no other. At -O3 its H.264 faults under Wine.
mingw := x86_64-w64-mingw32-
windows_objects := $(host_sources:%.cpp=$(B)/windows/obj/%.o)
$(B)/windows/obj/%.o: %.cpp $(B)/obj/flags | build/src/headers
	@mkdir -p $(@D)
	@echo "MINGW   $<"
	@$(mingw)g++-posix $(filter-out -fPIC -fvisibility=% -O3,$(cxxflags)) -O2 -DCUDAENC_ONE_TARGET= -Wno-format -Wno-format-extra-args -MMD -MP -c $< -o $@
$(B)/windows/libcudaenc-0.dll: $(windows_objects) $(B)/shared/libcudaenc.map
	@echo "LINK    $@"
	@printf '#include "images.h"\nextern const CudaencImage cudaenc_images[] = {{nullptr, nullptr, 0}};\n' >$(@D)/images.cpp
	@{ echo EXPORTS; sed -n 's/^\(cudaenc_.*\);/\1/p' $(B)/shared/libcudaenc.map; } >$(@D)/exports.def
	@$(mingw)g++-posix -std=c++20 -Icuda_kernels -shared -static -o $@ $(windows_objects) $(@D)/images.cpp $(@D)/exports.def \
	    -Wl,--out-implib,$(@D)/libcudaenc.dll.a -lpthread
windows: $(B)/windows/libcudaenc-0.dll
do-check-windows: windows $(B)/shared/libcudaenc.so
	@fate_tests/library/windows.sh $(B)

# A wheel with the shared library inside.
wheel: build/python/built
build/python/built: $(B)/shared/libcudaenc.so $(wildcard python/* python/cudaenc/*) common/cudaenc.h
	@rm -rf build/python && mkdir -p build/python
	@python3 -m venv build/python/venv
	@build/python/venv/bin/pip --quiet wheel --no-deps --wheel-dir build/python ./python
	@ls build/python/*.whl && touch $@

# Debian packages. clang makes their kernels, since what nvcc makes depends on the folder.
deb:
	@$(MAKE) --no-print-directory $(if $(CLANG),KERNEL_COMPILER=clang) lib ffmpeg
	@MAKE='$(MAKE)' tools/deb.sh $(B) $(B)/deb
do-check-packages: deb
	@MAKE='$(MAKE)' fate_tests/library/packages.sh
	@MAKE='$(MAKE)' fate_tests/library/shared.sh

# The headers of NVIDIA's driver, without which nothing here is compiled.
$(eval $(call stamp,build/src/headers_from,$(NVCODEC_SRC)))
build/src/headers: patches/prepare.sh build/src/headers_from
	@NVCODEC_SRC='$(NVCODEC_SRC)' patches/prepare.sh --headers

# ---- FFmpeg
$(eval $(call stamp,build/src/links,$(FFMPEG) $(FFMPEG_SRC) $(FFMPEG_URL) of \
    $(shell find libavcodec_ext fate_tests/fate fate_tests/ref -type f | sort | md5sum)))
build/src/state-$(FFMPEG)/prepared: patches/prepare.sh $(wildcard patches/*.py) patches/sources.txt $(wildcard patches/doc/* patches/extras/*) build/src/links | build/src/headers
	@FFMPEG_SRC='$(FFMPEG_SRC)' FFMPEG_URL='$(FFMPEG_URL)' patches/prepare.sh $(FFMPEG)
build/src/state-$(FFMPEG)/hooks: build/src/state-$(FFMPEG)/prepared ; @:

# Patches for 'git am', with and without the references of the tests.
series: build/src/state-$(FFMPEG)/hooks
	@for kind in fork upstream; do \
	    rm -rf build/series/$(FFMPEG)/$$kind; patches/series.py $(if $(AUTHOR),--author='$(AUTHOR)') $$kind $(TREE)/ build/series/$(FFMPEG)/$$kind; done
	@ls build/series/$(FFMPEG)/*/*.patch

ffmpeg_tools := $(if $(SANITIZE),$(if $(filter fuzzer,$(SANITIZE)),--cc='$(CC)' --cxx='$(CXX)' --ld='$(strip $(CXX) $(CXXFLAGS))'),--extra-ldflags=-static-libgcc)
# Nothing is taken from the machine that the caller did not ask for: the binaries run elsewhere too.
ffmpeg_common := --disable-doc --disable-debug --disable-autodetect --disable-ffplay --enable-zlib --enable-ffnvcodec \
    --enable-libcudaenc --pkg-config-flags=--static --extra-ldflags=-L$(CURDIR)/$(B)/static $(ffmpeg_tools) \
    --extra-version=cudaenc
# CUDA filters such as scale_cuda: clang compiles them without NVIDIA's toolkit; with nvcc the result is not redistributable.
ffmpeg_filters := $(if $(NONFREE),--enable-nonfree --enable-cuda-nvcc --nvcc=$(NVCC) \
        --nvccflags="-gencode arch=compute_75$(,)code=sm_75 -O2", \
    --enable-cuda-llvm --nvcc=$(CLANG) --nvccflags="--cuda-gpu-arch=sm_75 --cuda-feature=+ptx70 --cuda-path=/nonexistent -O2")
ffmpeg_options := $(ffmpeg_common) --enable-cuvid --enable-nvdec --enable-nvenc $(ffmpeg_filters)

# The smallest FFmpeg that FATE's tests of the encoders, the interop tests and the media tests run with.
fate_decoders := rawvideo jpeg2000 mjpeg mjpeg_cuda h264 ffv1 png ppm pgm pam pgx tiff wrapped_avframe
fate_encoders := rawvideo j2k_cuda mjpeg_cuda h264_cavlc_cuda jpeg2000 mjpeg ffv1 png ppm pgm pam tiff wrapped_avframe
fate_demuxers := rawvideo image2 image2pipe image_j2k_pipe image_jpeg_pipe image_png_pipe h264 mpegts mxf mov matroska avi nut yuv4mpegpipe
fate_muxers   := rawvideo image2 image2pipe h264 mpegts mxf mov mp4 matroska avi nut yuv4mpegpipe framecrc framemd5 framehash crc md5 rtp \
                 hash null
fate_filters  := alphaextract alphamerge blend color colorspectrum copy crop drawbox drawgrid extractplanes format fps framestep \
                 geq gradients hstack hwdownload hwupload hwupload_cuda identity loop lut lutrgb lutyuv mandelbrot mergeplanes noise \
                 null nullsrc pad psnr rgbtestsrc scale select setparams setpts setrange setsar settb smptehdbars split ssim testsrc \
                 testsrc2 tile trim vstack yuvtestsrc zoompan
fate_options  := $(ffmpeg_common) --disable-everything --disable-network --enable-protocol=file,pipe,md5 --enable-indev=lavfi \
    --enable-parser=jpeg2000,mjpeg,png,h264 --enable-bsf=null,setts,trace_headers,h264_mp4toannexb,h264_metadata,extract_extradata \
    $(foreach kind,decoder encoder demuxer muxer filter,$(foreach name,$(fate_$(kind)s),--enable-$(kind)=$(name)))

# The smallest that the same streams come out of, which is compared between FFmpeg's branches, and that has all files with hooks.
minimal_options := $(filter-out --pkg-config-flags=--static,$(ffmpeg_common)) --disable-everything --disable-network --enable-protocol=file,pipe --enable-filter=setparams,scale \
    --enable-decoder=rawvideo,mjpeg_cuda,jpeg2000 --enable-demuxer=rawvideo,image_jpeg_pipe,mov --enable-parser=mjpeg \
    --enable-encoder=rawvideo,j2k_cuda,mjpeg_cuda,h264_cavlc_cuda --enable-muxer=rawvideo,framemd5,image2pipe,framecrc,image2,mxf

# What the demo needs, and to read most files that a user may give it.
demo_decoders := av1 dnxhd ffv1 h264 hevc huffyuv jpeg2000 mjpeg mpeg1video mpeg2video mpeg4 png ppm prores rawvideo tiff v210 vp8 vp9 \
                 wrapped_avframe
demo_demuxers := avi h264 hevc image2 image_j2k_pipe image_jpeg_pipe image_png_pipe matroska mov mpegps mpegts mxf nut rawvideo \
                 yuv4mpegpipe
demo_filters  := blend crop format hstack lut lutrgb mergeplanes noise null overlay perlin psnr scale select setpts settb split testsrc2 \
                 trim vstack
demo_options  := $(ffmpeg_common) --disable-everything --disable-network --enable-protocol=file,pipe --enable-indev=lavfi \
    --enable-parser=av1,dnxhd,h264,hevc,jpeg2000,mjpeg,mpeg4video,mpegvideo,png,vp8,vp9 --enable-bsf=null \
    --enable-encoder=j2k_cuda,mjpeg_cuda,h264_cavlc_cuda,jpeg2000,mjpeg,rawvideo,png,wrapped_avframe \
    --enable-muxer=avi,framehash,image2,mov,mxf,null,nut \
    $(foreach kind,decoder demuxer filter,$(foreach name,$(demo_$(kind)s),--enable-$(kind)=$(name)))

# Of FFmpeg's own code only the glue is instrumented.
glue_flags := $(if $(sanitize),--eval='$(patsubst libavcodec_ext/%.c,libavcodec/%.o,$(wildcard libavcodec_ext/*.c)): CFLAGS += -g $(sanitize)')

# $(call ffmpeg,folder,library folder,variable with the options,further goals): the rules of one build of FFmpeg.
define ffmpeg
$$(eval $$(call stamp,$(1)/options,$$($(3))))
$(1)/configured: $(1)/options build/src/state-$(FFMPEG)/hooks | $(2)/libcudaenc.a $(2)/pkgconfig/libcudaenc.pc $(B)/static
	@echo "CONFIGURE $(1)"
	@cd $(1) && PKG_CONFIG_PATH=$(CURDIR)/$(2)/pkgconfig:$(CURDIR)/build/src/ffnvcodec/lib/pkgconfig \
	    $(CURDIR)/$(TREE)/configure $$($(3)) >configure.log 2>&1 || { tail -n 20 configure.log; exit 1; }
	@touch $$@
# FFmpeg's Makefile does not know that the programs are made of libcudaenc.a too.
$(1)/built: $(1)/configured $(2)/libcudaenc.a FORCE
	@[ -f $$@ ] || echo "BUILD   $(1) (minutes; $(1)/make.log)"
	@[ $(1)/ffmpeg_g -nt $(2)/libcudaenc.a ] || rm -f $(1)/ffmpeg_g $(1)/ffprobe_g
	@files=$$$$($$(MAKE) -n -C $(1) ffmpeg ffprobe $(4) 2>/dev/null | grep -cE '^printf "(CC|X86ASM)' || true); \
	    $$(MAKE) --no-print-directory -C $(1) $$(glue_flags) ffmpeg ffprobe $(4) 2>&1 | tee $(1)/make.log | \
	    awk -v files="$$$$files" '/^(CC|X86ASM)\t/ && ++n % 100 == 0 { print "        " n " of " files " files"; fflush() }' || \
	    { grep -v '^\(CC\|AR\|X86ASM\)' $(1)/make.log | tail -n 40; exit 1; }
	@[ $$@ -nt $(1)/ffprobe ] || touch $$@
endef
# As shared libraries, on the shared library: what 'make install SHARED=1' installs. SHARED=minimal: the tests' small one.
shared := $(B)/ffmpeg-$(FFMPEG)-shared$(patsubst %,-%,$(filter minimal,$(SHARED)))
shared_options = $(filter-out --pkg-config-flags=% --extra-ldflags=%,$(if $(filter minimal,$(SHARED)),$(minimal_options),$(ffmpeg_options))) \
    --enable-shared --disable-static --prefix=$(PREFIX) --libdir=$(LIBDIR) --shlibdir=$(LIBDIR)
$(eval $(call stamp,$(shared)/options,$$(shared_options)))
$(shared)/configured: $(shared)/options build/src/state-$(FFMPEG)/hooks | $(B)/shared/libcudaenc.so $(B)/shared/pkgconfig/libcudaenc.pc
	@echo "CONFIGURE $(@D)"
	@cd $(@D) && LD_LIBRARY_PATH=$(CURDIR)/$(B)/shared PKG_CONFIG_PATH=$(CURDIR)/$(B)/shared/pkgconfig:$(CURDIR)/build/src/ffnvcodec/lib/pkgconfig \
	    $(CURDIR)/$(TREE)/configure $(shared_options) >configure.log 2>&1 || { tail -n 20 configure.log; exit 1; }
	@touch $@
$(shared)/built: $(shared)/configured $(B)/shared/libcudaenc.so FORCE
	@[ -f $@ ] || echo "BUILD   $(@D) (minutes; $(@D)/make.log)"
	@$(MAKE) --no-print-directory -C $(@D) all >$(@D)/make.log 2>&1 || { grep -v '^\(CC\|AR\|X86ASM\)' $(@D)/make.log | tail -n 40; exit 1; }
	@[ $@ -nt $(@D)/ffprobe ] || touch $@

full := $(B)/ffmpeg-$(FFMPEG)
fate := $(B)/ffmpeg-$(FFMPEG)-fate
minimal := $(B)/ffmpeg-$(FFMPEG)-minimal
demo := $(B)/ffmpeg-$(FFMPEG)-demo
$(eval $(call ffmpeg,$(full),$(B)/lib,ffmpeg_options))
$(eval $(call ffmpeg,$(minimal),$(B)/lib,minimal_options,tests/tiny_psnr))
$(eval $(call ffmpeg,$(demo),$(B)/lib,demo_options))
$(eval $(call ffmpeg,$(fate),$(B)/$(if $(filter fuzzer,$(SANITIZE)),lib,emu),fate_options,tests/tiny_psnr))

ffmpeg: $(B)/bin/ffmpeg $(B)/bin/ffprobe
$(B)/bin/%: $(full)/built
	@mkdir -p $(@D)
	@cp $(full)/$* $@

# With the whole FFmpeg where it was built, else with what the demo needs of it.
do-demo: $(if $(wildcard $(full)/built),ffmpeg,$(demo)/built)
	@fate_tests/demo.sh $(if $(wildcard $(full)/built),$(B)/bin,$(demo)) $(B)/demo "$(INPUT)"

# ---- Tests. What each prints ends in "N passed, N failed"; fate_tests/check.sh adds them up.
define link # $(call link,further libraries)
	@mkdir -p $(@D)
	@echo "LINK    $@"
	@$(CXX) -pthread $(filter %.o,$^) -o $@ $(static) -Wl,-u,cudaenc_emulator_anchor $(B)/emu/libcudaenc.a -lboost_context $(1) -lm -ldl
endef
check_libraries := -lcheck_pic -lsubunit -lrt
$(B)/check/%: $(B)/obj/fate_tests/check/%.o $(B)/emu/libcudaenc.a | $(B)/static
	$(call link,$(check_libraries))

# One stage: the program of that name. What runs on a GPU is not compiled again for a device that is none.
.PHONY: test do-test
stages := $(check_sources:fate_tests/check/test_%.cpp=%)
ifeq ($(filter $(T),$(stages)),)
test:
	@$(if $(T),echo "T=$(T) is no stage.";) echo "make test T=stage [CASE=name] [DEVICE=emu|cpu|cuda] [BENCH=1]; stages:"
	@for stage in $(stages); do printf '  %-16s' $$stage; sed -n '1s|^// *||p' fate_tests/check/test_$$stage.cpp | sed 's/[.,:;] .*//; s/\.$$//'; done
	@$(if $(T),exit 1)
else
test: deps
	@$(MAKE) --no-print-directory do-test $(if $(filter cuda%,$(DEVICE)),,$(addprefix -o ,$(wildcard $(test_images))))
endif
do-test: $(B)/check/test_$(T)
	@$< $(or $(DEVICE),emu) $(if $(CASE),'--case=$(CASE)') $(if $(BENCH),--bench)

# The compiler that did not make the images compiles the kernels as well; where there is a ptxas it reads clang's.
other_ptx := $(patsubst %.cu,build/kernels/%.ptx,$(kernels) $(test_kernels))
do-kernels: do-kernel-size $(test_images) $(if $(CLANG),$(other_ptx))
	@$(if $(CLANG),:,echo "no clang >= 16 here: the kernels were not compiled with it"; exit 1)
	@$(if $(NVCC),for ptx in $(other_ptx); do $(dir $(NVCC))ptxas -arch=sm_75 $$ptx -o /dev/null; done)

# What the library's kernels take in a program, at most 12 MB.
do-kernel-size: $(images)
	@size=$$(cat $(images) | wc -c); echo "embedded kernels: $(words $(images)) images, $$size bytes"; [ $$size -le 12000000 ]

build/venv/bin/jpylyzer:
	@python3 -m venv build/venv && build/venv/bin/pip --quiet install jpylyzer

do-check-programs: $(B)/bin/cudaenc_fuzz $(check_programs) $(if $(filter thread,$(SANITIZE)),,$(B)/bin/cudaenc_bench $(fate)/built)
# A part of check-sanitize, after what both builds share.
sanitized-programs: do-check-programs
	@$(MAKE) --no-print-directory SANITIZE=address build/address/bin/cudaenc_fuzz build/address/check/test_session
do-check: do-check-programs build/venv/bin/jpylyzer $(if $(SANITIZE),,sanitized-programs lib wheel $(B)/emu/shared/libcudaenc.so)
	@B=$(B) SANITIZE=$(SANITIZE) FATE=$(fate) MEDIA='$(MEDIA)' SEED='$(SEED)' LONG='$(LONG)' MAKE='$(MAKE)' fate_tests/check.sh
do-check-long: LONG := 1
do-check-long: do-check
do-check-sanitize:
	@$(MAKE) --no-print-directory SANITIZE=address do-check
do-check-tsan:
	@$(MAKE) --no-print-directory SANITIZE=thread do-check
# The references of the streams hold in every branch.
branches := $(shell awk '$$1 == "suite" { print $$2 }' patches/sources.txt | sort -u)
do-check-versions:
	@FATE=$(fate) MAKE='$(MAKE)' fate_tests/versions.sh $(branches)
do-check-version: $(minimal)/built
	@fate_tests/fate.sh $(minimal) cpu

do-check-cluster: $(fate)/built
	@fate_tests/cluster.sh $(fate)
	@fate_tests/hosts.sh $(fate)

do-fate: $(fate)/built
	@fate_tests/fate.sh $(fate) cpu
	@fate_tests/fate.sh $(fate) emu

# ---- Benchmarks, fuzzing
$(B)/bin/cudaenc_bench: $(bench_sources:%.cpp=$(B)/obj/%.o) $(B)/emu/libcudaenc.a | $(B)/static
	$(call link,-lz)
# One run of the program where BENCH has its options; else all parts.
export PICTURES CLIPS NVJPEG_LIBRARY NVJPEG2K_LIBRARY
do-bench: do-kernel-size $(B)/bin/cudaenc_bench $(if $(BENCH),,ffmpeg)
ifdef BENCH
	@$(B)/bin/cudaenc_bench $(BENCH)
else
	@fate_tests/bench/run.sh $(B)/bin $(B)/bench $(PARTS)
endif
RESULTS ?= $(B)/bench
bench-report:
	@fate_tests/bench/report.py $(KEEP:%=--keep) $(RESULTS) docs/benchmarks.md README.md
	@for python in python3 /usr/bin/python3; do $$python -c 'import matplotlib' 2>/dev/null && break || true; done; \
	    $$python fate_tests/bench/plot.py $(KEEP:%=--keep) docs $(RESULTS)
do-bench-bundle: $(B)/bin/cudaenc_bench ffmpeg
	@fate_tests/gpu/bench_bundle.sh $(B) '$(MEDIA)'

$(B)/bin/cudaenc_fuzz: $(fuzz_sources:%.cpp=$(B)/obj/%.o) $(B)/emu/libcudaenc.a | $(B)/static
	$(call link,$(check_libraries))
do-fuzz: $(B)/bin/cudaenc_fuzz
	@$(B)/bin/cudaenc_fuzz $(FUZZ)

# libFuzzer's targets, or those of the engine that FUZZER names; on the CPU.
FUZZER ?= -fsanitize=fuzzer
fuzz_targets := $(patsubst fate_tests/fuzz/targets/%.cpp,$(B)/bin/fuzz_%,$(wildcard fate_tests/fuzz/targets/*.cpp))
do-fuzz-targets:
	@$(MAKE) --no-print-directory SANITIZE=fuzzer fuzzer-programs
do-check-oss-fuzz:
	@for sanitizer in address undefined; do fate_tests/fuzz/oss-fuzz/check.sh $(B) $$sanitizer; done
.PHONY: fuzzer-programs
fuzzer-programs: $(fuzz_targets)
$(B)/obj/fate_tests/fuzz/targets/frames.o: includes := -I$(fate) -I$(TREE)
$(B)/obj/fate_tests/fuzz/targets/frames.o: | $(fate)/configured
$(B)/bin/fuzz_frames: libraries = $(foreach l,avcodec swresample avutil,$(fate)/lib$l/lib$l.a) -lz
$(B)/bin/fuzz_frames: $(fate)/built
$(fuzz_targets): $(B)/bin/fuzz_%: $(B)/obj/fate_tests/fuzz/targets/%.o $(B)/lib/libcudaenc.a
	@mkdir -p $(@D)
	@echo "LINK    $@"
	@$(CXX) -pthread $< -o $@ $(sanitize) $(CXXFLAGS) $(FUZZER) $(libraries) $(B)/lib/libcudaenc.a -lm -ldl

# ---- With a GPU
# FATE's ffmpeg once more, with clang's kernels in it.
$(eval $(call stamp,build/kernels/ptx_list,$(other_ptx)))
build/kernels/ptx_images.S: $(other_ptx) build/kernels/ptx_list
	@$(call embed,$(other_ptx))
$(B)/emu/ptx/libcudaenc.a: $(objects) build/kernels/ptx_images.o $(B)/emu/emulator.o
	$(archive)
$(B)/ffmpeg-ptx: $(fate)/built $(B)/emu/ptx/libcudaenc.a
	@echo "LINK    $@"
	@cd $(fate) && link=$$($(MAKE) -n V=1 -W fftools/ffmpeg.o ffmpeg_g | grep -- '-o ffmpeg_g') && \
	    link=$${link/-o ffmpeg_g/-o ../ffmpeg-ptx} && eval "$${link//$(B)\/emu /$(B)\/emu\/ptx }"

do-gpu-bundle: do-check-programs ffmpeg $(if $(bench_sources),$(B)/bin/cudaenc_bench) \
               $(if $(filter nvcc,$(KERNEL_COMPILER)),$(if $(CLANG),$(B)/ffmpeg-ptx))
	@fate_tests/gpu/bundle.sh $(B) $(fate)
do-check-gpu: do-gpu-bundle
	@$(B)/gpu-bundle/run.sh

# ---- The rest
installed_headers := $(DESTDIR)$(PREFIX)/include
installed_libs    := $(DESTDIR)$(LIBDIR)
install: lib $(if $(SHARED),$(shared)/built)
	install -d '$(installed_headers)' '$(installed_libs)/pkgconfig'
	install -m 644 common/cudaenc.h '$(installed_headers)/'
	install -m 644 $(B)/lib/libcudaenc.a $(B)/shared/libcudaenc.so.$(version) '$(installed_libs)/'
	cp -P $(B)/shared/libcudaenc.so.$(abi) $(B)/shared/libcudaenc.so '$(installed_libs)/'
	$(call pkgconfig,$(installed_libs)/pkgconfig/libcudaenc.pc,$(PREFIX)/include,$(LIBDIR))
	$(if $(SHARED),$(MAKE) --no-print-directory -C $(shared) install DESTDIR='$(DESTDIR)')

uninstall:
	$(if $(SHARED),$(MAKE) --no-print-directory -C $(shared) uninstall DESTDIR='$(DESTDIR)')
	rm -f '$(installed_headers)/cudaenc.h' '$(installed_libs)/libcudaenc.a' '$(installed_libs)/pkgconfig/libcudaenc.pc' \
	    '$(installed_libs)/libcudaenc.so'{,.$(abi),.$(version)}

clean:
	@[ ! -d $(B) ] || find $(B) -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +

format:
	@clang-format-19 -i $$(fate_tests/sources.sh)

.PHONY: include-graph
include-graph:
	@fate_tests/include_graph.py --draw
.PHONY: house
house:
	@fate_tests/house.py

FORCE:

-include $(shell find $(B)/obj $(B)/emu $(B)/windows build/kernels -name '*.d' 2>/dev/null)
