// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peer_openjpeg.h"

#include "../../common/error.h"
#include "openjpeg_library.h"

#if __has_include(<openjpeg.h>)
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

namespace cudaenc::bench {

namespace {

int sample(const Case &c, const CudaencFrame &frame, int component, int x, int y) {
    const uint8_t *row = frame.data[component] + y * frame.stride[component];
    return c.format.depth > 8 ? reinterpret_cast<const uint16_t *>(row)[x] : row[x];
}

}  // namespace

struct OpenJpeg::Library : OpenJpegLibrary {
    using OpenJpegLibrary::OpenJpegLibrary;
};

OpenJpeg::OpenJpeg(const std::string &file)
    : lib_(std::make_unique<const Library>(file.empty() ? "libopenjp2.so.7" : file)) {}
OpenJpeg::~OpenJpeg() = default;

std::string OpenJpeg::name() const { return std::string("OpenJPEG ") + lib_->version(); }

double OpenJpeg::psnr(const Case &c, const CudaencFrame &frame, const std::vector<uint8_t> &stream) const {
    std::string said;
    const auto image = lib_->decode(stream, static_cast<int>(std::thread::hardware_concurrency()), said);
    check_openjpeg(image->numcomps == 3, "decoding three components");
    double sum = 0, samples = 0;
    for (int k = 0; k < 3; k++) {
        const opj_image_comp_t &component = image->comps[k];
        const int width = c.format.component_width(k);
        check_openjpeg(static_cast<int>(component.w) == width && static_cast<int>(component.h) == c.format.height,
                       "decoding to the frame's size");
        for (int y = 0; y < c.format.height; y++)
            for (int x = 0; x < width; x++) {
                const double error = component.data[static_cast<size_t>(y) * width + x] - sample(c, frame, k, x, y);
                sum += error * error;
            }
        samples += static_cast<double>(width) * c.format.height;
    }
    const double most = (1 << c.format.depth) - 1;
    return sum > 0 ? 10 * std::log10(most * most * samples / sum) : std::numeric_limits<double>::infinity();
}

Single OpenJpeg::encode(const Case &c, const Frames &frames, double bytes, int threads, const Effort &effort,
                        std::vector<uint8_t> &first_stream) const {
    const bool rgb = c.format.layout == Layout::kRgb;
    opj_image_cmptparm_t components[3] = {};
    double raw_bytes = 0;
    for (int k = 0; k < 3; k++) {
        components[k].dx = 1u << c.format.log2_subsample_x(k);
        components[k].dy = 1;
        components[k].w = static_cast<OPJ_UINT32>(c.format.component_width(k));
        components[k].h = static_cast<OPJ_UINT32>(c.format.height);
        components[k].prec = static_cast<OPJ_UINT32>(c.format.depth);
        raw_bytes += static_cast<double>(c.format.component_width(k)) * c.format.height * c.format.depth / 8;
    }
    opj_cparameters_t parameters;
    lib_->default_encoder(&parameters);
    parameters.irreversible = !c.lossless;
    parameters.numresolution = 6;
    parameters.cblockw_init = parameters.cblockh_init = c.cblk;
    parameters.prog_order = OPJ_LRCP;
    parameters.tcp_mct = rgb;
    parameters.tcp_numlayers = 1;
    parameters.cp_disto_alloc = 1;
    parameters.tcp_rates[0] = c.lossless ? 0 : static_cast<float>(raw_bytes / bytes);

    const auto code = [&](const CudaencFrame &frame, OpenJpegMemory &memory) {
        const OpenJpegLibrary::ImagePointer image(
            lib_->image_create(3, components, rgb ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_SYCC), {lib_.get()});
        check_openjpeg(image != nullptr, "opj_image_create");
        image->x1 = static_cast<OPJ_UINT32>(c.format.width);
        image->y1 = static_cast<OPJ_UINT32>(c.format.height);
        for (int k = 0; k < 3; k++)
            for (int y = 0; y < c.format.height; y++)
                for (int x = 0; x < c.format.component_width(k); x++)
                    image->comps[k].data[static_cast<size_t>(y) * c.format.component_width(k) + x] =
                        sample(c, frame, k, x, y);
        memory.bytes.reserve(static_cast<size_t>(raw_bytes));
        const OpenJpegLibrary::StreamPointer output = lib_->open(memory, false);
        const OpenJpegLibrary::CodecPointer codec(lib_->create_compress(OPJ_CODEC_J2K), {lib_.get()});
        check_openjpeg(lib_->setup_encoder(codec.get(), &parameters, image.get()), "opj_setup_encoder");
        if (threads > 1) check_openjpeg(lib_->set_threads(codec.get(), threads), "opj_codec_set_threads");
        const auto start = Clock::now();
        check_openjpeg(lib_->start_compress(codec.get(), image.get(), output.get()), "opj_start_compress");
        check_openjpeg(lib_->encode(codec.get(), output.get()), "opj_encode");
        check_openjpeg(lib_->end_compress(codec.get(), output.get()), "opj_end_compress");
        return seconds_since(start) * 1e3;
    };

    std::vector<double> milliseconds;
    double sum = 0;
    const int count = std::clamp(effort.single_frames, 1, frames.count());
    const auto begin = Clock::now();
    for (int i = 0; i < count && (i < 5 || seconds_since(begin) < effort.single_seconds); i++) {
        OpenJpegMemory memory;
        milliseconds.push_back(code(frames[static_cast<size_t>(i)], memory));
        sum += static_cast<double>(memory.bytes.size());
        if (!i) first_stream = std::move(memory.bytes);
    }
    Single single;
    single.bytes_per_frame = sum / static_cast<double>(milliseconds.size());
    single.milliseconds = make_spread(milliseconds);
    return single;
}

}  // namespace cudaenc::bench

#else

namespace cudaenc::bench {

struct OpenJpeg::Library {};
OpenJpeg::OpenJpeg(const std::string &) {
    throw Error(CUDAENC_ERR_UNSUPPORTED, "this program was built without OpenJPEG's header (libopenjp2-7-dev)");
}
OpenJpeg::~OpenJpeg() = default;
std::string OpenJpeg::name() const { return ""; }
double OpenJpeg::psnr(const Case &, const CudaencFrame &, const std::vector<uint8_t> &) const { return 0; }
Single OpenJpeg::encode(const Case &, const Frames &, double, int, const Effort &, std::vector<uint8_t> &) const {
    return {};
}

}  // namespace cudaenc::bench
#endif
