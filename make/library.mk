# SPDX-License-Identifier: LGPL-2.1-or-later
# The library, and with what everything is compiled.

, := ,

# ---- Compilers
CXX ?= g++
CXXFLAGS ?=
ifdef ARCH
ifeq ($(origin CXX),default) # make's own
CXX := $(ARCH)-linux-gnu-g++
AR  := $(ARCH)-linux-gnu-ar
endif
endif
optimise := -O3
NVCC := $(firstword $(wildcard $(CUDA_HOME:%=%/bin/nvcc)) $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
CLANG := $(firstword $(foreach v,19 18 21 20 17 16,$(shell command -v clang++-$(v))) \
           $(shell clang++ -dumpversion 2>/dev/null | awk -F. '$$1 >= 16 { print "clang++" }'))
KERNEL_COMPILER ?= $(if $(NVCC),nvcc,$(if $(CLANG),clang,none))
ifdef SANITIZE
# Clones for several processors would take minutes to compile, and have the same code.
optimise := -O1 -g1 -fno-omit-frame-pointer -DCUDAENC_ONE_TARGET= $(sanitize)
ifeq ($(SANITIZE)$(origin CXX),fuzzerdefault)
CXX := $(CLANG)
CC  := $(subst clang++,clang,$(CLANG))
endif
endif

# No contraction: a float result is the same on every device and with every compiler.
cxxflags := -std=c++20 -fPIC $(optimise) -Wall -Wextra $(if $(findstring clang,$(CXX)),,-Wno-restrict) -ffp-contract=off \
            -fvisibility=default -Icommon -Icuda_kernels -Ibuild/src/ffnvcodec/include -pthread $(CXXFLAGS)

host_sources   := $(shell find common cuda_kernels -name "*.cpp" | sort)
objects        := $(host_sources:%.cpp=$(B)/obj/%.o)

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
$(B)/obj/common/h264/lanes/macroblock_lanes.o: private cxxflags += -Dalways_inline=noinline
endif
# The headers of NVIDIA's driver, without which nothing here is compiled.
$(eval $(call stamp,build/src/headers_from,$(NVCODEC_SRC)))
build/src/headers: patches/prepare.sh build/src/headers_from
	@NVCODEC_SRC='$(NVCODEC_SRC)' patches/prepare.sh --headers

# Archives are made anew, so that they have nothing of what is gone.
define archive
	@mkdir -p $(@D)
	@echo "AR      $@"
	@rm -f $@ && $(AR) rcsD $@ $^
endef
library_parts := $(objects) $(B)/obj/$(if $(filter fuzzer,$(SANITIZE)),no_)images.o
$(B)/lib/libcudaenc.a: $(library_parts)
	$(archive)

version := $(shell awk '/define CUDAENC_VERSION_(MAJOR|MINOR|PATCH) / { v = v (v ? "." : "") $$3 } END { print v }' common/cudaenc.h)
# The shared library exports what cudaenc.h declares. Its soname has the number of the ABI. clang's sanitizers are in the
# program that loads it.
abi := 0
$(B)/shared/libcudaenc.map: common/cudaenc.h make/library.mk
	@mkdir -p $(@D)
	@{ echo 'CUDAENC_$(abi) { global:'; grep -v '^static inline' $< | grep -o '^[a-z].*\bcudaenc_[a-z0-9_]*(' | grep -o 'cudaenc_[a-z0-9_]*($$' | tr '(' ';' | sort; echo 'local: *; };'; } >$@
$(B)/shared/libcudaenc.so.$(version): $(library_parts) $(B)/shared/libcudaenc.map $(B)/obj/flags
	@echo "LINK    $@"
	@$(CXX) $(CXXFLAGS) -shared -pthread -o $@ $(library_parts) $(sanitize) -Wl,-soname,libcudaenc.so.$(abi) -Wl,--version-script=$(B)/shared/libcudaenc.map \
	    $(if $(and $(SANITIZE),$(findstring clang,$(CXX))),,-Wl$(,)-z$(,)defs) -Wl,-z,relro,-z,now,--as-needed,--build-id=sha1 $(LDFLAGS) -lm -ldl
$(B)/shared/libcudaenc.so: $(B)/shared/libcudaenc.so.$(version)
	@ln -sf $(<F) $@.$(abi) && ln -sf libcudaenc.so.$(abi) $@

# An installed one has a prefix, and the shared library; what the static one needs is private.
define pkgconfig # $(call pkgconfig,file,include folder,library folder,options before the library,prefix)
	@printf '%s\n' $(if $(5),'prefix=$(5)' 'libdir=$(3)' 'includedir=$(2)' '') 'Name: libcudaenc' 'Description: GPU video encoders' 'Version: $(version)' \
	    'Cflags: -I$(if $(5),$${includedir},$(2))' 'Libs: -L$(if $(5),$${libdir},$(3)) $(strip $(4) $(sanitize) -lcudaenc)$(if $(5),' 'Libs.private:) -lstdc++ -lm -ldl -lpthread' >'$(1).new'
	@if cmp -s '$(1).new' '$(1)'; then rm '$(1).new'; else mv '$(1).new' '$(1)'; fi # the same stays as old as it is
endef
$(eval $(call stamp,$(B)/obj/folder,$(CURDIR)))
$(B)/lib/pkgconfig/libcudaenc.pc $(B)/shared/pkgconfig/libcudaenc.pc: $(B)/%/pkgconfig/libcudaenc.pc: make/library.mk common/cudaenc.h $(B)/obj/folder
	@mkdir -p $(@D)
	$(call pkgconfig,$@,$(CURDIR)/common,$(CURDIR)/$(B)/$*)
