# mjpeg_cuda in FFmpeg's own harness, as j2k_cuda.mak has it, whose sources these are too: each test writes the md5 and size of
# the bitstream, then the md5 of what a decoder makes of it and its PSNR: FFmpeg's, or that of decode-*.
#   make fate-mjpeg_cuda CUDAENC_FATE_DEVICE=cpu|emu|cuda
# SPDX-License-Identifier: LGPL-2.1-or-later

# FFmpeg's decoder does not know 4:1:0; fate_tests/interop decodes it with others.
MJPEG_CUDA_NO_DECODER = yuv410p

# $(call MJPEG_CUDA,name,generator,pixel format,WxH,frames,options,decoder's options: then mjpeg_cuda decodes). Limited range is asked for by -strict unofficial.
define MJPEG_CUDA_TEST
MJPEG_CUDA_NAMES   += fate-mjpeg_cuda-$(1)
MJPEG_CUDA_STREAMS += "$(1) $(3) $(4) $(5) tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw $(6)"
fate-mjpeg_cuda-$(1): tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw
fate-mjpeg_cuda-$(1): CMP_UNIT = 1
ifneq ($(7)$(filter-out $(MJPEG_CUDA_NO_DECODER),$(3)),)
fate-mjpeg_cuda-$(1): CMD = enc_dec "rawvideo -pixel_format $(3) -video_size $(4)" \
    tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw image2pipe \
    "-c:v mjpeg_cuda -strict unofficial -device $$(CUDAENC_FATE_DEVICE) $(6)" \
    rawvideo "-pix_fmt $(3) -sws_dither none" \
    "-f jpeg_pipe$(if $(7), -c:v mjpeg_cuda -device $$(CUDAENC_FATE_DEVICE) $(7))"
else
fate-mjpeg_cuda-$(1): CMD = transcode "rawvideo -pixel_format $(3) -video_size $(4)" \
    tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw image2pipe \
    "-c:v mjpeg_cuda -strict unofficial -device $$(CUDAENC_FATE_DEVICE) $(6)" "-c:v copy" "" "" "-f jpeg_pipe"
endif
endef
MJPEG_CUDA = $(eval $(call MJPEG_CUDA_TEST,$(1),$(2),$(3),$(4),$(5),$(6),$(7)))

# Every pixel format, at an odd size.
MJPEG_CUDA_FMT = \
    gray yuvj420p yuvj422p yuvj444p yuvj440p yuvj411p yuv420p yuv422p yuv444p yuv440p yuv411p yuv410p nv12 nv16 nv24 \
    rgb24 bgr24 gbrp rgb0 bgr0 0rgb 0bgr
$(foreach f,$(MJPEG_CUDA_FMT),\
    $(call MJPEG_CUDA,format-$(f),$(if $(findstring 0,$(filter rgb0 bgr0 0rgb 0bgr,$(f))),vsynth2,mix),$(f),45x35,1,))
$(foreach f,rgb24 gbrp,$(call MJPEG_CUDA,mct-$(f),mix,$(f),45x35,1,-mct 1))

# FFmpeg's synthetic clips, with more frames than are in flight.
$(foreach v,vsynth1 vsynth2,$(call MJPEG_CUDA,$(v),$(v),yuvj420p,352x288,1,))
$(call MJPEG_CUDA,vsynth3,vsynth3,yuvj420p,34x34,7,)
$(call MJPEG_CUDA,vsynth3-async1,vsynth3,yuvj420p,34x34,3,-async_depth 1)
$(call MJPEG_CUDA,vsynth3-async64,vsynth3,yuvj420p,34x34,7,-async_depth 64)

# Odd picture sizes.
$(foreach s,1x1 1x2 2x1 3x5 8x8 9x8 1x17 33x1 16x16 17x16 7x300 300x7 127x63 65x65,\
    $(call MJPEG_CUDA,size-$(s),mix,yuvj420p,$(s),1,)\
    $(call MJPEG_CUDA,size-$(s)-rgb24,mix,rgb24,$(s),1,))

# Options.
$(foreach q,1 10 50 75 95 100,$(call MJPEG_CUDA,quality-$(q),mix,yuvj420p,79x61,1,-quality $(q)))
$(call MJPEG_CUDA,qscale-60,mix,yuvj420p,79x61,1,-q:v 60)
$(foreach h,default optimal,$(call MJPEG_CUDA,huffman-$(h),mix,yuvj422p,79x61,1,-huffman $(h)))
$(foreach r,1 2 7 100 row,\
    $(call MJPEG_CUDA,restart-$(r),mix,yuvj420p,79x61,1,-restart_interval $(r))\
    $(call MJPEG_CUDA,restart-$(r)-gray-default,mix,gray,79x61,1,-restart_interval $(r) -huffman default))
$(call MJPEG_CUDA,restart-row-yuv410p,mix,yuv410p,79x61,1,-restart_interval row)
$(foreach b,500k 1M 2M,$(call MJPEG_CUDA,bitrate-$(b),vsynth1,yuvj420p,352x288,1,-b:v $(b)))
$(call MJPEG_CUDA,bitrate-qmin,vsynth1,yuvj420p,352x288,1,-b:v 100k -qmin 60)
$(call MJPEG_CUDA,comment,mix,yuvj420p,79x61,1,-comment text)

# The decoder of the same name.
$(foreach f,gray yuvj420p yuvj422p yuvj444p yuvj440p yuvj411p yuv410p yuv420p gbrp,\
    $(call MJPEG_CUDA,decode-$(f),mix,$(f),79x61,1,,-async_depth 1))
$(foreach r,1 7 row,$(call MJPEG_CUDA,decode-restart-$(r),mix,yuvj420p,79x61,1,-restart_interval $(r),-async_depth 1))
$(foreach d,1 4 64,$(call MJPEG_CUDA,decode-async$(d),vsynth3,yuvj420p,34x34,7,-huffman default,-async_depth $(d)))
$(call MJPEG_CUDA,decode-vsynth1,vsynth1,yuvj420p,352x288,1,-quality 98,-async_depth 2)

FATE_MJPEG_CUDA-$(call ENCDEC, MJPEG_CUDA MJPEG, IMAGE2PIPE IMAGE_JPEG_PIPE, \
    MJPEG_CUDA_DECODER MJPEG_PARSER RAWVIDEO_ENCODER RAWVIDEO_DECODER RAWVIDEO_MUXER RAWVIDEO_DEMUXER SCALE_FILTER FORMAT_FILTER \
    FRAMECRC_MUXER PIPE_PROTOCOL) += $(MJPEG_CUDA_NAMES)

FATE_AVCONV += $(FATE_MJPEG_CUDA-yes)
fate-mjpeg_cuda: $(FATE_MJPEG_CUDA-yes)

# What fate_tests/interop decodes: name, pixel format, size, frames, source, options, one line a stream.
mjpeg_cuda-streams:
	@printf '%s\n' $(MJPEG_CUDA_STREAMS)
.PHONY: mjpeg_cuda-streams
