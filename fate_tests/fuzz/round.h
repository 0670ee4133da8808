// SPDX-License-Identifier: LGPL-2.1-or-later
// A session at random, from a seed: what it encodes, what came of it, and what may.
#pragma once
#include <string>
#include <vector>

#include "../../common/j2k/decoder_limits.h"
#include "../bench/openjpeg_library.h"
#include "../check/h264_inputs.h"
#include "../check/h264_stream.h"
#include "../check/mjpeg_pictures.h"

namespace cudaenc::testing {

// Throws Error.
inline void expect(bool condition, const std::string &what) {
    if (!condition) throw Error(CUDAENC_ERR_INTERNAL, what);
}

// A round's session, from its seed: JPEG 2000 every other time. In one of eight rounds one option is anything. largest:
// samples of a side, of one picture in eight.
struct Round {
    explicit Round(int seed, int largest = 200)
        : random(static_cast<uint64_t>(seed)),
          codec(seed % 2   ? CUDAENC_CODEC_J2K
                : seed % 4 ? CUDAENC_CODEC_MJPEG
                           : CUDAENC_CODEC_H264) {
        const int longest = random.one_in(8) ? largest : 70;
        if (codec == CUDAENC_CODEC_J2K) {
            const CudaencFormat format = random_format(random, longest);
            config = make_config(format, "cpu", &log);
            config.j2k = random_options(random, format, precincts);
            if (random.one_in(2)) random_target(random, format, config.j2k, layer_rates);
        } else if (codec == CUDAENC_CODEC_MJPEG) {
            const CudaencFormat format = random_jpeg_format(random, longest);
            config = make_jpeg_config(format, "cpu", &log);
            config.mjpeg = random_jpeg_options(random, format, texts);
        } else {
            const int width = random.between(1, longest), height = random.between(1, longest);
            config = make_h264_config(make_h264_format(random.of(h264_inputs), width, height), "cpu", &log);
            config.h264 = random_h264_options(random, config.format);
        }
        wild = random.one_in(8);
        if (!wild) return;
        const int values[] = {-2147483647, -7, -1, 0, 1, 2, 3, 5, 100, 101, 1 << 20, 2147483647};
        const std::vector<int *> options = options_of_all(), own = options_of_codec();
        const std::vector<int64_t *> sizes = sizes_of_codec();
        size_t chosen = random.below(static_cast<uint32_t>(options.size() + own.size() + sizes.size()));
        if (chosen < own.size())
            *own[chosen] = random.of(values);
        else if ((chosen -= own.size()) < options.size())
            *options[chosen] = random.of(values);
        else
            *sizes[chosen - options.size()] = random.one_in(4) ? INT64_MAX : random.of(values);
    }
    std::vector<int *> options_of_all() {
        return {&config.async_depth,   &config.format.width,
                &config.format.height, &config.format.component[0].depth,
                &config.threads,       &config.format.component[1].log2_subsample_x};
    }
    std::vector<int *> options_of_codec() {
        CudaencJ2kOptions &j = config.j2k;
        CudaencMjpegOptions &m = config.mjpeg;
        CudaencH264Options &h = config.h264;
        switch (codec) {
            case CUDAENC_CODEC_J2K:
                return {&j.format,     &j.tile_width, &j.tile_height,  &j.pred,           &j.quality,
                        &j.levels,     &j.cblk_width, &j.cblk_height,  &j.prog,           &j.mct,
                        &j.guard_bits, &j.profile,    &j.main_level,   &j.sub_level,      &j.tile_parts,
                        &j.cblk_style, &j.layers,     &j.rate_control, &j.frame_rate_num, &j.pst_lag};
            case CUDAENC_CODEC_MJPEG:
                return {&m.quality,     &m.huffman,     &m.restart_interval, &m.mct,
                        &m.quality_min, &m.quality_max, &m.matrix,           &m.trellis};
            default:
                return {&h.profile,
                        &h.level,
                        &h.slices,
                        &h.rate_control,
                        &h.qp,
                        &h.aq,
                        &h.effort,
                        &h.cbr,
                        &h.hrd,
                        &h.qp_min,
                        &h.qp_max,
                        &h.deblock,
                        &h.aud,
                        &h.repeat_headers,
                        &h.timecodes,
                        &h.frame_rate_num,
                        &h.frame_rate_den,
                        &h.sample_aspect_num,
                        &h.chroma_location};
        }
    }
    std::vector<int64_t *> sizes_of_codec() {
        switch (codec) {
            case CUDAENC_CODEC_J2K:
                return {&config.j2k.bit_rate, &config.j2k.frame_bytes};
            case CUDAENC_CODEC_MJPEG:
                return {&config.mjpeg.frame_bytes};
            default:
                return {&config.h264.bit_rate, &config.h264.max_rate, &config.h264.buffer_size};
        }
    }
    std::string text() const {
        return codec == CUDAENC_CODEC_J2K     ? describe(config)
               : codec == CUDAENC_CODEC_MJPEG ? describe_jpeg(config)
                                              : describe_h264(config);
    }

    Random random;
    const CudaencCodec codec;
    Log log;
    std::string precincts, layer_rates;
    JpegTexts texts;
    CudaencConfig config;
    bool wild;
};

// What came of a session: its code, and each frame's, with its packet or the line that says why there is none.
struct Outcome {
    int code = CUDAENC_OK;
    std::vector<int> codes;
    std::vector<std::vector<uint8_t>> packets;
    std::vector<std::string> lines;
    std::vector<uint8_t> extradata;
    bool operator==(const Outcome &) const = default;
};

inline Outcome encode_all(const CudaencConfig &config, std::vector<CudaencFrame> frames) {
    Log log;
    CudaencConfig logged = config;
    logged.log_opaque = &log;
    Outcome outcome;
    CudaencSession *session;
    outcome.code = cudaenc_open(&session, &logged);
    if (outcome.code == CUDAENC_OK) {
        size_t size = 0;
        if (const uint8_t *data = cudaenc_extradata(session, &size)) outcome.extradata.assign(data, data + size);
        outcome.codes.resize(frames.size());
        outcome.packets.resize(frames.size());
        const auto receive = [&] {
            for (;;) {
                CudaencPacket packet{};
                const int code = cudaenc_receive(session, &packet);
                if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return;
                const size_t i = reinterpret_cast<size_t>(packet.opaque);
                outcome.codes[i] = code;
                if (code != CUDAENC_OK) continue;
                outcome.packets[i].assign(packet.data, packet.data + packet.size);
                for (int k = 0; k < CUDAENC_PACKET_PADDING; k++) expect(!packet.data[packet.size + k], "padding");
                cudaenc_buffer_free(packet.buffer);
            }
        };
        for (size_t i = 0; i < frames.size(); i++) {
            frames[i].opaque = reinterpret_cast<void *>(i);
            outcome.codes[i] = cudaenc_submit(session, &frames[i]);
            receive();
        }
        cudaenc_flush(session);
        receive();
        cudaenc_close(session);
    }
    outcome.lines = log.lines;
    return outcome;
}

// That there is a line for each error, and that it may be.
inline void check_errors(const Round &round, const Outcome &outcome) {
    std::vector<int> codes = outcome.codes;
    codes.push_back(outcome.code);
    size_t errors = 0;
    for (const int code : codes) {
        if (code == CUDAENC_OK) continue;
        errors++;
        expect(code == CUDAENC_ERR_INVALID ||
                   (round.wild && (code == CUDAENC_ERR_MEMORY || code == CUDAENC_ERR_UNSUPPORTED)),
               format_string("code %d, %s", code, outcome.lines.empty() ? "" : outcome.lines[0].c_str()));
    }
    expect(outcome.lines.size() == errors, format_string("%zu lines of %zu errors", outcome.lines.size(), errors));
    if (round.wild) return;
    for (const std::string &line : outcome.lines) expect(line.find("is not possible") != line.npos, line);
}

// OpenJPEG, where the program was built with its header and finds it; else nullptr.
#if __has_include(<openjpeg.h>)
struct J2kDecoder : bench::OpenJpegLibrary {};
inline const J2kDecoder *open_j2k_decoder() {
    try {
        static const J2kDecoder decoder;
        return &decoder;
    } catch (const Error &) {
        return nullptr;
    }
}

// Where the encoder warns of OpenJPEG.
inline bool misleads_openjpeg(const j2k::Params &p) {
    const std::string line = j2k::decoder_warning(p);
    return line.find("OpenJPEG") != line.npos;
}

// That the packet is a picture, and without loss the one that was encoded.
inline void check_j2k(const J2kDecoder &decoder, const j2k::Params &p, const std::vector<uint8_t> &packet,
                      const Picture &picture) {
    std::string said;
    const auto image = decoder.decode(packet, 1, said);
    expect(said.empty(), "OpenJPEG says " + said);
    expect(image->numcomps == p.components.size(), "components");
    for (int c = 0; c < p.input.components; c++) {
        const opj_image_comp_t &from = image->comps[c];
        const int columns = picture.columns(c), rows = picture.component_rows(c);
        expect(static_cast<int>(from.w) == columns && static_cast<int>(from.h) == rows && !from.sgnd &&
                   static_cast<int>(from.prec) == p.input.component[c].depth,
               "a component's size or depth");
        int others = 0;
        for (int y = 0; y < rows && p.reversible && !p.rate.target(); y++)
            for (int x = 0; x < columns; x++)
                others += from.data[y * columns + x] != static_cast<int>(picture.get(c, x, y));
        expect(!others, format_string("%d samples of component %d are others", others, c));
    }
}
#else
struct J2kDecoder {};
inline const J2kDecoder *open_j2k_decoder() { return nullptr; }
inline bool misleads_openjpeg(const j2k::Params &) { return true; }
inline void check_j2k(const J2kDecoder &, const j2k::Params &, const std::vector<uint8_t> &, const Picture &) {}
#endif

// The pictures of H.264 packets, each in a vector of its own: that each packet is one.
inline std::vector<std::vector<StreamPicture>> decode_packets(const Outcome &outcome) {
    std::vector<std::vector<StreamPicture>> pictures;
    for (size_t i = 0; i < outcome.packets.size(); i++) {
        if (outcome.codes[i] != CUDAENC_OK) continue;
        pictures.push_back(decode_stream(outcome.packets[i], outcome.extradata, false,
                                         pictures.empty() ? nullptr : pictures.back().data()));
        expect(pictures.back().size() == 1, "a packet is not a picture");
    }
    return pictures;
}

// That packets are what decoders take, and not larger than they may be.
inline void check_packets(const Round &round, const Outcome &outcome, const std::vector<Picture> &pictures) {
    if (round.codec == CUDAENC_CODEC_H264) decode_packets(outcome);
    const CudaencFormat &format = round.config.format;
    for (size_t i = 0; i < outcome.packets.size(); i++) {
        const std::vector<uint8_t> &packet = outcome.packets[i];
        if (outcome.codes[i] != CUDAENC_OK) continue;
        if (round.codec == CUDAENC_CODEC_J2K) {
            const j2k::Params params = j2k::make_params(format, round.config.j2k);
            const uint64_t most = params.rate.layers.back();
            expect(!most || packet.size() <= most, "a packet is larger than its target");
            const J2kDecoder *decoder = open_j2k_decoder();
            if (decoder && !misleads_openjpeg(params)) check_j2k(*decoder, params, packet, pictures[i]);
        } else if (round.codec == CUDAENC_CODEC_MJPEG) {
            const JpegDecoder jpeg(packet.data(), packet.size());
            expect(jpeg.width == format.width && jpeg.height == format.height, "size");
        }
    }
}

}  // namespace cudaenc::testing
