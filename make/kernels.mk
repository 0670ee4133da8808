# SPDX-License-Identifier: LGPL-2.1-or-later
# Kernels, by nvcc or by clang, and their embedding.

kernels        := $(shell find cuda_kernels -name "*.cu" | sort)
test_kernels   := $(wildcard fate_tests/emu/*.cu fate_tests/papers/*.cu)

# nvcc: machine code for these GPUs, of which it may not know all, and PTX of the oldest for all others: those that come later,
# and Jetsons, which take no other GPU's machine code. The smallest compression wants a driver of CUDA 12.4, which is more than
# what nvcc 12 makes wants otherwise.
GPU_ARCHS ?= 75 80 86 89 90 100 120
archs := $(filter $(patsubst sm_%,%,$(if $(NVCC),$(shell $(NVCC) --list-gpu-code))),$(GPU_ARCHS))
nvccflags := -std=c++20 -O3 --fmad=false -Wno-deprecated-gpu-targets -Icommon -Icuda_kernels
fatbin    := $(if $(shell $(or $(NVCC),true) --version | grep -E 'release (1[3-9]|[2-9][0-9])'),--compress-mode=size)

# clang: PTX for the oldest, with nothing of NVIDIA's, and the same whether a CUDA toolkit is there or not.
clangflags := -x cuda -S --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-feature=+ptx70 --cuda-path=/nonexistent \
              -nocudalib -nocudainc -std=c++20 -O3 -ffp-contract=off -Wall -Wextra -Icommon -Icuda_kernels

# Kernels, into images that the driver loads, all embedded by one assembly file. A module's name is the path of its source
# below cuda_kernels, or the file's name in the tests.
kernel_version := $(shell $(or $(if $(filter nvcc,$(KERNEL_COMPILER)),$(NVCC),$(CLANG)),false) --version 2>/dev/null | tr -d "'" | tr '\n' ' ')
image_ending   := $(if $(filter nvcc,$(KERNEL_COMPILER)),fatbin,ptx)
compiled        = $(if $(filter none,$(KERNEL_COMPILER)),,$(1:%.cu=build/kernels/%.$(image_ending)))
images         := $(call compiled,$(kernels))
test_images    := $(images) $(call compiled,$(test_kernels))
$(eval $(call stamp,build/kernels/flags,$(kernel_version) $(nvccflags) $(clangflags)))

# What an architecture has is kept: other GPU_ARCHS later make only what is missing.
define architecture # $(call architecture,number)
build/kernels/compute_$(1)/%.ptx: %.cu build/kernels/flags
	@mkdir -p $$(@D)
	@echo "NVCC    $$< sm_$(1)"
	@$(NVCC) -ptx -arch=compute_$(1) $(nvccflags) -MD -MP -MF $$@.d $$< -o $$@
build/kernels/sm_$(1)/%.cubin: build/kernels/compute_$(1)/%.ptx
	@mkdir -p $$(@D)
	@$(dir $(NVCC))ptxas -m64 --fmad false -arch=sm_$(1) $$< -o $$@
endef
$(foreach a,$(archs),$(eval $(call architecture,$(a))))
oldest := $(firstword $(archs))
$(eval $(call stamp,build/kernels/archs,$(archs) and PTX of $(oldest)))
build/kernels/%.fatbin: $(foreach a,$(archs),build/kernels/sm_$(a)/%.cubin) build/kernels/compute_$(oldest)/%.ptx build/kernels/archs
	@mkdir -p $(@D)
	@$(dir $(NVCC))fatbinary --create=$@ -64 $(fatbin) --image3=kind=ptx,sm=$(oldest),file=build/kernels/compute_$(oldest)/$*.ptx \
	    $(foreach a,$(archs),--image3=kind=elf,sm=$(a),file=build/kernels/sm_$(a)/$*.cubin)
build/kernels/%.ptx: %.cu build/kernels/flags
	@mkdir -p $(@D)
	@echo "CLANG   $<"
	@$(CLANG) $(clangflags) -MMD -MP -MF $@.d $< -o $@

define embed # $(call embed,images): struct CudaencImage { const char *module; const unsigned char *data; size_t size; } of each
	{ i=0; \
	  for image in $(1); do i=$$((i + 1)); module=$${image#build/kernels/}; module=$${module#cuda_kernels/}; \
	    module=$${module#fate_tests/*/}; \
	    echo ".section .rodata"; echo ".balign 64"; echo "data$$i: .incbin \"$$image\""; echo "end$$i: .byte 0"; \
	    echo "name$$i: .asciz \"$${module%%.*}\""; done; \
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
$(B)/obj/images.o $(B)/obj/no_images.o: $(B)/obj/%.o: build/kernels/%.S
	@mkdir -p $(@D)
	@$(CXX) -c $< -o $@
%.o: %.S
	@$(CXX) -c $< -o $@

# The compiler that did not make the images compiles the kernels as well; where there is a ptxas it reads clang's, and refuses at -O0 what
# it refuses at its own level: instructions that the GPU lacks, too much shared memory.
other_ptx := $(patsubst %.cu,build/kernels/%.ptx,$(kernels) $(test_kernels))
do-kernels: do-kernel-size $(test_images) $(if $(CLANG),$(other_ptx))
	@$(if $(CLANG),:,echo "no clang >= 16 here: the kernels were not compiled with it"; exit 1)
	@$(if $(NVCC),printf '%s\n' $(other_ptx) | xargs -P $(JOBS) -I {} $(dir $(NVCC))ptxas -O0 -arch=sm_75 {} -o /dev/null)

# What the library's kernels take in a program, at most 15.6 MB for seven architectures and PTX,
# or 17.5 MB as PTX by clang, which is text.
do-kernel-size: $(images)
	@size=$$(cat $(images) | wc -c); echo "embedded kernels: $(words $(images)) images, $$size bytes"; [ $$size -le $(if $(filter fatbin,$(image_ending)),$$((1950000 * (1 + $(words $(archs))))),17500000) ]

