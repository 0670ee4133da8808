// SPDX-License-Identifier: LGPL-2.1-or-later
// The base classes of pipelines: a small decoder takes packets and gives planes through them, on CPU threads and on
// devices: order, errors of one packet, stage times, and device calls that fail. Frames that pinned memory stages, and
// uploads that fail.
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../../common/cpu_pipeline.h"
#include "../../cuda_kernels/compact.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/frame_staging.h"
#include "fault_device.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// ---- The decoder. A packet has the differences of two planes' samples; a plane begins with 0.

constexpr uint32_t kDifferences = 5000;  // of a plane: more than a thread-block of the prefix sum takes
constexpr size_t kPlanes = 2, kPacketWords = kPlanes * kDifferences;
constexpr uint32_t kCorrupt = 0xFFFFFFFF;  // a packet that begins with it fails when its planes are made

using Packet = std::vector<uint32_t>;
using Planes = std::array<std::vector<uint64_t>, kPlanes>;
using Decoder = Pipeline<Packet, Planes>;

enum Stage { kUpload, kSum, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "sum", "download"};

void check_size(const Packet &packet) {
    if (packet.size() != kPacketWords) throw Error(CUDAENC_ERR_INVALID, "a packet of another size");
}
void check_begin(uint32_t first) {
    if (first == kCorrupt) throw Error(CUDAENC_ERR_UNSUPPORTED, "a corrupt packet");
}

Planes decode(const Packet &packet) {
    Planes planes;
    for (size_t p = 0; p < kPlanes; p++) {
        planes[p].push_back(0);
        for (size_t i = 0; i < kDifferences; i++) planes[p].push_back(planes[p].back() + packet[p * kDifferences + i]);
    }
    return planes;
}

class CpuDecoder : public CpuPipeline<Decoder> {
  public:
    CpuDecoder(int slots, int threads) : CpuPipeline(slots, threads, kStageNames, true), packets_(slots) {}
    ~CpuDecoder() override { stop(); }

  private:
    void take(int slot, const Packet &packet) override {
        check_size(packet);
        packets_[slot] = packet;
    }
    std::optional<Planes> complete(int slot) override {
        begin_stage(slot, kUpload);
        check_begin(packets_[slot][0]);
        begin_stage(slot, kSum);
        Planes planes;
        pool().for_each(kPlanes, [&](size_t p) {
            const uint32_t *from = packets_[slot].data() + p * kDifferences;
            planes[p].resize(kDifferences + 1);
            std::inclusive_scan(from, from + kDifferences, planes[p].begin() + 1, std::plus<>(), uint64_t{0});
        });
        begin_stage(slot, kDownload);
        return planes;
    }
    std::vector<Packet> packets_;
};

struct DecoderSlot : DeviceSlot<Planes> {
    explicit DecoderSlot(const std::shared_ptr<Device> &device)
        : DeviceSlot(device),
          packet(device, kPacketWords),
          differences(device, kPacketWords),
          partials(device, prefix_sum_partials(kDifferences)) {
        for (auto &s : samples) s = DeviceArray<uint64_t>(device, kDifferences + 1);
    }
    PinnedArray<uint32_t> packet;
    DeviceArray<uint32_t> differences;
    DeviceArray<uint64_t> partials, samples[kPlanes];
    size_t summed = 0;  // planes so far
};

class DeviceDecoder : public DevicePipeline<Decoder, DecoderSlot> {
  public:
    DeviceDecoder(int slots, std::shared_ptr<Device> device, bool stage_times)
        : DevicePipeline(std::move(device), kStageNames, stage_times) {
        for (int i = 0; i < slots; i++) add_slot(std::make_unique<DecoderSlot>(device_));
    }
    ~DeviceDecoder() override { drain(); }

  private:
    void take(DecoderSlot &slot, const Packet &packet) override {
        check_size(packet);
        std::memcpy(slot.packet.data(), packet.data(), kPacketWords * sizeof packet[0]);
    }
    void queue(DecoderSlot &s) override {
        device_->upload(s.stream, s.differences.data(), s.packet.data(), s.differences.bytes());
        mark(s, kSum);
        queue_as_graph(s, s.graph, [this, &s] { sum(s, 0); });
        s.summed = 1;
    }
    // The host lets other planes follow, one by one.
    bool go_on(DecoderSlot &s) override {
        if (s.summed == kPlanes) return false;
        sum(s, s.summed++);
        return true;
    }
    void sum(DecoderSlot &s, size_t plane) {
        prefix_sum(*device_, s.stream, {{s.differences.data() + plane * kDifferences, s.samples[plane].data()}},
                   kDifferences, s.partials.data());
    }
    void complete(DecoderSlot &s, Planes &planes) override {
        for (size_t p = 0; p < kPlanes; p++) {
            planes[p].resize(s.samples[p].count());
            queue_download(s, planes[p].data(), s.samples[p].data(), s.samples[p].bytes());
        }
        check_begin(s.packet.data()[0]);
    }
};

// ---- What runs it: CPU threads with device -1, else device_specs[device].

constexpr int kCpu = -1;

Ring<Decoder> open_ring(const std::shared_ptr<Device> &device, int slots, bool stage_times = true) {
    return {std::make_unique<DeviceDecoder>(slots, device, stage_times), slots};
}
Ring<Decoder> open_ring(int device, int slots, bool stage_times = true) {
    if (device == kCpu) return {std::make_unique<CpuDecoder>(slots, 3), slots};
    return open_ring(open_test_device(device), slots, stage_times);
}

Packet make_packet(Random &random) {
    Packet packet(kPacketWords);
    for (uint32_t &word : packet) word = random.word() >> 1;
    return packet;
}

std::vector<Packet> make_packets(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<Packet> packets;
    for (size_t i = 0; i < count; i++) packets.push_back(make_packet(random));
    return packets;
}

// What came of each packet.
struct Outcome {
    bool delivered = false;
    int submit_error = CUDAENC_OK, receive_error = CUDAENC_OK;
    bool operator==(const Outcome &) const = default;
};

// Submits all and receives all. Planes have to be right, and to come in the order of the packets. on_error() is called
// after each error.
std::vector<Outcome> decode_all(
    Ring<Decoder> &ring, const std::vector<Packet> &packets, const std::function<void()> &on_error = [] {}) {
    std::vector<Outcome> outcomes(packets.size());
    size_t last = 0;
    const auto receive = [&] {
        Planes planes;
        void *opaque = nullptr;
        int code;
        try {
            code = ring.receive(planes, opaque, Receive::when_due);
        } catch (const Error &e) {
            code = e.code;
            on_error();
        }
        if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return code;
        const size_t number = reinterpret_cast<size_t>(opaque);
        EXPECT(number > last && number <= packets.size(), "packet %zu comes after %zu", number, last);
        last = number;
        Outcome &outcome = outcomes[number - 1];
        outcome.receive_error = code;
        outcome.delivered = code == CUDAENC_OK;
        EXPECT(code != CUDAENC_OK || planes == decode(packets[number - 1]), "the planes of packet %zu", number - 1);
        return code;
    };
    for (size_t i = 0; i < packets.size(); i++) {
        while (ring.full()) receive();
        try {
            ring.submit(packets[i], reinterpret_cast<void *>(i + 1));
        } catch (const Error &e) {
            outcomes[i].submit_error = e.code;
            on_error();
        }
    }
    ring.flush();
    while (receive() != CUDAENC_EOF) {
    }
    return outcomes;
}

START_TEST(planes_come_in_the_order_of_packets) {
    for (const int slots : {1, 2, 5})
        for (const bool stage_times : {false, true}) {
            Ring<Decoder> ring = open_ring(_i, slots, stage_times);
            EXPECT_EQ(ring.full(), 0);
            const auto packets = make_packets(13, static_cast<uint64_t>(slots));
            // Not before the ring is full.
            Planes planes;
            void *opaque;
            EXPECT_EQ(ring.receive(planes, opaque, Receive::when_due), CUDAENC_AGAIN);
            for (int i = 0; i < slots; i++) {
                EXPECT_EQ(ring.receive(planes, opaque, Receive::when_due), CUDAENC_AGAIN);
                ring.submit(packets[0], &planes);
            }
            EXPECT_EQ(ring.full(), 1);
            for (int i = 0; i < slots; i++) {
                ring.flush();
                EXPECT_EQ(ring.receive(planes, opaque, Receive::when_due), CUDAENC_OK);
                EXPECT(opaque == &planes);
            }
            EXPECT_EQ(ring.receive(planes, opaque, Receive::when_due), CUDAENC_EOF);
            for (const Outcome &outcome : decode_all(ring, packets)) EXPECT(outcome == Outcome{.delivered = true});
            const auto times = ring.pipeline().stage_times();
            EXPECT_EQ(times.size(), stage_times || _i == kCpu ? kStages : 0);
            for (size_t i = 0; i < times.size(); i++) {
                EXPECT_EQ(times[i].name, kStageNames[i]);
                EXPECT_EQ(times[i].frames, slots + 13);
                EXPECT(times[i].milliseconds >= 0);
            }
        }
}
END_TEST

START_TEST(an_error_is_of_one_packet) {
    for (const int slots : {1, 2, 4}) {
        Ring<Decoder> ring = open_ring(_i, slots);
        auto packets = make_packets(12, 7);
        packets[5][0] = packets[6][0] = packets[11][0] = kCorrupt;
        packets[0].pop_back();
        packets[8].clear();
        std::vector<Outcome> expected(packets.size(), {.delivered = true});
        for (const size_t i : {5, 6, 11}) expected[i] = {.receive_error = CUDAENC_ERR_UNSUPPORTED};
        for (const size_t i : {0, 8}) expected[i] = {.submit_error = CUDAENC_ERR_INVALID};
        for (int round = 0; round < 3; round++)
            EXPECT(decode_all(ring, packets) == expected, "round %d with %d slots", round, slots);
    }
}
END_TEST

START_TEST(what_is_in_flight_may_be_dropped) {
    const auto packets = make_packets(3, 8);
    for (int in_flight = 0; in_flight <= 3; in_flight++) {
        Ring<Decoder> ring = open_ring(_i, 3);
        for (int i = 0; i < in_flight; i++) ring.submit(packets[static_cast<size_t>(i)], nullptr);
    }
}
END_TEST

// From a call on all fail, until a packet is lost; then the slots are as new.
START_TEST(every_device_call_may_fail) {
    const auto packets = make_packets(7, 9);
    int reached = 0;
    for (int call = 1;; call++) {
        Failures failures;
        Ring<Decoder> ring = open_ring(std::make_shared<FaultDevice>(open_test_device(0), failures), 3, _i);
        failures.begin(call, true);
        size_t errors = 0;
        const auto outcomes = decode_all(ring, packets, [&] {
            failures.end();
            errors++;
        });
        failures.end();
        size_t lost = 0;
        for (const Outcome &outcome : outcomes) {
            lost += !outcome.delivered;
            for (const int code : {outcome.submit_error, outcome.receive_error})
                EXPECT(code == CUDAENC_OK || code == CUDAENC_ERR_DEVICE || code == CUDAENC_ERR_MEMORY, "code %d", code);
        }
        EXPECT(lost == errors && errors <= 3, "call %d: %zu packets lost, %zu errors", call, lost, errors);
        for (const Outcome &outcome : decode_all(ring, packets))
            EXPECT(outcome == Outcome{.delivered = true}, "a packet is lost after call %d", call);
        if (!errors) break;
        reached++;
    }
    EXPECT(reached > 7 * 8);  // calls of a packet: upload, launches or a graph, an event, two downloads, waits
}
END_TEST

// ---- Frames by way of pinned memory

// From a call on all fail, also while buffers are made; then frames come whole, rows that run upwards too.
START_TEST(frames_outlive_failed_uploads) {
    const std::array<UploadedPlane, 2> planes{
        {{.offset = 0, .pitch = 256, .size = {.row_bytes = 200, .rows = 31}},
         {.offset = 256 * 31, .pitch = 512, .size = {.row_bytes = 301, .rows = 17}}}};
    constexpr size_t kBytes = 256 * 31 + 512 * 17;
    constexpr ptrdiff_t kStride = 320;
    Random random(11);
    std::vector<uint8_t> samples(4 * 31 * kStride), there(kBytes);
    for (uint8_t &s : samples) s = static_cast<uint8_t>(random.word());
    const auto frame_at = [&](int i) {
        CudaencFrame frame{};
        frame.data[0] = samples.data() + i * kStride;
        frame.data[1] = samples.data() + (i + 16) * kStride;
        frame.stride[0] = kStride, frame.stride[1] = -kStride;
        return frame;
    };
    int reached = 0;
    for (int call = 1;; call++) {
        Failures failures;
        const auto device = std::make_shared<FaultDevice>(open_test_device(_i), failures);
        DeviceArray<uint8_t> pixels(device, kBytes);
        const Stream stream(device);
        std::unique_ptr<FrameStaging> staging;
        const auto upload = [&](int i) {
            if (!staging) staging = std::make_unique<FrameStaging>(device, planes, kBytes, 3);
            staging->upload(stream, pixels.data(), frame_at(i));
        };
        failures.begin(call, true);
        int lost = 0;
        for (int i = 0; i < 4; i++) try {
                upload(i);
            } catch (const Error &) {
                lost++;
            }
        failures.end();
        for (int i = 4; i < 8; i++) {
            upload(i);
            device->download(stream, there.data(), pixels.data(), kBytes);
            device->synchronize(static_cast<Device::Stream>(stream));
            const CudaencFrame frame = frame_at(i);
            for (size_t p = 0; p < planes.size(); p++)
                for (size_t y = 0; y < planes[p].size.rows; y++)
                    EXPECT(!std::memcmp(there.data() + planes[p].offset + y * planes[p].pitch,
                                        frame.data[p] + static_cast<ptrdiff_t>(y) * frame.stride[p],
                                        planes[p].size.row_bytes),
                           "row %zu of plane %zu, after call %d", y, p, call);
        }
        if (!lost) break;
        reached++;
    }
    EXPECT_EQ(reached, 4 + 4 * 3);  // two buffers and two events; a frame's wait, upload and event
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("pipeline");
    TCase *decoder = add_case(suite, "decoder");
    tcase_add_loop_test(decoder, planes_come_in_the_order_of_packets, kCpu, devices);
    tcase_add_loop_test(decoder, an_error_is_of_one_packet, kCpu, devices);
    tcase_add_loop_test(decoder, what_is_in_flight_may_be_dropped, kCpu, devices);
    tcase_add_loop_test(decoder, every_device_call_may_fail, 0, 2);
    tcase_add_loop_test(add_case(suite, "frames"), frames_outlive_failed_uploads, 0, devices);
    return run_suite(suite);
}
