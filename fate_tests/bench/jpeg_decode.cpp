// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jpeg_decode.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <thread>

#include "../../common/error.h"
#include "../../common/j2k/decoder_params.h"
#include "../../common/planes.h"
#include "nvjpeg_library.h"
#include "peer_nvjpeg2k.h"
#include "turbojpeg_library.h"

#ifdef CUDAENC_HAS_NVJPEG
#define FFNV_LOG_FUNC(logctx, ...) (static_cast<void>(logctx))
#define FFNV_DEBUG_LOG_FUNC(logctx, ...) (static_cast<void>(logctx))
#include <ffnvcodec/dynlink_loader.h>
#endif

namespace cudaenc::bench {

namespace {

// The planes that one picture fills, in the device's memory or in the host's.
class Planes {
  public:
    Planes(const std::shared_ptr<Device> &device, const CudaencFormat &format) {
        for (int c = 0; c < format.planes; c++) {
            const PlaneSize size = plane_size(format, c);
            stride[c] = static_cast<ptrdiff_t>((size.row_bytes + 255) / 256 * 256);
            const size_t bytes = static_cast<size_t>(stride[c]) * size.rows;
            if (device)
                on_device_.emplace_back(device, bytes), data[c] = on_device_.back().data();
            else
                on_host_.emplace_back(bytes), data[c] = on_host_.back().data();
        }
    }
    uint8_t *data[4] = {};
    ptrdiff_t stride[4] = {};

  private:
    std::vector<DeviceArray<uint8_t>> on_device_;
    std::vector<std::vector<uint8_t>> on_host_;
};

class DecoderSession {
  public:
    DecoderSession(CudaencCodec codec, const DecodedPart &part, const std::shared_ptr<Device> &device,
                   const std::string &spec, const CodedPictures &pictures, int depth, bool stage_times = false)
        : pictures_(pictures) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, codec);
        config.device = spec.c_str();
        config.stage_times = stage_times;
        config.lowres = part.lowres;
        config.region = part.region.c_str();
        config.device_frames = device != nullptr;
        config.async_depth = depth;
        config.log = [](void *, CudaencLogLevel level, const char *line) {
            if (level <= CUDAENC_LOG_WARNING) std::fprintf(stderr, "  %s\n", line);
        };
        check(cudaenc_decoder_open(&decoder_, &config));
        CudaencPictureInfo info;
        check(cudaenc_decoder_read_header(decoder_, pictures[0].data(), pictures[0].size(), &info));
        for (int i = 0; i < depth; i++) planes_.push_back(std::make_unique<Planes>(device, info.format));
    }
    ~DecoderSession() { cudaenc_decoder_close(decoder_); }
    DecoderSession(const DecoderSession &) = delete;

    // Decodes `count` pictures with the ring always full but at its beginning and end. Returns seconds.
    double run(int count) {
        const auto start = Clock::now();
        for (int submitted = 0, received = 0; received < count;) {
            if (submitted < count && submitted - received < static_cast<int>(planes_.size())) {
                submit(submitted++);
                if (submitted == count) cudaenc_decoder_flush(decoder_);
            } else {
                CudaencDecodedPicture picture;
                check(cudaenc_decoder_receive(decoder_, &picture));
                received++;
            }
        }
        return seconds_since(start);
    }

    // Means over `count` pictures, of those whose memory is there already.
    void print_stages(int count) {
        run(2);
        const std::vector<CudaencStageTime> before = stage_times();
        run(count);
        const std::vector<CudaencStageTime> after = stage_times();
        for (size_t i = 0; i < after.size(); i++)
            std::printf("  %-18s %8.3f ms\n", after[i].name,
                        (after[i].milliseconds - before[i].milliseconds) / (after[i].frames - before[i].frames));
    }

  private:
    std::vector<CudaencStageTime> stage_times() const {
        std::vector<CudaencStageTime> times(16);
        times.resize(static_cast<size_t>(
            std::clamp(cudaenc_decoder_stage_times(decoder_, times.data(), static_cast<int>(times.size())), 0, 16)));
        return times;
    }
    void submit(int number) {
        const std::vector<uint8_t> &packet = pictures_[next_++ % pictures_.size()];
        const Planes &planes = *planes_[static_cast<size_t>(number) % planes_.size()];
        CudaencCodedPicture coded{};
        coded.data = packet.data(), coded.size = packet.size();
        std::copy_n(planes.data, 4, coded.planes);
        std::copy_n(planes.stride, 4, coded.stride);
        check(cudaenc_decoder_submit(decoder_, &coded));
    }
    static void check(int code) {
        if (code != CUDAENC_OK) throw Error(code, "the decoder fails");
    }
    const CodedPictures &pictures_;
    CudaencDecoder *decoder_ = nullptr;
    std::vector<std::unique_ptr<Planes>> planes_;
    size_t next_ = 0;
};

// run(i, count): decodes so many pictures on worker i, and returns seconds. Returns pictures a second of all workers.
Spread rate_of(int workers, int least, const Effort &effort, const std::function<double(int, int)> &run) {
    const auto run_all = [&](int count) {
        if (workers == 1) return run(0, count);
        const auto start = Clock::now();
        std::vector<std::exception_ptr> errors(static_cast<size_t>(workers));
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; i++)
            threads.emplace_back([&, i] {
                try {
                    run(i, count);
                } catch (...) {
                    errors[static_cast<size_t>(i)] = std::current_exception();
                }
            });
        threads.clear();
        for (const std::exception_ptr &error : errors)
            if (error) std::rethrow_exception(error);
        return seconds_since(start);
    };
    run_all(least);
    const int count = std::max(least, static_cast<int>(std::ceil(least / run_all(least) * effort.run_seconds)));
    std::vector<double> rates;
    for (int i = 0; i < effort.runs; i++) rates.push_back(workers * count / run_all(count));
    return make_spread(rates);
}

void report(const char *what, const std::string &in_flight, const Spread &fps, Json &json) {
    std::printf("  %-10s %-8s %9.1f pictures/s  (%.1f to %.1f)\n", what, in_flight.c_str(), fps.median, fps.least,
                fps.most);
    std::fflush(stdout);
    json.open('{');
    json.put("decoder", what);
    json.put("in_flight", in_flight);
    json.put("fps", fps);
    json.close('}');
}

#ifdef CUDAENC_HAS_NVJPEG

using testing::check_nvjpeg;
using testing::NvjpegLibrary;

// nvJPEG decodes in the context of the calling thread, and fails where a thread has none.
void make_context_current() {
    static const auto [push, context] = [] {
        CudaFunctions *cuda = nullptr;
        CUcontext primary = nullptr;
        if (cuda_load_functions(&cuda, nullptr) < 0 || cuda->cuDevicePrimaryCtxRetain(&primary, 0) != CUDA_SUCCESS)
            throw Error(CUDAENC_ERR_DEVICE, "the context of the first GPU cannot be taken");
        return std::pair(cuda->cuCtxPushCurrent, primary);
    }();
    thread_local const CUresult pushed = push(context);
    if (pushed != CUDA_SUCCESS) throw Error(CUDAENC_ERR_DEVICE, "cuCtxPushCurrent fails");
}

// What the threads share.
struct NvjpegHandle {
    NvjpegHandle(const NvjpegLibrary &library, nvjpegBackend_t backend) : lib(library) {
        check_nvjpeg(lib.create_ex(backend, nullptr, nullptr, 0, &handle), "nvjpegCreateEx");
    }
    ~NvjpegHandle() { lib.destroy(handle); }
    NvjpegHandle(const NvjpegHandle &) = delete;
    const NvjpegLibrary &lib;
    nvjpegHandle_t handle = nullptr;
};

// A state and a stream; pictures come one at a time, or a batch.
class NvjpegWorker {
  public:
    NvjpegWorker(const NvjpegHandle &handle, const CudaencFormat &format, int batch)
        : lib_(handle.lib),
          handle_(handle.handle),
          device_(open_cuda_device("cuda:0", nullptr)),
          stream_(device_->create_stream()) {
        check_nvjpeg(lib_.decoder_state_create(handle_, &state_), "nvjpegJpegStateCreate");
        for (int i = 0; i < batch; i++) {
            planes_.push_back(std::make_unique<Planes>(device_, format));
            nvjpegImage_t image = {};
            for (int c = 0; c < format.components; c++) {
                image.channel[c] = planes_.back()->data[c];
                image.pitch[c] = static_cast<size_t>(planes_.back()->stride[c]);
            }
            images_.push_back(image);
        }
        if (batch > 1)
            check_nvjpeg(lib_.decode_batched_initialize(handle_, state_, batch, 1, NVJPEG_OUTPUT_YUV),
                         "nvjpegDecodeBatchedInitialize");
    }
    ~NvjpegWorker() {
        if (state_) lib_.decoder_state_destroy(state_);
        device_->destroy_stream(stream_);
    }
    NvjpegWorker(const NvjpegWorker &) = delete;

    double run(const CodedPictures &pictures, int count) {
        make_context_current();
        const auto start = Clock::now();
        for (int done = 0; done < count; done += static_cast<int>(images_.size())) decode(pictures);
        return seconds_since(start);
    }

  private:
    void decode(const CodedPictures &pictures) {
        std::vector<const unsigned char *> data;
        std::vector<size_t> sizes;
        for (size_t i = 0; i < images_.size(); i++) {
            const std::vector<uint8_t> &packet = pictures[next_++ % pictures.size()];
            data.push_back(packet.data()), sizes.push_back(packet.size());
        }
        const auto stream = reinterpret_cast<cudaStream_t>(stream_);
        if (images_.size() == 1)
            check_nvjpeg(lib_.decode(handle_, state_, data[0], sizes[0], NVJPEG_OUTPUT_YUV, &images_[0], stream),
                         "nvjpegDecode");
        else
            check_nvjpeg(lib_.decode_batched(handle_, state_, data.data(), sizes.data(), images_.data(), stream),
                         "nvjpegDecodeBatched");
        device_->synchronize(stream_);
    }
    const NvjpegLibrary &lib_;
    const nvjpegHandle_t handle_;
    const std::shared_ptr<Device> device_;
    const Device::Stream stream_;
    nvjpegJpegState_t state_ = nullptr;
    std::vector<std::unique_ptr<Planes>> planes_;
    std::vector<nvjpegImage_t> images_;
    size_t next_ = 0;
};

void measure_nvjpeg_decoding(const DecodingPeers &peers, const CudaencFormat &format, const CodedPictures &pictures,
                             const Effort &effort, Json &json) {
    static const NvjpegLibrary lib(peers.nvjpeg);
    struct Way {
        const char *name;
        nvjpegBackend_t backend;
        int workers, batch;
    };
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const auto batch = [&](int pictures_of_4k) {  // as many as fill the GPU; fewer where they are larger
        return static_cast<int>(std::clamp<int64_t>(
            int64_t{pictures_of_4k} * 3840 * 2160 / (int64_t{format.width} * format.height), 2, pictures_of_4k));
    };
    const Way ways[] = {{"nvjpeg", NVJPEG_BACKEND_DEFAULT, 1, 1},
                        {"hardware", NVJPEG_BACKEND_HARDWARE, 1, batch(32)},
                        {"hardware", NVJPEG_BACKEND_HARDWARE, 1, batch(128)},
                        {"hybrid", NVJPEG_BACKEND_HYBRID, 1, 1},
                        {"hybrid", NVJPEG_BACKEND_HYBRID, cores, 1},
                        {"gpu", NVJPEG_BACKEND_GPU_HYBRID, 1, 1},
                        {"gpu", NVJPEG_BACKEND_GPU_HYBRID, cores, 1},
                        {"gpu", NVJPEG_BACKEND_GPU_HYBRID, 1, batch(128)}};
    for (const Way &way : ways) {
        if (!peers.has(way.name)) continue;
        const std::string in_flight = std::to_string(way.workers) + "x" + std::to_string(way.batch);
        try {
            const NvjpegHandle handle(lib, way.backend);
            std::vector<std::unique_ptr<NvjpegWorker>> workers;
            for (int i = 0; i < way.workers; i++)
                workers.push_back(std::make_unique<NvjpegWorker>(handle, format, way.batch));
            report(way.name, in_flight,
                   rate_of(way.workers, std::max(4, way.batch), effort,
                           [&](int i, int count) { return workers[static_cast<size_t>(i)]->run(pictures, count); }),
                   json);
        } catch (const Error &e) {
            std::printf("  %-10s %-8s %s\n", way.name, in_flight.c_str(), e.what());
        }
    }
}

#endif

#ifdef CUDAENC_HAS_TURBOJPEG

class TurboJpegWorker {
  public:
    TurboJpegWorker(const TurboJpegLibrary &lib, const CudaencFormat &format)
        : lib_(lib), planes_(nullptr, format), width_(format.width), height_(format.height) {
        std::copy_n(planes_.stride, 4, stride_);
        if (!handle_) throw Error(CUDAENC_ERR_MEMORY, "tjInitDecompress fails");
    }
    ~TurboJpegWorker() { lib_.destroy(handle_); }
    TurboJpegWorker(const TurboJpegWorker &) = delete;

    double run(const CodedPictures &pictures, int count) {
        const auto start = Clock::now();
        for (int done = 0; done < count; done++) {
            const std::vector<uint8_t> &packet = pictures[next_++ % pictures.size()];
            if (lib_.decompress_to_planes(handle_, packet.data(), packet.size(), planes_.data, width_, stride_, height_,
                                          TJFLAG_ACCURATEDCT) != 0)
                throw Error(CUDAENC_ERR_INTERNAL, "tjDecompressToYUVPlanes fails");
        }
        return seconds_since(start);
    }

  private:
    const TurboJpegLibrary &lib_;
    const tjhandle handle_ = lib_.init_decompress();
    Planes planes_;
    int stride_[4];
    const int width_, height_;
    size_t next_ = 0;
};

void measure_turbojpeg_decoding(const std::string &library, const CudaencFormat &format, const CodedPictures &pictures,
                                const Effort &effort, Json &json) try {
    static const TurboJpegLibrary lib(library);
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    for (const int threads : {1, cores}) {
        std::vector<std::unique_ptr<TurboJpegWorker>> workers;
        for (int i = 0; i < threads; i++) workers.push_back(std::make_unique<TurboJpegWorker>(lib, format));
        report("libjpeg-turbo", std::to_string(threads) + "x1",
               rate_of(threads, 1, effort,
                       [&](int i, int count) { return workers[static_cast<size_t>(i)]->run(pictures, count); }),
               json);
    }
} catch (const Error &e) {
    std::printf("  libjpeg-turbo is not measured: %s\n", e.what());
}

#endif

// By a worker, and by some.
void measure_nvjpeg2k_decoding(const std::string &library, const DecodedPart &part, const CudaencFormat &format,
                               const CodedPictures &pictures, const Effort &effort, Json &json) try {
    struct Worker {
        Worker(const std::string &library, const CudaencFormat &format)
            : decoder(library), planes(open_cuda_device("cuda:0", nullptr), format) {}
        Nvjpeg2kDecoder decoder;
        Planes planes;
        size_t next = 0;
    };
    const bool wide = format.component[0].depth > 8;
    const j2k::Region region = j2k::parse_region(part.region.c_str());
    for (const int threads : {1, 4, 16}) {
        std::vector<std::unique_ptr<Worker>> workers;
        for (int i = 0; i < threads; i++) workers.push_back(std::make_unique<Worker>(library, format));
        const auto run = [&](int i, int count) {
            Worker &w = *workers[static_cast<size_t>(i)];
            const auto start = Clock::now();
            for (int done = 0; done < count; done++)
                w.decoder.decode(pictures[w.next++ % pictures.size()], w.planes.data, w.planes.stride,
                                 format.components, wide, part.lowres, region);
            return seconds_since(start);
        };
        report("nvjpeg2k", std::to_string(threads) + "x1", rate_of(threads, 2, effort, run), json);
    }
} catch (const std::exception &e) {  // its own, too
    std::printf("  nvJPEG2000 is not measured: %s\n", e.what());
}

// What the header of a picture says.
CudaencFormat format_of(CudaencCodec codec, const DecodedPart &part, const std::vector<uint8_t> &picture) {
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, codec);
    config.device = "cpu";
    config.lowres = part.lowres;
    config.region = part.region.c_str();
    CudaencDecoder *decoder;
    CudaencPictureInfo info{};
    int code = cudaenc_decoder_open(&decoder, &config);
    if (code == CUDAENC_OK) {
        code = cudaenc_decoder_read_header(decoder, picture.data(), picture.size(), &info);
        cudaenc_decoder_close(decoder);
    }
    if (code != CUDAENC_OK) throw Error(code, "the header cannot be read");
    return info.format;
}

}  // namespace

void measure_decoding(CudaencCodec codec, const DecodedPart &part, const std::shared_ptr<Device> &device,
                      const std::string &spec, const CodedPictures &pictures, const Effort &effort,
                      const std::vector<int> &depths, const std::vector<int> &sessions, const DecodingPeers &peers,
                      Json &json) {
    double bytes = 0;
    for (const auto &picture : pictures)
        bytes += static_cast<double>(picture.size()) / static_cast<double>(pictures.size());
    std::printf("  %zu pictures of %.0f bytes\n", pictures.size(), bytes);
    json.put("bytes", bytes);
    json.open("rates", '[');
    const auto measure = [&](int workers, int depth) {
        std::vector<std::unique_ptr<DecoderSession>> all;
        for (int i = 0; i < workers; i++)
            all.push_back(std::make_unique<DecoderSession>(codec, part, device, spec, pictures, depth));
        report("cudaenc", std::to_string(workers) + "x" + std::to_string(depth),
               rate_of(workers, 2 * depth, effort,
                       [&](int i, int count) { return all[static_cast<size_t>(i)]->run(count); }),
               json);
    };
    measure(1, 1);
    for (const int depth : depths) measure(1, depth);
    for (const int workers : sessions) measure(workers, kSessionDepth);
    [[maybe_unused]] const CudaencFormat format = format_of(codec, part, pictures[0]);
    if (device) {
        DecoderSession timed(codec, part, device, spec, pictures, 1, true);
        timed.print_stages(std::max(effort.single_frames, 2));
    }
    if (codec == CUDAENC_CODEC_J2K) {
        if (device && has_nvjpeg2k() && peers.nvjpeg2k != "no" && peers.has("nvjpeg2k"))
            measure_nvjpeg2k_decoding(peers.nvjpeg2k, part, format, pictures, effort, json);
        json.close(']');
        return;
    }
#ifdef CUDAENC_HAS_NVJPEG
    if (device && peers.nvjpeg != "no") measure_nvjpeg_decoding(peers, format, pictures, effort, json);
#endif
#ifdef CUDAENC_HAS_TURBOJPEG
    if (peers.turbojpeg != "no" && peers.has("libjpeg-turbo"))
        measure_turbojpeg_decoding(peers.turbojpeg, format, pictures, effort, json);
#endif
    (void)peers;
    json.close(']');
}

}  // namespace cudaenc::bench
