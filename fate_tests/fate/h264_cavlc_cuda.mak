# SPDX-License-Identifier: LGPL-2.1-or-later
# h264_cavlc_cuda in FFmpeg's own harness, as j2k_cuda.mak has it, whose sources these are too.
#   make fate-h264_cavlc_cuda [fate-h264_cavlc_cuda-decoded] CUDAENC_FATE_DEVICE=cpu|emu|cuda

# $(call CUDAENC_STREAM,codec,name,format,source,options): CODEC-streams makes this stream, anew each time, for
# fate_tests/interop. All three lists use it; FFmpeg reads this one first.
define CUDAENC_STREAM
$(1)-streams: tests/data/fate/$(1)-$(2).$(3)
.PHONY: tests/data/fate/$(1)-$(2).$(3)
tests/data/fate/$(1)-$(2).$(3): $(4)
	@mkdir -p $$(@D) && rm -f $$@
	-@$$(TARGET_EXEC) $$(TARGET_PATH)/ffmpeg$$(PROGSSUF)$$(EXESUF) -nostdin -v error -f rawvideo $(5) -bitexact -f $(3) $$(TARGET_PATH)/$$@
endef

# $(call H264_CAVLC_CUDA,name,clip,pixel format,WxH,frames,options). Streams of sub-sampled formats cannot tell odd sizes:
# the decoder's frames are cropped to them.
define H264_CAVLC_CUDA_TEST
H264_CAVLC_CUDA_NAMES   += fate-h264_cavlc_cuda-$(1)
H264_CAVLC_CUDA_STREAMS += "$(1) $(3) $(4) $(5) tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw $(6)"
$(call CUDAENC_STREAM,h264_cavlc_cuda,$(1),h264,tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw,-pixel_format $(3) -video_size $(4) \
    -i $$(TARGET_PATH)/tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw -c:v h264_cavlc_cuda -device $$(CUDAENC_FATE_DEVICE) $(6))
fate-h264_cavlc_cuda-$(1) fate-h264_cavlc_cuda-$(1)-decoded: tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw
fate-h264_cavlc_cuda-$(1): CMD = framemd5 -f rawvideo -pixel_format $(3) -video_size $(4) \
    -i $$(TARGET_PATH)/tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw -c:v h264_cavlc_cuda -device $$(CUDAENC_FATE_DEVICE) $(6)
H264_CAVLC_CUDA_DECODED += fate-h264_cavlc_cuda-$(1)-decoded
fate-h264_cavlc_cuda-$(1)-decoded: CMP_UNIT = $(if $(findstring 10,$(3)),2,1)
fate-h264_cavlc_cuda-$(1)-decoded: CMD = enc_dec "rawvideo -pixel_format $(3) -video_size $(4)" \
    tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw h264 \
    "-c:v h264_cavlc_cuda -device $$(CUDAENC_FATE_DEVICE) $(6)" \
    rawvideo "-pix_fmt $(3) -vf crop=$(subst x,:,$(4)):0:0:exact=1 -sws_dither none" "-f h264"
endef
H264_CAVLC_CUDA = $(eval $(call H264_CAVLC_CUDA_TEST,$(1),$(2),$(3),$(4),$(5),$(6)))

# Every pixel format.
H264_CAVLC_CUDA_FMT = \
    yuv420p yuv422p yuv444p yuvj420p yuvj422p yuvj444p gray nv12 nv16 \
    yuv420p10le yuv422p10le yuv444p10le gray10le p010le p210le
$(foreach f,$(H264_CAVLC_CUDA_FMT),\
    $(call H264_CAVLC_CUDA,format-$(f),mix,$(f),46x36,2,)\
    $(call H264_CAVLC_CUDA,format-$(f)-qp,mix,$(f),46x36,1,-qp 12))

# FFmpeg's synthetic clips, with more frames than are in flight.
$(foreach v,vsynth1 vsynth2,$(call H264_CAVLC_CUDA,$(v),$(v),yuv420p,352x288,1,))
$(call H264_CAVLC_CUDA,vsynth3,vsynth3,yuv420p,34x34,7,)
$(call H264_CAVLC_CUDA,vsynth3-async1,vsynth3,yuv420p,34x34,3,-async_depth 1)
$(call H264_CAVLC_CUDA,vsynth3-async64,vsynth3,yuv420p,34x34,7,-async_depth 64)

# Picture sizes, odd ones too.
$(foreach s,1x1 1x2 2x1 3x5 15x16 16x16 17x16 7x300 300x7 127x63 65x65,\
    $(call H264_CAVLC_CUDA,size-$(s),mix,yuv420p,$(s),1,)\
    $(call H264_CAVLC_CUDA,size-$(s)-yuv444p10,mix,yuv444p10le,$(s),1,-qp 20))

# Options.
# A level whose MinCR allows QP 0.
$(foreach q,0 8 16 24 32 40 51,$(call H264_CAVLC_CUDA,qp-$(q),mix,yuv420p,80x62,1,-qp $(q) -level 4.1))
$(foreach q,-12 0 51,$(call H264_CAVLC_CUDA,qp-$(q)-yuv422p10,mix,yuv422p10le,80x62,1,-qp $(q)))
$(foreach q,10 30,$(call H264_CAVLC_CUDA,crf-$(q),mix,yuv420p,80x62,1,-crf $(q)))
$(call H264_CAVLC_CUDA,qscale-30,mix,yuv420p,80x62,1,-q:v 30)
$(foreach a,0.5 2,$(call H264_CAVLC_CUDA,aq-$(a),mix,yuv420p,80x62,1,-qp 24 -aq-strength $(a)))
$(foreach e,0 1 2 3,$(call H264_CAVLC_CUDA,effort-$(e),mix,yuv420p,80x62,1,-qp 24 -effort $(e)))
# CPU threads choose modes, kernels write CAVLC.
$(foreach f,$(H264_CAVLC_CUDA_FMT),$(call H264_CAVLC_CUDA,effort-2-$(f),mix,$(f),46x36,2,-qp 16 -effort 2))
$(foreach p,baseline high,$(call H264_CAVLC_CUDA,effort-2-$(p),mix,yuv420p,80x62,1,-profile $(p) -qp 0 -effort 2))
$(call H264_CAVLC_CUDA,effort-2-vsynth1,vsynth1,yuv420p,352x288,1,-qp 26 -slices 3 -effort 2)
$(call H264_CAVLC_CUDA,effort-2-3x5,mix,yuv420p,3x5,1,-qp 36 -effort 2)
$(call H264_CAVLC_CUDA,effort-2-vsynth3,vsynth3,yuv420p,34x34,7,-crf 22 -effort 2)
$(call H264_CAVLC_CUDA,effort-2-bitrate,vsynth3,yuv420p,34x34,7,-b:v 200k -effort 2)
$(call H264_CAVLC_CUDA,effort-2-hrd-cbr,vsynth3,yuv420p,34x34,25,-b:v 400k -bufsize 40k -nal-hrd cbr -effort 2)
$(call H264_CAVLC_CUDA,effort-2-crf-capped,vsynth3,yuv420p,34x34,25,-crf 10 -maxrate 300k -bufsize 60k -effort 2)
$(foreach p,baseline main high high10 high422 cavlc444,\
    $(call H264_CAVLC_CUDA,profile-$(p),mix,yuv420p,80x62,1,-profile $(p))\
    $(call H264_CAVLC_CUDA,profile-$(p)-qp0,mix,yuv420p,80x62,1,-profile $(p) -qp 0))
$(foreach s,2 3 4,$(call H264_CAVLC_CUDA,slices-$(s),mix,yuv420p,80x62,1,-slices $(s)))
$(call H264_CAVLC_CUDA,level,mix,yuv420p,80x62,1,-level 4.1)
$(call H264_CAVLC_CUDA,deblock,mix,yuv420p,80x62,1,-deblock 1 -qp 36)
$(call H264_CAVLC_CUDA,aud,mix,yuv420p,80x62,2,-aud 1)
$(call H264_CAVLC_CUDA,sar,mix,yuv420p,80x62,1,-aspect 2.1)
$(call H264_CAVLC_CUDA,color,mix,yuv420p,80x62,1,-vf setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc)
$(call H264_CAVLC_CUDA,encrypt,mix,yuv420p,80x62,2,-qp 24 -encrypt_key 000102030405060708090a0b0c0d0e0f -encrypt_iv 00000000000000000000000000000000)
$(call H264_CAVLC_CUDA,encrypt-pcm,mix,yuv420p10le,46x36,2,-qp -12 -encrypt_key 000102030405060708090a0b0c0d0e0f -encrypt_iv 0f0e0d0c0b0a09080706050403020100)
$(call H264_CAVLC_CUDA,encrypt-iv,mix,yuv420p,80x62,2,-qp 24 -encrypt_key 000102030405060708090a0b0c0d0e0f1011121314151617 -encrypt_iv fffffffffffffffffffffffffffffff0)
$(foreach p,places modes,$(call H264_CAVLC_CUDA,encrypt-$(p),mix,yuv420p,80x62,2,-qp 24 -encrypt_key 000102030405060708090a0b0c0d0e0f -encrypt_iv 00000000000000000000000000000000 -encrypt_parts $(p)))
$(call H264_CAVLC_CUDA,encrypt-parts-yuv422p10,mix,yuv422p10le,46x36,2,-qp 8 -encrypt_key 000102030405060708090a0b0c0d0e0f -encrypt_iv 00000000000000000000000000000000 -encrypt_parts places+modes)
$(call H264_CAVLC_CUDA,encrypt-parts-effort-2,mix,yuv444p,80x62,2,-qp 24 -slices 3 -effort 2 -encrypt_key 000102030405060708090a0b0c0d0e0f -encrypt_iv 00000000000000000000000000000000 -encrypt_parts places+modes)

# P pictures.
$(foreach g,2 5 250,$(call H264_CAVLC_CUDA,gop-$(g),vsynth3,yuv420p,34x34,12,-g $(g) -qp 24 -effort 0))
$(foreach v,vsynth1 vsynth2,$(call H264_CAVLC_CUDA,gop-$(v),$(v),yuv420p,352x288,6,-g 12 -crf 26 -effort 0))
$(foreach p,baseline main,$(call H264_CAVLC_CUDA,gop-$(p),vsynth3,yuv420p,34x34,6,-g 12 -qp 8 -profile $(p) -effort 0))
$(foreach q,0 51,$(call H264_CAVLC_CUDA,gop-qp-$(q),mix,yuv420p,80x62,3,-g 12 -qp $(q) -effort 0))
$(foreach f,nv12 yuvj420p,$(call H264_CAVLC_CUDA,gop-$(f),mix,$(f),46x36,3,-g 12 -qp 20 -effort 0))
$(foreach f,yuv422p yuv444p gray yuv420p10le yuv422p10le yuv444p10le gray10le p010le,\
    $(call H264_CAVLC_CUDA,gop-$(f),mix,$(f),46x36,3,-g 12 -qp 20 -effort 0))
$(call H264_CAVLC_CUDA,gop-slices-yuv422p10le,mix,yuv422p10le,46x36,3,-g 12 -qp -12 -slices 3 -effort 0)
$(call H264_CAVLC_CUDA,gop-refresh-yuv444p,mix,yuv444p,80x62,5,-g 12 -qp 34 -intra_refresh 3 -effort 0)
$(foreach s,1x1 3x5 7x300,$(call H264_CAVLC_CUDA,gop-$(s),mix,yuv420p,$(s),3,-g 12 -qp 30 -effort 0))
$(call H264_CAVLC_CUDA,gop-options,vsynth3,yuv420p,34x34,20,-g 18 -qp 30 -deblock 0 -aud 1 -async_depth 3 -effort 0)
$(call H264_CAVLC_CUDA,gop-keys,vsynth3,yuv420p,34x34,12,-g 6 -force_key_frames 0.16 -sc_threshold 0 -qp 24 -effort 0)
$(foreach s,2 4,$(call H264_CAVLC_CUDA,gop-slices-$(s),vsynth1,yuv420p,352x288,4,-g 12 -crf 26 -slices $(s) -effort 0))
$(call H264_CAVLC_CUDA,gop-refresh,vsynth1,yuv420p,352x288,6,-g 100 -intra_refresh 5 -sc_threshold 0 -crf 28 -effort 0)
$(call H264_CAVLC_CUDA,gop-refresh-cbr,vsynth3,yuv420p,34x34,25,-g 100 -intra_refresh 7 -sc_threshold 0 -b:v 200k -bufsize 40k -nal-hrd cbr -effort 0)
$(call H264_CAVLC_CUDA,gop-slice-bytes,vsynth1,yuv420p,352x288,4,-g 12 -slice_max_bytes 1200 -crf 28 -effort 0)
$(call H264_CAVLC_CUDA,gop-slice-bytes-baseline,vsynth3,yuv420p,34x34,6,-g 3 -slice_max_bytes 640 -qp 0 -profile baseline -effort 0)
$(call H264_CAVLC_CUDA,gop-lookahead,vsynth1,yuv420p,352x288,6,-g 12 -lookahead 4 -crf 28 -effort 0)
$(call H264_CAVLC_CUDA,gop-lookahead-bitrate,vsynth3,yuv420p,34x34,25,-g 12 -lookahead 9 -b:v 100k -async_depth 2 -effort 0)
$(foreach d,out in,\
    $(call H264_CAVLC_CUDA,gop-weights-$(d),vsynth1,yuv420p,352x288,6,-vf fade=$(d):0:9 -g 12 -qp 26 -weighted_prediction 1 -effort 0))
$(call H264_CAVLC_CUDA,gop-bitrate,vsynth3,yuv420p,34x34,25,-g 12 -b:v 100k -effort 0)
$(call H264_CAVLC_CUDA,gop-cbr,vsynth3,yuv420p,34x34,25,-g 12 -b:v 200k -bufsize 40k -cbr 1 -effort 0)
$(call H264_CAVLC_CUDA,gop-hrd-vbr,vsynth3,yuv420p,34x34,25,-g 12 -b:v 100k -maxrate 150k -bufsize 30k -nal-hrd vbr -effort 0)
$(call H264_CAVLC_CUDA,gop-hrd-cbr,vsynth3,yuv420p,34x34,25,-g 300 -force_key_frames 0.4 -b:v 200k -bufsize 40k -nal-hrd cbr -effort 0)
$(call H264_CAVLC_CUDA,gop-crf-capped,vsynth3,yuv420p,34x34,25,-g 12 -crf 10 -maxrate 100k -bufsize 40k -effort 0)

# Fields: pictures of every other line.
$(foreach f,yuv420p yuv422p yuv422p10le,\
    $(call H264_CAVLC_CUDA,fields-$(f),mix,$(f),46x36,3,-vf setfield=tff -qp 14)\
    $(call H264_CAVLC_CUDA,fields-effort-2-$(f),mix,$(f),46x36,2,-vf setfield=bff -qp 20 -effort 2))
# Regions of interest.
H264_CAVLC_CUDA_ROI = -vf addroi=16:10:30:20:-1/4$$(J2K_CUDA_COMMA)addroi=0:0:46:36:1/5
$(call H264_CAVLC_CUDA,roi,mix,yuv420p,46x36,2,$(H264_CAVLC_CUDA_ROI))
$(call H264_CAVLC_CUDA,roi-qp,mix,yuv422p10le,46x36,2,$(H264_CAVLC_CUDA_ROI) -qp 30)
$(call H264_CAVLC_CUDA,roi-predicted,mix,yuv420p,46x36,4,$(H264_CAVLC_CUDA_ROI) -qp 26 -g 4)
$(call H264_CAVLC_CUDA,roi-fields,mix,yuv420p,46x36,2,$(H264_CAVLC_CUDA_ROI)$$(J2K_CUDA_COMMA)setfield=tff -effort 2)
$(call H264_CAVLC_CUDA,fields-main,mix,yuv420p,80x64,2,-vf setfield=bff -qp 24 -profile main -slices 2 -deblock 1)
$(call H264_CAVLC_CUDA,fields-hrd-cbr,mix,yuv420p,46x36,12,-vf setfield=tff -b:v 400k -bufsize 40k -nal-hrd cbr)
# The same with P pictures.
$(call H264_CAVLC_CUDA,fields-gop,vsynth1,yuv420p,352x288,5,-vf setfield=tff -g 12 -qp 26 -effort 0)
$(call H264_CAVLC_CUDA,fields-gop-main,mix,yuv420p,80x64,4,-vf setfield=bff -g 3 -qp 24 -profile main -slices 2 -effort 0)
$(foreach f,yuv422p yuv422p10le,$(call H264_CAVLC_CUDA,fields-gop-$(f),mix,$(f),46x36,3,-vf setfield=bff -g 12 -qp 20 -effort 0))
$(call H264_CAVLC_CUDA,fields-gop-bitrate,vsynth1,yuv420p,352x288,6,-vf setfield=tff -g 4 -b:v 800k -deblock 0 -effort 0)
$(call H264_CAVLC_CUDA,fields-gop-hrd-cbr,mix,yuv420p,46x36,12,-vf setfield=tff -g 7 -b:v 400k -bufsize 40k -nal-hrd cbr -effort 0)
$(call H264_CAVLC_CUDA,fields-gop-slice-bytes,vsynth1,yuv420p,352x288,3,-vf setfield=tff -g 12 -slice_max_bytes 1200 -crf 28 -effort 0)

# AVC-Intra and XAVC Intra: the least of their sizes.
$(foreach v,panasonic sony,$(call H264_CAVLC_CUDA,avcintra-$(v),mix,yuv422p10le,1280x720,1,-avcintra-class 100 -avcintra-flavor $(v)))
$(foreach v,panasonic sony,$(call H264_CAVLC_CUDA,avcintra-$(v)-effort1,mix,yuv422p10le,1280x720,1,-avcintra-class 100 -avcintra-flavor $(v) -effort 1))
$(foreach e,0 1,$(call H264_CAVLC_CUDA,avcintra-interlaced-effort$(e),mix,yuv422p10le,1920x1080,1,-vf setfield=tff -avcintra-class 100 -effort $(e)))

# Rate control.
$(foreach b,100k 400k 2M,$(call H264_CAVLC_CUDA,bitrate-$(b),vsynth3,yuv420p,34x34,25,-b:v $(b)))
$(call H264_CAVLC_CUDA,bitrate-vbv,vsynth3,yuv420p,34x34,25,-b:v 300k -maxrate 400k -bufsize 40k)
$(call H264_CAVLC_CUDA,bitrate-cbr,vsynth3,yuv420p,34x34,25,-b:v 400k -bufsize 40k -cbr 1)
$(call H264_CAVLC_CUDA,hrd-vbr,vsynth3,yuv420p,34x34,25,-b:v 300k -maxrate 400k -bufsize 40k -nal-hrd vbr)
$(call H264_CAVLC_CUDA,hrd-cbr,vsynth3,yuv420p,34x34,25,-b:v 400k -bufsize 40k -nal-hrd cbr)
$(call H264_CAVLC_CUDA,bitrate-cbr-filler,vsynth3,yuv420p,34x34,10,-b:v 2M -qmin 20 -cbr 1)
$(call H264_CAVLC_CUDA,bitrate-qmin,vsynth3,yuv420p,34x34,10,-b:v 2M -qmin 30)
$(call H264_CAVLC_CUDA,bitrate-slices,vsynth3,yuv420p,34x34,10,-b:v 300k -slices 3)
$(call H264_CAVLC_CUDA,crf-capped,vsynth3,yuv420p,34x34,25,-crf 10 -maxrate 300k -bufsize 60k)

FATE_H264_CAVLC_CUDA-$(call ALLYES, H264_CAVLC_CUDA_ENCODER RAWVIDEO_DECODER RAWVIDEO_DEMUXER FRAMEMD5_MUXER \
    FILE_PROTOCOL PIPE_PROTOCOL) += $(H264_CAVLC_CUDA_NAMES)
FATE_H264_CAVLC_CUDA_DECODED-$(call ENCDEC, H264_CAVLC_CUDA H264, H264, \
    H264_PARSER RAWVIDEO_ENCODER RAWVIDEO_DECODER RAWVIDEO_MUXER RAWVIDEO_DEMUXER SCALE_FILTER FORMAT_FILTER CROP_FILTER \
    PIPE_PROTOCOL) += $(if $(CUDAENC_FATE_DECODED),$(H264_CAVLC_CUDA_DECODED))

FATE_AVCONV += $(FATE_H264_CAVLC_CUDA-yes) $(FATE_H264_CAVLC_CUDA_DECODED-yes)
fate-h264_cavlc_cuda: $(FATE_H264_CAVLC_CUDA-yes)
fate-h264_cavlc_cuda-decoded: $(FATE_H264_CAVLC_CUDA_DECODED-yes)

# What fate_tests/interop decodes, made and listed: name, pixel format, size, frames, source, options, one line a stream.
h264_cavlc_cuda-streams:
	@printf '%s\n' $(H264_CAVLC_CUDA_STREAMS)
.PHONY: h264_cavlc_cuda-streams
