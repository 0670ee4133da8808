// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 through the C API: streams, decoded by the tests' own decoder, show the encoder's reconstruction; the same
// bytes for any number of threads and frames in flight, on the CPU and on devices; what Annex A asks for; rates that
// are kept; parameter sets and SEI; what is refused.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../../common/h264/h264.h"
#include "../../common/h264/lanes/intra_coder.h"
#include "../../common/h264/params.h"
#include "../../common/h264/syntax/levels.h"
#include "../../common/h264/syntax/scramble.h"
#include "../../common/thread_pool.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "timed_device.h"

using namespace cudaenc;
using namespace cudaenc::testing;
using h264::ChromaFormat;

namespace {

Picture make_content(Random &random, const CudaencFormat &format, Content content) {
    return make_picture(random, format, content);
}

// A packet a picture.
std::vector<std::vector<uint8_t>> encode_all(const CudaencConfig &config, const std::vector<CudaencFrame> &frames) {
    std::vector<std::vector<uint8_t>> packets;
    CudaencSession *session;
    const auto log = static_cast<const Log *>(config.log_opaque);
    const int opened = cudaenc_open(&session, &config);
    EXPECT(opened == CUDAENC_OK, "open: %d, %s", opened, log->lines.empty() ? "" : log->lines.back().c_str());
    const auto receive = [&] {
        for (;;) {
            CudaencPacket packet;
            const int code = cudaenc_receive(session, &packet);
            if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return;
            EXPECT(code == CUDAENC_OK, "receive: %d, %s", code, log->lines.empty() ? "" : log->lines.back().c_str());
            packets.emplace_back(packet.data, packet.data + packet.size);
            cudaenc_buffer_free(packet.buffer);
        }
    };
    for (const CudaencFrame &frame : frames) {
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit: %s",
               log->lines.empty() ? "" : log->lines.back().c_str());
        receive();
    }
    cudaenc_flush(session);
    receive();
    cudaenc_close(session);
    EXPECT(packets.size() == frames.size(), "%zu packets of %zu frames", packets.size(), frames.size());
    return packets;
}

std::vector<CudaencFrame> frames_of(const std::vector<Picture> &pictures) {
    std::vector<CudaencFrame> frames;
    for (const Picture &picture : pictures) frames.push_back(picture.frame());
    return frames;
}

std::string refusal(const CudaencConfig &config) {
    Log &log = *static_cast<Log *>(config.log_opaque);
    log.lines.clear();
    CudaencSession *session;
    const int code = cudaenc_open(&session, &config);
    cudaenc_close(session);
    EXPECT(code == CUDAENC_ERR_INVALID && log.lines.size() == 1, "code %d, %zu lines", code, log.lines.size());
    return log.lines[0];
}

// What the encoder's own pipeline reconstructs, at the QP that the stream tells, is what the stream shows.
void check_reconstruction(const CudaencConfig &config, const Picture &picture, const StreamPicture &stream,
                          const std::string &what) {
    const h264::Params p = h264::make_params(config.format, config.h264);
    SampleLayout layouts[3];
    const CudaencFrame frame = picture.frame();
    for (int c = 0; c < config.format.components; c++) {
        const CudaencComponent &k = config.format.component[c];
        layouts[c] = {frame.data[k.plane] + k.offset, frame.stride[k.plane], k.step, k.shift, k.depth};
    }
    std::vector<h264::Macroblock> macroblocks(static_cast<size_t>(p.picture.macroblocks()));
    std::vector<int16_t> levels(macroblocks.size() * 16 *
                                static_cast<size_t>(h264::blocks_per_macroblock(p.picture.chroma)));
    ThreadPool pool(1);
    h264::IntraCoder coder(p.picture);
    coder.encode(layouts, {stream.qp(), p.effort, p.aq_strength}, pool, macroblocks.data(), levels.data());
    for (int c = 0; c < p.picture.components(); c++) {
        const h264::ConstBlock r = coder.reconstruction(c);
        EXPECT(stream.width(c) >= picture.columns(c) && stream.width(c) <= picture.columns(c) + 1 &&
                   stream.height(c) >= picture.component_rows(c) && stream.height(c) <= picture.component_rows(c) + 1,
               "%s: component %d is %dx%d", what.c_str(), c, stream.width(c), stream.height(c));
        for (int y = 0; y < stream.height(c); y++)
            for (int x = 0; x < stream.width(c); x++)
                EXPECT(stream.decoded->sample(c, x, y) == r.data[y * r.stride + x],
                       "%s: component %d, (%d, %d): %d, reconstructed %d", what.c_str(), c, x, y,
                       stream.decoded->sample(c, x, y), r.data[y * r.stride + x]);
    }
}

// Limits that all streams keep (Annex A).
void check_limits(const StreamPicture &p, size_t bytes, bool first, double frame_rate, const std::string &what) {
    const int profile = p.sps.profile_idc;
    const bool to_main = profile == 66 || profile == 77;
    const auto level = std::find_if(std::begin(h264::kLevels), std::end(h264::kLevels),
                                    [&](const h264::Level &l) { return l.idc == p.sps.level_idc; });
    EXPECT(level != std::end(h264::kLevels), "%s: level %d", what.c_str(), p.sps.level_idc);
    const int macroblocks = p.sps.width * p.sps.height;
    EXPECT(macroblocks <= level->frame_size && macroblocks * frame_rate <= static_cast<double>(level->mbps),
           "%s: %d macroblocks in level %d", what.c_str(), macroblocks, p.sps.level_idc);
    EXPECT(!to_main || p.parsed->highest_prefix <= 15, "%s: level_prefix %d", what.c_str(), p.parsed->highest_prefix);
    const h264::CodedFormat format{p.parsed->format, false, p.sps.luma_depth, p.sps.chroma_depth, 0, 0, false, false};
    for (const size_t bits : p.parsed->macroblock_bits)
        EXPECT(bits <= h264::most_macroblock_bits(format), "%s: macroblock_layer() of %zu bits", what.c_str(), bits);
    if (to_main)
        for (size_t m = 0; m < p.parsed->macroblocks.size(); m++)
            if (p.parsed->macroblocks[m].type == h264::MacroblockType::pcm)
                for (int i = 0; i < 384; i++)
                    EXPECT(p.parsed->levels[m * 16 * 26 + static_cast<size_t>(i)] > 0, "%s: pcm_sample 0",
                           what.c_str());
    if (profile <= 100 && profile != 44) {
        const double first_most =
            384 * std::max<double>(macroblocks, static_cast<double>(level->mbps) / 172) / level->min_cr;
        const double most = 384 * static_cast<double>(level->mbps) / frame_rate / level->min_cr;
        EXPECT(static_cast<double>(bytes) <= (first ? first_most : most), "%s: %zu bytes, MinCR", what.c_str(), bytes);
    }
    // High with constraint_set3_flag obeys High 10 Intra (7.4.2.1.1).
    const bool intra = !to_main && p.sps.constraint_sets & 0x10;
    if (intra && macroblocks > 1620 && p.sps.level_idc < 60) {
        for (const size_t slice : p.slice_macroblocks)
            EXPECT(slice <= static_cast<size_t>(level->frame_size / 4), "%s: a slice of %zu macroblocks", what.c_str(),
                   slice);
    }
}

// All formats, small sizes, contents, profiles and options at random.
START_TEST(streams_show_the_reconstruction) {
    const H264Format &of = h264_inputs[_i];
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int round = 0; round < 40; round++) {
        Log log;
        const CudaencFormat format = make_h264_format(of, random.between(1, 80), random.between(1, 80));
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        CudaencH264Options &o = config.h264;
        o.rate_control = random.one_in(2) ? CUDAENC_H264_CONSTANT_QP : CUDAENC_H264_CONSTANT_QUALITY;
        o.qp = random.one_in(3) ? (of.depth == 10 ? -12 : 0) : random.between(of.depth == 10 ? -12 : 0, 51);
        if (of.chroma == ChromaFormat::c420 && of.depth == 8) o.profile = random.between(0, 6);
        o.slices = std::min(random.between(0, 3), (format.height + 15) / 16);
        o.effort = random.between(0, 3);
        o.aud = random.between(0, 1);
        o.deblock = random.between(0, 1);
        o.repeat_headers = random.between(0, 1);
        std::vector<Picture> pictures;
        for (int i = 0; i < 3; i++)
            pictures.push_back(make_content(random, format, static_cast<Content>(random.below(9))));
        const std::string what = format_string("%s %dx%d qp %d, profile %d, slices %d", of.name, format.width,
                                               format.height, o.qp, o.profile, o.slices);

        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "%s: %s", what.c_str(),
               log.lines.empty() ? "" : log.lines[0].c_str());
        size_t size;
        const uint8_t *data = cudaenc_extradata(session, &size);
        const std::vector<uint8_t> extradata(data, data + size);
        cudaenc_close(session);

        std::vector<uint8_t> stream;
        const auto packets = encode_all(config, frames_of(pictures));
        for (const auto &packet : packets) stream.insert(stream.end(), packet.begin(), packet.end());
        const std::vector<StreamPicture> decoded = decode_stream(stream, extradata);
        EXPECT(decoded.size() == pictures.size(), "%s: %zu pictures", what.c_str(), decoded.size());
        for (size_t i = 0; i < pictures.size(); i++) {
            const StreamPicture &p = decoded[i];
            std::vector<int> types;
            if (o.aud) types.push_back(9);
            if (o.repeat_headers) types.insert(types.end(), {7, 8});
            types.insert(types.end(), static_cast<size_t>(std::max(1, o.slices)), 5);
            EXPECT(p.nal_types == types, "%s: NAL units", what.c_str());
            EXPECT(p.slices[0].idr_pic_id == i % 2, "%s: idr_pic_id %u", what.c_str(), p.slices[0].idr_pic_id);
            EXPECT(p.slices[0].disable_deblocking_filter_idc == !o.deblock, "%s: deblock", what.c_str());
            EXPECT(p.qp() >= o.qp, "%s: QP %d", what.c_str(), p.qp());
            check_limits(p, packets[i].size(), i == 0, 25, what);
            check_reconstruction(config, pictures[i], p, what);
        }
    }
}
END_TEST

// Threads, frames in flight and devices change no byte; with and without rate control.
START_TEST(threads_depths_and_devices) {
    const auto held = open_test_devices();
    const H264Format &of = h264_inputs[_i];
    Random random(static_cast<uint64_t>(_i) + 100);
    Log log;
    const CudaencFormat format = make_h264_format(of, 75, 50);
    for (int mode = 0; mode < 8; mode++) {
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        config.h264.slices = mode % 4 ? 2 : 1;
        if (mode > 3) config.h264.effort = 0;
        if (mode % 4 == 1) config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
        if (mode % 4 >= 2) {
            config.h264.rate_control = CUDAENC_H264_BIT_RATE;
            config.h264.bit_rate = 600000;
            config.h264.buffer_size = 60000;
            config.h264.cbr = mode % 4 == 3;
        }
        std::vector<Picture> pictures;
        for (int i = 0; i < 7; i++)
            pictures.push_back(make_content(random, format, i == 3 || i == 4 ? Content::noise : Content::smooth));
        const auto expected = encode_all(config, frames_of(pictures));
        for (const int threads : {1, 4})
            for (const int depth : {1, 3, 8}) {
                config.threads = threads;
                config.async_depth = depth;
                EXPECT(encode_all(config, frames_of(pictures)) == expected, "%s, mode %d: %d threads, %d in flight",
                       of.name, mode, threads, depth);
            }
        for (const std::string &device : device_specs) {
            if (device == "emu:2" || device == "emu:77") continue;
            config.device = device.c_str();
            for (const int depth : {2, 12}) {  // the latter shares launches
                config.async_depth = depth;
                EXPECT(encode_all(config, frames_of(pictures)) == expected, "%s, mode %d: %s, %d in flight", of.name,
                       mode, device.c_str(), depth);
            }
        }
    }
}
END_TEST

// Encodes pictures that lie in the memory of a device, all in flight.
std::vector<std::vector<uint8_t>> encode_in_device_memory(const std::string &spec, const CudaencConfig &config,
                                                          const std::vector<Picture> &pictures) {
    const std::shared_ptr<Device> device =
        spec.rfind("emu", 0) == 0 ? open_emulator(spec) : open_cuda_device(spec, nullptr);
    const int count = static_cast<int>(pictures.size());
    const h264::Params params = h264::make_params(config.format, config.h264, config.fields);
    const auto encoder = h264::make_device_encoder(params, count, 2, device, true, false);
    std::vector<DeviceArray<uint8_t>> planes;
    for (int i = 0; i < count; i++) {
        const Picture &picture = pictures[static_cast<size_t>(i)];
        CudaencFrame frame = picture.frame();
        for (int plane = 0; plane < config.format.planes; plane++) {
            planes.emplace_back(device, picture.memory[plane].size());
            device->upload(nullptr, planes.back().data(), picture.memory[plane].data(), planes.back().bytes());
            frame.data[plane] = planes.back().data();
        }
        device->synchronize(Device::Stream{});
        encoder->submit(i, frame);
    }
    std::vector<std::vector<uint8_t>> packets;
    for (int i = 0; i < count; i++) {
        const PooledBuffer packet = encoder->finish(i);
        packets.emplace_back(packet->data, packet->data + packet->size);
    }
    return packets;
}
// With and without rate control.
START_TEST(frames_in_device_memory) {
    Random random(static_cast<uint64_t>(_i) + 300);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[_i], 75, 50);
    std::vector<Picture> pictures;
    for (const Content content : {Content::smooth, Content::noise})
        pictures.push_back(make_content(random, format, content));
    for (const std::string &spec : device_specs)
        for (const bool rate : {false, true})
            for (const int effort : {0, 2}) {
                CudaencConfig config = make_h264_config(format, "cpu", &log);
                config.h264.effort = effort;
                if (rate) config.h264.rate_control = CUDAENC_H264_BIT_RATE, config.h264.bit_rate = 400000;
                EXPECT(encode_in_device_memory(spec, config, pictures) == encode_all(config, frames_of(pictures)),
                       "%s on %s", h264_inputs[_i].name, spec.c_str());
            }
}
END_TEST

// Pictures share launches of the wavefront where more than 8 are in flight: the first one is alone, then a quarter of
// them at a time, at most 8.
START_TEST(pictures_share_launches) {
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    Random random(310);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 40, 24);
    const Picture picture = make_content(random, format, Content::smooth);
    const auto device = std::make_shared<TimedDevice>(open_test_device(0));
    struct {
        int depth, launch_pictures;
    } const cases[] = {{8, 1}, {9, 3}, {16, 4}, {40, 8}};
    for (const auto &[depth, launch_pictures] : cases) {
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        config.h264.effort = 0;
        Ring<Encoder> ring(
            h264::make_device_encoder(h264::make_params(format, config.h264), depth, 1, device, false, false), depth);
        device->begin();
        PooledBuffer packet;
        void *opaque;
        const int pictures = 1 + 6 * launch_pictures;
        for (int i = 0; i < pictures; i++) {
            if (ring.full()) ring.receive(packet, opaque, Receive::when_due);
            ring.submit(picture.frame(), nullptr);
        }
        ring.flush();
        while (ring.receive(packet, opaque, Receive::when_due) == CUDAENC_OK) {
        }
        int launches = 0;
        for (const auto &launch : device->end()) launches += launch.module == "h264/intra/wavefront";
        EXPECT(launches == 7, "%d in flight: %d launches of %d pictures", depth, launches, pictures);
    }
}
END_TEST

// The decoder's buffer: a packet is there when it is taken; with cbr it is never too full either.
void check_buffer(const CudaencH264Options &o, const std::vector<std::vector<uint8_t>> &packets,
                  const std::string &what) {
    const double rate = static_cast<double>(o.max_rate ? o.max_rate : o.bit_rate),
                 frame = rate * o.frame_rate_den / o.frame_rate_num, size = static_cast<double>(o.buffer_size);
    double fullness = 0.9 * size;
    for (size_t i = 0; i < packets.size(); i++) {
        const double bits = 8 * static_cast<double>(packets[i].size());
        EXPECT(bits <= fullness, "%s: packet %zu has %.0f bits, the buffer %.0f", what.c_str(), i, bits, fullness);
        fullness += frame - bits;
        EXPECT(!o.cbr || fullness <= size + 1, "%s: packet %zu: the buffer runs over", what.c_str(), i);
        fullness = std::min(fullness, size);
    }
}

START_TEST(rates) {
    Random random(static_cast<uint64_t>(_i) + 200);
    Log log;
    const H264Format &of = h264_inputs[_i];
    const CudaencFormat format = make_h264_format(of, 96, 80);
    std::vector<Picture> pictures;
    for (int i = 0; i < 40; i++) {
        const Content content = i / 10 % 2 ? Content::noise : i % 7 == 3 ? Content::flat : Content::smooth;
        pictures.push_back(make_content(random, format, content));
    }
    for (const int64_t bit_rate : {200000, 800000, 3000000})
        for (const double buffer : {0.0, 0.06, 0.2, 1.0})
            for (const int cbr : {0, 1}) {
                if (cbr && buffer == 0) continue;
                CudaencConfig config = make_h264_config(format, "cpu", &log);
                CudaencH264Options &o = config.h264;
                o.level = 41;
                o.rate_control = CUDAENC_H264_BIT_RATE;
                o.bit_rate = bit_rate;
                o.buffer_size = static_cast<int64_t>(buffer * static_cast<double>(bit_rate));
                o.cbr = cbr;
                config.async_depth = 4;
                config.threads = 2;
                const auto packets = encode_all(config, frames_of(pictures));
                size_t bytes = 0;
                std::vector<uint8_t> stream;
                for (const auto &packet : packets) {
                    bytes += packet.size();
                    stream.insert(stream.end(), packet.begin(), packet.end());
                }
                const double rate = static_cast<double>(bytes) * 8 * 25 / static_cast<double>(pictures.size());
                const double ratio = rate / static_cast<double>(bit_rate);
                const std::string what = format_string("%s, %lld bits/s, buffer %.2f s, cbr %d", of.name,
                                                       static_cast<long long>(bit_rate), buffer, cbr);
                const auto decoded = decode_stream(stream);
                if (buffer > 0) check_buffer(o, packets, what);
                // What cannot be smaller than at QP 51, nor larger than at 0, is excused.
                int highest = -12;
                for (const StreamPicture &p : decoded) highest = std::max(highest, p.qp());
                if (highest == 51) continue;
                if (cbr)
                    EXPECT(ratio > 0.8 && ratio < 1.6, "%s: %.0f", what.c_str(), rate);
                else
                    EXPECT(ratio < 1.6, "%s: %.0f", what.c_str(), rate);
            }
}
END_TEST

// Annex C with what the stream tells: every picture is there when it is removed, the buffer never runs over, and
// initial_cpb_removal_delay is what D.2.2 and C.3 ask for.
START_TEST(hrd) {
    // Numbers of 16 bits and a scale.
    for (const int64_t units : {65535, 65536}) EXPECT_EQ(h264::hrd_rate(units << 6), units << 6);
    EXPECT_EQ(h264::hrd_rate(65537 << 6), 65536 << 6);
    Random random(300);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 96, 80);
    std::vector<Picture> pictures;
    for (int i = 0; i < 40; i++) {
        const Content content = i / 10 % 2 ? Content::noise : i % 7 == 3 ? Content::flat : Content::smooth;
        pictures.push_back(make_content(random, format, content));
    }
    for (const int cbr : {0, 1})
        for (const int64_t bit_rate : {700000, 2345678})
            for (const int buffer : {0, 1}) {  // without buffer_size it is a second of max_rate
                CudaencConfig config = make_h264_config(format, "cpu", &log);
                CudaencH264Options &o = config.h264;
                o.level = 41;
                o.rate_control = CUDAENC_H264_BIT_RATE;
                o.bit_rate = bit_rate;
                o.max_rate = cbr ? 0 : 2 * bit_rate;
                o.buffer_size = buffer ? bit_rate / 5 : 0;
                o.frame_rate_num = 30000;
                o.frame_rate_den = 1001;
                o.cbr = cbr;
                o.hrd = 1;
                o.timecodes = buffer;
                config.async_depth = 3;
                const auto packets = encode_all(config, frames_of(pictures));
                const std::string what =
                    format_string("%lld bits/s, buffer %d, cbr %d", static_cast<long long>(bit_rate), buffer, cbr);
                double rate = 0, size = 0, removal = 0, arrived = 0;
                std::vector<double> begins, ends, removals, bits;
                for (size_t i = 0; i < packets.size(); i++) {
                    const StreamPicture p = std::move(decode_stream(packets[i])[0]);
                    rate = static_cast<double>(p.sps.hrd_bit_rate), size = static_cast<double>(p.sps.hrd_size);
                    EXPECT(p.sps.hrd_cbr == cbr && p.sei.size() == 1, "%s: HRD", what.c_str());
                    const double wanted = static_cast<double>(cbr ? bit_rate : 2 * bit_rate);
                    EXPECT(rate <= wanted && rate > wanted * 0.9999, "%s: %.0f bits/s", what.c_str(), rate);
                    const double wanted_size = buffer ? static_cast<double>(o.buffer_size) : wanted;
                    EXPECT(size <= wanted_size && size > wanted_size * 0.999, "%s: a buffer of %.0f bits", what.c_str(),
                           size);
                    BitReader in(p.sei[0]);
                    EXPECT(in.u(8) == 0, "%s: buffering period first", what.c_str());
                    in.u(8);
                    EXPECT(in.ue() == 0, "%s: seq_parameter_set_id", what.c_str());
                    const double delay = in.u(p.sps.hrd_lengths[0]), offset = in.u(p.sps.hrd_lengths[0]);
                    in.u(7);  // to the next byte
                    EXPECT(in.u(8) == 1 && in.u(8) == (o.timecodes ? 3u : 2u), "%s: picture timing", what.c_str());
                    EXPECT(in.u(p.sps.hrd_lengths[1]) == (i ? 2u : 0u), "%s: cpb_removal_delay", what.c_str());
                    EXPECT(delay > 0 && delay <= 90000 * size / rate && delay + offset <= 90000 * size / rate + 1,
                           "%s: a delay of %.0f", what.c_str(), delay);
                    removal = i ? removals[0] + static_cast<double>(i) * 1001 / 30000 : delay / 90000;
                    const double earlier = 90000 * (removal - arrived), slack = 1e-6;
                    EXPECT(!i || delay <= std::ceil(earlier + slack), "%s: picture %zu: a delay of %.0f, %.3f at most",
                           what.c_str(), i, delay, earlier);
                    EXPECT(!i || !cbr || delay >= std::floor(earlier - slack), "%s: picture %zu: %.0f, %.3f at least",
                           what.c_str(), i, delay, earlier);
                    begins.push_back(cbr || !i ? arrived : std::max(arrived, removal - delay / 90000));
                    bits.push_back(8 * static_cast<double>(packets[i].size()));
                    arrived = begins.back() + bits.back() / rate;
                    ends.push_back(arrived);
                    removals.push_back(removal);
                    EXPECT(arrived <= removal + slack, "%s: picture %zu comes %.6f s late", what.c_str(), i,
                           arrived - removal);
                }
                for (size_t i = 0; i < packets.size(); i++) {  // before each removal
                    double held = 0;
                    for (size_t k = i; k < packets.size(); k++)
                        held += std::clamp((removals[i] - begins[k]) / (ends[k] - begins[k]), 0.0, 1.0) * bits[k];
                    EXPECT(held <= size + 1e-3, "%s: picture %zu: %.1f bits of %.0f", what.c_str(), i, held, size);
                }
            }
}
END_TEST

// Constant quality within a buffer.
START_TEST(capped_quality) {
    Random random(7);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 96, 80);
    std::vector<Picture> pictures;
    for (int i = 0; i < 20; i++)
        pictures.push_back(make_content(random, format, i > 10 ? Content::noise : Content::smooth));
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    config.h264.qp = 24;
    config.h264.max_rate = 800000;
    config.h264.buffer_size = 160000;
    const auto packets = encode_all(config, frames_of(pictures));
    check_buffer(config.h264, packets, "capped quality");
    const StreamPicture first = std::move(decode_stream(packets[0])[0]),
                        last = std::move(decode_stream(packets[19])[0]);
    EXPECT(first.qp() == 24 && last.qp() > 24, "QP %d, %d", first.qp(), last.qp());
}
END_TEST

START_TEST(profiles_and_levels) {
    Log log;
    struct Case {
        int format, width, height, fps, profile, idc, constraint_sets, level, slices;
    };
    const Case cases[] = {
        {0, 16, 16, 25, 0, 100, 0x1C, 10, 1},     {0, 352, 288, 30, 0, 100, 0x1C, 13, 1},
        {0, 352, 288, 30, 1, 66, 0xC0, 13, 1},    {0, 352, 288, 30, 2, 77, 0x40, 13, 1},
        {0, 1280, 720, 30, 0, 100, 0x0C, 31, 1},  {0, 1920, 1080, 30, 0, 100, 0x0C, 40, 1},
        {0, 1920, 1080, 60, 0, 100, 0x0C, 42, 1}, {0, 3840, 2160, 30, 0, 100, 0x0C, 51, 1},
        {0, 3840, 2160, 60, 0, 100, 0x0C, 52, 1}, {0, 8192, 4320, 30, 0, 100, 0x1C, 60, 1},
        {1, 1920, 1080, 30, 0, 122, 0x10, 40, 4}, {5, 1920, 1080, 30, 0, 122, 0x10, 40, 4},
        {4, 1920, 1080, 30, 0, 110, 0x10, 40, 4}, {6, 1280, 720, 30, 0, 44, 0x10, 31, 5},
        {2, 3840, 2160, 30, 0, 44, 0x10, 51, 4},  {3, 640, 480, 30, 0, 100, 0x1C, 30, 1},
        {7, 640, 480, 30, 0, 110, 0x10, 30, 1},   {4, 8192, 4320, 24, 0, 110, 0x10, 60, 1},
        {0, 1920, 1080, 30, 5, 122, 0x10, 40, 4},
    };
    for (const Case &c : cases) {
        CudaencConfig config =
            make_h264_config(make_h264_format(h264_inputs[c.format], c.width, c.height), "cpu", &log);
        config.h264.profile = c.profile;
        config.h264.frame_rate_num = c.fps;
        config.h264.rate_control = CUDAENC_H264_BIT_RATE;  // the level is that of size and rate
        config.h264.bit_rate = 1000;
        const h264::Params p = h264::make_params(config.format, config.h264);
        EXPECT(p.sets.profile_idc == c.idc && p.sets.constraint_sets == c.constraint_sets, "%s: profile %d, %#x",
               h264_inputs[c.format].name, p.sets.profile_idc, p.sets.constraint_sets);
        EXPECT(p.sets.level_idc == c.level && p.picture.slices == c.slices, "%s %dx%d, %d/s: level %d, %d slices",
               h264_inputs[c.format].name, c.width, c.height, c.fps, p.sets.level_idc, p.picture.slices);
    }
    // With P pictures none is an Intra profile.
    for (const auto &[input, idc] : {std::pair{0, 100}, {1, 122}, {2, 244}, {3, 100}, {4, 110}, {6, 244}, {7, 110}}) {
        CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[input], 1920, 1080), "cpu", &log);
        config.h264.effort = 0;
        config.h264.gop_size = 12;
        const h264::Params p = h264::make_params(config.format, config.h264);
        const h264::ParameterSets &sets = p.sets;
        EXPECT(sets.profile_idc == idc && sets.constraint_sets == (idc == 100 ? 0x0C : 0) && p.slices.size() == 1,
               "%s: profile %d, %#x, %zu slices", h264_inputs[input].name, sets.profile_idc, sets.constraint_sets,
               p.slices.size());
    }
    // Where no level has the bits that are expected, the highest one is told.
    CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[0], 8192, 4320), "cpu", &log);
    config.h264.qp = 0;
    config.h264.frame_rate_num = 120;
    EXPECT_EQ(h264::make_params(config.format, config.h264).sets.level_idc, 62);
    // SliceRate limits slices of narrow pictures, also of Baseline that is Main (A.2.2, A.3.3).
    config = make_h264_config(make_h264_format(h264_inputs[0], 640, 1088), "cpu", &log);
    config.h264.qp = 51;
    config.h264.level = 31;
    config.h264.slices = 68;
    for (const int profile : {CUDAENC_H264_CONSTRAINED_BASELINE, CUDAENC_H264_MAIN}) {
        config.h264.profile = profile;
        const std::string said = refusal(config);
        EXPECT(said.find("slices 68 is not allowed: level 3.1 has 1 to 45") == 0, "'%s'", said.c_str());
    }
}
END_TEST

// VUI, cropping, SEI: as they were asked for.
START_TEST(headers) {
    Random random(9);
    Log log;
    CudaencFormat format = make_h264_format(h264_inputs[0], 46, 35);
    format.full_range = 1;
    format.color_primaries = 9, format.color_transfer = 16, format.color_matrix = 9;
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    config.h264.frame_rate_num = 30000;
    config.h264.frame_rate_den = 1001;
    config.h264.sample_aspect_num = 7;
    config.h264.sample_aspect_den = 5;
    config.h264.chroma_location = 2;
    config.h264.timecodes = 1;
    const Picture picture = make_content(random, format, Content::smooth);
    CudaencFrame frame = picture.frame();
    const CudaencTimecode timecode{1, 2, 3, 4, 1};
    const CudaencMasteringDisplay display{{{1, 2}, {3, 4}, {5, 6}}, {7, 8}, 90000, 10};
    const CudaencContentLight light{1000, 400};
    const uint8_t captions[6] = {0xFC, 1, 2, 0xFD, 3, 4};
    std::vector<uint8_t> user(300, 0);
    const CudaencUserData user_data[3] = {{user.data(), 16}, {user.data(), 255}, {user.data(), user.size()}};
    frame.timecode = &timecode;
    frame.mastering_display = &display;
    frame.content_light = &light;
    frame.captions = captions;
    frame.captions_size = sizeof captions;
    frame.user_data = user_data;
    frame.user_data_count = 3;
    const StreamPicture p = std::move(decode_stream(encode_all(config, {frame})[0])[0]);
    EXPECT(p.sps.crop_right == 1 && p.sps.crop_bottom == 6, "cropping by %d, %d", p.sps.crop_right, p.sps.crop_bottom);
    EXPECT(p.sps.sar_idc == 255 && p.sps.sar_width == 7 && p.sps.sar_height == 5, "sample aspect ratio");
    EXPECT(p.sps.full_range == 1 && p.sps.colours[0] == 9 && p.sps.colours[1] == 16 && p.sps.colours[2] == 9, "colour");
    EXPECT(p.sps.chroma_location == 2 && p.sps.pic_struct_present == 1, "chroma location");
    EXPECT(p.sps.num_units_in_tick == 1001 && p.sps.time_scale == 60000, "frame rate");
    EXPECT(p.sei.size() == 1, "%zu SEI NAL units", p.sei.size());
    // Types and sizes of the messages.
    std::vector<std::pair<int, int>> messages;
    size_t at = 0;
    while (p.sei[0][at] != 0x80) {
        int values[2] = {};
        for (int &value : values) {
            while (p.sei[0][at] == 255) value += p.sei[0][at++];
            value += p.sei[0][at++];
        }
        messages.emplace_back(values[0], values[1]);
        if (values[0] == 137) {
            const uint8_t green[4] = {0, 3, 0, 4};
            EXPECT(std::equal(green, green + 4, &p.sei[0][at]), "green comes first");
        }
        at += static_cast<size_t>(values[1]);
    }
    const std::vector<std::pair<int, int>> expected = {{1, 10},  {4, 17},   {5, 16}, {5, 255},
                                                       {5, 300}, {137, 24}, {144, 4}};
    EXPECT(messages.size() == expected.size(), "%zu messages", messages.size());
    for (size_t i = 0; i < expected.size(); i++)
        EXPECT(messages[i].first == expected[i].first && (i == 0 || messages[i].second == expected[i].second),
               "message %zu: type %d, %d bytes", i, messages[i].first, messages[i].second);
    // One code point is enough for a description of colours.
    for (int CudaencFormat::*const told :
         {&CudaencFormat::color_primaries, &CudaencFormat::color_transfer, &CudaencFormat::color_matrix}) {
        CudaencFormat &f = config.format;
        f.full_range = 0;
        f.color_primaries = f.color_transfer = f.color_matrix = 2;
        f.*told = 6;
        const StreamPicture described = std::move(decode_stream(encode_all(config, {picture.frame()})[0])[0]);
        const auto &colours = described.sps.colours;
        EXPECT(colours[0] == f.color_primaries && colours[1] == f.color_transfer && colours[2] == f.color_matrix,
               "colours %d, %d, %d", f.color_primaries, f.color_transfer, f.color_matrix);
    }
}
END_TEST

START_TEST(refusals) {
    Log log;
    const auto refused = [&](const char *line, auto change) {
        CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[0], 1920, 1080), "cpu", &log);
        change(config);
        const std::string said = refusal(config);
        EXPECT(said.find(line) != std::string::npos, "'%s' instead of '%s'", said.c_str(), line);
    };
    using C = CudaencConfig;
    refused("qp 52", [](C &c) { c.h264.qp = 52; });
    refused("qp -1", [](C &c) { c.h264.qp = -1; });
    refused("profile main is not allowed with 4:2:2", [](C &c) {
        c.format.component[1].log2_subsample_y = c.format.component[2].log2_subsample_y = 0;
        c.h264.profile = CUDAENC_H264_MAIN;
    });
    refused("profile 8", [](C &c) { c.h264.profile = 8; });
    refused("level 3.1 is not allowed", [](C &c) { c.h264.level = 31; });
    refused("level 33 is not allowed", [](C &c) { c.h264.level = 33; });
    refused("slices 69", [](C &c) { c.h264.slices = 69; });
    refused("slices 3", [](C &c) { c.h264.slices = 3, c.h264.profile = CUDAENC_H264_HIGH_422_INTRA; });
    refused("color_primaries 256", [](C &c) { c.format.color_primaries = 256; });
    refused("color_matrix -1", [](C &c) { c.format.color_matrix = -1; });
    refused("color_matrix 256", [](C &c) { c.format.color_matrix = 256; });
    refused("sample_aspect_den 0", [](C &c) { c.h264.sample_aspect_num = 1, c.h264.sample_aspect_den = 0; });
    refused("frame_rate_den 0", [](C &c) { c.h264.frame_rate_den = 0; });
    refused("level 4.0 is not allowed: the stream has 25000001 bits/s, at most 25000000",
            [](C &c) { c.h264.level = 40, c.h264.max_rate = 25000001; });
    refused("level 1.0 is not allowed: the stream has 173 pictures/s, at most 172", [](C &c) {
        c.format.width = c.format.height = 16;
        c.h264.level = 10, c.h264.frame_rate_num = 173;
    });
    refused("bit_rate 0", [](C &c) { c.h264.rate_control = CUDAENC_H264_BIT_RATE; });
    refused("bit_rate 1000000 is not allowed with rate_control 1", [](C &c) { c.h264.bit_rate = 1000000; });
    refused("cbr 1", [](C &c) { c.h264.cbr = 1; });
    refused("constant QP", [](C &c) { c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.max_rate = 1; });
    refused("constant QP", [](C &c) { c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.buffer_size = 1; });
    refused("without a frame rate", [](C &c) {
        c.h264.rate_control = CUDAENC_H264_BIT_RATE, c.h264.bit_rate = 1000000, c.h264.frame_rate_num = 0;
    });
    refused("without a frame rate", [](C &c) { c.h264.max_rate = 1000000, c.h264.frame_rate_num = 0; });
    refused("max_rate 1000", [](C &c) {
        c.h264.rate_control = CUDAENC_H264_BIT_RATE, c.h264.bit_rate = 1000000, c.h264.max_rate = 1000;
    });
    refused("buffer_size 1000", [](C &c) { c.h264.max_rate = 1000000, c.h264.buffer_size = 1000; });
    refused("no level allows", [](C &c) { c.format.width = 16384, c.format.height = 8192; });
    refused("no level allows", [](C &c) { c.h264.frame_rate_num = 100000; });
    refused("depth 9", [](C &c) {
        for (CudaencComponent &k : c.format.component) k.depth = 9, k.step = 2;
    });
    refused("component 1: depth 10", [](C &c) { c.format.component[1].depth = 10, c.format.component[1].step = 2; });
    refused("RGB", [](C &c) { c.format.color_model = CUDAENC_COLOR_RGB; });
    refused("2 components", [](C &c) { c.format.components = 2; });
    const auto subsampled = [&](const char *line, int luma, int cb_x, int cb_y, int cr_x, int cr_y) {
        refused(line, [=](C &c) {
            CudaencComponent *const k = c.format.component;
            k[0].log2_subsample_x = luma;
            k[1].log2_subsample_x = cb_x, k[1].log2_subsample_y = cb_y;
            k[2].log2_subsample_x = cr_x, k[2].log2_subsample_y = cr_y;
        });
    };
    subsampled("component 0: sub-sampling by 2^1, 2^0", 1, 1, 1, 1, 1);
    subsampled("component 1: sub-sampling by 2^0, 2^1", 0, 0, 1, 0, 1);
    subsampled("component 1: sub-sampling by 2^2, 2^0", 0, 2, 0, 2, 0);
    subsampled("component 2: sub-sampling by 2^0, 2^0", 0, 1, 0, 0, 0);
    subsampled("component 2: sub-sampling by 2^1, 2^0", 0, 1, 1, 1, 0);
    refused("hrd 1 is not allowed without a buffer", [](C &c) { c.h264.hrd = 1; });
    refused("aq 1025", [](C &c) { c.h264.aq = 1025; });
}
END_TEST

// Encrypted streams have the same levels but for signs, I_PCM samples are as they were or inverted, and they are the
// same everywhere.
START_TEST(encryption) {
    Random random(static_cast<uint64_t>(_i) + 400);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[_i], 75, 50);
    const std::vector<Picture> pictures = {make_content(random, format, Content::smooth),
                                           make_content(random, format, Content::noise)};
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
    if (_i % 2) config.h264.qp = h264_inputs[_i].depth == 10 ? -12 : 0;  // I_PCM of noise
    const auto clear = encode_all(config, frames_of(pictures));
    config.h264.keystream = [](void *opaque, uint64_t picture, uint8_t *bytes, size_t size) {
        EXPECT(*static_cast<const int *>(opaque) == 5 && picture < 2 && size % 16 == 0, "picture %llu, %zu bytes",
               static_cast<unsigned long long>(picture), size);
        Random of_picture(picture + 1);
        for (size_t i = 0; i < size; i++) bytes[i] = static_cast<uint8_t>(of_picture.word());
    };
    int opaque = 5;
    config.h264.keystream_opaque = &opaque;
    const auto secret = encode_all(config, frames_of(pictures));
    config.device = "emu";
    config.async_depth = 2;
    EXPECT(encode_all(config, frames_of(pictures)) == secret, "%s on the emulator", h264_inputs[_i].name);
    size_t samples = 0, turned_samples = 0;
    for (size_t i = 0; i < 2; i++) {
        const auto a = decode_stream(clear[i]), b = decode_stream(secret[i]);
        const auto &levels = a[0].parsed->levels, &turned = b[0].parsed->levels;
        size_t flips = 0, inverted = 0;
        const size_t of_macroblock = levels.size() / a[0].parsed->macroblocks.size();
        const int most = (1 << a[0].sps.luma_depth) - 1;
        for (size_t k = 0; k < levels.size(); k++) {
            const bool pcm = a[0].parsed->macroblocks[k / of_macroblock].type == h264::MacroblockType::pcm;
            const int level = levels[k], other = turned[k];
            if (pcm) {
                EXPECT(other == level || (other == most - level && other != 0), "sample %zu: %d, %d", k, level, other);
                samples++, inverted += other != level;
            } else {
                EXPECT(std::abs(level) == std::abs(other), "level %zu: %d, %d", k, level, other);
            }
            flips += !pcm && level != other;
        }
        turned_samples += inverted;
        EXPECT(flips + inverted > 50, "%zu signs and %zu samples turned", flips, inverted);
    }
    EXPECT(!samples || (turned_samples > samples / 3 && turned_samples < samples * 2 / 3), "%zu of %zu samples turned",
           turned_samples, samples);
    EXPECT(samples || _i % 2 == 0, "no I_PCM");
}
END_TEST

// Places and modes: each macroblock keeps its bits, decoders take them, all devices have the same ones, and the same
// again takes them back.
START_TEST(encrypted_parts) {
    Random random(static_cast<uint64_t>(_i) + 420);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[_i], 75, 66);
    const std::vector<Picture> pictures = {make_content(random, format, Content::smooth),
                                           make_content(random, format, Content::noise)};
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
    config.h264.qp = 20 + _i;
    config.h264.slices = 1 + _i % 2;
    const auto keystream = [](void *, uint64_t picture, uint8_t *bytes, size_t size) {
        Random of_picture(picture + 1);
        for (size_t i = 0; i < size; i++) bytes[i] = static_cast<uint8_t>(of_picture.word());
    };
    for (const int effort : {0, 1, 2}) {
        config.h264.effort = effort;
        config.h264.keystream = nullptr;
        config.h264.encrypt_parts = 0;
        config.device = "cpu";
        const auto clear = encode_all(config, frames_of(pictures));
        config.h264.keystream = keystream;
        for (const int parts : {1, 2, 3}) {
            config.h264.encrypt_parts = parts;
            config.device = "cpu";
            const auto secret = encode_all(config, frames_of(pictures));
            config.device = "emu";
            EXPECT(encode_all(config, frames_of(pictures)) == secret, "%s on the emulator", h264_inputs[_i].name);
            size_t moved = 0, turned = 0;
            for (size_t i = 0; i < 2; i++) {
                const auto a = decode_stream(clear[i]), b = decode_stream(secret[i]);
                const ParsedPicture &x = *a[0].parsed, &y = *b[0].parsed;
                EXPECT(x.macroblock_bits == y.macroblock_bits, "bits of macroblocks, parts %d", parts);
                auto macroblocks = y.macroblocks;
                auto levels = y.levels;
                std::vector<uint8_t> bytes(2 * (h264::block_words(macroblocks.size(), y.format) +
                                                (h264::kModeWords * macroblocks.size() + 7) / 8 * 8));
                keystream(nullptr, i, bytes.data(), bytes.size());
                std::vector<uint16_t> words;
                for (size_t k = 0; k < bytes.size(); k += 2)
                    words.push_back(static_cast<uint16_t>(bytes[k] << 8 | bytes[k + 1]));
                const h264::CodedFormat coded{y.format,
                                              a[0].pps.transform_8x8_mode,
                                              a[0].sps.luma_depth,
                                              a[0].sps.chroma_depth,
                                              a[0].sps.width,
                                              a[0].sps.height,
                                              false,
                                              false};
                for (uint32_t m = 0; m < macroblocks.size(); m++)
                    h264::scramble(
                        {coded, static_cast<uint32_t>(parts), macroblocks.data(), levels.data(), words.data()}, m,
                        [&](int, int, h264::LevelMove) { moved++; });
                for (size_t m = 0; m < macroblocks.size(); m++) {
                    const h264::Macroblock &p = x.macroblocks[m], &q = macroblocks[m];
                    EXPECT(!std::memcmp(p.pred_mode, q.pred_mode, 16) &&
                               p.intra_16x16_pred_mode == q.intra_16x16_pred_mode &&
                               p.intra_chroma_pred_mode == q.intra_chroma_pred_mode,
                           "modes of macroblock %zu, parts %d", m, parts);
                    turned += std::memcmp(&p, &y.macroblocks[m], sizeof p) != 0;
                }
                for (size_t k = 0; k < levels.size(); k++)
                    EXPECT(
                        std::abs(levels[k]) == std::abs(x.levels[k]) ||
                            x.macroblocks[k / (levels.size() / macroblocks.size())].type == h264::MacroblockType::pcm,
                        "level %zu, parts %d", k, parts);
            }
            EXPECT((moved > 20) == (parts & 1) && (turned > 1) == (parts >> 1), "%zu moved, %zu turned, parts %d",
                   moved, turned, parts);
        }
    }
    config.h264.keystream = nullptr;
    CudaencSession *session;
    log.lines.clear();
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
    EXPECT(log.lines.size() == 1 && log.lines[0] == "encrypt_parts 3 is not allowed: it is 0 without a keystream");
}
END_TEST

// AVC-Intra and XAVC Intra: packets of one size, the NAL units that decoders look for, the same bytes on a device.
struct AvcIntraCase {
    int number, flavor, width, height, num, den;
    size_t bytes;
    int level;
    std::vector<int> types;
};
const std::vector<int> panasonic_types = {9, 7, 8, 12, 6, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
const std::vector<int> sony_types = {9, 7, 8, 5, 5, 5, 5, 5, 5, 5, 5};
const AvcIntraCase avc_intra_cases[] = {
    {100, 0, 1280, 720, 60000, 1001, 236544, 41, panasonic_types},
    {100, 0, 1920, 1080, 25, 1, 568832, 41, panasonic_types},
    {200, 0, 1280, 720, 50, 1, 572416, 41, panasonic_types},
    {100, 1, 1920, 1080, 24000, 1001, 472576, 41, sony_types},
    {200, 1, 2048, 1080, 50, 1, 1144320, 50, sony_types},
    {300, 1, 3840, 2160, 60000, 1001, 1260032, 52, sony_types},
    {480, 1, 4096, 2160, 25, 1, 2009600, 51, sony_types},
};
void check_avc_intra(const AvcIntraCase &c, const std::vector<uint8_t> &packet, size_t number,
                     const CudaencConfig &config, const Picture &picture, const std::string &what) {
    EXPECT(packet.size() == c.bytes, "%s: %zu bytes", what.c_str(), packet.size());
    const auto decoded = decode_stream(packet, {}, true);
    const StreamPicture &p = decoded[0];
    EXPECT(decoded.size() == 1 && p.nal_types == c.types, "%s: NAL units", what.c_str());
    EXPECT(p.sps.profile_idc == 122 && p.sps.constraint_sets == 0x10 && p.sps.level_idc == c.level, "%s: level %d",
           what.c_str(), p.sps.level_idc);
    const unsigned idr_pic_ids[] = {5, 3, 4};
    EXPECT(p.slices[0].idr_pic_id == idr_pic_ids[number] && p.slices[0].disable_deblocking_filter_idc == 1,
           "%s: idr_pic_id %u", what.c_str(), p.slices[0].idr_pic_id);
    EXPECT(p.pps.pic_init_qp == 26 && p.pps.transform_8x8_mode, "%s: PPS", what.c_str());
    for (const size_t slice : p.slice_macroblocks)
        EXPECT(c.flavor || slice == p.parsed->macroblocks.size() / 10, "%s: a slice of %zu macroblocks", what.c_str(),
               slice);
    for (const h264::Macroblock &m : p.parsed->macroblocks)
        EXPECT(m.type == h264::MacroblockType::i8x8 || m.type == h264::MacroblockType::pcm, "%s: a type", what.c_str());
    check_limits(p, packet.size(), number == 0, static_cast<double>(c.num) / c.den, what);
    check_reconstruction(config, picture, p, what);
    // Zeros fill the packet up only where QP is the lowest, or where another one is too large.
    const size_t zeros = static_cast<size_t>(
        std::find_if(packet.rbegin(), packet.rend(), [](uint8_t byte) { return byte; }) - packet.rbegin());
    EXPECT(zeros < c.bytes / 5 || p.qp() <= (c.flavor ? -12 : 1), "%s: %zu zeros, QP %d", what.c_str(), zeros, p.qp());
}
// Of device_specs; of emulators, whose sessions take seconds, one: another order of threads for each number.
// test_h264_wavefront has them all.
std::vector<std::string> devices_of_session(size_t number) {
    std::vector<std::string> devices;
    for (const std::string &device : device_specs)
        if (device.rfind("emu", 0) || device == device_specs[number % device_specs.size()]) devices.push_back(device);
    return devices;
}
START_TEST(avc_intra) {
    const AvcIntraCase &c = avc_intra_cases[_i];
    for (const int effort : {0, 1}) {
        const std::string what = format_string("class %d, %dx%d, effort %d", c.number, c.width, c.height, effort);
        Random random(static_cast<uint64_t>(_i) + 500);
        Log log;
        const CudaencFormat format = make_h264_format(h264_inputs[5], c.width, c.height);
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        config.h264.avc_intra_class = c.number;
        config.h264.avc_intra_flavor = c.flavor;
        config.h264.frame_rate_num = c.num;
        config.h264.frame_rate_den = c.den;
        config.h264.effort = effort;
        config.async_depth = 2;
        std::vector<Picture> pictures;
        for (const Content content : {Content::smooth, Content::flat, Content::noise})
            if (pictures.empty() || c.height == 720) pictures.push_back(make_content(random, format, content));
        const auto packets = encode_all(config, frames_of(pictures));
        for (size_t i = 0; i < packets.size(); i++) check_avc_intra(c, packets[i], i, config, pictures[i], what);
        if (c.height > 720) continue;
        config.async_depth = 5;
        config.threads = 3;
        EXPECT(encode_all(config, frames_of(pictures)) == packets, "%s: threads", what.c_str());
        for (const std::string &device : devices_of_session(static_cast<size_t>(_i + effort))) {
            config.device = device.c_str();
            EXPECT(encode_all(config, frames_of(pictures)) == packets, "%s: %s", what.c_str(), device.c_str());
        }
    }
}
END_TEST

// The parameter sets that FFmpeg's demuxers give to files of Panasonic's cameras, which have none, up to the VUI.
START_TEST(avc_intra_parameter_sets) {
    const struct {
        int width, height, fps, fields;
        std::vector<uint8_t> sps, pps;
    } known[] = {
        {1920,
         1080,
         25,
         CUDAENC_PROGRESSIVE,
         {0x67, 0x7a, 0x10, 0x29, 0xb6, 0xd4, 0x20, 0x22, 0x33, 0x19, 0xc6, 0x63, 0x23, 0x21, 0x01,
          0x11, 0x98, 0xce, 0x33, 0x19, 0x18, 0x21, 0x02, 0x56, 0xb9, 0x3d, 0x7d, 0x7e, 0x4f, 0xe3,
          0x3f, 0x11, 0xf1, 0x9e, 0x08, 0xb8, 0x8c, 0x54, 0x43, 0xc0, 0x78, 0x02, 0x27, 0xe2, 0x70},
         {0x68, 0xce, 0x33, 0x48, 0xd0}},
        {1920,
         1080,
         25,
         CUDAENC_TOP_FIELD_FIRST,
         {0x67, 0x7a, 0x10, 0x29, 0xb6, 0xd4, 0x20, 0x22, 0x33, 0x19, 0xc6, 0x63, 0x23, 0x21, 0x01, 0x11, 0x98,
          0xce, 0x33, 0x19, 0x18, 0x21, 0x03, 0x3a, 0x46, 0x65, 0x6a, 0x65, 0x24, 0xad, 0xe9, 0x12, 0x32, 0x14,
          0x1a, 0x26, 0x34, 0xad, 0xa4, 0x41, 0x82, 0x23, 0x01, 0x50, 0x2b, 0x1a, 0x24, 0x69, 0x48, 0x30, 0x40,
          0x2e, 0x11, 0x12, 0x08, 0xc6, 0x8c, 0x04, 0x41, 0x28, 0x4c, 0x34, 0xf0, 0x1e, 0x01, 0x13, 0xf2},
         {0x68, 0xce, 0x33, 0x48, 0xd0}},
    };
    for (const auto &k : known) {
        Log log;
        CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[5], k.width, k.height), "cpu", &log);
        config.h264.avc_intra_class = 100;
        config.h264.frame_rate_num = k.fps;
        const h264::Params p = h264::make_params(config.format, config.h264, k.fields);
        const std::vector<uint8_t> sps = h264::make_sps(p.sets), pps = h264::make_pps(p.sets);
        EXPECT(sps.size() > k.sps.size() && std::equal(k.sps.begin(), k.sps.end(), sps.begin() + 4), "%dx%d: SPS",
               k.width, k.height);
        EXPECT(std::equal(pps.begin() + 4, pps.end(), k.pps.begin(), k.pps.end()), "%dx%d: PPS", k.width, k.height);
    }
}
END_TEST

// Frames of field macroblock pairs: one IDR picture a packet, the same bytes with other threads and on devices.
// fate_tests/interop/interlaced.py has them decoded.
START_TEST(avc_intra_interlaced) {
    const int flavor = _i;
    Random random(81);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[5], 1920, 1080);
    std::vector<Picture> pictures;
    for (const Content content : {Content::smooth, Content::noise})
        pictures.push_back(make_content(random, format, content));
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    config.fields = CUDAENC_TOP_FIELD_FIRST;
    config.h264.avc_intra_class = 100;
    config.h264.avc_intra_flavor = flavor;
    config.h264.frame_rate_num = flavor ? 30000 : 25;
    config.h264.frame_rate_den = flavor ? 1001 : 1;
    config.h264.effort = flavor ? 1 : 0;
    config.async_depth = 2;
    const auto packets = encode_all(config, frames_of(pictures));
    for (const std::vector<uint8_t> &packet : packets) {
        EXPECT(packet.size() == (flavor ? 472576 : 568832), "%zu bytes", packet.size());
        std::vector<int> types;
        for (size_t at = 0; at + 3 < packet.size(); at++)
            if (!packet[at] && !packet[at + 1] && packet[at + 2] == 1) types.push_back(packet[at + 3] & 31);
        EXPECT(types == (flavor ? sony_types : panasonic_types), "%zu NAL units", types.size());
    }
    config.threads = 3;
    config.async_depth = 3;
    EXPECT(encode_all(config, frames_of(pictures)) == packets, "threads");
    for (const std::string &device : devices_of_session(static_cast<size_t>(flavor)))  // FATE has frames of the host
        EXPECT(encode_in_device_memory(device, config, pictures) == packets, "%s", device.c_str());
}
END_TEST

START_TEST(avc_intra_refusals) {
    Log log;
    const auto refused = [&](const char *line, auto change) {
        CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[5], 1920, 1080), "cpu", &log);
        config.h264.avc_intra_class = 100;
        change(config);
        const std::string said = refusal(config);
        EXPECT(said.find(line) != std::string::npos, "'%s' instead of '%s'", said.c_str(), line);
    };
    using C = CudaencConfig;
    refused("avc_intra_class 50 is not allowed: it is coded with CABAC", [](C &c) { c.h264.avc_intra_class = 50; });
    refused("avc_intra_class 150 is not allowed", [](C &c) { c.h264.avc_intra_class = 150; });
    refused("flavor panasonic", [](C &c) { c.h264.avc_intra_class = 300; });
    refused("1920x1080 is not allowed with avc_intra_class 480",
            [](C &c) { c.h264.avc_intra_class = 480, c.h264.avc_intra_flavor = CUDAENC_AVC_INTRA_SONY; });
    refused("1920x1088 is not allowed", [](C &c) { c.format.height = 1088; });
    const auto interlaced = [](C &c) { c.fields = CUDAENC_TOP_FIELD_FIRST; };
    refused("frame rate 50/1 is not allowed with avc_intra_class 100 and fields",
            [&](C &c) { interlaced(c), c.h264.frame_rate_num = 50; });
    refused("2048x1080 is not allowed with avc_intra_class 100 and fields",
            [&](C &c) { interlaced(c), c.format.width = 2048; });
    refused("encrypt_parts 1 is not allowed with avc_intra_class 100 and fields",
            [&](C &c) { interlaced(c), c.h264.encrypt_parts = 1; });
    refused("fields 2 (bottom field first) is not allowed", [](C &c) { c.fields = CUDAENC_BOTTOM_FIELD_FIRST; });
    refused("frame rate 30/1 is not allowed", [](C &c) { c.h264.frame_rate_num = 30; });
    refused("frame rate 25/1 is not allowed with avc_intra_class 200",
            [](C &c) { c.h264.avc_intra_class = 200, c.format.width = 1280, c.format.height = 720; });
    for (const int format : {1, 4, 6})
        refused("4:2:2 of 10 bits", [=](C &c) { c.format = make_h264_format(h264_inputs[format], 1920, 1080); });
    refused("another profile", [](C &c) { c.h264.profile = CUDAENC_H264_CAVLC_444_INTRA; });
    refused("a constant QP", [](C &c) { c.h264.rate_control = CUDAENC_H264_CONSTANT_QP; });
    refused("a constant QP", [](C &c) { c.h264.max_rate = 100000000; });
    refused("a number of slices", [](C &c) { c.h264.slices = 4; });
    refused("deblock 1", [](C &c) { c.h264.deblock = 1; });
    refused("repeat_headers 0", [](C &c) { c.h264.repeat_headers = 0; });
    refused("level 4.0 is not allowed", [](C &c) { c.h264.level = 40; });
}
END_TEST

// What a frame brings is refused with that frame; the session goes on.
START_TEST(bad_frames) {
    Random random(11);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 40, 40);
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    config.h264.timecodes = 1;
    config.h264.frame_rate_num = 0;  // frames up to 255
    const Picture picture = make_content(random, format, Content::smooth);
    CudaencSession *session;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open");
    CudaencFrame frame = picture.frame();
    const uint8_t captions[96] = {};
    frame.captions = captions;
    for (const size_t size : {96, 92}) {
        frame.captions_size = size;
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_ERR_INVALID, "captions of %zu bytes", size);
    }
    frame.captions_size = 93;
    for (const size_t size : {15, 0x1000000}) {
        const CudaencUserData data{captions, size};
        frame.user_data = &data, frame.user_data_count = 1;
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_ERR_INVALID, "user data of %zu bytes", size);
    }
    frame.user_data_count = 0;
    for (const CudaencTimecode &timecode : {CudaencTimecode{24, 0, 0, 0, 0}, CudaencTimecode{0, 60, 0, 0, 0},
                                            CudaencTimecode{0, 0, 60, 0, 0}, CudaencTimecode{0, 0, 0, 256, 0}}) {
        frame.timecode = &timecode;
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_ERR_INVALID, "timecode %d:%d:%d:%d", timecode.hours,
               timecode.minutes, timecode.seconds, timecode.frames);
    }
    const CudaencTimecode last{23, 59, 59, 255, 0};
    frame.timecode = &last;
    EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
    cudaenc_flush(session);
    CudaencPacket packet;
    EXPECT(cudaenc_receive(session, &packet) == CUDAENC_OK, "receive");
    cudaenc_buffer_free(packet.buffer);
    EXPECT(cudaenc_receive(session, &packet) == CUDAENC_EOF, "end");
    cudaenc_close(session);
}
END_TEST

// Closing with frames in flight, and a session that is flushed and goes on.
START_TEST(closing_and_flushing) {
    Random random(12);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 120, 90);
    for (const bool rate : {false, true}) {
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        config.async_depth = 6;
        config.threads = 2;
        if (rate) config.h264.rate_control = CUDAENC_H264_BIT_RATE, config.h264.bit_rate = 1000000;
        const Picture picture = make_content(random, format, Content::noise);
        const CudaencFrame frame = picture.frame();
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open");
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 4; i++) EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
            cudaenc_flush(session);
            CudaencPacket packet;
            for (int i = 0; i < 4; i++) {
                EXPECT(cudaenc_receive(session, &packet) == CUDAENC_OK, "receive");
                cudaenc_buffer_free(packet.buffer);
            }
            EXPECT(cudaenc_receive(session, &packet) == CUDAENC_EOF, "end");
        }
        for (int i = 0; i < 5; i++) EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
        cudaenc_close(session);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264");
    constexpr int kFormats = static_cast<int>(std::size(h264_inputs));
    TCase *streams = add_case(suite, "streams");
    tcase_add_loop_test(streams, streams_show_the_reconstruction, 0, kFormats);
    tcase_add_loop_test(streams, threads_depths_and_devices, 0, kFormats);
    tcase_add_loop_test(streams, frames_in_device_memory, 0, kFormats);
    tcase_add_loop_test(streams, encryption, 0, kFormats);
    tcase_add_loop_test(streams, encrypted_parts, 0, kFormats);
    tcase_add_test(add_case(suite, "shared launches"), pictures_share_launches);
    TCase *classes = add_case(suite, "avc_intra");
    tcase_add_loop_test(classes, avc_intra, 0, static_cast<int>(std::size(avc_intra_cases)));
    tcase_add_loop_test(classes, avc_intra_interlaced, CUDAENC_AVC_INTRA_PANASONIC, CUDAENC_AVC_INTRA_SONY + 1);
    for (const TTest *test : {avc_intra_parameter_sets, avc_intra_refusals}) tcase_add_test(classes, test);
    TCase *rate = add_case(suite, "rates");
    tcase_add_loop_test(rate, rates, 0, 7);
    tcase_add_test(rate, capped_quality);
    TCase *others = add_case(suite, "others");
    for (const TTest *test : {profiles_and_levels, hrd, headers, refusals, bad_frames, closing_and_flushing})
        tcase_add_test(others, test);
    return run_suite(suite);
}
