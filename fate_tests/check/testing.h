// What the check programs share: random numbers, devices, guarded device memory, pictures. Include it last, as check.h
// defines fail(). SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../../common/device.h"
#include "../../common/error.h"

#include <check.h>

// ck_assert_msg() for loops: libcheck writes a file at every assertion that holds.
#define EXPECT(condition, ...)                       \
    do {                                             \
        if (!(condition)) ck_abort_msg(__VA_ARGS__); \
    } while (0)

namespace cudaenc::testing {

// The same numbers everywhere (xorshift64*).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}
    uint32_t word() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
    }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t{word()} * n >> 32); }
    int between(int low, int high) { return low + static_cast<int>(below(static_cast<uint32_t>(high - low + 1))); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    template <class T, size_t N>
    const T &of(const T (&values)[N]) {
        return values[below(N)];
    }

  private:
    uint64_t state_;
};

// Devices that kernels are tested on: emulators, and what the program's arguments name ("cuda:0").
inline std::vector<std::string> device_specs = {"emu", "emu:2", "emu:77", "emu:123456789"};
inline std::shared_ptr<Device> open_test_device(int index) {
    const std::string &spec = device_specs[static_cast<size_t>(index)];
    return spec.rfind("emu", 0) == 0 ? open_emulator(spec) : open_cuda_device(spec, nullptr);
}

// Device memory between guard bytes. `count` elements of known garbage, or given values.
template <class T>
class Guarded {
  public:
    Guarded(const std::shared_ptr<Device> &device, const std::vector<T> &values)
        : device_(device), bytes_(device, kGuard * 2 + values.size() * sizeof(T)), count_(values.size()) {
        std::vector<uint8_t> image(bytes_.bytes(), 0xA5);
        if (count_) std::memcpy(image.data() + kGuard, values.data(), count_ * sizeof(T));
        device_->upload(nullptr, bytes_.data(), image.data(), image.size());
    }
    Guarded(const std::shared_ptr<Device> &device, size_t count) : Guarded(device, garbage(count)) {}
    static std::vector<T> garbage(size_t count) {
        std::vector<T> values(count);
        if (count) std::memset(static_cast<void *>(values.data()), 0xA5, count * sizeof(T));
        return values;
    }
    T *data() const { return reinterpret_cast<T *>(bytes_.data() + kGuard); }
    size_t count() const { return count_; }
    // What is there now; the guards have to be intact.
    std::vector<T> read(const char *name) const {
        std::vector<uint8_t> image(bytes_.bytes());
        device_->download(nullptr, image.data(), bytes_.data(), image.size());
        device_->synchronize(Device::Stream{});
        for (size_t i = 0; i < kGuard; i++) {
            EXPECT(image[i] == 0xA5, "%s: %zu bytes before its beginning are overwritten", name, kGuard - i);
            EXPECT(image[image.size() - 1 - i] == 0xA5, "%s: bytes up to %zu after its end are overwritten", name,
                   kGuard - i);
        }
        std::vector<T> values(count_);
        if (count_) std::memcpy(static_cast<void *>(values.data()), image.data() + kGuard, count_ * sizeof(T));
        return values;
    }

  private:
    static constexpr size_t kGuard = 256;  // keeps the alignment of allocations
    std::shared_ptr<Device> device_;
    DeviceArray<uint8_t> bytes_;
    size_t count_;
};

// Runs the suite. Arguments are further devices; tests that loop over devices are added after this has seen them.
inline void take_device_arguments(int argc, char **argv) {
    device_specs.insert(device_specs.end(), argv + 1, argv + argc);
}
inline TCase *add_case(Suite *suite, const char *name) {
    TCase *c = tcase_create(name);
    tcase_set_timeout(c, 120);
    suite_add_tcase(suite, c);
    return c;
}
inline int run_suite(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace cudaenc::testing
