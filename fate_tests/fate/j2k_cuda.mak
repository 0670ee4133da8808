# SPDX-License-Identifier: LGPL-2.1-or-later
# j2k_cuda in FFmpeg's own harness. A test writes the md5 of each packet; the references hold for every device and for every branch
# of FFmpeg. Those in -decoded, whose references hold for FFmpeg 7.1, write what its decoder makes of the stream, and the PSNR.
#   make fate-j2k_cuda [fate-j2k_cuda-decoded] CUDAENC_FATE_DEVICE=cpu|emu|cuda
# Pictures are small and frames few because the kernel emulator runs the same list.

CUDAENC_FATE_DEVICE ?= cpu
CUDAENC_FATE_DECODED = $(filter 61,$(libavcodec_VERSION_MAJOR))

# Sources: tests/data/cudaenc_CLIP_PIXFMT_WxH_FRAMES.raw, where the clip is one of FFmpeg's synthetic ones, whose first frames
# these are, or "mix", whose components have content of their own.
tests/cudaenc_frames$(EXESUF): tests/cudaenc_frames.o $(FF_DEP_LIBS)
	$(LD) $(LDFLAGS) $(LDEXEFLAGS) $(LD_O) $(filter %.o,$^) $(FF_EXTRALIBS) $(ELIBS)
tests/data/cudaenc_mix_%.raw: TAG = GEN
tests/data/cudaenc_mix_%.raw: tests/cudaenc_frames$(EXESUF) | tests/data
	$(M)$(TARGET_EXEC) $(TARGET_PATH)/$< $(subst _, ,$*) $(TARGET_PATH)/$@
tests/data/cudaenc_vsynth%.raw: TAG = GEN
tests/data/cudaenc_vsynth%.raw: tests/data/vsynth1.yuv tests/data/vsynth2.yuv tests/data/vsynth3.yuv
	$(M)head -c $$(($(subst x,*,$(word 3,$(subst _, ,$*))) * 3 / 2 * $(word 4,$(subst _, ,$*)))) \
	    tests/data/vsynth$(firstword $(subst _, ,$*)).yuv >$@

# tiny_psnr takes 16-bit samples for signed ones: where a format uses all 16 bits, the PSNR of a lossy test says little;
# fate_tests/interop does.
#
# Decoded pictures are brought back to the source's format. What FFmpeg's decoder has no format for is only encoded here;
# fate_tests/interop decodes it with others.
J2K_CUDA_NO_DECODER = yuv440p10 yuv440p12
# Nor does it read CPRL where tiles do not begin on the precincts of every resolution, nor, up to 7.1, more than one frame of HT blocks.
J2K_CUDA_NOT_DECODED = prog-cprl-tiles prog-cprl-tiles-lossless ht-frames ht-rate-pcrd ht-rate-psp ht-rate-ratio \
    profile-cinema2k-of-rgb profile-cinema2k-of-yuv profile-cinema4k-of-nv12 profile-cinema2k-already # not what is coded
# These formats of its have the same bytes: it knows XYZ by digital cinema's profiles only, and no 12 bits with alpha.
J2K_CUDA_DECODE_xyz12le = rgb48le
J2K_CUDA_DECODE_yuva422p12le = yuva422p16le
J2K_CUDA_DECODE_yuva444p12le = yuva444p16le

# $(call J2K_CUDA_TEST,name,clip,pixel format,WxH,frames,options)
define J2K_CUDA_TEST
J2K_CUDA_NAMES   += fate-j2k_cuda-$(1)
J2K_CUDA_STREAMS += "$(1) $(3) $(4) $(5) tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw $(6)"
$(call CUDAENC_STREAM,j2k_cuda,$(1),image2pipe,tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw,-pixel_format $(3) -video_size $(4) \
    -i $$(TARGET_PATH)/tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw -c:v j2k_cuda -device $$(CUDAENC_FATE_DEVICE) $(6))
fate-j2k_cuda-$(1) fate-j2k_cuda-$(1)-decoded: tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw
fate-j2k_cuda-$(1): CMD = framemd5 -f rawvideo -pixel_format $(3) -video_size $(4) \
    -i $$(TARGET_PATH)/tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw -c:v j2k_cuda -device $$(CUDAENC_FATE_DEVICE) $(6)
ifeq ($(filter $(J2K_CUDA_NO_DECODER),$(patsubst %le,%,$(3)))$(filter $(J2K_CUDA_NOT_DECODED),$(1)),)
J2K_CUDA_DECODED += fate-j2k_cuda-$(1)-decoded
fate-j2k_cuda-$(1)-decoded: CMP_UNIT = $(if $(filter $(J2K_CUDA_FMT_8),$(3)),1,2)
fate-j2k_cuda-$(1)-decoded: CMD = enc_dec "rawvideo -pixel_format $(3) -video_size $(4)" \
    tests/data/cudaenc_$(2)_$(3)_$(4)_$(5).raw image2pipe \
    "-c:v j2k_cuda -device $$(CUDAENC_FATE_DEVICE) $(6)" \
    rawvideo "-pix_fmt $(or $(if $(findstring cinema,$(1)),$(3)),$(J2K_CUDA_DECODE_$(3)),$(3)) -sws_dither none" "-f j2k_pipe"
endif
endef
J2K_CUDA = $(eval $(call J2K_CUDA_TEST,$(1),$(2),$(3),$(4),$(5),$(6)))

J2K_CUDA_LOSSLESS = -pred dwt53

# Every pixel format, lossy and lossless, at an odd size. What is decoded to rgb0 has 255 where the source has 0.
J2K_CUDA_FMT_8 = \
    rgb24 bgr24 gbrp gray yuv420p yuv422p yuv444p yuv440p yuv411p yuv410p ya8 rgba bgra argb abgr rgb0 bgr0 0rgb 0bgr gbrap \
    yuva420p yuva422p yuva444p nv12 nv16
J2K_CUDA_FMT_16 = \
    rgb48 gbrp9 gbrp10 gbrp12 gbrp14 gbrp16 gray9 gray10 gray12 gray14 gray16 \
    yuv420p9 yuv420p10 yuv420p12 yuv420p14 yuv420p16 yuv422p9 yuv422p10 yuv422p12 yuv422p14 yuv422p16 \
    yuv444p9 yuv444p10 yuv444p12 yuv444p14 yuv444p16 yuv440p10 yuv440p12 ya16 rgba64 \
    gbrap10 gbrap12 gbrap14 gbrap16 yuva420p9 yuva420p10 yuva420p16 yuva422p9 yuva422p10 yuva422p12 yuva422p16 \
    yuva444p9 yuva444p10 yuva444p12 yuva444p16 xyz12 p010 p012 p016 p210 p212 p216
# FFmpeg before 6.0 has no P012 and P212, and before 7.0 no GBRAP14.
J2K_CUDA_FMT_UNKNOWN = $(if $(filter 57,$(libavutil_VERSION_MAJOR)),p012 p212) $(if $(filter 57 58,$(libavutil_VERSION_MAJOR)),gbrap14)
J2K_CUDA_FMT = $(J2K_CUDA_FMT_8) $(patsubst %,%le,$(filter-out $(J2K_CUDA_FMT_UNKNOWN),$(J2K_CUDA_FMT_16)))
# swscale, which brings what is decoded back to p010 and p016, drops the last chroma column of an odd width.
J2K_CUDA_FMT_SIZE = $(if $(filter p0%,$(1)),46x35,45x35)
$(foreach f,$(J2K_CUDA_FMT),\
    $(call J2K_CUDA,format-$(f:%le=%),mix,$(f),$(call J2K_CUDA_FMT_SIZE,$(f)),1,)\
    $(call J2K_CUDA,format-$(f:%le=%)-lossless,mix,$(f),$(call J2K_CUDA_FMT_SIZE,$(f)),1,$(J2K_CUDA_LOSSLESS)))

# FFmpeg's synthetic clips, with more frames than are in flight.
$(foreach v,vsynth1 vsynth2,\
    $(call J2K_CUDA,$(v),$(v),yuv420p,352x288,1,)\
    $(call J2K_CUDA,$(v)-lossless,$(v),yuv420p,352x288,1,$(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,large-rgb24-lossless,mix,rgb24,352x288,1,$(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,vsynth3,vsynth3,yuv420p,34x34,7,)
$(call J2K_CUDA,vsynth3-lossless,vsynth3,yuv420p,34x34,7,$(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,frames-gbrp12,mix,gbrp12le,34x34,3,)
$(call J2K_CUDA,vsynth3-async1,vsynth3,yuv420p,34x34,3,-async_depth 1)
$(call J2K_CUDA,vsynth3-async64,vsynth3,yuv420p,34x34,7,-async_depth 64)

# Odd picture sizes.
J2K_CUDA_SIZES = 1x1 1x2 2x1 2x2 3x5 1x17 33x1 7x300 300x7 127x63 64x64 65x65
$(foreach s,$(J2K_CUDA_SIZES),\
    $(call J2K_CUDA,size-$(s),mix,rgb24,$(s),1,)\
    $(call J2K_CUDA,size-$(s)-lossless,mix,rgb24,$(s),1,$(J2K_CUDA_LOSSLESS))\
    $(call J2K_CUDA,size-$(s)-yuv420p,mix,yuv420p,$(s),1,$(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,size-13x9-yuv410p,mix,yuv410p,13x9,1,$(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,size-13x9-yuv411p,mix,yuv411p,13x9,1,)

# Options. $(call J2K_CUDA_OPTION,name,options): lossy RGB and lossless 4:2:0.
J2K_CUDA_OPTION = $(call J2K_CUDA,$(1),mix,rgb24,79x61,1,$(2))\
                  $(call J2K_CUDA,$(1)-lossless,mix,yuv420p,79x61,1,$(2) $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA_OPTION,codestream,-format j2k)
$(foreach l,0 1 2 8 32,$(call J2K_CUDA_OPTION,levels-$(l),-levels $(l)))
$(foreach b,64x64 4x4 8x8 16x4 4x16 128x32 4x1024 1024x4,\
    $(call J2K_CUDA_OPTION,cblk-$(b),-cblk_width $(word 1,$(subst x, ,$(b))) -cblk_height $(word 2,$(subst x, ,$(b)))))
# Styles, each by itself and some together; fate_tests/interop/styles.py has all combinations. Blocks of several sizes with
# bit-planes enough for the bypass.
J2K_CUDA_STYLE = $(call J2K_CUDA,style-$(subst +,-,$(1)),mix,gbrp12le,79x61,1,-cblk_style $(1) -quality 100 $(2))\
                 $(call J2K_CUDA,style-$(subst +,-,$(1))-lossless,mix,yuv420p10le,79x61,1,-cblk_style $(1) $(2) $(J2K_CUDA_LOSSLESS))
$(foreach s,bypass reset termall vsc erterm segsym bypass+termall bypass+erterm reset+vsc+segsym bypass+reset+termall+vsc+erterm+segsym,\
    $(call J2K_CUDA_STYLE,$(s)))
$(call J2K_CUDA,style-bypass-cblk-64x64,mix,gray12le,79x61,1,-cblk_style bypass -cblk_width 64 -cblk_height 64 $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,style-bypass-cblk-1024x4,mix,gray12le,1100x9,1,-cblk_style bypass+vsc -cblk_width 1024 -cblk_height 4 -levels 0 -quality 100)
$(call J2K_CUDA,style-termall-cblk-4x4,mix,gray12le,79x61,1,-cblk_style termall -cblk_width 4 -cblk_height 4 -plt 1 -sop 1 $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,style-all-tiles,mix,rgb24,79x61,1,-cblk_style 63 -tile_width 32 -tile_height 16 $(J2K_CUDA_LOSSLESS))
# The HT block coder: formats, sizes, block sizes, and what is around blocks.
$(foreach f,gray gray12le gray16le ya8 rgb24 rgba gbrp10le gbrp12le rgb48le rgba64le yuv420p yuv422p10le yuv444p12le yuv444p16le,\
    $(call J2K_CUDA,ht-$(f),mix,$(f),79x61,1,-cblk_style ht)\
    $(call J2K_CUDA,ht-$(f)-lossless,mix,$(f),79x61,1,-cblk_style ht $(J2K_CUDA_LOSSLESS)))
$(foreach s,1x1 1x2 2x1 3x5 1x17 33x1 7x300 127x63,$(call J2K_CUDA,ht-size-$(s),mix,rgb24,$(s),1,-cblk_style ht $(J2K_CUDA_LOSSLESS)))
$(foreach n,1 2,$(call J2K_CUDA,ht-vsynth$(n),vsynth$(n),yuv420p,352x288,1,-cblk_style ht)\
    $(call J2K_CUDA,ht-vsynth$(n)-lossless,vsynth$(n),yuv420p,352x288,1,-cblk_style ht $(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,ht-frames,vsynth3,yuv420p,34x34,7,-cblk_style ht)
$(foreach b,64x64 4x4 8x8 16x4 4x16 128x32 4x1024 1024x4,\
    $(call J2K_CUDA_OPTION,ht-cblk-$(b),-cblk_style ht -cblk_width $(word 1,$(subst x, ,$(b))) -cblk_height $(word 2,$(subst x, ,$(b)))))
$(call J2K_CUDA,ht-tall,mix,gray,9x1100,1,-cblk_style ht -cblk_width 4 -cblk_height 1024 -levels 0)
$(call J2K_CUDA,ht-wide,mix,gray16le,1100x9,1,-cblk_style ht -cblk_width 1024 -cblk_height 4 -levels 0 $(J2K_CUDA_LOSSLESS))
$(foreach l,0 1 2 8,$(call J2K_CUDA_OPTION,ht-levels-$(l),-cblk_style ht -levels $(l)))
$(foreach q,1 25 50 75 100,$(call J2K_CUDA,ht-quality-$(q),mix,rgb24,79x61,1,-cblk_style ht -quality $(q)))
$(foreach p,lrcp rlcp rpcl pcrl cprl,$(call J2K_CUDA_OPTION,ht-prog-$(p),-cblk_style ht -prog $(p) -precincts 32x32 -cblk_width 16))
$(call J2K_CUDA_OPTION,ht-tiles,-cblk_style ht -tile_width 32 -tile_height 32 -sop 1 -eph 1 -plt 1 -tlm 1)
$(call J2K_CUDA_OPTION,ht-codestream,-cblk_style ht -format j2k -tile_parts resolution -tlm 1)
$(call J2K_CUDA_OPTION,ht-guard-bits,-cblk_style ht -guard_bits 1)
# ... in layers, which have whole blocks.
$(foreach p,lrcp rlcp rpcl pcrl cprl,\
    $(call J2K_CUDA_OPTION,ht-layers-5-$(p),-cblk_style ht -layers 5 -prog $(p) -precincts 32x32 -cblk_width 16 -cblk_height 16))
$(call J2K_CUDA_OPTION,ht-layers-100,-cblk_style ht -layers 100 -plt 1)
$(call J2K_CUDA_OPTION,ht-layers-tiles,-cblk_style ht -layers 3 -prog rlcp -tile_width 50 -tile_height 31 -sop 1 -eph 1 -plt 1)
$(call J2K_CUDA_OPTION,ht-layers-tile-parts,-cblk_style ht -layers 4 -tile_parts resolution -tlm 1 -sop 1)
$(foreach r,5 1.5,$(call J2K_CUDA,ht-layer-rates-$(r),mix,rgb24,181x122,1,-cblk_style ht -layer_rates 60$$(J2K_CUDA_COMMA)20$$(J2K_CUDA_COMMA)$(r)$$(J2K_CUDA_COMMA)1)\
    $(call J2K_CUDA,ht-layer-rates-$(r)-lossless,mix,gbrp12le,181x122,1,-cblk_style ht -layer_rates 60$$(J2K_CUDA_COMMA)20$$(J2K_CUDA_COMMA)$(r)$$(J2K_CUDA_COMMA)1 $(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,ht-layers-1x1,mix,rgb24,1x1,1,-cblk_style ht -layers 6)
# ... with a target: the bit-plane that ends each block.
$(foreach b,400 3000 9000 20000 90000,$(call J2K_CUDA,ht-rate-$(b),mix,rgb24,181x122,1,-cblk_style ht -frame_bytes $(b)))
$(foreach r,pcrd psp,$(call J2K_CUDA,ht-rate-$(r),mix,gbrp12le,181x122,3,-cblk_style ht -rate_control $(r) -frame_bytes 9000 -format j2k)\
    $(call J2K_CUDA,ht-rate-$(r)-lossless,mix,yuv420p10le,181x122,1,-cblk_style ht -rate_control $(r) -frame_bytes 9000 $(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,ht-rate-large-blocks,mix,yuv422p10le,530x270,1,-cblk_style ht -frame_bytes 80000 -cblk_width 64 -cblk_height 64)
$(call J2K_CUDA,ht-rate-all,mix,gray12le,79x61,1,-cblk_style ht -frame_bytes 100000)
$(call J2K_CUDA,ht-rate-ratio,vsynth1,yuv420p,352x288,2,-cblk_style ht -compression_ratio 10 -tile_width 128 -tile_height 128 -plt 1 -tlm 1)
$(call J2K_CUDA,cblk-4x1024-tall,mix,gray,9x1100,1,-cblk_width 4 -cblk_height 1024 -levels 0)
$(call J2K_CUDA,cblk-1024x4-wide,mix,gray,1100x9,1,-cblk_width 1024 -cblk_height 4 -levels 0 $(J2K_CUDA_LOSSLESS))
$(foreach t,79x61 64x64 32x32 33x17 79x16 16x61 100x100,\
    $(call J2K_CUDA_OPTION,tiles-$(t),-tile_width $(word 1,$(subst x, ,$(t))) -tile_height $(word 2,$(subst x, ,$(t)))))
$(call J2K_CUDA_OPTION,tiles-small,-tile_width 20 -tile_height 15 -levels 32)
# Offsets of picture and tiles: odd ones, far ones, tiles of which the first has a corner, sub-sampled components.
J2K_CUDA_OFFSET = $(call J2K_CUDA,offset-$(1),mix,rgb24,79x61,1,$(2))\
                  $(call J2K_CUDA,offset-$(1)-lossless,mix,gbrp12le,79x61,1,$(2) $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA_OFFSET,odd,-x_offset 5 -y_offset 3)
$(call J2K_CUDA_OFFSET,tiles,-x_offset 33 -y_offset 12 -tile_x_offset 7 -tile_y_offset 11 -tile_width 31 -tile_height 20)
$(call J2K_CUDA_OFFSET,far,-x_offset 9001 -y_offset 8191 -tile_x_offset 8999 -precincts 32x16 -prog rpcl)
$(call J2K_CUDA_OFFSET,no-levels,-x_offset 5 -y_offset 3 -levels 0 -tile_width 40)
$(call J2K_CUDA,offset-roi,mix,rgb24,79x61,1,-x_offset 5 -y_offset 3 -tile_width 40 -levels 2 -quality 60 -roi 10$$(J2K_CUDA_COMMA)20$$(J2K_CUDA_COMMA)50$$(J2K_CUDA_COMMA)20)
$(call J2K_CUDA,offset-chroma-lossless,mix,yuv420p10le,79x61,1,-x_offset 18 -y_offset 6 -tile_width 33 $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,offset-ht,mix,rgb24,79x61,1,-x_offset 7 -y_offset 9 -cblk_style ht)
$(call J2K_CUDA,offset-rate,mix,gbrp,181x122,1,-frame_bytes 5000 -x_offset 3 -y_offset 77 -tile_height 100)
J2K_CUDA_COMMA = ,
$(foreach p,64x64 32x32 16x32 32x16,\
    $(call J2K_CUDA_OPTION,precincts-$(p),-precincts $(p) -cblk_width 16 -cblk_height 16))
$(call J2K_CUDA_OPTION,precincts-falling,-precincts $(subst +,$$(J2K_CUDA_COMMA),128x64+64x64+32x32+16x16+8x8))
$(call J2K_CUDA_OPTION,precincts-last,-precincts $(subst +,$$(J2K_CUDA_COMMA),32768x32768+16x16))
$(foreach p,lrcp rlcp rpcl pcrl cprl,\
    $(call J2K_CUDA_OPTION,prog-$(p),-prog $(p))\
    $(call J2K_CUDA_OPTION,prog-$(p)-precincts,-prog $(p) -precincts 32x32 -cblk_width 16 -cblk_height 16)\
    $(call J2K_CUDA_OPTION,prog-$(p)-tiles,-prog $(p) -precincts 32x16 -tile_width 50 -tile_height 31 -sop 1 -eph 1))
$(foreach m,sop eph tlm plt,$(call J2K_CUDA_OPTION,$(m),-$(m) 1))
$(call J2K_CUDA_OPTION,markers,-sop 1 -eph 1 -tlm 1 -plt 1)
$(call J2K_CUDA_OPTION,markers-tiles,-sop 1 -eph 1 -tlm 1 -plt 1 -tile_width 32 -tile_height 32)
# $(call J2K_CUDA_POC,name,changes): with a colon for the comma that make takes for itself.
J2K_CUDA_POC = $(call J2K_CUDA_OPTION,poc-$(1),-poc $(subst :,$$(J2K_CUDA_COMMA),$(2)) $(3))
$(call J2K_CUDA_POC,2k-4k,0:0:1:5:3:cprl/5:0:1:6:3:cprl,-tile_parts component)
$(call J2K_CUDA_POC,overlap,0:0:1:2:2:rlcp/0:1:1:6:3:pcrl/0:0:1:6:3:rpcl,-precincts 32x32 -sop 1 -plt 1 -tlm 1)
$(call J2K_CUDA_POC,tiles,0:0:1:1:3:lrcp/1:0:1:6:3:rpcl,-tile_width 40 -tile_height 40 -tile_parts resolution -tlm 1)
$(call J2K_CUDA_OPTION,tile-parts-resolution,-tile_parts resolution -sop 1 -plt 1 -tlm 1)
$(call J2K_CUDA_OPTION,tile-parts-component,-tile_parts component -prog cprl -precincts 32x32 -plt 1)
$(call J2K_CUDA_OPTION,tile-parts-both,-tile_parts resolution+component -tlm 1 -tile_width 50 -tile_height 31)
# Quality layers: packets of them in all orders; segments that go on in the next layer; more layers than passes.
$(foreach l,2 5,$(foreach p,lrcp rlcp rpcl pcrl cprl,\
    $(call J2K_CUDA_OPTION,layers-$(l)-$(p),-layers $(l) -prog $(p) -precincts 32x32 -cblk_width 16 -cblk_height 16)))
$(foreach s,bypass termall bypass+termall bypass+reset+termall+vsc+erterm+segsym,\
    $(call J2K_CUDA,layers-5-$(subst +,-,$(s)),mix,gbrp12le,79x61,1,-layers 5 -cblk_style $(s) -quality 100)\
    $(call J2K_CUDA,layers-5-$(subst +,-,$(s))-lossless,mix,yuv420p10le,79x61,1,-layers 5 -cblk_style $(s) $(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA_OPTION,layers-100,-layers 100 -plt 1)
$(call J2K_CUDA_OPTION,layers-tiles,-layers 3 -prog rlcp -tile_width 50 -tile_height 31 -sop 1 -eph 1 -plt 1)
$(call J2K_CUDA_OPTION,layers-tile-parts,-layers 4 -tile_parts resolution -tlm 1 -sop 1)
$(call J2K_CUDA_OPTION,layers-blocks,-layers 7 -cblk_width 4 -cblk_height 4)
$(call J2K_CUDA,layers-1x1,mix,rgb24,1x1,1,-layers 6)
$(call J2K_CUDA_POC,layers,0:0:1:3:3:rpcl/0:0:3:6:2:lrcp/0:0:5:6:3:cprl,-layers 5 -precincts 32x32 -sop 1)
# Targets: each way to give one and to keep to it; several frames, since pst looks at earlier ones.
$(foreach r,pcrd pst psb bpi psp,\
    $(call J2K_CUDA,rate-$(r),mix,gbrp,181x122,5,-rate_control $(r) -frame_bytes 5000)\
    $(call J2K_CUDA,rate-$(r)-lossless,mix,yuv422p10le,181x122,1,-rate_control $(r) -compression_ratio 6 $(J2K_CUDA_LOSSLESS))\
    $(call J2K_CUDA,rate-$(r)-blocks,mix,yuv420p,181x122,1,-rate_control $(r) -b:v 700k -cblk_width 64 -cblk_height 64))
$(call J2K_CUDA,rate-pst-lag,mix,gbrp,181x122,5,-rate_control pst -pst_lag 2 -async_depth 6 -frame_bytes 5000)
$(foreach s,bypass termall bypass+reset+termall+vsc+erterm+segsym,\
    $(call J2K_CUDA,rate-$(subst +,-,$(s)),mix,gbrp12le,181x122,1,-frame_bytes 6000 -cblk_style $(s)))
# Regions of interest, where they have an effect.
J2K_CUDA_REGIONS = -vf addroi=60:30:50:40:-1/4$$(J2K_CUDA_COMMA)addroi=0:0:181:60:1/5
$(foreach r,pcrd pst psp,\
    $(call J2K_CUDA,regions-$(r),mix,gbrp,181x122,3,-rate_control $(r) -frame_bytes 5000 $(J2K_CUDA_REGIONS)))
$(call J2K_CUDA,regions-lossless,mix,yuv420p10le,181x122,1,-compression_ratio 6 $(J2K_CUDA_LOSSLESS) $(J2K_CUDA_REGIONS))
$(call J2K_CUDA,regions-tiles,mix,yuv420p,181x122,1,-compression_ratio 12 -tile_width 64 -tile_height 48 -layers 2 -cblk_style bypass $(J2K_CUDA_REGIONS))
# Frames in which passes are always included.
$(foreach s,bypass termall reset+segsym,\
    $(call J2K_CUDA,rate-psp-$(subst +,-,$(s)),mix,yuv422p10le,530x270,1,-frame_bytes 80000 -cblk_style $(s)))
# Frames large enough that headers are measured ahead, and with blocks enough that some are not looked at.
$(call J2K_CUDA,rate-psp-ahead,mix,yuv422p10le,530x270,2,-rate_control psp -frame_bytes 80000)
$(call J2K_CUDA,rate-psp-looks,mix,gbrp,530x270,1,-rate_control psp -frame_bytes 70000 -cblk_width 8 -cblk_height 8)
$(call J2K_CUDA,rate-layers,mix,rgb24,181x122,1,-frame_bytes 9000 -layers 4 -prog rlcp -plt 1 -sop 1)
$(call J2K_CUDA,rate-layer-rates,mix,rgb24,181x122,1,-layer_rates 80$$(J2K_CUDA_COMMA)40$$(J2K_CUDA_COMMA)10 -tile_width 70)
$(call J2K_CUDA,rate-layer-rates-lossless,mix,rgb24,181x122,1,-layer_rates 60$$(J2K_CUDA_COMMA)20$$(J2K_CUDA_COMMA)1 $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,rate-quality,mix,rgb48le,181x122,1,-frame_bytes 9000 -quality 60 -format j2k -eph 1)
$(call J2K_CUDA,rate-few,mix,rgb24,79x61,1,-frame_bytes 400)
$(call J2K_CUDA,rate-roi,mix,rgb24,181x122,1,-frame_bytes 5000 -quality 50 -levels 3 -roi 60$$(J2K_CUDA_COMMA)40$$(J2K_CUDA_COMMA)40$$(J2K_CUDA_COMMA)40)
# FFmpeg's own -psnr, up to 5.1, hides the encoder's.
ifneq ($(libavcodec_VERSION_MAJOR),59)
$(foreach d,25 40 60,\
    $(call J2K_CUDA,rate-psnr-$(d),mix,gbrp,181x122,1,-psnr $(d) -layers 3)\
    $(call J2K_CUDA,rate-psnr-$(d)-lossless,mix,yuv420p10le,181x122,1,-psnr $(d) -tile_width 70 -tile_height 50 $(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,rate-psnr-styles,mix,rgba,181x122,1,-psnr 38 -cblk_style bypass+vsc+termall -cblk_width 16 -cblk_height 8)
$(call J2K_CUDA,rate-psnr-offset,mix,rgb24,79x61,1,-psnr 38 -x_offset 5 -y_offset 3)
$(call J2K_CUDA,rate-psnr-frames,mix,yuv444p12le,79x61,5,-psnr 45 -mct 1)
$(foreach d,25 40 60,$(call J2K_CUDA,ht-psnr-$(d),mix,yuv420p,181x122,1,-cblk_style ht -psnr $(d)))
$(call J2K_CUDA,ht-psnr-40-lossless,mix,rgb24,181x122,1,-cblk_style ht -psnr 40 $(J2K_CUDA_LOSSLESS))
endif
$(call J2K_CUDA,profile-imf2k-rate,mix,yuv422p10le,530x270,1,-profile imf2k -b:v 2M)
# $(call J2K_CUDA_ROI,name,x:y:width:height,options)
J2K_CUDA_ROI = $(call J2K_CUDA_OPTION,roi-$(1),-roi $(subst :,$$(J2K_CUDA_COMMA),$(2)) $(3))
$(call J2K_CUDA_ROI,middle,21:13:30:20)
$(call J2K_CUDA_ROI,corner,60:50:19:11,-levels 2 -cblk_width 8 -cblk_height 8)
$(call J2K_CUDA_ROI,pixel,40:30:1:1,-precincts 32x32 -prog rpcl)
$(call J2K_CUDA_ROI,all,0:0:79:61,-levels 3)
$(call J2K_CUDA_ROI,tiles,10:20:50:20,-tile_width 33 -tile_height 17 -tile_parts resolution -tlm 1)
$(call J2K_CUDA_ROI,layers,10:20:50:20,-layers 4)
$(call J2K_CUDA_ROI,no-levels,10:20:50:20,-levels 0)
# Profiles: of pictures with more than one precinct, and of few samples. Raw video has 25 frames a second.
$(call J2K_CUDA,profile-cinema2k,mix,xyz12le,300x270,1,-profile cinema2k)
$(call J2K_CUDA,profile-cinema2k-few,mix,xyz12le,61x34,3,-profile cinema2k -tile_width 4096 -tile_height 4096)
$(call J2K_CUDA,profile-cinema2k-hfr,mix,xyz12le,300x270,1,-r 60 -frames:v 1 -profile cinema2k -hfr 1 -quality 100)
$(call J2K_CUDA,profile-cinema2k-eye,mix,xyz12le,300x270,1,-r 48 -frames:v 1 -profile cinema2k -stereo 1 -quality 100)
$(call J2K_CUDA,profile-cinema2k-filled,mix,xyz12le,61x34,2,-profile cinema2k -min_frame_bytes 70000)
$(call J2K_CUDA,profile-cinema4k,mix,xyz12le,300x270,1,-profile cinema4k)
$(call J2K_CUDA,profile-cinema4k-few,mix,xyz12le,61x34,3,-profile cinema4k -quality 99)
$(call J2K_CUDA,profile-cinema4k-wide,mix,xyz12le,2100x40,1,-profile cinema4k)
$(call J2K_CUDA,profile-cinema2k-of-rgb,mix,rgb48le,79x61,2,-profile cinema2k)
$(call J2K_CUDA,profile-cinema2k-of-yuv,mix,yuv420p10le,79x61,2,-profile cinema2k -xyz_primaries p3d65 -xyz_transfer gamma26 -xyz_matrix bt709)
$(call J2K_CUDA,profile-cinema4k-of-nv12,mix,nv12,300x270,1,-profile cinema4k -b:v 12M)
$(call J2K_CUDA,profile-cinema2k-already,mix,rgb48le,79x61,1,-profile cinema2k -xyz already)
$(call J2K_CUDA,profile-imf2k,mix,yuv422p10le,530x270,1,-profile imf2k -main_level 4 -sub_level 2)
$(call J2K_CUDA,profile-imf2k-rgb,mix,gbrp12le,79x61,1,-profile imf2k -sop 1 -eph 1)
$(call J2K_CUDA,profile-imf4k,mix,gbrp16le,79x61,1,-profile imf4k -levels 6)
$(call J2K_CUDA,profile-imf8k,mix,gray10le,270x61,1,-profile imf8k -levels 7 -main_level 11 -sub_level 9)
$(call J2K_CUDA,profile-imf2k_r,mix,yuv422p10le,270x61,1,-profile imf2k_r)
$(call J2K_CUDA,profile-imf4k_r,mix,gbrp10le,1050x40,1,-profile imf4k_r -tile_width 1024 -tile_height 1024)
$(call J2K_CUDA,profile-imf8k_r,mix,rgb48le,79x61,1,-profile imf8k_r -mct 0)
$(call J2K_CUDA,profile-broadcast,mix,yuv422p10le,300x270,1,-profile broadcast)
$(call J2K_CUDA,profile-broadcast-alpha,mix,yuva422p10le,79x61,1,-profile broadcast -cblk_width 128 -main_level 7)
$(call J2K_CUDA,profile-broadcast-2x2,mix,yuv422p10le,80x62,1,-profile broadcast -tile_width 40 -tile_height 31)
$(call J2K_CUDA,profile-broadcast-1x4,mix,yuv444p12le,79x64,1,-profile broadcast -tile_height 16 -pred dwt53 -cblk_height 64)
$(call J2K_CUDA,profile-broadcast-lossless,mix,gbrp,79x61,1,-profile broadcast -pred dwt53 -main_level 6)
$(call J2K_CUDA,profile-imf_ht,mix,yuv422p10le,300x270,1,-profile imf_ht)
$(call J2K_CUDA,profile-imf_ht-best,mix,gbrp12le,300x270,1,-profile imf_ht -quality 100)
$(call J2K_CUDA,profile-imf_ht-rate,mix,yuv422p10le,530x270,1,-profile imf_ht -b:v 2M -tile_parts resolution)
$(call J2K_CUDA,profile-imf_ht-alpha,mix,yuva422p10le,79x61,1,-profile imf_ht -cblk_width 128 -sop 1 -eph 1)
$(call J2K_CUDA,profile-imf_ht_r,mix,yuv422p10le,300x270,1,-profile imf_ht_r)
$(call J2K_CUDA,profile-imf_ht_r-gray,mix,gray,79x61,1,-profile imf_ht_r)
$(call J2K_CUDA,profile-imf_ht_r-wide,mix,gbrp12le,2100x40,1,-profile imf_ht_r -levels 6 -cblk_width 64 -cblk_height 64)
$(call J2K_CUDA,profile-imf_ht_r-deep,mix,rgb48le,79x61,1,-profile imf_ht_r -levels 1)
$(call J2K_CUDA,profile-dicom_ht_lossless,mix,gray12le,79x61,1,-profile dicom_ht_lossless)
$(call J2K_CUDA,profile-dicom_ht_rpcl,mix,gray10le,410x300,1,-profile dicom_ht_rpcl)
$(call J2K_CUDA,profile-dicom_ht_rpcl-rgb,mix,rgb24,410x300,1,-profile dicom_ht_rpcl -levels 3 -plt 1)
$(call J2K_CUDA,profile-dicom_ht,mix,rgb24,79x61,1,-profile dicom_ht -quality 80)
$(call J2K_CUDA,profile-dicom_ht-ratio,mix,gray12le,181x122,1,-profile dicom_ht -compression_ratio 8 -cblk_width 64 -cblk_height 64)
$(call J2K_CUDA,profile-archive_lossless,mix,rgb48le,79x61,2,-profile archive_lossless)
$(call J2K_CUDA,profile-archive_lossless-tiles,mix,gray,1050x40,1,-profile archive_lossless -capture_ppi 400)
$(call J2K_CUDA,profile-access,mix,rgb24,410x300,1,-profile access)
$(call J2K_CUDA,profile-access-other,mix,yuv444p10le,410x300,1,-profile access -compression_ratio 12 -cblk_width 32 -precincts 128x128 -layers 3 -sop 0 -plt 0)
$(call J2K_CUDA_OPTION,comment,-comment j2k)
$(call J2K_CUDA_OPTION,filled,-min_frame_bytes 20000)
$(foreach g,1 3 7,$(call J2K_CUDA_OPTION,guard-bits-$(g),-guard_bits $(g)))
$(foreach q,1 10 25 50 75 95 99 100,$(call J2K_CUDA,quality-$(q),mix,rgb24,79x61,1,-quality $(q)))
$(foreach q,1 50 100,$(call J2K_CUDA,quality-$(q)-yuv420p10,mix,yuv420p10le,79x61,1,-q:v $(q)))
$(foreach q,1 50 100,$(call J2K_CUDA,quality-$(q)-gray16,mix,gray16le,79x61,1,-quality $(q)))
$(foreach m,0 1,\
    $(call J2K_CUDA,mct-$(m),mix,rgb24,79x61,1,-mct $(m))\
    $(call J2K_CUDA,mct-$(m)-lossless,mix,rgb24,79x61,1,-mct $(m) $(J2K_CUDA_LOSSLESS))\
    $(call J2K_CUDA,mct-$(m)-rgba64-lossless,mix,rgba64le,45x35,1,-mct $(m) $(J2K_CUDA_LOSSLESS))\
    $(call J2K_CUDA,mct-$(m)-yuv444p,mix,yuv444p,79x61,1,-mct $(m)))

CUDAENC_COMMA = ,
# The bitstream filter, from one block coder to the other.
ifdef CONFIG_J2K_RECODE_BSF
$(foreach f,gray12le rgb24 yuv420p,\
    $(call J2K_CUDA,recode-ht-$(f),mix,$(f),79x61,1,-bsf:v j2k_recode)\
    $(call J2K_CUDA,recode-ht-$(f)-lossless,mix,$(f),79x61,1,-bsf:v j2k_recode=cblk_style=ht $(J2K_CUDA_LOSSLESS))\
    $(call J2K_CUDA,recode-none-$(f),mix,$(f),79x61,1,-cblk_style ht -bsf:v j2k_recode=cblk_style=none)\
    $(call J2K_CUDA,recode-none-$(f)-lossless,mix,$(f),79x61,1,-cblk_style ht -bsf:v j2k_recode=cblk_style=none $(J2K_CUDA_LOSSLESS)))
$(call J2K_CUDA,recode-ht-styles-lossless,mix,rgb24,79x61,1,-format j2k -cblk_style 63 -tile_width 32 -bsf:v j2k_recode $(J2K_CUDA_LOSSLESS))
$(call J2K_CUDA,recode-ht-and-back,mix,rgb24,79x61,2,-layers 3 -prog rpcl -b:v 1M -bsf:v j2k_recode$(CUDAENC_COMMA)j2k_recode=cblk_style=none)
$(call J2K_CUDA,recode-none-frames,vsynth3,yuv420p,34x34,7,-cblk_style ht -bsf:v j2k_recode=cblk_style=none:threads=1)
endif

FATE_J2K_CUDA-$(call ALLYES, J2K_CUDA_ENCODER RAWVIDEO_DECODER RAWVIDEO_DEMUXER FRAMEMD5_MUXER \
    FILE_PROTOCOL PIPE_PROTOCOL) += $(J2K_CUDA_NAMES)
FATE_J2K_CUDA_DECODED-$(call ENCDEC, J2K_CUDA JPEG2000, IMAGE2PIPE IMAGE_J2K_PIPE, \
    JPEG2000_PARSER RAWVIDEO_ENCODER RAWVIDEO_DECODER RAWVIDEO_MUXER RAWVIDEO_DEMUXER SCALE_FILTER FORMAT_FILTER \
    PIPE_PROTOCOL) += $(if $(CUDAENC_FATE_DECODED),$(J2K_CUDA_DECODED))

FATE_AVCONV += $(FATE_J2K_CUDA-yes) $(FATE_J2K_CUDA_DECODED-yes)
fate-j2k_cuda: $(FATE_J2K_CUDA-yes)
fate-j2k_cuda-decoded: $(FATE_J2K_CUDA_DECODED-yes)

# What fate_tests/interop decodes, made and listed: name, pixel format, size, frames, source, options, one line a stream.
j2k_cuda-streams:
	@printf '%s\n' $(J2K_CUDA_STREAMS)
.PHONY: j2k_cuda-streams
