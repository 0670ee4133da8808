# SPDX-License-Identifier: LGPL-2.1-or-later
# Tests, benchmarks, fuzzing: their programs, on the tests' variant of the library.

emu_sources    := $(wildcard fate_tests/emu/*.cpp)
check_sources  := $(wildcard fate_tests/check/test_*.cpp)
bench_sources  := $(wildcard fate_tests/bench/*.cpp fate_tests/papers/*.cpp)
fuzz_sources   := $(wildcard fate_tests/fuzz/*.cpp)
check_programs := $(check_sources:fate_tests/check/%.cpp=$(B)/check/%)

# NVIDIA's libraries that the tests know where their headers are there; a CUDA toolkit has nvJPEG's, and what it includes.
toolkit := $(if $(NVCC),$(abspath $(dir $(NVCC))../include))
NVJPEG  ?= $(if $(wildcard $(toolkit)/nvjpeg.h),$(toolkit))
$(B)/obj/fate_tests/%.o: includes := -Ifate_tests/emu $(NVJPEG2K:%=-I%) $(if $(NVJPEG),-I$(NVJPEG) $(toolkit:%=-I%))
$(eval $(call stamp,$(B)/obj/nvidia,$(NVJPEG2K) $(NVJPEG)))
$(addprefix $(B)/obj/fate_tests/,bench/jpeg_decode.o bench/peer_nvjpeg2k.o bench/peer_nvjpeg.o check/test_nvjpeg.o): $(B)/obj/nvidia
$(addprefix $(B)/obj/fate_tests/,bench/peer_openjpeg.o fuzz/fuzz.o fuzz/soak.o): includes += $(shell pkg-config --cflags libopenjp2 2>/dev/null)

# The library with the emulator and the tests' kernels. All programs of the tests, FATE's ffmpeg and Python's tests share
# it, so that the kernels are there once. In it calls go straight to its own functions. Programs find it in ../emu, and in
# ../lib what gpu/carry.sh takes along.
emulated := $(objects) $(emu_sources:%.cpp=$(B)/obj/%.o) $(patsubst %.cu,$(B)/emu/obj/%.o,$(kernels) $(test_kernels))
define emulator
	@mkdir -p $(@D)
	@echo "LINK    $@"
	@$(CXX) $(CXXFLAGS) -shared -pthread -o $@ $(filter %.o,$^) $(sanitize) -Wl,-soname,$(@F),-Bsymbolic-functions,--enable-new-dtags,-rpath,'$$ORIGIN/../lib' \
	    -lboost_context -lm -ldl
endef
$(B)/emu/libcudaenc_emu.so: $(emulated) build/kernels/test_images.o make/tests.mk
	$(emulator)

$(B)/emu/obj/%.o: %.cu $(B)/obj/flags
	@mkdir -p $(@D)
	@echo "EMU     $<"
	@$(CXX) $(cxxflags) -DCUDAENC_EMU -Ifate_tests/emu -MMD -MP -x c++ -c $< -o $@
define link # $(call link,further libraries)
	@mkdir -p $(@D)
	@echo "LINK    $@"
	@$(CXX) $(CXXFLAGS) -pthread $(filter %.o,$^) -o $@ $(sanitize) -L$(B)/emu -lcudaenc_emu -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/../emu:$$ORIGIN/../lib' $(1) -lm -ldl
endef
check_libraries := -lcheck_pic -lsubunit -lrt
# Most of their time is the library's, which keeps its own level; -O1 compiles them in two thirds of the time.
$(check_sources:%.cpp=$(B)/obj/%.o): private cxxflags += -O1
$(B)/check/%: $(B)/obj/fate_tests/check/%.o $(B)/emu/libcudaenc_emu.so make/tests.mk
	$(call link,$(check_libraries))

# One stage: the program of that name. What runs on a GPU is not compiled again for a device that is none.
.PHONY: test do-test
stages := $(check_sources:fate_tests/check/test_%.cpp=%)
ifeq ($(filter $(T),$(stages)),)
test:
	@$(if $(T),echo "T=$(T) is no stage.";) echo "make test T=stage [CASE=name] [DEVICE=emu|cpu|cuda] [BENCH=1]; stages:"
	@for stage in $(stages); do printf '  %-16s' $$stage; sed -n '2s|^// *||p' fate_tests/check/test_$$stage.cpp | sed 's/[.,:;] .*//; s/\.$$//'; done
	@$(if $(T),exit 1)
else
test: deps
	@$(MAKE) --no-print-directory do-test $(if $(filter cuda%,$(DEVICE)),,$(addprefix -o ,$(wildcard $(test_images))))
endif
do-test: $(B)/check/test_$(T)
	@$< $(or $(DEVICE),emu) $(if $(CASE),'--case=$(CASE)') $(if $(BENCH),--bench)

# clang-tidy reads the sources in lots, which have their headers once: those are most of its time. Files of alike names are in different
# lots. A lot in which it has something to say, or in which a name means two things, is read again file by file.
# .clang-tidy says what it looks for.
tidy_flags := -std=c++20 -I. -Icommon -Icuda_kernels -Ibuild/src/ffnvcodec/include -DCUDAENC_ONE_TARGET=
define tidy_lot # $(call tidy_lot,number,sources)
build/tidy/$(1).read: $(2) $(2:%.cpp=build/obj/%.o) .clang-tidy
	@mkdir -p $$(@D)
	@printf '#include "%s" // NOLINT\n' $(2) >build/tidy/$(1).cpp
	@clang-tidy-19 --quiet build/tidy/$(1).cpp -- $$(tidy_flags) >/dev/null 2>&1 || clang-tidy-19 --quiet $(2) -- $$(tidy_flags) 2>/dev/null
	@touch $$@
endef
tidy_lots := 0 1 2 3 4 5 6 7 8 9 10 11
tidy_sources := $(shell printf '%s\n' $(host_sources) | awk -F/ '{ print $$NF, $$0 }' | LC_ALL=C sort | awk '{ print (NR - 1) % 12 ":" $$2 }')
$(foreach lot,$(tidy_lots),$(eval $(call tidy_lot,$(lot),$(patsubst $(lot):%,%,$(filter $(lot):%,$(tidy_sources))))))

# What tests and the wheel need of Python's packages. mxfuse is bmx, not for every platform.
build/venv/bin/pyproject-build:
	@python3 -m venv build/venv && build/venv/bin/pip --quiet --disable-pip-version-check install build jpylyzer
	@-build/venv/bin/pip --quiet --disable-pip-version-check install mxfuse

$(B)/bin/cudaenc_bench: $(bench_sources:%.cpp=$(B)/obj/%.o) $(B)/emu/libcudaenc_emu.so make/tests.mk
	$(call link,-lz)

$(B)/bin/cudaenc_fuzz: $(fuzz_sources:%.cpp=$(B)/obj/%.o) $(B)/emu/libcudaenc_emu.so make/tests.mk
	$(call link,$(check_libraries))

# libFuzzer's targets, or those of the engine that FUZZER names; on the CPU, or with the emulator in the program.
FUZZER ?= -fsanitize=fuzzer
fuzz_targets := $(patsubst fate_tests/fuzz/targets/%.cpp,$(B)/bin/fuzz_%,$(wildcard fate_tests/fuzz/targets/*.cpp))
$(B)/obj/fate_tests/fuzz/targets/frames.o: includes := -I$(fate) -I$(TREE)
$(B)/obj/fate_tests/fuzz/targets/frames.o: | $(fate)/configured
$(B)/bin/fuzz_frames: libraries = $(foreach l,avcodec swresample avutil,$(fate)/lib$l/lib$l.a) -lz
$(B)/bin/fuzz_frames: $(fate)/built
fuzz_emulated := $(B)/bin/fuzz_j2k_device_decoder
$(fuzz_emulated): libraries = -l:libboost_context.a
$(fuzz_emulated): $(B)/bin/fuzz_%: $(B)/obj/fate_tests/fuzz/targets/%.o $(emulated) build/kernels/no_images.o
$(filter-out $(fuzz_emulated),$(fuzz_targets)): $(B)/bin/fuzz_%: $(B)/obj/fate_tests/fuzz/targets/%.o $(B)/lib/libcudaenc.a
$(fuzz_targets):
	@mkdir -p $(@D)
	@echo "LINK    $@"
	@$(CXX) -pthread $(filter %.o,$^) -o $@ $(sanitize) $(CXXFLAGS) $(FUZZER) $(libraries) $(filter %.a,$^) -lm -ldl

# The same with clang's kernels, for FATE once more on a GPU. They are packed as nvcc's are: text is an eighth of itself then.
packed_ptx := $(other_ptx:%=%.fatbin)
%.ptx.fatbin: %.ptx
	@$(dir $(NVCC))fatbinary --create=$@ -64 $(fatbin) --image3=kind=ptx,sm=75,file=$<
$(eval $(call stamp,build/kernels/ptx_list,$(packed_ptx)))
build/kernels/ptx_images.S: $(packed_ptx) build/kernels/ptx_list
	@$(call embed,$(packed_ptx))
$(B)/emu-ptx/libcudaenc_emu.so: $(emulated) build/kernels/ptx_images.o make/tests.mk
	$(emulator)
