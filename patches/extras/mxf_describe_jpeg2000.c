/* Where the codestream lies in a packet, which may be a JP2 file. */
static int mxf_find_codestream(const AVPacket *pkt, int *size)
{
    int64_t at = 0;

    *size = pkt->size;
    while (pkt->size - at >= 16 && AV_RB32(pkt->data + at) != 0xFF4FFF51) {
        int64_t box = AV_RB32(pkt->data + at), header = 8;

        if (box == 1) {
            box    = AV_RB64(pkt->data + at + 8);
            header = 16;
        } else if (!box) {
            box = pkt->size - at;
        }
        if (box < header || box > pkt->size - at)
            return AVERROR_INVALIDDATA;
        if (AV_RB32(pkt->data + at + 4) == MKBETAG('j','p','2','c')) {
            *size = box - header;
            return at + header;
        }
        at += box;
    }
    return at;
}

/* The planar format of a codestream's components. Packed and hardware formats
 * tell neither their number nor their depth. */
static enum AVPixelFormat mxf_planar_format(const AVCodecParameters *par, const uint8_t *components, int count, int rgb)
{
    const AVPixFmtDescriptor *own = av_pix_fmt_desc_get(par->format), *desc = NULL;
    const int depth   = (components[0] & 127) + 1;
    const int chroma_w = count > 2 ? av_log2(components[4]) : 0;
    const int chroma_h = count > 2 ? av_log2(components[5]) : 0;

    if (own && !(own->flags & AV_PIX_FMT_FLAG_HWACCEL) && av_pix_fmt_count_planes(par->format) == count)
        return par->format;
    while ((desc = av_pix_fmt_desc_next(desc))) {
        const enum AVPixelFormat format = av_pix_fmt_desc_get_id(desc);

        if (desc->nb_components == count && av_pix_fmt_count_planes(format) == count &&
            desc->comp[0].depth == depth && !desc->comp[0].shift &&
            desc->log2_chroma_w == chroma_w && desc->log2_chroma_h == chroma_h &&
            !(desc->flags & (AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                             AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT)) &&
            !(desc->flags & AV_PIX_FMT_FLAG_RGB) == !rgb)
            return format;
    }
    return par->format;
}

/* The label of the picture essence coding, by the profile and levels that Rsiz tells. */
static void mxf_set_jpeg2000_ul(MXFStreamContext *sc, int rsiz)
{
    static const UID base = { 0x06,0x0E,0x2B,0x34,0x04,0x01,0x01,0x0D,0x04,0x01,0x02,0x02,0x03,0x01,0x01,0x00 };
    static const uint8_t imf_levels[] = { 0, 0x02, 0x04, 0x06, 0x08, 0x0B, 0x0F, 0x14, 0x1A, 0x21, 0x29, 0x32 };
    const int family = rsiz >> 8, sublevel = rsiz >> 4 & 15, level = rsiz & 15;

    memcpy(sc->jpeg2000_ul, base, 16);
    if (rsiz == 3 || rsiz == 4) { // digital cinema
        sc->jpeg2000_ul[7]  = 0x09;
        sc->jpeg2000_ul[15] = rsiz;
    } else if (!sublevel && ((family == 1 && level >= 1 && level <= 5) || (family == 3 && level >= 6 && level <= 7))) { // broadcast
        sc->jpeg2000_ul[15] = 0x10 + level;
    } else if (family >= 4 && family <= 9 && level >= 1 && level <= 11 && sublevel <= FFMAX(1, level - 2)) { // IMF
        sc->jpeg2000_ul[14] = family - 2;
        sc->jpeg2000_ul[15] = imf_levels[level] + sublevel;
    } else {
        return;
    }
    sc->codec_ul = &sc->jpeg2000_ul;
}

/* Before the header is written: what descriptors say is taken from the
 * codestream. Of each packet only the codestream becomes essence. */
static int mxf_describe_jpeg2000(AVFormatContext *s, AVStream *st, AVPacket *pkt)
{
    MXFContext *mxf = s->priv_data;
    MXFStreamContext *sc = st->priv_data;
    AVCodecParameters *par = st->codecpar;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(par->format);
    const uint8_t *components;
    int size, count, rgb, xyz, at = mxf_find_codestream(pkt, &size);

    if (at < 0 || size < 45 || AV_RB32(pkt->data + at) != 0xFF4FFF51) {
        av_log(s, AV_LOG_ERROR, "a packet without a JPEG 2000 codestream\n");
        return AVERROR_INVALIDDATA;
    }
    if (at && !mxf->header_written)
        av_log(s, AV_LOG_VERBOSE, "the boxes of JP2 are left out: MXF has the codestream\n");
    pkt->data += at;
    pkt->size  = size;
    if (mxf->header_written)
        return 0;

    count      = AV_RB16(pkt->data + 40);
    components = pkt->data + 42;
    if (!count || count > 4 || size < 42 + 3 * count)
        return 0;
    xyz = par->format == AV_PIX_FMT_XYZ12LE || par->format == AV_PIX_FMT_XYZ12BE;
    rgb = xyz || par->color_space == AVCOL_SPC_RGB || (desc && desc->flags & AV_PIX_FMT_FLAG_RGB);
    rgb = rgb && count > 2;
    mxf_set_jpeg2000_ul(sc, AV_RB16(pkt->data + 6));
    if (par->field_order > AV_FIELD_PROGRESSIVE && AV_RB32(pkt->data + 12) == par->height / 2) { // a codestream a field
        sc->interlaced      = 1;
        sc->field_dominance = par->field_order == AV_FIELD_TT || par->field_order == AV_FIELD_TB ? 1 : 2;
    }
    for (int i = 0; rgb && i < count; i++) {
        sc->pixel_layout[2 * i]     = xyz && i < 3 ? 0xD8 + i : "RGBA"[i];
        sc->pixel_layout[2 * i + 1] = (components[3 * i] & 127) + 1;
    }
    par->format = mxf_planar_format(par, components, count, rgb);
@SET@    return 0;
}

