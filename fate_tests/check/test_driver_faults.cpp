// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults of a real driver: memory that runs out, and a context that a kernel's fault destroys, alone or beside another
// GPU. Each test is a process of its own. Only for CUDA devices that the arguments name, as `cuda:0 cuda:1`.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "../../cuda_kernels/device_objects.h"
#include "../emu/primitives_params.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

CudaencFormat gray(int width, int height) { return make_format(width, height, 1, 8, true, CUDAENC_COLOR_GRAY); }

// A session of each codec that takes 8-bit gray.
CudaencConfig config_of(CudaencCodec codec, const CudaencFormat &format, const char *device, Log *log) {
    CudaencConfig config;
    cudaenc_config_defaults(&config, codec);
    config.format = format;
    config.device = device;
    config.threads = 2;
    config.log = Log::print;
    config.log_opaque = log;
    return config;
}
constexpr CudaencCodec kCodecs[] = {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264};

// A kernel writes to address 0. The process has no use of this device any more.
void lose_context(const char *spec) {
    const auto device = open_cuda_device(spec, nullptr);
    try {
        device->launch(nullptr, {1}, 128, OrderParams{nullptr, nullptr, nullptr});
        device->synchronize(Device::Stream{});
        ck_abort_msg("a fault was not noticed");
    } catch (const Error &e) {
        EXPECT_EQ(e.code, CUDAENC_ERR_DEVICE);
    }
}

START_TEST(memory_that_runs_out_is_an_error) {
    const char *const spec = device_specs[static_cast<size_t>(_i)].c_str();
    Random random(1);
    std::vector<Picture> pictures(1, make_picture(random, gray(130, 90)));
    fill(random, pictures[0], Content::noise);
    Log log;
    CudaencConfig config = make_config(pictures[0].format, "cpu", &log);
    const auto expected = encode(config, pictures[0].frame());
    {
        const auto device = open_cuda_device(spec, nullptr);
        std::vector<DeviceArray<uint8_t>> taken;
        for (size_t bytes : {size_t{1} << 30, size_t{1} << 26, size_t{1} << 22}) try {
                for (;;) taken.emplace_back(device, bytes);
            } catch (const Error &e) {
                EXPECT_EQ(e.code, CUDAENC_ERR_MEMORY);
            }
        for (const CudaencCodec codec : kCodecs) {
            log.lines.clear();
            CudaencConfig large = config_of(codec, gray(3840, 2160), spec, &log);
            large.async_depth = 64;
            CudaencSession *session;
            const int code = cudaenc_open(&session, &large);
            EXPECT(code == CUDAENC_ERR_MEMORY && !session, "codec %d: open gives %d without memory", codec, code);
            EXPECT(log.lines.size() == 1, "codec %d: %zu lines", codec, log.lines.size());
        }
    }
    config.device = spec;
    EXPECT(encode(config, pictures[0].frame()) == expected, "bytes after memory came back");
}
END_TEST

// The sessions of a lost context give errors for what they have in flight and for what comes, and close. The process
// can go on with the CPU.
START_TEST(a_lost_context_is_an_error) {
    const char *const spec = device_specs[static_cast<size_t>(_i)].c_str();
    Random random(2);
    std::vector<Picture> pictures(1, make_picture(random, gray(130, 90)));
    fill(random, pictures[0], Content::noise);
    Log log;
    std::vector<CudaencSession *> sessions;
    for (const CudaencCodec codec : kCodecs) {
        const CudaencConfig config = config_of(codec, pictures[0].format, spec, &log);
        sessions.push_back(nullptr);
        EXPECT_EQ(cudaenc_open(&sessions.back(), &config), CUDAENC_OK);
        const CudaencFrame frame = pictures[0].frame();
        for (int i = 0; i < 2; i++) EXPECT_EQ(cudaenc_submit(sessions.back(), &frame), CUDAENC_OK);
    }
    lose_context(spec);
    log.lines.clear();
    for (CudaencSession *session : sessions) {
        const CudaencFrame frame = pictures[0].frame();
        // H.264's submit only posts to threads of the host: then receive says it.
        const int submitted = cudaenc_submit(session, &frame);
        EXPECT(submitted == CUDAENC_OK || submitted == CUDAENC_ERR_DEVICE, "submit gives %d", submitted);
        cudaenc_flush(session);
        CudaencPacket packet;
        int packets = 0;
        for (int code, received = 0; (code = cudaenc_receive(session, &packet)) != CUDAENC_EOF; received++) {
            EXPECT(received < 3, "a session does not end");
            EXPECT(code == CUDAENC_OK || code == CUDAENC_ERR_DEVICE, "receive gives %d", code);
            if (code != CUDAENC_OK) continue;
            packets++;
            cudaenc_buffer_free(packet.buffer);
        }
        EXPECT(packets <= 2, "%d packets, one of them behind the fault", packets);
        cudaenc_close(session);
    }
    EXPECT(!log.lines.empty(), "nothing was said");
    CudaencConfig config = make_config(pictures[0].format, spec, &log);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_DEVICE);
    config.device = "cpu";
    encode(config, pictures[0].frame());
}
END_TEST

// CUDA ends in the process of a kernel's fault, on all of its GPUs. Another process goes on: its sessions on another
// GPU, open or new, have the CPU's bytes.
START_TEST(a_lost_gpu_leaves_another_process) {
    const char *const lost = device_specs[static_cast<size_t>(_i)].c_str();
    const auto other = std::find_if(device_specs.begin(), device_specs.end(), [&](const std::string &spec) {
        return spec.rfind("cuda", 0) == 0 && spec != lost;
    });
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (!child) {
        lose_context(lost);
        _exit(EXIT_SUCCESS);
    }
    Random random(3);
    Picture picture = make_picture(random, gray(130, 90), Content::noise);
    const CudaencFrame frame = picture.frame();
    Log log;
    for (const CudaencCodec codec : kCodecs) {
        CudaencConfig config = config_of(codec, picture.format, "cpu", &log);
        const auto expected = encode(config, frame);
        config.device = other->c_str();
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
        int status = 0;
        if (codec == kCodecs[0]) EXPECT(waitpid(child, &status, 0) == child && status == EXIT_SUCCESS);
        cudaenc_flush(session);
        CudaencPacket packet;
        EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_OK);
        EXPECT(std::equal(packet.data, packet.data + packet.size, expected.begin(), expected.end()),
               "codec %d: other bytes", codec);
        cudaenc_buffer_free(packet.buffer);
        cudaenc_close(session);
        EXPECT(encode(config, frame) == expected, "codec %d: a new session's bytes", codec);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("driver_faults");
    TCase *faults = add_case(suite, "faults");
    int gpus = 0;
    for (const std::string &spec : device_specs) gpus += spec.rfind("cuda", 0) == 0;
    for (int i = 0; i < static_cast<int>(device_specs.size()); i++) {
        if (device_specs[static_cast<size_t>(i)].rfind("cuda", 0)) continue;
        tcase_add_loop_test(faults, memory_that_runs_out_is_an_error, i, i + 1);
        tcase_add_loop_test(faults, a_lost_context_is_an_error, i, i + 1);
        if (gpus > 1) tcase_add_loop_test(faults, a_lost_gpu_leaves_another_process, i, i + 1);
    }
    return run_suite(suite);
}
