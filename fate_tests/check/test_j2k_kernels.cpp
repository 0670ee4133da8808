// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000 of whole pictures: device = CPU. The kernels of each stage are checked alone in the stage's own test.
#include <algorithm>
#include <string>
#include <vector>

#include "../../common/j2k/j2k.h"
#include "../../common/j2k/params.h"
#include "../../cuda_kernels/j2k/transform/dwt_params.h"
#include "fault_device.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

START_TEST(pictures_are_alike_on_device_and_cpu) {
    const auto held = open_test_devices();
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 1000);
    for (int done = 0; done < 35;) {
        const CudaencFormat format = random_format(random, done % 5 ? 50 : 200);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = done % 4 ? random_options(random, format, text) : random_ht_options(random, format, text);
        if (Work(format, config.j2k).warps > 1500) continue;
        done++;
        Picture picture = make_picture(random, format);
        picture.upside_down = random.one_in(3);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
    }
}
END_TEST

// Tier-1 that stops early: the CPU codes all and sees where it would have stopped.
constexpr int kEarlyStops[] = {CUDAENC_J2K_RATE_PSB, CUDAENC_J2K_RATE_BPI};
START_TEST(early_stops_are_alike) {
    const auto held = open_test_devices();
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 3000);
    for (int done = 0; done < 20;) {
        const CudaencFormat format = random_format(random, done % 5 ? 120 : 200);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = random_options(random, format, text);
        config.j2k.layers = std::min(config.j2k.layers, 3);
        config.j2k.poc = config.j2k.roi = nullptr;
        config.j2k.format = CUDAENC_J2K_CODESTREAM;
        config.j2k.quality = -1;
        config.j2k.rate_control = random.of(kEarlyStops);
        config.j2k.frame_bytes = random.between(3000, 30000);
        if (Work(format, config.j2k).warps > 1000) continue;
        CudaencSession *session;
        if (cudaenc_open(&session, &config) != CUDAENC_OK) continue;  // no frame is that small
        cudaenc_close(session);
        done++;
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "rate control %d, %lld bytes: %s", config.j2k.rate_control,
               static_cast<long long>(config.j2k.frame_bytes), describe(config).c_str());
    }
}
END_TEST

// Of frames in host memory and in the device's.
START_TEST(targets_of_psnr_are_alike) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 4000);
    for (int done = 0; done < 10;) {
        const CudaencFormat format = random_format(random, 120);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = random_options(random, format, text);
        config.j2k.psnr = random.between(10, 70);
        if (Work(format, config.j2k).warps > 1000) continue;
        done++;
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "%g dB: %s", config.j2k.psnr, describe(config).c_str());
        std::vector<DeviceArray<uint8_t>> planes;
        CudaencFrame frame = picture.frame();
        for (int plane = 0; plane < format.planes; plane++) {
            planes.emplace_back(device, picture.memory[plane].size());
            device->upload(nullptr, planes.back().data(), picture.memory[plane].data(), planes.back().bytes());
            frame.data[plane] = planes.back().data();
        }
        device->synchronize(Device::Stream{});
        const auto encoder = make_device_encoder(make_params(format, config.j2k), 1, 0, device, true, false);
        encoder->submit(0, frame);
        const PooledBuffer packet = encoder->finish(0);
        EXPECT(std::vector<uint8_t>(packet->data, packet->data + packet->size) == on_cpu,
               "%g dB, frames on the device: %s", config.j2k.psnr, describe(config).c_str());
    }
}
END_TEST

// The first frame of a slot is queued kernel by kernel. The second makes a graph, which runs for all that follow. So it
// is where frames are coded again: here noise is, since the slope is that of the smooth picture before it.
START_TEST(frames_that_are_coded_again_run_a_graph) {
    Failures none;
    const auto device = std::make_shared<FaultDevice>(open_test_device(_i), none);
    Random random(5);
    const CudaencFormat format = make_format(96, 96, 1, 8, false, CUDAENC_COLOR_GRAY);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.rate_control = CUDAENC_J2K_RATE_PST;
    config.j2k.pst_lag = 1;
    config.j2k.compression_ratio = 5;
    Picture pictures[] = {make_picture(random, format), make_picture(random, format)};
    fill(random, pictures[0], Content::noise);
    fill(random, pictures[1], Content::smooth);
    const Params params = make_params(format, config.j2k);
    const auto encoder = make_device_encoder(params, 1, 0, device, false, false),
               on_cpu = make_cpu_encoder(params, 1, 1, false);
    long again = 0;
    for (int i = 0; i < 10; i++) {
        const long before = device->graphs_run();
        for (const auto &e : {std::ref(encoder), std::ref(on_cpu)}) e.get()->submit(0, pictures[i % 2].frame());
        const PooledBuffer own = encoder->finish(0), expected = on_cpu->finish(0);
        EXPECT(std::equal(own->data, own->data + own->size, expected->data, expected->data + expected->size),
               "packet %d", i);
        again += device->graphs_run() - before > 1;
    }
    EXPECT(device->graphs_made() == 2, "%ld graphs", device->graphs_made());
    EXPECT(again == 3, "%ld frames were coded again by a graph", again);
}
END_TEST

// Resolutions that begin at an odd position and end where strips do take one strip more.
START_TEST(tiles_that_begin_at_odd_places) {
    const auto held = open_test_devices();
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 2000);
    for (const bool wide : {false, true})
        for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
            // The third tile begins at an odd position one level down, with as many columns as a strip has.
            const int tile = 4 * (pred == CUDAENC_J2K_DWT97 ? kStripPairs<Dwt97> : kStripPairs<Dwt53>)-1;
            const CudaencFormat format =
                make_format(wide ? 3 * tile : 6, wide ? 6 : 3 * tile, 1, 8, false, CUDAENC_COLOR_GRAY);
            Log log;
            CudaencConfig config = make_config(format, "cpu", &log);
            config.j2k.pred = pred;
            config.j2k.levels = 3;
            if (wide)
                config.j2k.tile_width = tile;
            else
                config.j2k.tile_height = tile;
            Picture picture = make_picture(random, format, Content::noise);
            const auto on_cpu = encode(config, picture.frame());
            config.device = spec.c_str();
            EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
        }
}
END_TEST

// A picture that begins at an odd position and has as many columns as a thread-block has takes one more of these.
START_TEST(pictures_that_begin_at_odd_places) {
    const auto held = open_test_devices();
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 3000);
    for (const bool wide : {false, true})
        for (const int offset : {1, 2, 6, 1 << 24})
            for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
                const int side =
                    2 * kDwtThreads / 32 * (pred == CUDAENC_J2K_DWT97 ? kStripPairs<Dwt97> : kStripPairs<Dwt53>);
                const CudaencFormat format =
                    make_format(wide ? side : 5, wide ? 5 : side, 3, 8, false, CUDAENC_COLOR_RGB);
                Log log;
                CudaencConfig config = make_config(format, "cpu", &log);
                config.j2k.pred = pred;
                config.j2k.levels = offset == 6 ? 0 : 3;
                (wide ? config.j2k.x_offset : config.j2k.y_offset) = offset;
                if (offset == 2) (wide ? config.j2k.y_offset : config.j2k.x_offset) = 7;
                Picture picture = make_picture(random, format, Content::noise);
                const auto on_cpu = encode(config, picture.frame());
                config.device = spec.c_str();
                EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
            }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("j2k_kernels");
    TCase *pictures = add_case(suite, "pictures");
    tcase_add_loop_test(pictures, pictures_are_alike_on_device_and_cpu, 0, devices);
    tcase_add_loop_test(pictures, early_stops_are_alike, 0, devices);
    tcase_add_loop_test(pictures, targets_of_psnr_are_alike, 0, devices);
    tcase_add_loop_test(pictures, frames_that_are_coded_again_run_a_graph, 0, devices);
    tcase_add_loop_test(pictures, tiles_that_begin_at_odd_places, 0, devices);
    tcase_add_loop_test(pictures, pictures_that_begin_at_odd_places, 0, devices);
    return run_suite(suite);
}
