# SPDX-License-Identifier: LGPL-2.1-or-later
# FFmpeg: its source tree, and builds of it.

$(eval $(call stamp,build/src/links,$(FFMPEG) $(FFMPEG_SRC) $(FFMPEG_URL) of \
    $(shell find libavcodec_ext fate_tests/fate fate_tests/ref -type f | sort | md5sum)))
build/src/state-$(FFMPEG)/prepared: patches/prepare.sh $(wildcard patches/*.py) patches/sources.txt $(wildcard patches/doc/* patches/extras/*) build/src/links | build/src/headers
	@FFMPEG_SRC='$(FFMPEG_SRC)' FFMPEG_URL='$(FFMPEG_URL)' patches/prepare.sh $(FFMPEG)
build/src/state-$(FFMPEG)/hooks: build/src/state-$(FFMPEG)/prepared ; @:

ffmpeg_tools := $(if $(SANITIZE),$(if $(filter fuzzer,$(SANITIZE)),--cc='$(CC)' --cxx='$(CXX)' --ld='$(strip $(CXX) $(CXXFLAGS))'),--extra-ldflags=-static-libgcc)
# FFmpeg's programs find these before the shared ones, so that they need nothing but the C library where they run; not the
# instrumented ones, since sanitizers intercept what the shared ones have. The links follow what the machine has.
static_libraries := $(if $(SANITIZE),,$(filter /%,$(foreach l,z stdc++,$(shell $(CXX) -print-file-name=lib$(l).a))))
$(eval $(call stamp,$(B)/static/list,$(static_libraries)))
$(B)/static/linked: $(B)/static/list
	@rm -f $(@D)/*.a; for file in $(static_libraries); do ln -s $$file $(@D)/; done; touch $@

# For another processor. What wants zlib, such as PNG, is left out where the distribution's zlib for it is not installed.
ffmpeg_cross := $(if $(ARCH),--enable-cross-compile --arch=$(ARCH) --target-os=linux --cross-prefix=$(ARCH)-linux-gnu- --pkg-config=pkg-config)
ffmpeg_zlib  := $(if $(ARCH),$(if $(filter %/libz.a,$(static_libraries)),--enable-zlib),--enable-zlib)

# Nothing is taken from the machine that the caller did not ask for: the binaries run elsewhere too.
ffmpeg_common := --disable-doc --disable-debug --disable-autodetect --disable-ffplay $(ffmpeg_zlib) --enable-ffnvcodec \
    --enable-libcudaenc --pkg-config-flags=--static --extra-ldflags=-L$(CURDIR)/$(B)/static $(ffmpeg_tools) $(ffmpeg_cross) \
    --extra-version=cudaenc
# CUDA filters such as scale_cuda: clang compiles them without NVIDIA's toolkit; with nvcc the result is not redistributable.
# Without either they are left out.
ffmpeg_filters := $(if $(NONFREE),--enable-nonfree --enable-cuda-nvcc --nvcc=$(NVCC) \
        --nvccflags="-gencode arch=compute_75$(,)code=sm_75 -O2", \
    $(if $(CLANG),--enable-cuda-llvm --nvcc=$(CLANG) --nvccflags="--cuda-gpu-arch=sm_75 --cuda-feature=+ptx70 --cuda-path=/nonexistent -O2"))
ffmpeg_options := $(ffmpeg_common) --enable-cuvid --enable-nvdec --enable-nvenc $(ffmpeg_filters)

# The smallest FFmpeg that FATE's tests of the encoders, the interop tests and the media tests run with, and that reads what cameras and
# editors write, for the demo. It is compiled at -O1, which halves the time, but for what codes and scales.
fate_decoders := rawvideo jpeg2000 j2k_cuda mjpeg mjpeg_cuda h264 ffv1 png ppm pgm pam pgx tiff wrapped_avframe \
                 dnxhd hevc mpeg2video prores v210
fate_encoders := rawvideo j2k_cuda mjpeg_cuda h264_cavlc_cuda jpeg2000 mjpeg ffv1 png ppm pgm pam tiff wrapped_avframe
fate_demuxers := rawvideo image2 image2pipe image_j2k_pipe image_jpeg_pipe image_png_pipe h264 hevc mpegps mpegts mxf mov matroska avi nut yuv4mpegpipe
fate_muxers   := rawvideo image2 image2pipe h264 mpegts mxf mov mp4 matroska avi nut yuv4mpegpipe framecrc framemd5 framehash crc md5 rtp \
                 hash null
fate_filters  := addroi alphaextract alphamerge blend color colorspectrum concat copy crop drawbox drawgrid extractplanes fade format fps framestep \
                 geq gradients hstack hwdownload hwupload hwupload_cuda identity loop lut lutrgb lutyuv mandelbrot mergeplanes noise \
                 null nullsrc overlay pad perlin psnr rgbtestsrc scale select separatefields setfield setparams setpts setrange setsar settb smptehdbars \
                 split ssim testsrc testsrc2 tile trim vstack weave yuvtestsrc zoompan
fate_options  := $(ffmpeg_common) --optflags=-O1 --disable-everything --disable-network --enable-protocol=file,pipe,md5 --enable-indev=lavfi \
    --enable-parser=jpeg2000,mjpeg,png,h264,dnxhd,hevc,mpegvideo \
    --enable-bsf=null,setts,trace_headers,h264_mp4toannexb,h264_metadata,extract_extradata,j2k_recode \
    $(foreach kind,decoder encoder demuxer muxer filter,$(foreach name,$(fate_$(kind)s),--enable-$(kind)=$(name)))

# The smallest that the same streams come out of, which is compared between FFmpeg's branches, and that has all files with hooks.
minimal_options := $(filter-out --pkg-config-flags=--static,$(ffmpeg_common)) --disable-everything --disable-network --enable-protocol=file,pipe --enable-filter=addroi,setparams,setfield,scale \
    --enable-decoder=rawvideo,mjpeg_cuda,jpeg2000 --enable-demuxer=rawvideo,image_jpeg_pipe,mov --enable-parser=mjpeg \
    --enable-encoder=rawvideo,j2k_cuda,mjpeg_cuda,h264_cavlc_cuda --enable-muxer=rawvideo,framemd5,image2pipe,framecrc,image2,mxf --enable-bsf=j2k_recode

# Whatever its optflags are, FFmpeg's own codecs are as fast as in any FFmpeg. Of its code only the glue is instrumented.
file_flags := --eval='libavcodec/%.o libswscale/%.o: CFLAGS += -O3' $(if $(sanitize),--eval='$(patsubst libavcodec_ext/%.c,libavcodec/%.o,$(wildcard libavcodec_ext/*.c)): CFLAGS += -g $(sanitize)')

# $(call ffmpeg,folder,library,variable with the options,further goals): the rules of one build of FFmpeg.
define ffmpeg
$$(eval $$(call stamp,$(1)/options,$$($(3))))
$(1)/configured: $(1)/options build/src/state-$(FFMPEG)/hooks $(dir $(2))pkgconfig/libcudaenc.pc | $(2) $(B)/static/linked
	@echo "CONFIGURE $(1)"
	@cd $(1) && PKG_CONFIG_PATH=$(CURDIR)/$(dir $(2))pkgconfig:$(CURDIR)/build/src/ffnvcodec/lib/pkgconfig \
	    $(CURDIR)/$(TREE)/configure $$($(3)) >configure.log 2>&1 || { tail -n 20 configure.log; exit 1; }
	@touch $$@
# FFmpeg's Makefile does not know that the programs are made of these too.
$(1)/built: $(1)/configured $(2) $(B)/static/linked FORCE
	@[ -f $$@ ] || echo "BUILD   $(1) (minutes; $(1)/make.log)"
	@for part in $$(filter-out FORCE,$$^); do [ $(1)/ffmpeg_g -nt $$$$part ] || rm -f $(1)/ffmpeg_g $(1)/ffprobe_g; done
	@files=$$$$($$(MAKE) -n -C $(1) ffmpeg ffprobe $(4) 2>/dev/null | grep -cE '^printf "(CC|X86ASM)' || true); \
	    $$(MAKE) --no-print-directory -C $(1) $$(file_flags) ffmpeg ffprobe $(4) 2>&1 | tee $(1)/make.log | \
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
$(eval $(call ffmpeg,$(full),$(B)/lib/libcudaenc.a,ffmpeg_options))
$(eval $(call ffmpeg,$(minimal),$(B)/lib/libcudaenc.a,minimal_options,tests/tiny_psnr))
# The tests and the demo run one build, whose programs are linked anew where they want another library: the tests' own, or the static one.
fate_library := $(B)/$(if $(filter fuzzer,$(SANITIZE)),lib/libcudaenc.a,emu/libcudaenc_emu.so)
$(eval $(call stamp,$(B)/fate/list,$(fate_library)))
$(B)/fate/linked: $(fate_library) $(B)/fate/list
	@rm -f $(@D)/libcudaenc.* && ln -s ../$(<:$(B)/%=%) $(@D)/libcudaenc$(suffix $<) && touch $@
$(B)/fate/pkgconfig/libcudaenc.pc: make/ffmpeg.mk make/library.mk common/cudaenc.h $(B)/obj/folder
	@mkdir -p $(@D)
	$(call pkgconfig,$@,$(CURDIR)/common,$(CURDIR)/$(B)/fate,-Wl$(,)--enable-new-dtags$(,)-rpath$(,)$(CURDIR)/$(B)/emu)
$(eval $(call ffmpeg,$(fate),$(B)/fate/linked,fate_options,tests/tiny_psnr))

$(B)/bin/%: $(full)/built
	@mkdir -p $(@D)
	@cp $(full)/$* $@

# With the whole FFmpeg where it was built, else with the tests' and with kernels for the GPU that is here; where none is, without.
gpu_here = $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -un)
ifneq ($(wildcard $(full)/built),)
do-demo: do-ffmpeg
	@fate_tests/demo.sh $(B)/bin $(TREE) $(B)/demo "$(INPUT)"
else
do-demo:
	@$(if $(wildcard /dev/nvidiactl),:,echo "note: no GPU is here: the demo runs on the CPU, without kernels")
	@$(MAKE) --no-print-directory demo-alone fate_library=$(B)/lib/libcudaenc.a $(if $(wildcard /dev/nvidiactl),$(addprefix GPU_ARCHS=,$(firstword $(filter $(archs),$(gpu_here)))),KERNEL_COMPILER=none)
endif
demo-alone: $(fate)/built
	@fate_tests/demo.sh $(fate) $(TREE) $(B)/demo "$(INPUT)"
