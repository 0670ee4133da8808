// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernel_times.h"

#include <cstdio>
#include <map>

#include "../../common/h264/h264.h"
#include "../check/timed_device.h"

namespace cudaenc::bench {

void print_kernel_times(const std::shared_ptr<Device> &device, const CudaencConfig &config, const Frames &frames) {
    const auto timed = std::make_shared<testing::TimedDevice>(device);
    Ring<Encoder> ring(
        h264::make_device_encoder(h264::make_params(config.format, config.h264), 1, 1, timed, true, false), 1);
    const auto code = [&] {
        for (int i = 0; i < frames.count(); i++) {
            PooledBuffer packet;
            void *opaque;
            ring.submit(frames[static_cast<size_t>(i)], nullptr);
            ring.receive(packet, opaque, Receive::when_due);
        }
    };
    code();
    timed->begin();
    code();
    struct Sum {
        int launches = 0;
        double ms = 0;
    };
    std::map<std::string, Sum> sums;
    double all = 0;
    for (const auto &launch : timed->end()) {
        Sum &sum = sums[launch.kernel];
        sum.launches++;
        sum.ms += launch.ms;
        all += launch.ms;
    }
    for (const auto &[kernel, sum] : sums)
        std::printf("  %-36s %5.2f launches %9.1f us a frame\n", kernel.c_str(),
                    static_cast<double>(sum.launches) / frames.count(), 1e3 * sum.ms / frames.count());
    std::printf("  %-36s %24.1f us a frame\n", "all kernels", 1e3 * all / frames.count());
}

}  // namespace cudaenc::bench
