// SPDX-License-Identifier: LGPL-2.1-or-later
// Methods of the papers that no encoder has (fate_tests/papers): their kernels beside plain loops.
#include <vector>

#include "../papers/cavlcu.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

std::shared_ptr<Device> device_of(int index) { return open_test_device(index); }

// ---- CAVLCU

START_TEST(cavlcu) {
    const std::shared_ptr<Device> device = device_of(_i);
    Random random(11);
    const Stream stream(device);
    const std::pair<uint32_t, uint32_t> sizes[] = {{1, 1}, {11, 9}, {8, 3}, {5, 40}, {45, 2}};
    for (const auto &[width, height] : sizes) {
        const bench::Cavlcu coder(device, width, height);
        for (int round = 0; round < 2; round++) {  // the second finds what the first leaves
            bench::LumaCoefficients luma{
                .width = width, .height = height, .coefficients = {}, .intra_16x16 = {}, .slices = {}};
            uint16_t slice = 0;
            for (uint32_t m = 0; m < luma.macroblocks(); m++) {
                slice = static_cast<uint16_t>(slice + random.one_in(9));
                luma.slices.push_back(slice);
                luma.intra_16x16.push_back(static_cast<uint8_t>(random.below(2)));
                for (int block = 0; block < 16; block++) {
                    const int density = random.between(0, 8), range = random.of({1, 2, 3, 10, 100, 2000});
                    for (int k = 0; k < 16; k++)
                        luma.coefficients.push_back(
                            static_cast<int16_t>(random.between(0, 7) < density ? random.between(-range, range) : 0));
                }
            }
            const bench::Cavlcu::Input input(device, luma);
            coder.code(stream, input);
            device->synchronize(static_cast<Device::Stream>(stream));
            EXPECT_EQ(compare_luma(coder, luma), 0);
        }
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("papers");
    TCase *c = add_case(suite, "Fuentes-Alventosa");
    tcase_add_loop_test(c, cavlcu, 0, devices);
    return run_suite(suite);
}
