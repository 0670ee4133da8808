// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peer_nvjpeg.h"

#include "nvjpeg_library.h"

#ifdef CUDAENC_HAS_NVJPEG

namespace cudaenc::bench {

namespace {

using testing::check_nvjpeg;
using testing::NvjpegLibrary;

struct Handle {
    explicit Handle(const NvjpegLibrary &library) : lib(library) {
        check_nvjpeg(lib.create(&handle), "nvjpegCreateSimple");
    }
    ~Handle() { lib.destroy(handle); }
    Handle(const Handle &) = delete;
    const NvjpegLibrary &lib;
    nvjpegHandle_t handle = nullptr;
};

// What one thread encodes with. It has a Device of its own, in the same context, since one serves a thread at a time.
class Worker {
  public:
    Worker(const Handle &handle, const Case &c, int quality)
        : lib_(handle.lib),
          handle_(handle.handle),
          format_(c.format),
          sampling_(c.format.layout == Layout::kYuv420   ? NVJPEG_CSS_420
                    : c.format.layout == Layout::kYuv422 ? NVJPEG_CSS_422
                                                         : NVJPEG_CSS_444),
          device_(open_cuda_device("cuda:0", nullptr)),
          stream_(device_->create_stream()),
          cuda_stream_(reinterpret_cast<cudaStream_t>(stream_)) {
        check_nvjpeg(lib_.encoder_state_create(handle_, &state_, cuda_stream_), "nvjpegEncoderStateCreate");
        check_nvjpeg(lib_.params_create(handle_, &params_, cuda_stream_), "nvjpegEncoderParamsCreate");
        check_nvjpeg(lib_.set_quality(params_, quality, cuda_stream_), "nvjpegEncoderParamsSetQuality");
        check_nvjpeg(lib_.set_optimized_huffman(params_, c.huffman == CUDAENC_MJPEG_HUFFMAN_OPTIMAL, cuda_stream_),
                     "nvjpegEncoderParamsSetOptimizedHuffman");
        check_nvjpeg(lib_.set_sampling_factors(params_, sampling_, cuda_stream_),
                     "nvjpegEncoderParamsSetSamplingFactors");
        check_nvjpeg(lib_.get_buffer_size(handle_, params_, format_.width, format_.height, &capacity_),
                     "nvjpegEncodeGetBufferSize");
        bytes_ = static_cast<uint8_t *>(device_->alloc_pinned(capacity_));
    }
    ~Worker() {
        lib_.params_destroy(params_);
        lib_.encoder_state_destroy(state_);
        device_->free_pinned(bytes_);
        device_->destroy_stream(stream_);
    }
    Worker(const Worker &) = delete;

    // From planes in GPU memory to bytes in pinned host memory.
    size_t encode(const CudaencFrame &frame) {
        nvjpegImage_t image = {};
        for (int i = 0; i < 3; i++) {
            image.channel[i] = const_cast<uint8_t *>(frame.data[i]);
            image.pitch[i] = static_cast<size_t>(frame.stride[i]);
        }
        check_nvjpeg(
            lib_.encode_yuv(handle_, state_, params_, &image, sampling_, format_.width, format_.height, cuda_stream_),
            "nvjpegEncodeYUV");
        size_t size = capacity_;
        check_nvjpeg(lib_.retrieve(handle_, state_, bytes_, &size, cuda_stream_), "nvjpegEncodeRetrieveBitstream");
        device_->synchronize(stream_);
        return size;
    }
    const uint8_t *bytes() const { return bytes_; }

  private:
    const NvjpegLibrary &lib_;
    const nvjpegHandle_t handle_;
    const FrameFormat format_;
    const nvjpegChromaSubsampling_t sampling_;
    const std::shared_ptr<Device> device_;
    const Device::Stream stream_;
    const cudaStream_t cuda_stream_;
    size_t capacity_ = 0;
    uint8_t *bytes_ = nullptr;
    nvjpegEncoderState_t state_ = nullptr;
    nvjpegEncoderParams_t params_ = nullptr;
};

}  // namespace

bool has_nvjpeg() { return true; }

PeerResult measure_nvjpeg(const std::string &library, const Case &c, const Frames &frames, int quality,
                          const Effort &effort, const std::vector<int> &threads) {
    static const NvjpegLibrary lib(library);
    const Handle handle(lib);
    PeerResult result;
    result.name = lib.name();
    Worker first(handle, c, quality);
    const size_t size = first.encode(frames[0]);
    result.first_streams.push_back({"quality", static_cast<double>(quality), {first.bytes(), first.bytes() + size}});
    result.single = measure_worker(first, frames, effort);
    result.multis =
        measure_workers<Worker>([&] { return std::make_unique<Worker>(handle, c, quality); }, frames, effort, threads);
    return result;
}

}  // namespace cudaenc::bench

#else

namespace cudaenc::bench {

bool has_nvjpeg() { return false; }

PeerResult measure_nvjpeg(const std::string &, const Case &, const Frames &, int, const Effort &,
                          const std::vector<int> &) {
    throw Error(CUDAENC_ERR_UNSUPPORTED, "this program was built without nvJPEG's header: make bench NVJPEG=folder");
}

}  // namespace cudaenc::bench
#endif
