// SPDX-License-Identifier: LGPL-2.1-or-later
// libFuzzer: options as text. Each is refused with one line, or is what its parameters say.
#include <cstring>

#include "../../../common/h264/h264.h"
#include "../../../common/j2k/codestream/main_header.h"
#include "../../../common/j2k/encoder_tables.h"
#include "../../../common/mjpeg/headers.h"
#include "input.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

CudaencFormat make_format(Input &in, int components) {
    CudaencFormat format{};
    format.width = in.between(1, 300);
    format.height = in.between(1, 300);
    format.components = format.planes = components;
    format.color_model = components < 3 ? CUDAENC_COLOR_GRAY : CUDAENC_COLOR_RGB;
    for (int c = 0; c < components; c++)
        format.component[c] = {
            .plane = c, .offset = 0, .step = 1, .shift = 0, .depth = 8, .log2_subsample_x = 0, .log2_subsample_y = 0};
    return format;
}

// What the texts of JPEG 2000 promise where they are taken.
void parse_j2k(Input &in) {
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    const CudaencFormat format = make_format(in, in.between(1, 4));
    options.levels = in.between(0, 8);
    options.layers = in.between(1, 6);
    options.pred = in.between(0, 1);
    options.guard_bits = in.between(1, 2);
    const int texts = in.between(1, 31);
    if (texts & 1) options.precincts = in.text(64);
    if (texts & 2) options.poc = in.text(128);
    if (texts & 4) options.roi = in.text(48);
    if (texts & 8) options.layer_rates = in.text(64);
    if (texts & 16) options.comment = in.text(64);
    const j2k::Params p = j2k::make_params(format, options);
    for (const j2k::ProgressionChange &c : p.poc)
        expect(c.first_resolution < c.last_resolution && c.last_resolution <= p.levels + 1 &&
                   c.first_component < c.last_component && c.last_component <= format.components &&
                   c.last_layer <= p.layers,
               "a progression order change lies within the packets");
    expect(!p.roi.shift ||
               (p.roi.x >= 0 && p.roi.y >= 0 && p.roi.x + p.roi.width <= p.width && p.roi.y + p.roi.height <= p.height),
           "the region lies within the picture");
    expect(p.rate.layers.size() == static_cast<size_t>(p.layers), "each layer has its limit");
    int precincts = 0;  // of the largest resolution, at least
    for (int r = 0; r <= p.levels; r++) {
        const int w = p.precinct_width_log2[static_cast<size_t>(r)], h = p.precinct_height_log2[static_cast<size_t>(r)];
        expect(w >= (r > 0) && w <= 15 && h >= (r > 0) && h <= 15, "precincts have sides of 1 to 32768");
        precincts = std::max(precincts, (p.width >> w) * (p.height >> h) >> 2 * (p.levels - r));
    }
    if (precincts * p.layers * format.components < 2000)
        expect(!j2k::make_encoder_geometry(p).packets.empty(), "there are packets");
}

void parse_mjpeg(Input &in) {
    CudaencMjpegOptions options;
    cudaenc_mjpeg_defaults(&options);
    options.comment = in.text(200);
    uint16_t matrix[64];
    for (uint16_t &divisor : matrix) divisor = in.ConsumeIntegral<uint16_t>();
    if (in.one_in(2)) options.luma_matrix = matrix;
    if (in.one_in(2)) options.chroma_matrix = matrix;
    const mjpeg::Params p = mjpeg::make_params(make_format(in, 3), options);
    const std::vector<uint8_t> header = mjpeg::make_frame_header(p, {}, mjpeg::make_divisors(p, p.scale));
    expect(header.size() > 4 && header[0] == 0xFF && header[1] == 0xD8, "a header begins with SOI");
}

// A device's name, through the C API.
void open_device(Input &in) {
    CudaencConfig config;
    Lines lines;
    cudaenc_config_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.format = make_format(in, 1);
    config.device = in.text(24);
    config.threads = 1;
    config.log = Lines::count;
    config.log_opaque = &lines;
    CudaencSession *session = nullptr;
    const int code = cudaenc_open(&session, &config);
    expect((code == CUDAENC_OK) == (session != nullptr) && (code == CUDAENC_OK || lines.errors == 1),
           "a code and a line");
    expect(code == CUDAENC_OK || code == CUDAENC_ERR_INVALID || code == CUDAENC_ERR_DEVICE,
           "the code of a device's name");
    cudaenc_close(session);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input in(data, size);
    try {
        const int kind = in.between(0, 15);
        kind == 0 ? open_device(in) : kind < 3 ? parse_mjpeg(in) : parse_j2k(in);
    } catch (const Error &e) {
        expect(e.code == CUDAENC_ERR_INVALID || e.code == CUDAENC_ERR_MEMORY, e.what());
        expect(*e.what() && !std::strchr(e.what(), '\n'), "a refusal is one line");
    }
    return 0;
}
