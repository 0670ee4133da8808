# SPDX-License-Identifier: LGPL-2.1-or-later
# mjpeg_cuda in FFmpeg's own harness, as j2k_cuda.mak has it, whose sources these are too. Tests named decode-* write what the
# decoder of the same name makes of a stream.
#   make fate-mjpeg_cuda [fate-mjpeg_cuda-decoded] CUDAENC_FATE_DEVICE=cpu|emu|cuda

# FFmpeg's decoder does not know 4:1:0; fate_tests/interop decodes it with others.
MJPEG_CUDA_NO_DECODER = yuv410p

define MJPEG_CUDA_STREAM
MJPEG_CUDA_STREAMS += "$(1) $(3) $(4) $(5) tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw $(6)"
$(call CUDAENC_STREAM,mjpeg_cuda,$(1),image2pipe,tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw,-pixel_format $(3) -video_size $(4) \
    -i $$(TARGET_PATH)/tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw -c:v mjpeg_cuda -strict unofficial -device $$(CUDAENC_FATE_DEVICE) $(6))
endef

# $(call MJPEG_CUDA,name,clip,pixel format,WxH,frames,options). Limited range is asked for by -strict unofficial.
define MJPEG_CUDA_TEST
MJPEG_CUDA_NAMES   += fate-mjpeg_cuda-$(1)
$(call MJPEG_CUDA_STREAM,$(1),$(2),$(3),$(4),$(5),$(6))
fate-mjpeg_cuda-$(1) fate-mjpeg_cuda-$(1)-decoded: tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw
fate-mjpeg_cuda-$(1): CMD = framemd5 -f rawvideo -pixel_format $(3) -video_size $(4) \
    -i $$(TARGET_PATH)/tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw -c:v mjpeg_cuda -strict unofficial -device $$(CUDAENC_FATE_DEVICE) $(6)
ifeq ($(filter $(MJPEG_CUDA_NO_DECODER),$(3)),)
MJPEG_CUDA_DECODED += fate-mjpeg_cuda-$(1)-decoded
fate-mjpeg_cuda-$(1)-decoded: CMP_UNIT = 1
fate-mjpeg_cuda-$(1)-decoded: CMD = enc_dec "rawvideo -pixel_format $(3) -video_size $(4)" \
    tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw image2pipe \
    "-c:v mjpeg_cuda -strict unofficial -device $$(CUDAENC_FATE_DEVICE) $(6)" \
    rawvideo "-pix_fmt $(3) -sws_dither none" "-f jpeg_pipe"
endif
endef
MJPEG_CUDA = $(eval $(call MJPEG_CUDA_TEST,$(1),$(2),$(3),$(4),$(5),$(6)))

# $(call MJPEG_CUDA_DECODE,name,clip,pixel format,WxH,frames,encoder's options,decoder's options)
define MJPEG_CUDA_DECODE_TEST
MJPEG_CUDA_DECODE_NAMES += fate-mjpeg_cuda-decode-$(1)
$(call MJPEG_CUDA_STREAM,decode-$(1),$(2),$(3),$(4),$(5),$(6))
fate-mjpeg_cuda-decode-$(1): tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw
fate-mjpeg_cuda-decode-$(1): CMP_UNIT = 1
fate-mjpeg_cuda-decode-$(1): CMD = enc_dec "rawvideo -pixel_format $(3) -video_size $(4)" \
    tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw image2pipe \
    "-c:v mjpeg_cuda -strict unofficial -device $$(CUDAENC_FATE_DEVICE) $(6)" \
    rawvideo "-pix_fmt $(3)" "-f jpeg_pipe -c:v mjpeg_cuda -device $$(CUDAENC_FATE_DEVICE) $(7)"
endef
MJPEG_CUDA_DECODE = $(eval $(call MJPEG_CUDA_DECODE_TEST,$(1),$(2),$(3),$(4),$(5),$(6),$(7)))

# Every pixel format, at an odd size. Limited range is for FFmpeg 7.1 and later, which negotiates ranges.
MJPEG_CUDA_RANGES = $(filter-out 59 60,$(libavcodec_VERSION_MAJOR))
MJPEG_CUDA_FMT = \
    gray yuvj420p yuvj422p yuvj444p yuvj440p yuvj411p \
    $(if $(MJPEG_CUDA_RANGES),yuv420p yuv422p yuv444p yuv440p yuv411p yuv410p nv12 nv16 nv24) \
    rgb24 bgr24 gbrp rgb0 bgr0 0rgb 0bgr
$(foreach f,$(MJPEG_CUDA_FMT),\
    $(call MJPEG_CUDA,format-$(f),mix,$(f),45x35,1,))
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
$(foreach m,flat mpeg,$(call MJPEG_CUDA,matrix-$(m),mix,yuvj420p,79x61,1,-matrix $(m)))
$(foreach h,default optimal,$(call MJPEG_CUDA,trellis-$(h),vsynth1,yuvj420p,352x288,1,-trellis 1 -huffman $(h)))
$(foreach f,gray yuvj422p $(if $(MJPEG_CUDA_RANGES),yuv410p) gbrp,$(call MJPEG_CUDA,trellis-$(f),mix,$(f),79x61,1,-trellis 1 -restart_interval 7))
$(call MJPEG_CUDA,trellis-mct-rgb24,mix,rgb24,79x61,1,-trellis 1 -mct 1 -matrix mpeg)
$(call MJPEG_CUDA,trellis-bitrate,vsynth1,yuvj420p,352x288,1,-trellis 1 -matrix flat -b:v 1M)
$(foreach h,default optimal,$(call MJPEG_CUDA,huffman-$(h),mix,yuvj422p,79x61,1,-huffman $(h)))
$(foreach r,1 2 7 100 row,\
    $(call MJPEG_CUDA,restart-$(r),mix,yuvj420p,79x61,1,-restart_interval $(r))\
    $(call MJPEG_CUDA,restart-$(r)-gray-default,mix,gray,79x61,1,-restart_interval $(r) -huffman default))
$(if $(MJPEG_CUDA_RANGES),$(call MJPEG_CUDA,restart-row-yuv410p,mix,yuv410p,79x61,1,-restart_interval row))
$(foreach b,500k 1M 2M,$(call MJPEG_CUDA,bitrate-$(b),vsynth1,yuvj420p,352x288,1,-b:v $(b)))
$(call MJPEG_CUDA,bitrate-qmin,vsynth1,yuvj420p,352x288,1,-b:v 100k -qmin 60)
$(call MJPEG_CUDA,comment,mix,yuvj420p,79x61,1,-comment text)

# The decoder of the same name.
$(foreach f,gray yuvj420p yuvj422p yuvj444p yuvj440p yuvj411p $(if $(MJPEG_CUDA_RANGES),yuv410p yuv420p) gbrp,\
    $(call MJPEG_CUDA_DECODE,$(f),mix,$(f),79x61,1,,-async_depth 1))
$(foreach r,1 7 row,$(call MJPEG_CUDA_DECODE,restart-$(r),mix,yuvj420p,79x61,1,-restart_interval $(r),-async_depth 1))
$(foreach d,1 4 64,$(call MJPEG_CUDA_DECODE,async$(d),vsynth3,yuvj420p,34x34,7,-huffman default,-async_depth $(d)))
$(call MJPEG_CUDA_DECODE,vsynth1,vsynth1,yuvj420p,352x288,1,-quality 98,-async_depth 2)

FATE_MJPEG_CUDA-$(call ALLYES, MJPEG_CUDA_ENCODER RAWVIDEO_DECODER RAWVIDEO_DEMUXER FRAMEMD5_MUXER \
    FILE_PROTOCOL PIPE_PROTOCOL) += $(MJPEG_CUDA_NAMES)
FATE_MJPEG_CUDA-$(call ENCDEC, MJPEG_CUDA MJPEG_CUDA, IMAGE2PIPE IMAGE_JPEG_PIPE, \
    MJPEG_PARSER RAWVIDEO_ENCODER RAWVIDEO_DECODER RAWVIDEO_MUXER RAWVIDEO_DEMUXER) += $(MJPEG_CUDA_DECODE_NAMES)
FATE_MJPEG_CUDA_DECODED-$(call ENCDEC, MJPEG_CUDA MJPEG, IMAGE2PIPE IMAGE_JPEG_PIPE, \
    MJPEG_PARSER RAWVIDEO_ENCODER RAWVIDEO_DECODER RAWVIDEO_MUXER RAWVIDEO_DEMUXER SCALE_FILTER FORMAT_FILTER \
    PIPE_PROTOCOL) += $(if $(CUDAENC_FATE_DECODED),$(MJPEG_CUDA_DECODED))

FATE_AVCONV += $(FATE_MJPEG_CUDA-yes) $(FATE_MJPEG_CUDA_DECODED-yes)
fate-mjpeg_cuda: $(FATE_MJPEG_CUDA-yes)
fate-mjpeg_cuda-decoded: $(FATE_MJPEG_CUDA_DECODED-yes)

# What fate_tests/interop decodes, made and listed: name, pixel format, size, frames, source, options, one line a stream.
mjpeg_cuda-streams:
	@printf '%s\n' $(MJPEG_CUDA_STREAMS)
.PHONY: mjpeg_cuda-streams
