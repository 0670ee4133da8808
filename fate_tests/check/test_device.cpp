// SPDX-License-Identifier: LGPL-2.1-or-later
// The device primitives, the prefix sum, and what the emulator reports.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../../cuda_kernels/compact.h"
#include "../../cuda_kernels/memory_reserve.h"
#include "../emu/emu.h"
#include "../emu/primitives_params.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

template <class T>
DeviceArray<T> uploaded(const std::shared_ptr<Device> &device, Device::Stream stream, const std::vector<T> &values) {
    DeviceArray<T> array(device, values.size());
    if (!values.empty()) device->upload(stream, array.data(), values.data(), values.size() * sizeof(T));
    return array;
}

template <class T>
std::vector<T> downloaded(Device &device, Device::Stream stream, const DeviceArray<T> &array) {
    std::vector<T> values(array.count());
    device.download(stream, values.data(), array.data(), array.bytes());
    device.synchronize(stream);
    return values;
}

uint32_t hash(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

PrimitivesResult expected_result(const std::vector<uint32_t> &values, Grid grid, int threads, int block, int thread) {
    const uint32_t *own = values.data() + block * threads;
    const int lane = thread & 31, index = block * threads + thread;
    const uint32_t *warp = own + (thread & ~31);
    const uint32_t value = own[thread];
    const auto wide = [](uint32_t v) { return uint64_t{v} << 32 | (v ^ 0xabcdef01u); };
    PrimitivesResult r;
    std::memset(&r, 0, sizeof r);
    r.thread = thread;
    r.block_x = block % static_cast<int>(grid.x);
    r.block_y = block / static_cast<int>(grid.x) % static_cast<int>(grid.y);
    r.block_z = block / static_cast<int>(grid.x * grid.y);
    r.grid_x = static_cast<int>(grid.x);
    r.grid_y = static_cast<int>(grid.y);
    r.grid_z = static_cast<int>(grid.z);
    r.threads = threads;
    r.lane = lane;
    r.warp = thread / 32;
    r.shuffle = warp[(lane + 5) % 32];
    r.shuffle_up = warp[lane >= 3 ? lane - 3 : lane];
    r.shuffle_down = warp[lane + 7 < 32 ? lane + 7 : lane];
    r.shuffle_xor = warp[lane ^ 9];
    r.shuffle_wide = wide(warp[31 - lane]);
    r.shuffle_double = warp[lane ^ 1] * 0.5;
    r.shuffle_float = static_cast<float>(warp[lane ? lane - 1 : 0] & 0xffff) * 0.25f;
    r.all = 1;
    r.min = ~0u;
    for (int i = 0; i < 32; ++i) {
        r.ballot |= (warp[i] & 1) << i;
        r.any |= (warp[i] & 31) == 7;
        r.all &= (warp[i] & 31) != 7;
        r.add += warp[i];
        r.or_ |= warp[i] & 0x11111111u << (i & 3);
        r.max = std::max(r.max, warp[i]);
        r.min = std::min(r.min, warp[i]);
        if (i <= lane) {
            r.scan += warp[i];
            r.scan_wide += wide(warp[i]);
        }
    }
    r.block_any_one = 1;
    const uint32_t next = own[(thread + 1) % threads];
    r.shared_neighbour = next ^ next >> 3;
    r.shared_tile = static_cast<uint32_t>(static_cast<int16_t>(warp[lane ^ 31]));
    r.popcount = std::popcount(value);
    r.first_set = std::countr_zero(value | 0x80000000u);
    r.leading_zeros = std::countl_zero(value >> lane);
    const uint64_t both = uint64_t{~value} << 32 | value;
    const auto byte = [&](int i) { return static_cast<uint32_t>(both >> (8 * i)) & 0xff; };
    r.distance = value;
    for (int i = 0; i < 32; i += 8)
        r.distance += static_cast<uint32_t>(
            std::abs(static_cast<int>(value >> i & 255) - static_cast<int>(value * 2654435761u >> i & 255)));
    r.permuted = byte(7) | byte(3) << 8 | byte(0) << 16 | byte(6) << 24;
    r.shifted_right = static_cast<uint32_t>(both >> (index % 32));
    r.shifted_left = static_cast<uint32_t>(both << (index % 32) >> 32);
    const char *bytes = reinterpret_cast<const char *>(values.data());
    std::memcpy(&r.load1, bytes + index, 1);
    std::memcpy(&r.load2, bytes + 2 * index, 2);
    std::memcpy(&r.load4, bytes + 4 * index, 4);
    r.load_if = index % 3 == 0 ? r.load4 : ~0u;
    std::memcpy(&r.load8, bytes + index / 2 * 8, 8);
    std::memcpy(&r.load16, bytes + index / 4 * 16, 16);
    return r;
}

void check_result(const PrimitivesResult &is, const PrimitivesResult &should) {
#define SAME(field) EXPECT(is.field == should.field, #field " of block %d, thread %d", should.block_x, should.thread)
    SAME(thread);
    SAME(block_x);
    SAME(block_y);
    SAME(block_z);
    SAME(grid_x);
    SAME(grid_y);
    SAME(grid_z);
    SAME(threads);
    SAME(lane);
    SAME(warp);
    SAME(shuffle);
    SAME(shuffle_up);
    SAME(shuffle_down);
    SAME(shuffle_xor);
    SAME(shuffle_wide);
    SAME(shuffle_double);
    SAME(shuffle_float);
    SAME(ballot);
    SAME(any);
    SAME(all);
    SAME(block_any_none);
    SAME(block_any_one);
    SAME(add);
    SAME(or_);
    SAME(max);
    SAME(min);
    SAME(scan);
    SAME(scan_wide);
    SAME(shared_neighbour);
    SAME(shared_tile);
    SAME(popcount);
    SAME(first_set);
    SAME(leading_zeros);
    SAME(permuted);
    SAME(distance);
    SAME(shifted_right);
    SAME(shifted_left);
    SAME(load1);
    SAME(load2);
    SAME(load4);
    SAME(load_if);
    SAME(load8);
    EXPECT(!std::memcmp(is.load16, should.load16, sizeof is.load16));
#undef SAME
}

START_TEST(primitives_give_what_plain_code_gives) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    const Stream stream(device);
    for (const int threads : {32, 96, 256}) {
        const Grid grid{5, 3, 2};
        const int blocks = 30, count = blocks * threads;
        std::vector<uint32_t> values(static_cast<size_t>(count + 4));
        for (size_t i = 0; i < values.size(); ++i) values[i] = hash(static_cast<uint32_t>(i + 1));
        const auto in = uploaded(device, stream, values);
        const DeviceArray<PrimitivesResult> out(device, static_cast<size_t>(count));
        PrimitivesCounters zero{};
        zero.min = ~0u;
        const auto counters = uploaded<PrimitivesCounters>(device, stream, {zero});
        device->launch(stream, grid, static_cast<unsigned>(threads),
                       PrimitivesParams{.values = in.data(), .results = out.data(), .counters = counters.data()});
        const auto results = downloaded(*device, stream, out);
        PrimitivesCounters should = zero;
        for (int i = 0; i < count; ++i) {
            check_result(results[static_cast<size_t>(i)],
                         expected_result(values, grid, threads, i / threads, i % threads));
            const uint32_t value = values[static_cast<size_t>(i)];
            const uint64_t wide = uint64_t{value} << 32 | (value ^ 0xabcdef01u);
            should.wide_sum += wide;
            should.long_sum += wide;
            should.sum += value;
            should.or_ |= value & 0x0f0f00ffu;
            should.max = std::max(should.max, value);
            should.min = std::min(should.min, value);
            should.tickets++;
            should.block_sums += value & 0xff;
        }
        const PrimitivesCounters is = downloaded(*device, stream, counters)[0];
        EXPECT(is.wide_sum == should.wide_sum && is.long_sum == should.long_sum);
        EXPECT_EQ(is.sum, should.sum);
        EXPECT_EQ(is.or_, should.or_);
        EXPECT_EQ(is.max, should.max);
        EXPECT_EQ(is.min, should.min);
        EXPECT_EQ(is.tickets, should.tickets);
        EXPECT_EQ(is.block_sums, should.block_sums);
    }
}
END_TEST

void check_prefix_sum(const std::shared_ptr<Device> &device, uint32_t n) {
    const Stream stream(device);
    std::vector<uint32_t> sizes(n);
    for (uint32_t i = 0; i < n; ++i) sizes[i] = hash(i) >> (i % 3 ? 0 : 28);  // the sum needs more than 32 bits
    const auto in = uploaded(device, stream, sizes);
    const auto ones = uploaded(device, stream, std::vector<uint32_t>(n, 1));
    const DeviceArray<uint64_t> out(device, size_t{n} + 1), places(device, size_t{n} + 1),
        partials(device, 2 * prefix_sum_partials(n));
    prefix_sum(*device, stream, {{in.data(), out.data()}, {ones.data(), places.data()}}, n, partials.data());
    const auto offsets = downloaded(*device, stream, out), numbers = downloaded(*device, stream, places);
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= n; ++i) {
        EXPECT(offsets[i] == sum && numbers[i] == i, "offset %u of %u", i, n);
        if (i < n) sum += sizes[i];
    }
}

START_TEST(prefix_sum_gives_what_a_loop_gives) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    for (const uint32_t n : {0u, 1u, 31u, 32u, 33u, 1000u, 4095u, 4096u, 4097u, 8192u, 100000u, 1100000u}) {
        if (n > 100000 && _i) continue;  // more tiles than threads; once is enough
        check_prefix_sum(device, n);
    }
    for (const uint32_t n : {1u << 14, 1u << 20}) {
        if (n > 1u << 14 && !benched_on_gpu(device)) continue;
        bench("prefix sum", device, n, "sizes", [&] { check_prefix_sum(device, n); });
    }
}
END_TEST

START_TEST(kernels_are_timed) {
    const auto device = std::make_shared<TimedDevice>(open_emulator("emu"));
    check_prefix_sum(device, 10000);
    for (int repeat = 0; repeat < 2; repeat++) {
        device->begin();
        check_prefix_sum(device, 10000);
        const auto times = device->end();
        EXPECT_EQ(times.size(), 2);
        EXPECT_EQ(times[0].kernel.c_str(), "prefix_sum_partials");
        EXPECT_EQ(times[1].kernel.c_str(), "prefix_sum_offsets");
        for (const auto &[module, kernel, ms] : times) EXPECT(module == "compact" && ms > 0);
    }
}
END_TEST

START_TEST(copies_and_fills_arrive) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    const Stream stream(device);
    const size_t width = 37, rows = 11, pitch = 64;
    std::vector<uint8_t> host(rows * 41);
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(hash(static_cast<uint32_t>(i)));
    const DeviceArray<uint8_t> memory(device, rows * pitch);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 256, 0);
    for (const bool upside_down : {false, true}) {
        device->fill(stream, memory.data(), 0xa5, memory.bytes());
        const ptrdiff_t host_pitch = upside_down ? -41 : 41;
        const uint8_t *first = host.data() + (upside_down ? 41 * (rows - 1) : 0);
        device->upload_2d(stream, memory.data(), pitch, first, host_pitch, width, rows);
        auto *pinned = static_cast<uint8_t *>(device->alloc_pinned(memory.bytes()));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(pinned) % 256, 0);
        device->download(stream, pinned, memory.data(), memory.bytes());
        device->synchronize(stream);
        for (size_t y = 0; y < rows; ++y) {
            for (size_t x = 0; x < pitch; ++x) {
                const uint8_t should =
                    x < width ? first[static_cast<ptrdiff_t>(y) * host_pitch + static_cast<ptrdiff_t>(x)] : 0xa5;
                EXPECT_EQ(pinned[y * pitch + x], should);
            }
        }
        device->free_pinned(pinned);

        std::vector<uint8_t> back(host.size(), 0x5a);
        uint8_t *to = back.data() + (upside_down ? 41 * (rows - 1) : 0);
        device->download_2d(stream, to, host_pitch, memory.data(), pitch, width, rows);
        device->synchronize(stream);
        for (size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], i % 41 < width ? host[i] : 0x5a);
    }
    device->free(nullptr);
    device->free_pinned(nullptr);
}
END_TEST

// The message of the error that f() throws, or "" where it throws none.
template <class F>
std::string error_of(F f, int code) {
    try {
        f();
    } catch (const Error &e) {
        EXPECT_EQ(e.code, code);
        return e.what();
    }
    return "";
}

// Devices are a session's; on CUDA those of a context share modules and memory.
START_TEST(devices_come_and_go_in_threads) {
    std::shared_ptr<Device> lasting = open_test_device(_i);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([index = _i] {
            for (uint32_t repeat = 0; repeat < 3; ++repeat)
                check_prefix_sum(open_test_device(index), 1000 * (repeat + 1));
        });
    check_prefix_sum(lasting, 3000);
    for (std::thread &thread : threads) thread.join();
    check_prefix_sum(lasting, 3000);
    lasting.reset();
    check_prefix_sum(open_test_device(_i), 3000);
}
END_TEST

START_TEST(memory_is_kept) {
    constexpr size_t kLarge = MemoryReserve::kChunk * 8;
    std::map<void *, size_t> held;  // of the source: bytes
    std::atomic<bool> fails{false}, settles{true};
    int settled = 0;
    const auto reserve_of = [&](bool cuts) {
        return MemoryReserve({.allocate =
                                  [&](size_t bytes) {
                                      if (fails) throw Error(CUDAENC_ERR_MEMORY, "no memory");
                                      const size_t whole =
                                          (bytes + MemoryReserve::kAlignment - 1) / MemoryReserve::kAlignment;
                                      void *const memory = std::aligned_alloc(MemoryReserve::kAlignment,
                                                                              whole * MemoryReserve::kAlignment);
                                      held[memory] = bytes;
                                      return memory;
                                  },
                              .free =
                                  [&](void *memory) {
                                      EXPECT_EQ(held.erase(memory), 1);
                                      std::free(memory);
                                  },
                              .settle = [&] { return ++settled, settles.load(); }},
                             2 * kLarge, cuts);
    };
    for (const bool cuts : {false, true}) {
        MemoryReserve reserve = reserve_of(cuts);
        const std::vector<size_t> sizes{0, 1, 256, 257, 5000, MemoryReserve::kSmall, MemoryReserve::kChunk, kLarge};
        const auto take_all = [&] {
            std::vector<uint8_t *> taken;
            for (const size_t bytes : sizes) {
                taken.push_back(static_cast<uint8_t *>(reserve.take(bytes)));
                EXPECT_EQ(reinterpret_cast<uintptr_t>(taken.back()) % MemoryReserve::kAlignment, 0);
                std::memset(taken.back(), static_cast<int>(taken.size()), bytes);
            }
            for (size_t i = 0; i < taken.size(); ++i)
                for (size_t at = 0; at < sizes[i]; at += std::max<size_t>(sizes[i] - 1, 1))
                    EXPECT_EQ(taken[i][at], i + 1);
            return taken;
        };
        settled = 0;
        for (uint8_t *memory : take_all()) reserve.put(memory);
        EXPECT_EQ(held.size(), cuts ? 3 : sizes.size());  // the small ones are of one
        EXPECT_EQ(settled, 0);
        fails = true;  // from now on all is there
        std::vector<uint8_t *> taken = take_all();
        EXPECT_EQ(settled, 1);
        EXPECT_EQ(reserve.idle_bytes(), 0);
        EXPECT(!error_of([&] { reserve.take(kLarge); }, CUDAENC_ERR_MEMORY).empty());
        fails = false;
        for (int i = 0; i < 2; ++i) taken.push_back(static_cast<uint8_t *>(reserve.take(kLarge)));
        const size_t most = held.size();
        for (uint8_t *memory : taken) reserve.put(memory);
        EXPECT_EQ(held.size(), most - 2);  // one of three large ones is kept
        EXPECT(reserve.idle_bytes() >= kLarge && reserve.idle_bytes() <= 2 * kLarge);
        settles = false;  // work may use what is idle
        void *const other = reserve.take(kLarge);
        EXPECT_EQ(held.size(), most - 1);
        settles = true;
        reserve.put(other);
        EXPECT_EQ(held.size(), most - 2);
        reserve.settle();
        settled = 0;
        reserve.put(reserve.take(kLarge));
        EXPECT_EQ(settled, 0);
        for (const auto &[memory, bytes] : held) std::free(memory);
        held.clear();
    }
}
END_TEST

START_TEST(memory_in_reserve_goes_before_it_runs_out) {
    size_t held = 0;
    MemoryReserve reserve({.allocate =
                               [&](size_t bytes) {
                                   if (held + bytes > 1000000) throw Error(CUDAENC_ERR_MEMORY, "no memory");
                                   held += bytes;
                                   return std::malloc(bytes);
                               },
                           .free =
                               [&](void *memory) {
                                   held -= 200000;
                                   std::free(memory);
                               },
                           .settle = [] { return true; }},
                          size_t{1} << 30, false);
    std::vector<void *> taken;
    for (int i = 0; i < 5; ++i) taken.push_back(reserve.take(200000));
    for (void *memory : taken) reserve.put(memory);
    EXPECT_EQ(held, 1000000);
    void *const large = reserve.take(600000);
    EXPECT_EQ(held, 600000);
    EXPECT(!error_of([&] { reserve.take(600000); }, CUDAENC_ERR_MEMORY).empty());
    reserve.put(large);
    EXPECT(reserve.take(600000) == large);
    std::free(large);
}
END_TEST

START_TEST(threads_share_a_reserve) {
    std::vector<std::unique_ptr<void, decltype(&std::free)>> held;
    MemoryReserve reserve(
        {.allocate = [&](size_t bytes) { return held.emplace_back(std::malloc(bytes), &std::free).get(); },
         .free = [](void *) { ck_abort_msg("surplus"); },
         .settle = [] { return true; }},
        size_t{1} << 26, true);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (size_t i = 0; i < 1000; ++i) {
                const size_t bytes = hash(static_cast<uint32_t>(i * 4 + static_cast<size_t>(t))) % 100000 + 1;
                auto *memory = static_cast<uint8_t *>(reserve.take(bytes));
                std::memset(memory, t, bytes);
                EXPECT(memory[0] == t && memory[bytes - 1] == t);
                reserve.put(memory);
            }
        });
    for (std::thread &thread : threads) thread.join();
    EXPECT(held.size() < 40, "%zu pieces", held.size());
}
END_TEST

START_TEST(events_order_and_time) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    const Stream first(device), second(device);
    const Device::Event begin = device->create_event(true), end = device->create_event(true);
    const Device::Event plain = device->create_event(false);
    const std::vector<uint32_t> values(1 << 20, 3);
    const DeviceArray<uint32_t> a(device, values.size());
    device->record(begin, first);
    device->upload(first, a.data(), values.data(), a.bytes());
    device->record(plain, first);
    device->wait(second, plain);
    const auto copy = downloaded(*device, second, a);
    EXPECT(copy == values);
    device->wait_foreign(first, nullptr);
    device->record(end, first);
    device->synchronize(end);
    EXPECT(device->elapsed_ms(begin, end) >= 0);
    for (const Device::Event event : {begin, end, plain}) device->destroy_event(event);
    EXPECT(!device->name().empty());
    EXPECT(device->multiprocessors() >= 1);
}
END_TEST

START_TEST(graphs_run_again) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    const Stream stream(device);
    const DeviceArray<uint32_t> from(device, 64), to(device, 64);
    auto *pinned = static_cast<uint32_t *>(device->alloc_pinned(from.bytes()));
    const auto work = [&] {
        device->fill(stream, to.data(), 0xff, to.bytes());
        device->upload(stream, to.data(), pinned, to.bytes() / 2);
        device->download(stream, pinned + 32, to.data(), to.bytes() / 2);
    };
    const Device::Graph graph = device->create_graph(stream, work);
    for (uint32_t run = 1; run <= 3; run++) {
        std::fill_n(pinned, 64, run);
        device->fill(stream, to.data(), 0, to.bytes());
        device->synchronize(stream);
        device->run(stream, graph);
        const auto copy = downloaded(*device, stream, to);
        for (size_t i = 0; i < 64; i++) {
            EXPECT_EQ(copy[i], i < 32 ? run : 0xffffffffu);
            EXPECT_EQ(pinned[i], run);
        }
    }
    device->destroy_graph(graph);
    device->destroy_graph(nullptr);
    // An error of the work is the graph's, or that of its first run; then the stream is as good as before.
    const std::string error = error_of(
        [&] {
            Device::Graph broken = device->create_graph(stream, [] { throw Error(CUDAENC_ERR_INTERNAL, "no work"); });
            try {
                device->run(stream, broken);
            } catch (...) {
                device->destroy_graph(broken);
                throw;
            }
        },
        CUDAENC_ERR_INTERNAL);
    EXPECT_EQ(error.c_str(), "no work");
    device->fill(stream, to.data(), 0, to.bytes());
    EXPECT(downloaded(*device, stream, to) == std::vector<uint32_t>(64, 0));
    device->free_pinned(pinned);
}
END_TEST

void check_contains(const std::string &text, const std::string &part) {
    EXPECT(text.find(part) != std::string::npos, "\"%s\" is not in \"%s\"", part.c_str(), text.c_str());
}

START_TEST(emulator_reports_broken_rules) {
    struct Case {
        int rule;
        std::vector<std::string> parts;
    };
    const Case cases[] = {
        {BrokenParams::threads_skip_barrier, {"divergent barrier"}},
        {BrokenParams::threads_end_before_barrier, {"divergent barrier"}},
        {BrokenParams::barriers_at_two_places, {"divergent barrier", "block_sync of primitives.cu:"}},
        {BrokenParams::lanes_skip_collective, {"warp_add of primitives.cu:"}},
        {BrokenParams::lanes_end_before_collective, {"warp_add of primitives.cu:"}},
        {BrokenParams::mismatched_collectives, {"mismatched warp collectives", "warp_add", "warp_max"}},
        {BrokenParams::barrier_against_collective, {"divergent threads", "warp_add", "block_sync"}},
        {BrokenParams::shared_index, {"thread 9: index 64", "array line", "64 elements"}},
        {BrokenParams::shared_row, {"array tile", "dimension 1 has 4"}},
        {BrokenParams::shared_column, {"array tile", "dimension 2 has 16"}},
        {BrokenParams::negative_shared_index, {"thread 0: index -1", "array line"}},
    };
    const std::shared_ptr<Device> device = open_emulator("emu:" + std::to_string(_i));
    const DeviceArray<uint32_t> out(device, 64);
    for (const Case &c : cases) {
        const std::string error = error_of(
            [&] {
                device->launch(nullptr, {3}, 64, BrokenParams{.rule = c.rule, .out = out.data()});
                device->synchronize(Device::Stream{});
            },
            CUDAENC_ERR_INTERNAL);
        EXPECT(!error.empty(), "rule %d", c.rule);
        check_contains(error, "kernel broken of primitives, block (");
        for (const std::string &part : c.parts) check_contains(error, part);
        // The device is as good as before.
        device->launch(nullptr, {3}, 64, BrokenParams{.rule = BrokenParams::none, .out = out.data()});
        EXPECT(downloaded(*device, nullptr, out) == std::vector<uint32_t>(64, 1));
    }
    check_contains(error_of([&] { device->launch(nullptr, {1}, 65, BrokenParams{.rule = 0, .out = out.data()}); },
                            CUDAENC_ERR_INTERNAL),
                   "65 threads");
    // Part of a warp cannot run a collective.
    const DeviceArray<uint32_t> values(device, 64);
    const DeviceArray<PrimitivesResult> results(device, 40);
    const DeviceArray<PrimitivesCounters> counters(device, 1);
    check_contains(
        error_of(
            [&] {
                device->launch(
                    nullptr, {1}, 40,
                    PrimitivesParams{.values = values.data(), .results = results.data(), .counters = counters.data()});
                device->synchronize(Device::Stream{});
            },
            CUDAENC_ERR_INTERNAL),
        "takes all 32 lanes");
}
END_TEST

struct UnknownParams {
    static constexpr KernelName kernel{"primitives", "unknown"};
};

START_TEST(emulator_reports_misuse) {
    const std::shared_ptr<Device> device = open_emulator("emu");
    check_contains(error_of([&] { device->launch(nullptr, {1}, 32, UnknownParams{}); }, CUDAENC_ERR_INTERNAL),
                   "unknown of primitives is not linked");
    const DeviceArray<uint32_t> array(device, 10);
    uint32_t word = 0;
    EXPECT(!error_of([&] { device->download(nullptr, &word, array.data() + 10, 1); }, CUDAENC_ERR_INTERNAL).empty());
    EXPECT(!error_of([&] { device->upload(nullptr, &word, &word, 4); }, CUDAENC_ERR_INTERNAL).empty());
    for (const char *spec : {"emu:", "emu:x", "emu:1x", "emu:-1", "emux", "emu:99999999999999999999999"}) {
        EXPECT(!error_of([&] { open_emulator(spec); }, CUDAENC_ERR_INVALID).empty());
    }
}
END_TEST

// The list that the kernel `order` makes.
std::vector<uint32_t> order_of(const std::string &spec, std::vector<uint32_t> *garbage) {
    const std::shared_ptr<Device> device = open_emulator(spec);
    const auto count = uploaded<uint32_t>(device, nullptr, {0});
    const DeviceArray<uint32_t> list(device, 20 * 128), first(device, 20);
    device->launch(nullptr, {20}, 128,
                   OrderParams{.count = count.data(), .list = list.data(), .first_shared = first.data()});
    *garbage = downloaded(*device, nullptr, first);
    return downloaded(*device, nullptr, list);
}

START_TEST(emulator_shuffles_and_poisons) {
    std::vector<uint32_t> garbage;
    const std::vector<uint32_t> one = order_of("emu:1", &garbage), two = order_of("emu:2", &garbage);
    EXPECT(one != two);
    EXPECT(std::set<uint32_t>(one.begin(), one.end()).size() == one.size());
    EXPECT(!std::is_sorted(one.begin(), one.begin() + 128));
    bool blocks_in_order = true;
    for (size_t i = 128; i < one.size(); i += 128) blocks_in_order &= one[i] / 128 == one[0] / 128 + i / 128;
    EXPECT(!blocks_in_order);
    // Every thread-block finds other garbage, though the one before it has left zeros.
    EXPECT_EQ(std::set<uint32_t>(garbage.begin(), garbage.end()).size(), garbage.size());
    EXPECT(std::find(garbage.begin(), garbage.end(), 0u) == garbage.end());
}
END_TEST

// What a stream downloads of memory that another one fills with 2. waits: whether it comes behind that.
uint8_t found_by_another_stream(uint64_t seed, bool waits) {
    const std::shared_ptr<Device> device = open_emulator("emu:" + std::to_string(seed));
    const Stream first(device), second(device);
    const Device::Event filled = device->create_event(false);
    const DeviceArray<uint8_t> memory(device, 1);
    auto *const found = static_cast<uint8_t *>(device->alloc_pinned(1));
    device->fill(nullptr, memory.data(), 1, 1);
    device->synchronize(Device::Stream{});
    device->fill(first, memory.data(), 2, 1);
    device->record(filled, first);
    if (waits) device->wait(second, filled);
    device->download(second, found, memory.data(), 1);
    device->synchronize(first);
    device->synchronize(second);
    const uint8_t value = *found;
    device->free_pinned(found);
    device->destroy_event(filled);
    return value;
}

// A missing wait shows with one seed or another, whichever stream comes first.
START_TEST(emulator_orders_streams_by_seed) {
    std::set<uint8_t> found;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        found.insert(found_by_another_stream(seed, false));
        EXPECT_EQ(found_by_another_stream(seed, true), 2);
    }
    EXPECT_EQ(found.size(), 2u);
}
END_TEST

START_TEST(emulator_serves_many_host_threads) {
    std::vector<std::thread> threads;
    std::vector<int> good(4);
    for (size_t t = 0; t < good.size(); ++t) {
        threads.emplace_back([t, &good] {
            const std::shared_ptr<Device> device = open_emulator("emu:" + std::to_string(t));
            const DeviceArray<uint32_t> out(device, 64);
            for (int i = 0; i < 50; ++i) {
                try {
                    device->launch(nullptr, {2}, 64,
                                   BrokenParams{.rule = i % 5 ? 0 : BrokenParams::shared_index, .out = out.data()});
                    device->synchronize(Device::Stream{});
                    good[t] += i % 5 != 0;
                } catch (const Error &) {
                    good[t] += i % 5 == 0;
                }
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    for (const int n : good) EXPECT_EQ(n, 50);
}
END_TEST

START_TEST(cuda_device_names_are_checked) {
    for (const char *spec : {"", "cud", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda0", "cuda:99999999999"}) {
        check_contains(error_of([&] { open_cuda_device(spec, nullptr); }, CUDAENC_ERR_INVALID), "\"cuda:N\"");
    }
    // With a device or without, none has so many; without, the message says what is missing.
    const std::string error = error_of([] { open_cuda_device("cuda:9999", nullptr); }, CUDAENC_ERR_DEVICE);
    EXPECT(!error.empty());
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("device");
    TCase *any = add_case(suite, "any device");
    tcase_add_loop_test(any, primitives_give_what_plain_code_gives, 0, devices);
    tcase_add_loop_test(any, prefix_sum_gives_what_a_loop_gives, 0, devices);
    tcase_add_loop_test(any, copies_and_fills_arrive, 0, devices);
    tcase_add_loop_test(any, devices_come_and_go_in_threads, 0, devices);
    tcase_add_loop_test(any, events_order_and_time, 0, devices);
    tcase_add_loop_test(any, graphs_run_again, 0, devices);
    TCase *emulator = add_case(suite, "emulator");
    tcase_add_loop_test(emulator, emulator_reports_broken_rules, 0, 40);
    tcase_add_test(emulator, kernels_are_timed);
    tcase_add_test(emulator, emulator_reports_misuse);
    tcase_add_test(emulator, emulator_shuffles_and_poisons);
    tcase_add_test(emulator, emulator_orders_streams_by_seed);
    tcase_add_test(emulator, emulator_serves_many_host_threads);
    TCase *cuda = add_case(suite, "cuda");
    tcase_add_test(cuda, cuda_device_names_are_checked);
    tcase_add_test(cuda, memory_is_kept);
    tcase_add_test(cuda, memory_in_reserve_goes_before_it_runs_out);
    tcase_add_test(cuda, threads_share_a_reserve);
    return run_suite(suite);
}
