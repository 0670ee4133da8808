// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peer_nvjpeg2k.h"

#include "../../common/error.h"

#if __has_include(<nvjpeg2k.h>)
#define _NVJPEG2K_DISABLE_CUDA_TOOLKIT_HEADERS  // its own way to do without them
#include <dlfcn.h>
#include <nvjpeg2k.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace cudaenc::bench {

namespace {

void check(nvjpeg2kStatus_t status, const char *call) {
    if (status != NVJPEG2K_STATUS_SUCCESS)
        throw Error(CUDAENC_ERR_DEVICE, format_string("%s: status %d", call, static_cast<int>(status)));
}

struct Library {
    explicit Library(const std::string &file) : handle(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) throw Error(CUDAENC_ERR_DEVICE, dlerror());
        find(get_property, "nvjpeg2kGetProperty");
        find(encoder_create, "nvjpeg2kEncoderCreateSimple");
        find(encoder_destroy, "nvjpeg2kEncoderDestroy");
        find(state_create, "nvjpeg2kEncodeStateCreate");
        find(state_destroy, "nvjpeg2kEncodeStateDestroy");
        find(params_create, "nvjpeg2kEncodeParamsCreate");
        find(params_destroy, "nvjpeg2kEncodeParamsDestroy");
        find(set_config, "nvjpeg2kEncodeParamsSetEncodeConfig");
        find(specify_quality, "nvjpeg2kEncodeParamsSpecifyQuality");
        find(encode, "nvjpeg2kEncode");
        find(retrieve, "nvjpeg2kEncodeRetrieveBitstream");
        find(create, "nvjpeg2kCreateSimple");
        find(destroy, "nvjpeg2kDestroy");
        find(decode_state_create, "nvjpeg2kDecodeStateCreate");
        find(decode_state_destroy, "nvjpeg2kDecodeStateDestroy");
        find(stream_create, "nvjpeg2kStreamCreate");
        find(stream_destroy, "nvjpeg2kStreamDestroy");
        find(stream_parse, "nvjpeg2kStreamParse");
        find(decode, "nvjpeg2kDecode");
        find(decode_tile, "nvjpeg2kDecodeTile");
        find(image_info, "nvjpeg2kStreamGetImageInfo");
        find(resolutions, "nvjpeg2kStreamGetResolutionsInTile");
        find(decode_params_create, "nvjpeg2kDecodeParamsCreate");
        find(decode_params_destroy, "nvjpeg2kDecodeParamsDestroy");
        find(set_area, "nvjpeg2kDecodeParamsSetDecodeArea");
    }
    Library(const Library &) = delete;  // and never unloaded, as libraries that run CUDA do not like to be

    std::string version() const {
        int number[3] = {};
        for (int i = 0; i < 3; i++) get_property(static_cast<libraryPropertyType>(i), &number[i]);
        return format_string("%d.%d.%d", number[0], number[1], number[2]);
    }

    void *handle;
    decltype(&nvjpeg2kGetProperty) get_property;
    decltype(&nvjpeg2kEncoderCreateSimple) encoder_create;
    decltype(&nvjpeg2kEncoderDestroy) encoder_destroy;
    decltype(&nvjpeg2kEncodeStateCreate) state_create;
    decltype(&nvjpeg2kEncodeStateDestroy) state_destroy;
    decltype(&nvjpeg2kEncodeParamsCreate) params_create;
    decltype(&nvjpeg2kEncodeParamsDestroy) params_destroy;
    decltype(&nvjpeg2kEncodeParamsSetEncodeConfig) set_config;
    decltype(&nvjpeg2kEncodeParamsSpecifyQuality) specify_quality;
    decltype(&nvjpeg2kEncode) encode;
    decltype(&nvjpeg2kEncodeRetrieveBitstream) retrieve;
    decltype(&nvjpeg2kCreateSimple) create;
    decltype(&nvjpeg2kDestroy) destroy;
    decltype(&nvjpeg2kDecodeStateCreate) decode_state_create;
    decltype(&nvjpeg2kDecodeStateDestroy) decode_state_destroy;
    decltype(&nvjpeg2kStreamCreate) stream_create;
    decltype(&nvjpeg2kStreamDestroy) stream_destroy;
    decltype(&nvjpeg2kStreamParse) stream_parse;
    decltype(&nvjpeg2kDecode) decode;
    decltype(&nvjpeg2kDecodeTile) decode_tile;
    decltype(&nvjpeg2kStreamGetImageInfo) image_info;
    decltype(&nvjpeg2kStreamGetResolutionsInTile) resolutions;
    decltype(&nvjpeg2kDecodeParamsCreate) decode_params_create;
    decltype(&nvjpeg2kDecodeParamsDestroy) decode_params_destroy;
    decltype(&nvjpeg2kDecodeParamsSetDecodeArea) set_area;

  private:
    template <class F>
    void find(F &function, const char *name) {
        function = reinterpret_cast<F>(dlsym(handle, name));
        if (!function) throw Error(CUDAENC_ERR_DEVICE, std::string("nvJPEG2000 has no ") + name);
    }
};

struct Encoder {
    explicit Encoder(const Library &library) : lib(library) {
        check(lib.encoder_create(&handle), "nvjpeg2kEncoderCreateSimple");
    }
    ~Encoder() { lib.encoder_destroy(handle); }
    Encoder(const Encoder &) = delete;
    const Library &lib;
    nvjpeg2kEncoder_t handle = nullptr;
};

// What one thread encodes with. It has a Device of its own, in the same context, since one serves a thread at a time.
class Worker {
  public:
    Worker(const Encoder &encoder, const Case &c)
        : lib_(encoder.lib),
          encoder_(encoder.handle),
          format_(make_format(c.format)),
          device_(open_cuda_device("cuda:0", nullptr)),
          stream_(device_->create_stream()),
          capacity_(static_cast<size_t>(c.pixels()) * 3 * 2 + (1 << 20)),
          bytes_(static_cast<uint8_t *>(device_->alloc_pinned(capacity_))) {
        check(lib_.state_create(encoder_, &state_), "nvjpeg2kEncodeStateCreate");
        check(lib_.params_create(&params_), "nvjpeg2kEncodeParamsCreate");
        for (int i = 0; i < 3; i++) {
            components_[i].component_width = static_cast<uint32_t>(c.format.component_width(i));
            components_[i].component_height = static_cast<uint32_t>(c.format.component_height(i));
            components_[i].precision = static_cast<uint8_t>(c.format.depth);
        }
        nvjpeg2kEncodeConfig_t config = {};
        const bool rgb = c.format.layout == Layout::kRgb;
        config.stream_type = NVJPEG2K_STREAM_J2K;
        config.color_space = rgb ? NVJPEG2K_COLORSPACE_SRGB : NVJPEG2K_COLORSPACE_SYCC;
        config.image_width = static_cast<uint32_t>(c.format.width);
        config.image_height = static_cast<uint32_t>(c.format.height);
        config.num_components = 3;
        config.image_comp_info = components_;
        config.prog_order = NVJPEG2K_LRCP;
        config.num_layers = 1;
        config.mct_mode = rgb;
        config.num_resolutions = 6;
        config.code_block_w = config.code_block_h = static_cast<uint32_t>(c.cblk);
        config.irreversible = !c.lossless;
#ifdef NVJPEG2K_MODE_HT
        if (c.style & CUDAENC_J2K_HT) {
            config.rsiz = NVJPEG2K_RSIZ_HT;
            config.encode_modes = NVJPEG2K_MODE_HT;
        }
#endif
        check(lib_.set_config(params_, &config), "nvjpeg2kEncodeParamsSetEncodeConfig");
    }
    ~Worker() {
        lib_.params_destroy(params_);
        lib_.state_destroy(state_);
        device_->free_pinned(bytes_);
        device_->destroy_stream(stream_);
    }
    Worker(const Worker &) = delete;

    void set_quality(nvjpeg2kQualityType_t type, double value) {
        check(lib_.specify_quality(params_, type, value), "nvjpeg2kEncodeParamsSpecifyQuality");
    }

    // From planes in GPU memory to bytes in pinned host memory.
    size_t encode(const CudaencFrame &frame) {
        void *planes[3];
        size_t pitches[3];
        for (int i = 0; i < 3; i++) {
            planes[i] = const_cast<uint8_t *>(frame.data[i]);
            pitches[i] = static_cast<size_t>(frame.stride[i]);
        }
        const nvjpeg2kImage_t image = {planes, pitches,
                                       format_.component[0].depth > 8 ? NVJPEG2K_UINT16 : NVJPEG2K_UINT8, 3};
        const auto stream = reinterpret_cast<cudaStream_t>(stream_);
        check(lib_.encode(encoder_, state_, params_, &image, stream), "nvjpeg2kEncode");
        size_t size = 0;
        check(lib_.retrieve(encoder_, state_, nullptr, &size, stream), "nvjpeg2kEncodeRetrieveBitstream, the size");
        if (size > capacity_)
            throw Error(CUDAENC_ERR_MEMORY, "nvJPEG2000's codestream is larger than two bytes a sample");
        check(lib_.retrieve(encoder_, state_, bytes_, &size, stream), "nvjpeg2kEncodeRetrieveBitstream");
        device_->synchronize(stream_);
        return size;
    }
    const uint8_t *bytes() const { return bytes_; }

  private:
    const Library &lib_;
    const nvjpeg2kEncoder_t encoder_;
    const CudaencFormat format_;
    const std::shared_ptr<Device> device_;
    const Device::Stream stream_;
    const size_t capacity_;
    uint8_t *const bytes_;
    nvjpeg2kImageComponentInfo_t components_[3] = {};
    nvjpeg2kEncodeState_t state_ = nullptr;
    nvjpeg2kEncodeParams_t params_ = nullptr;
};

// The ways to ask for a quality, with values that no target is beyond; `unit`: of a sample's depth, 1 for 8 bits.
struct QualityType {
    const char *name;
    nvjpeg2kQualityType_t type;
    double low, high;
};
std::vector<QualityType> quality_types(double unit) {
    return {{"Q-factor", NVJPEG2K_QUALITY_TYPE_Q_FACTOR, 1, 100},
            {"quantisation step", NVJPEG2K_QUALITY_TYPE_QUANTIZATION_STEP, unit / 64, unit * 128},
            {"target PSNR", NVJPEG2K_QUALITY_TYPE_TARGET_PSNR, 20, 70}};
}

// Sets the value at which the frame comes nearest to `bytes`; a few steps are enough to be within 0.02 % where the
// type has such values. Returns the frame coded so.
PeerStream match_size(Worker &worker, const QualityType &q, const CudaencFrame &frame, size_t bytes) {
    const auto size_at = [&](double value) {
        worker.set_quality(q.type, value);
        return worker.encode(frame);
    };
    double low = q.low, high = q.high, best = low, least_error = 1e300;
    const bool rising = size_at(low) < size_at(high);
    for (int i = 0; i < 40 && least_error > 2e-4; i++) {
        const double middle = std::sqrt(low * high), size = static_cast<double>(size_at(middle));
        const double error = std::fabs(size / static_cast<double>(bytes) - 1);
        if (error < least_error) best = middle, least_error = error;
        ((size < static_cast<double>(bytes)) == rising ? low : high) = middle;
    }
    const size_t size = size_at(best);
    return {q.name, best, {worker.bytes(), worker.bytes() + size}};
}

const Library &library_of(const std::string &file) {
    static const Library lib(file.empty() ? "libnvjpeg2k.so.0" : file);
    return lib;
}

}  // namespace

bool has_nvjpeg2k() { return true; }

struct Nvjpeg2kDecoder::State {
    explicit State(const Library &library)
        : lib(library), device(open_cuda_device("cuda:0", nullptr)), stream(device->create_stream()) {
        check(lib.create(&handle), "nvjpeg2kCreateSimple");
        check(lib.decode_state_create(handle, &state), "nvjpeg2kDecodeStateCreate");
        check(lib.stream_create(&parsed), "nvjpeg2kStreamCreate");
        check(lib.decode_params_create(&params), "nvjpeg2kDecodeParamsCreate");
    }
    ~State() {
        if (params) lib.decode_params_destroy(params);
        if (parsed) lib.stream_destroy(parsed);
        if (state) lib.decode_state_destroy(state);
        if (handle) lib.destroy(handle);
        device->destroy_stream(stream);
    }
    State(const State &) = delete;
    const Library &lib;
    const std::shared_ptr<Device> device;
    const Device::Stream stream;
    nvjpeg2kHandle_t handle = nullptr;
    nvjpeg2kDecodeState_t state = nullptr;
    nvjpeg2kStream_t parsed = nullptr;
    nvjpeg2kDecodeParams_t params = nullptr;

    cudaStream_t queue() const { return reinterpret_cast<cudaStream_t>(stream); }
    // Tile by tile, as its areas are of a tile.
    void decode_part(const nvjpeg2kImage_t &image, size_t bytes, int lowres, const j2k::Region &region) const {
        nvjpeg2kImageInfo_t info;
        check(lib.image_info(parsed, &info), "nvjpeg2kStreamGetImageInfo");
        const uint32_t x0 = static_cast<uint32_t>(region.x), y0 = static_cast<uint32_t>(region.y),
                       x1 = region.width ? x0 + static_cast<uint32_t>(region.width) : info.image_width,
                       y1 = region.width ? y0 + static_cast<uint32_t>(region.height) : info.image_height;
        for (uint32_t ty = y0 / info.tile_height; ty * info.tile_height < y1; ty++)
            for (uint32_t tx = x0 / info.tile_width; tx * info.tile_width < x1; tx++) {
                const uint32_t left = std::max(x0, tx * info.tile_width), top = std::max(y0, ty * info.tile_height),
                               right = std::min(x1, (tx + 1) * info.tile_width),
                               bottom = std::min(y1, (ty + 1) * info.tile_height), tile = ty * info.num_tiles_x + tx;
                uint32_t resolutions = 0;
                if (lowres) {
                    check(lib.resolutions(parsed, tile, &resolutions), "nvjpeg2kStreamGetResolutionsInTile");
                    resolutions -= static_cast<uint32_t>(lowres);
                } else {
                    check(lib.set_area(params, left, right, top, bottom), "nvjpeg2kDecodeParamsSetDecodeArea");
                }
                void *data[4] = {};
                for (uint32_t i = 0; i < image.num_components; i++)
                    data[i] = static_cast<uint8_t *>(image.pixel_data[i]) +
                              ((top - y0) >> lowres) * image.pitch_in_bytes[i] + ((left - x0) >> lowres) * bytes;
                nvjpeg2kImage_t part = image;
                part.pixel_data = data;
                check(lib.decode_tile(handle, state, parsed, params, tile, resolutions, &part, queue()),
                      "nvjpeg2kDecodeTile");
                device->synchronize(stream);  // the state is that of the next tile
            }
    }
};

Nvjpeg2kDecoder::Nvjpeg2kDecoder(const std::string &library) : state_(std::make_unique<State>(library_of(library))) {}
Nvjpeg2kDecoder::~Nvjpeg2kDecoder() = default;

void Nvjpeg2kDecoder::decode(const std::vector<uint8_t> &picture, uint8_t *const planes[], const ptrdiff_t strides[],
                             int count, bool wide, int lowres, const j2k::Region &region) {
    State &s = *state_;
    void *data[4] = {};
    size_t pitches[4] = {};
    for (int i = 0; i < count; i++) data[i] = planes[i], pitches[i] = static_cast<size_t>(strides[i]);
    nvjpeg2kImage_t image = {data, pitches, wide ? NVJPEG2K_UINT16 : NVJPEG2K_UINT8, static_cast<uint32_t>(count)};
    check(s.lib.stream_parse(s.handle, picture.data(), picture.size(), 0, 0, s.parsed), "nvjpeg2kStreamParse");
    if (lowres || region.width)
        s.decode_part(image, wide ? 2 : 1, lowres, region);
    else
        check(s.lib.decode(s.handle, s.state, s.parsed, &image, s.queue()), "nvjpeg2kDecode");
    s.device->synchronize(s.stream);
}

PeerResult measure_nvjpeg2k(const std::string &library, const Case &c, const Frames &frames, size_t bytes,
                            const Effort &effort, const std::vector<int> &thread_counts) {
    const Library &lib = library_of(library);
    const Encoder encoder(lib);
    PeerResult result;
    result.name = "nvJPEG2000 " + lib.version();
    Worker first(encoder, c);
    const std::vector<QualityType> types = quality_types(std::ldexp(1.0, c.format.depth - 8));
    const QualityType &chosen = types.front();
    if (!c.lossless) {
        for (const QualityType &q : types) try {
                result.first_streams.push_back(match_size(first, q, frames[0], bytes));
            } catch (const Error &) {
                if (&q == &chosen) throw;  // the others may not suit the format
            }
        first.set_quality(chosen.type, result.first_streams.front().value);
    } else {
        const size_t size = first.encode(frames[0]);
        result.first_streams.push_back({"lossless", 0, {first.bytes(), first.bytes() + size}});
    }
    result.single = measure_worker(first, frames, effort);
    result.multis = measure_workers<Worker>(
        [&] {
            auto worker = std::make_unique<Worker>(encoder, c);
            if (!c.lossless) worker->set_quality(chosen.type, result.first_streams.front().value);
            return worker;
        },
        frames, effort, thread_counts);
    return result;
}

}  // namespace cudaenc::bench

#else

namespace cudaenc::bench {

bool has_nvjpeg2k() { return false; }

namespace {
[[noreturn]] void refuse_header() {
    throw Error(CUDAENC_ERR_UNSUPPORTED,
                "this program was built without nvJPEG2000's header: make bench NVJPEG2K=folder");
}
}  // namespace

PeerResult measure_nvjpeg2k(const std::string &, const Case &, const Frames &, size_t, const Effort &,
                            const std::vector<int> &) {
    refuse_header();
}

struct Nvjpeg2kDecoder::State {};
Nvjpeg2kDecoder::Nvjpeg2kDecoder(const std::string &) { refuse_header(); }
Nvjpeg2kDecoder::~Nvjpeg2kDecoder() = default;
void Nvjpeg2kDecoder::decode(const std::vector<uint8_t> &, uint8_t *const[], const ptrdiff_t[], int, bool, int,
                             const j2k::Region &) {}

}  // namespace cudaenc::bench
#endif
