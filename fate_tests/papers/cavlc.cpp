// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cavlc.h"

#include <cstdio>
#include <thread>

#include "../../common/error.h"
#include "cavlc_forms.h"

namespace cudaenc::bench {

using namespace h264;

namespace {

constexpr double kCopyBytesPerSecond = 4.3e12;  // device to device on an H200, read and written (docs/experiments)

// Whether a NAL unit has these bits and then rbsp_trailing_bits().
bool same_bits(const std::vector<uint8_t> &nal, std::vector<uint8_t> expected, uint64_t bits) {
    std::vector<uint8_t> rbsp;
    int zeros = 0;
    for (size_t i = kNalPrefixBytes; i < nal.size(); i++) {
        if (zeros == 2 && nal[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = nal[i] ? 0 : zeros + 1;
        rbsp.push_back(nal[i]);
    }
    expected.resize(bits / 8 + 1);
    expected[bits / 8] = static_cast<uint8_t>((expected[bits / 8] & (0xFF00 >> bits % 8)) | 0x80 >> bits % 8);
    return rbsp == expected;
}

}  // namespace

bool compare_cavlc(const std::shared_ptr<Device> &device, const Picture &picture, int width, int height,
                   const std::vector<int> &qps, int frames, int runs, Json &json) {
    const FrameFormat frame_format{width, height, 8, Layout::kYuv420};
    const Frames sources({picture}, frame_format, frames, nullptr);
    const CudaencFormat input = make_format(frame_format);
    ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
    IntraCoder coder(PictureFormat{width, height, ChromaFormat::c420, 8, 1, false, true, false});
    const CodedFormat format{ChromaFormat::c420, false, 8, 8, (width + 15) / 16, (height + 15) / 16, false, false};
    const std::vector<Slice> slices = {{0, static_cast<uint32_t>(format.macroblocks())}};
    const std::vector<SliceHeaderBits> header = {make_slice_header({0, 0, 0})};

    const Stream stream(device);
    const DeviceArray<SliceHeaderBits> headers = upload_table(device, stream, header);
    const DeviceArray<CavlcTables> tables = upload_table(device, stream, std::vector<CavlcTables>{kCavlcTables});
    device->synchronize(static_cast<Device::Stream>(stream));
    const DeviceSliceCoder product(device, format, slices);
    PictureBuffers buffers = product.make_buffers();
    SuCoder su(device, format, headers.data(), tables.data());
    Timer timer(device);

    std::printf("\nCAVLC, %dx%d 4:2:0, %d frames in turn; levels and macroblocks lie in device memory\n", width, height,
                frames);
    std::printf("  CAVLC_SU: to packed bits, %d launches as a graph; h264_cavlc_cuda: to NAL units, 2 launches\n", 16);
    std::printf("  %3s %10s %11s %14s %8s %9s %9s %7s\n", "QP", "bytes", "CAVLC_SU ms", "cudaenc ms", "faster",
                "moved MB", "GB/s", "copy");
    bool all_equal = true;
    double least = 0;
    for (const int qp : qps) {
        std::vector<DeviceFrame> device_frames;
        size_t coded_blocks = 0;
        for (int i = 0; i < frames; i++) {
            const CodedFrame frame = code_frame(coder, format, input, sources[static_cast<size_t>(i)], qp, pool);
            if (i == 0) coded_blocks = frame.coded_blocks;
            device_frames.emplace_back(device, frame);
        }
        std::vector<std::unique_ptr<Graph>> graphs;
        for (const DeviceFrame &frame : device_frames) {
            const h264::CodedPicture coded = frame.picture();
            const auto work = [&su, &stream, coded] { su.code(stream, coded); };
            work();  // kernels of graphs were launched before
            graphs.push_back(std::make_unique<Graph>(device, stream, work));
        }
        const Spread su_ms =
            timer.measure(stream, device_frames.size(), runs, [&](size_t i) { device->run(stream, *graphs[i]); });
        const Spread own_ms = timer.measure(stream, device_frames.size(), runs, [&](size_t i) {
            product.code(stream, buffers, device_frames[i].picture(), headers.data());
        });

        su.code(stream, device_frames[0].picture());
        product.code(stream, buffers, device_frames[0].picture(), headers.data());
        device->synchronize(static_cast<Device::Stream>(stream));
        uint64_t bits;
        uint32_t longer;
        const std::vector<uint8_t> packed = su.bytes(bits, longer);
        std::vector<uint8_t> nal(nal_bytes(buffers));
        device->download(stream, nal.data(), buffers.bytes.data(), nal.size());
        device->synchronize(static_cast<Device::Stream>(stream));
        const bool equal = same_bits(nal, packed, bits);
        all_equal &= equal || longer;
        // What cannot be avoided: levels of coded blocks and all macroblocks in, bytes out.
        const double moved = static_cast<double>(coded_blocks * 32 + device_frames[0].macroblocks.bytes() + nal.size());
        const double rate = moved / (own_ms.median * 1e-3), ratio = su_ms.median / own_ms.median;
        if (least == 0 || ratio < least) least = ratio;
        std::printf("  %3d %10zu %11.4f %14.4f %7.2fx %9.2f %9.1f %6.1f%%", qp, nal.size(), su_ms.median, own_ms.median,
                    ratio, moved / 1e6, rate / 1e9, 100 * rate / kCopyBytesPerSecond);
        if (longer)
            std::printf("  (%u blocks have more bits than CAVLC_SU's units)", longer);
        else if (!equal)
            std::printf("  THE BITS DIFFER");
        std::printf("\n");
        std::fflush(stdout);

        json.open('{');
        json.put("picture", picture.name);
        json.put("width", width);
        json.put("height", height);
        json.put("qp", qp);
        json.put("bytes", nal.size());
        json.put("cavlc_su_ms", su_ms);
        json.put("cudaenc_ms", own_ms);
        json.put("times_as_fast", ratio);
        json.put("moved_bytes", moved);
        json.put("bytes_per_second", rate);
        json.put("equal", equal ? 1 : 0);
        json.close('}');
    }
    std::printf("  at least %.2f times as fast\n", least);
    return all_equal;
}

}  // namespace cudaenc::bench
