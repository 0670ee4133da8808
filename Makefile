# SPDX-License-Identifier: LGPL-2.1-or-later
# cudaenc: GPU codecs inside FFmpeg. 'make help' lists the goals, which are here; make/*.mk has how things are built.
# Everything that is made lies below build/. Sources are found by name.
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

# ARCH=aarch64: the library, FFmpeg and packages for another processor, by the distribution's cross compiler, in a folder of its own.
# SANITIZE=address (and undefined behaviour), thread, fuzzer: instrumented, in a folder of its own, without FFmpeg's own
# code. Sources, kernels' images and Python's packages are the same in all of them.
B    := build$(ARCH:%=/%)$(SANITIZE:%=/%)
TREE := build/src/ffmpeg-$(FFMPEG)
behaviour          := address,undefined,float-cast-overflow
sanitizers/address := $(behaviour)
sanitizers/thread  := thread
sanitizers/fuzzer  := $(behaviour),fuzzer-no-link
sanitize           := $(if $(SANITIZE),-fsanitize=$(sanitizers/$(SANITIZE)) -fno-sanitize-recover=all)

include make/help.mk
help:
	@:$(info $(help_text))

# ---- Goals that need the distribution's packages. They start anew after 'deps', since what follows looks for compilers, one
# after the other.
goals := lib wheel deb windows ffmpeg install demo check check-long check-versions check-packages check-cluster check-windows check-arm check-sanitize check-tsan check-oss-fuzz fate fuzz fuzz-targets bench bench-bundle gpu-bundle check-gpu
ifdef ARCH
$(if $(filter aarch64 x86_64,$(ARCH)),,$(error ARCH=$(ARCH) is not allowed: aarch64 and x86_64 are))
$(foreach goal,$(filter $(filter-out lib wheel deb ffmpeg install,$(goals)),$(MAKECMDGOALS)),$(error ARCH=$(ARCH) is not allowed with $(goal): it is for lib, wheel, deb, ffmpeg and install))
endif
.PHONY: series sanitized-programs demo-alone help deps $(goals) $(goals:%=do-%) bench-report do-kernels do-kernel-size do-tidy uninstall clean format FORCE
wanted := $(filter $(goals),$(MAKECMDGOALS))
deps:
	@patches/deps.sh $(filter-out deps,$(MAKECMDGOALS)) $(FOR)
# What runs without a GPU has nvcc compile for the newest architecture, if GPU_ARCHS does not say other: clang compiles for the
# oldest, and ptxas reads that.
one_arch = $(if $(filter file,$(origin GPU_ARCHS)),GPU_ARCHS='$(lastword $(archs))')
$(goals): deps
	@$(if $(filter $@,$(firstword $(wanted))),$(foreach goal,$(wanted),$(MAKE) --no-print-directory do-$(goal) \
	    $(if $(filter check check-sanitize check-tsan fate fuzz,$(goal)),$(one_arch));),:)

include make/library.mk make/kernels.mk make/ffmpeg.mk make/tests.mk make/packages.mk

# ---- The library and its packages
do-lib: $(B)/lib/libcudaenc.a $(B)/lib/pkgconfig/libcudaenc.pc $(B)/shared/libcudaenc.so
	@$(if $(images),:,echo "note: $(if $(NVCC)$(CLANG),KERNEL_COMPILER=none,neither nvcc nor clang >= 16 is here): the library has no kernels and runs on the CPU only")
do-wheel: $(B)/python/built
do-windows: $(B)/windows/libcudaenc-0.dll
# Debian packages; DEB=lib: of the library alone. clang makes their kernels, since what nvcc makes depends on the folder.
do-deb:
	@$(MAKE) --no-print-directory $(if $(CLANG),$(if $(filter none,$(KERNEL_COMPILER)),,KERNEL_COMPILER=clang)) do-lib $(if $(filter lib,$(DEB)),,do-ffmpeg)
	@MAKE='$(MAKE)' CXX='$(CXX)' FFMPEG_TREE=$(TREE) DEB='$(DEB)' tools/deb.sh $(B) $(B)/deb

# ---- FFmpeg
do-ffmpeg: $(B)/bin/ffmpeg $(B)/bin/ffprobe
	@$(if $(ffmpeg_zlib),:,echo "note: zlib1g-dev for $(ARCH) is not installed: this FFmpeg has no PNG, and nothing else that needs zlib")
	@$(if $(NONFREE)$(CLANG),:,echo "note: no clang >= 16 is here: FFmpeg has none of its CUDA filters such as scale_cuda")
# Patches for 'git am', with and without the references of the tests.
series: build/src/state-$(FFMPEG)/hooks
	@for kind in fork upstream; do \
	    rm -rf build/series/$(FFMPEG)/$$kind; patches/series.py $(if $(AUTHOR),--author='$(AUTHOR)') $$kind $(TREE)/ build/series/$(FFMPEG)/$$kind; done
	@ls build/series/$(FFMPEG)/*/*.patch

# ---- Tests. What each prints ends in "N passed, N failed"; fate_tests/check.sh adds them up.
do-tidy: $(if $(shell command -v clang-tidy-19),$(tidy_lots:%=build/tidy/%.read))
	@$(if $^,:,echo "skipped: no clang-tidy-19 here")
# FFmpeg first: its configure, of one thread, runs beside what is compiled.
do-check-programs: $(if $(filter thread,$(SANITIZE)),,$(fate)/built $(B)/bin/cudaenc_bench) $(B)/bin/cudaenc_fuzz $(check_programs)
# A part of check-sanitize, after what both builds share.
sanitized-programs: do-check-programs
	@$(MAKE) --no-print-directory SANITIZE=address do-lib build/address/bin/cudaenc_fuzz build/address/check/test_session
do-check: do-check-programs build/venv/bin/pyproject-build $(if $(SANITIZE),,sanitized-programs do-lib do-wheel)
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

do-check-windows: do-windows $(B)/shared/libcudaenc.so
	@fate_tests/library/windows.sh $(B)
do-check-arm: do-lib do-wheel $(fate)/built
	@$(MAKE) --no-print-directory ARCH=aarch64 do-wheel
	@$(MAKE) --no-print-directory ARCH=aarch64 do-deb
	@fate_tests/library/arm.sh $(B) $(fate)
do-check-packages: do-deb
	@MAKE='$(MAKE)' fate_tests/library/packages.sh
	@MAKE='$(MAKE)' fate_tests/library/shared.sh

# ---- Benchmarks, fuzzing
# One run of the program where BENCH has its options; else all parts.
export PICTURES CLIPS NVJPEG_LIBRARY NVJPEG2K_LIBRARY
do-bench: do-kernel-size $(B)/bin/cudaenc_bench $(if $(BENCH),,do-ffmpeg)
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
do-bench-bundle: $(B)/bin/cudaenc_bench do-ffmpeg
	@fate_tests/gpu/bench_bundle.sh $(B) '$(MEDIA)'

do-fuzz: $(B)/bin/cudaenc_fuzz
	@$(B)/bin/cudaenc_fuzz $(FUZZ)
do-fuzz-targets:
	@$(MAKE) --no-print-directory SANITIZE=fuzzer fuzzer-programs
do-check-oss-fuzz:
	@for sanitizer in address undefined; do fate_tests/fuzz/oss-fuzz/check.sh $(B) $$sanitizer; done
.PHONY: fuzzer-programs
fuzzer-programs: $(fuzz_targets)

# ---- With a GPU
do-gpu-bundle: do-check-programs do-ffmpeg $(if $(bench_sources),$(B)/bin/cudaenc_bench) \
               $(if $(filter nvcc,$(KERNEL_COMPILER)),$(if $(CLANG),$(B)/emu-ptx/libcudaenc_emu.so))
	@fate_tests/gpu/bundle.sh $(B) $(fate)
do-check-gpu: do-gpu-bundle
	@$(B)/gpu-bundle/run.sh

# ---- The rest
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
