// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peer_openjpeg.h"

#include "../../common/error.h"

#if __has_include(<openjpeg.h>)
#include <dlfcn.h>
#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace cudaenc::bench {

namespace {

void check(bool good, const char *call) {
    if (!good) throw Error(CUDAENC_ERR_INTERNAL, std::string("OpenJPEG: ") + call + " failed");
}

// A stream in memory, as OpenJPEG's callbacks have it.
struct Memory {
    std::vector<uint8_t> bytes;
    size_t at = 0;

    static OPJ_SIZE_T read(void *to, OPJ_SIZE_T count, void *self) {
        auto &m = *static_cast<Memory *>(self);
        count = std::min(count, m.bytes.size() - m.at);
        if (!count) return static_cast<OPJ_SIZE_T>(-1);
        std::memcpy(to, &m.bytes[m.at], count);
        m.at += count;
        return count;
    }
    static OPJ_SIZE_T write(void *from, OPJ_SIZE_T count, void *self) {
        auto &m = *static_cast<Memory *>(self);
        m.bytes.resize(std::max(m.bytes.size(), m.at + count));
        std::memcpy(&m.bytes[m.at], from, count);
        m.at += count;
        return count;
    }
    static OPJ_OFF_T skip(OPJ_OFF_T count, void *self) {
        static_cast<Memory *>(self)->at += static_cast<size_t>(count);
        return count;
    }
    static OPJ_BOOL seek(OPJ_OFF_T to, void *self) {
        static_cast<Memory *>(self)->at = static_cast<size_t>(to);
        return OPJ_TRUE;
    }
};

int sample(const Case &c, const CudaencFrame &frame, int component, int x, int y) {
    const uint8_t *row = frame.data[component] + y * frame.stride[component];
    return c.format.depth > 8 ? reinterpret_cast<const uint16_t *>(row)[x] : row[x];
}

}  // namespace

struct OpenJpeg::Library {
    explicit Library(const std::string &file) : handle(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) throw Error(CUDAENC_ERR_UNSUPPORTED, dlerror());
        find(version, "opj_version");
        find(image_create, "opj_image_create");
        find(image_destroy, "opj_image_destroy");
        find(stream_create, "opj_stream_create");
        find(stream_destroy, "opj_stream_destroy");
        find(set_read, "opj_stream_set_read_function");
        find(set_write, "opj_stream_set_write_function");
        find(set_skip, "opj_stream_set_skip_function");
        find(set_seek, "opj_stream_set_seek_function");
        find(set_user_data, "opj_stream_set_user_data");
        find(set_length, "opj_stream_set_user_data_length");
        find(create_decompress, "opj_create_decompress");
        find(default_decoder, "opj_set_default_decoder_parameters");
        find(setup_decoder, "opj_setup_decoder");
        find(read_header, "opj_read_header");
        find(decode, "opj_decode");
        find(create_compress, "opj_create_compress");
        find(default_encoder, "opj_set_default_encoder_parameters");
        find(setup_encoder, "opj_setup_encoder");
        find(start_compress, "opj_start_compress");
        find(encode, "opj_encode");
        find(end_compress, "opj_end_compress");
        find(set_threads, "opj_codec_set_threads");
        find(destroy_codec, "opj_destroy_codec");
    }
    ~Library() { dlclose(handle); }
    Library(const Library &) = delete;

    struct StreamDeleter {
        const Library *lib;
        void operator()(void *stream) const { lib->stream_destroy(static_cast<opj_stream_t *>(stream)); }
    };
    struct CodecDeleter {
        const Library *lib;
        void operator()(void *codec) const { lib->destroy_codec(static_cast<opj_codec_t *>(codec)); }
    };
    struct ImageDeleter {
        const Library *lib;
        void operator()(opj_image_t *image) const { lib->image_destroy(image); }
    };
    using StreamPointer = std::unique_ptr<opj_stream_t, StreamDeleter>;
    using CodecPointer = std::unique_ptr<opj_codec_t, CodecDeleter>;
    using ImagePointer = std::unique_ptr<opj_image_t, ImageDeleter>;

    StreamPointer open(Memory &memory, bool input) const {
        StreamPointer stream(stream_create(1 << 20, input), {this});
        check(stream != nullptr, "opj_stream_create");
        set_read(stream.get(), Memory::read);
        set_write(stream.get(), Memory::write);
        set_skip(stream.get(), Memory::skip);
        set_seek(stream.get(), Memory::seek);
        set_user_data(stream.get(), &memory, nullptr);
        set_length(stream.get(), memory.bytes.size());
        return stream;
    }

    void *handle;
    decltype(&opj_version) version;
    decltype(&opj_image_create) image_create;
    decltype(&opj_image_destroy) image_destroy;
    decltype(&opj_stream_create) stream_create;
    decltype(&opj_stream_destroy) stream_destroy;
    decltype(&opj_stream_set_read_function) set_read;
    decltype(&opj_stream_set_write_function) set_write;
    decltype(&opj_stream_set_skip_function) set_skip;
    decltype(&opj_stream_set_seek_function) set_seek;
    decltype(&opj_stream_set_user_data) set_user_data;
    decltype(&opj_stream_set_user_data_length) set_length;
    decltype(&opj_create_decompress) create_decompress;
    decltype(&opj_set_default_decoder_parameters) default_decoder;
    decltype(&opj_setup_decoder) setup_decoder;
    decltype(&opj_read_header) read_header;
    decltype(&opj_decode) decode;
    decltype(&opj_create_compress) create_compress;
    decltype(&opj_set_default_encoder_parameters) default_encoder;
    decltype(&opj_setup_encoder) setup_encoder;
    decltype(&opj_start_compress) start_compress;
    decltype(&opj_encode) encode;
    decltype(&opj_end_compress) end_compress;
    decltype(&opj_codec_set_threads) set_threads;
    decltype(&opj_destroy_codec) destroy_codec;

  private:
    template <class F>
    void find(F &function, const char *name) {
        function = reinterpret_cast<F>(dlsym(handle, name));
        if (!function) throw Error(CUDAENC_ERR_UNSUPPORTED, std::string("OpenJPEG has no ") + name);
    }
};

OpenJpeg::OpenJpeg(const std::string &file)
    : lib_(std::make_unique<const Library>(file.empty() ? "libopenjp2.so.7" : file)) {}
OpenJpeg::~OpenJpeg() = default;

std::string OpenJpeg::name() const { return std::string("OpenJPEG ") + lib_->version(); }

double OpenJpeg::psnr(const Case &c, const CudaencFrame &frame, const std::vector<uint8_t> &stream) const {
    Memory memory{stream};
    const Library::StreamPointer input = lib_->open(memory, true);
    const Library::CodecPointer codec(lib_->create_decompress(OPJ_CODEC_J2K), {lib_.get()});
    opj_dparameters_t parameters;
    lib_->default_decoder(&parameters);
    check(lib_->setup_decoder(codec.get(), &parameters), "opj_setup_decoder");
    check(lib_->set_threads(codec.get(), static_cast<int>(std::thread::hardware_concurrency())),
          "opj_codec_set_threads");
    opj_image_t *decoded = nullptr;
    check(lib_->read_header(input.get(), codec.get(), &decoded), "opj_read_header");
    const Library::ImagePointer image(decoded, {lib_.get()});
    check(lib_->decode(codec.get(), input.get(), image.get()), "opj_decode");
    check(image->numcomps == 3, "decoding three components");
    double sum = 0, samples = 0;
    for (int k = 0; k < 3; k++) {
        const opj_image_comp_t &component = image->comps[k];
        const int width = c.format.component_width(k);
        check(static_cast<int>(component.w) == width && static_cast<int>(component.h) == c.format.height,
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

    const auto code = [&](const CudaencFrame &frame, Memory &memory) {
        const Library::ImagePointer image(lib_->image_create(3, components, rgb ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_SYCC),
                                          {lib_.get()});
        check(image != nullptr, "opj_image_create");
        image->x1 = static_cast<OPJ_UINT32>(c.format.width);
        image->y1 = static_cast<OPJ_UINT32>(c.format.height);
        for (int k = 0; k < 3; k++)
            for (int y = 0; y < c.format.height; y++)
                for (int x = 0; x < c.format.component_width(k); x++)
                    image->comps[k].data[static_cast<size_t>(y) * c.format.component_width(k) + x] =
                        sample(c, frame, k, x, y);
        memory.bytes.reserve(static_cast<size_t>(raw_bytes));
        const Library::StreamPointer output = lib_->open(memory, false);
        const Library::CodecPointer codec(lib_->create_compress(OPJ_CODEC_J2K), {lib_.get()});
        check(lib_->setup_encoder(codec.get(), &parameters, image.get()), "opj_setup_encoder");
        if (threads > 1) check(lib_->set_threads(codec.get(), threads), "opj_codec_set_threads");
        const auto start = Clock::now();
        check(lib_->start_compress(codec.get(), image.get(), output.get()), "opj_start_compress");
        check(lib_->encode(codec.get(), output.get()), "opj_encode");
        check(lib_->end_compress(codec.get(), output.get()), "opj_end_compress");
        return seconds_since(start) * 1e3;
    };

    std::vector<double> milliseconds;
    double sum = 0;
    const int count = std::clamp(effort.single_frames, 1, frames.count());
    const auto begin = Clock::now();
    for (int i = 0; i < count && (i < 5 || seconds_since(begin) < effort.single_seconds); i++) {
        Memory memory;
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
