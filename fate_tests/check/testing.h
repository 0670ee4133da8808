// SPDX-License-Identifier: LGPL-2.1-or-later
// What the check programs share: their arguments, random numbers, devices, guarded device memory, times. Include it
// last, as check.h defines fail().
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../common/device.h"
#include "../../common/error.h"
#include "timed_device.h"

#include <check.h>

namespace cudaenc::testing {
inline std::string shown(const std::string &value) { return value; }
inline std::string shown(const char *value) { return value ? value : "null"; }
template <class T>
std::string shown(const T &value) {
    if constexpr (std::is_enum_v<T>) {
        return std::to_string(static_cast<long long>(value));
    } else {
        return std::to_string(value);
    }
}
// What is wrong: the message in printf's manner, or the condition itself.
inline std::string message(const char *condition) { return std::string(condition) + " does not hold"; }
[[gnu::format(printf, 2, 3)]] inline std::string message(const char *, const char *format, ...) {
    char text[2048];
    va_list values;
    va_start(values, format);
    std::vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return text;
}
// That two values differ, or nothing. Integers are compared by value, whatever their signs, and C strings by their
// text.
template <class A, class B>
std::string difference(const char *name_a, const A &a, const char *name_b, const B &b) {
    bool same;
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
        same = static_cast<long long>(a) == static_cast<long long>(b) && (a < A{}) == (b < B{});
    } else if constexpr (std::is_convertible_v<A, const char *> && std::is_convertible_v<B, const char *>) {
        same = shown(a) == shown(b);
    } else {
        same = a == b;
    }
    return same ? "" : std::string(name_a) + " is " + shown(a) + ", and " + name_b + " is " + shown(b);
}
}  // namespace cudaenc::testing

// What tests assert: a condition, with a message in printf's manner where it alone does not tell; that two values are
// the same, which it shows. libcheck's own write a file at every assertion that holds.
#define EXPECT(condition, ...)                                                                              \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            ck_abort_msg("%s", ::cudaenc::testing::message(#condition __VA_OPT__(, ) __VA_ARGS__).c_str()); \
        }                                                                                                   \
    } while (0)
#define EXPECT_EQ(a, b)                                                                        \
    do {                                                                                       \
        const std::string difference_of_values = ::cudaenc::testing::difference(#a, a, #b, b); \
        if (!difference_of_values.empty()) ck_abort_msg("%s", difference_of_values.c_str());   \
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

// What a program's arguments say:
//   DEVICE...     what kernels are checked on, in place of emulators of several seeds: cuda, cuda:N; emu (those
//                 emulators), emu:SEED; cpu (none: host functions, which are always checked)
//   --case=NAME   only cases and tests with NAME in their names
//   --part=I/N    only each Nth test, from the Ith
//   --bench       times too: what is called in bench()
inline std::vector<std::string> device_specs = {"emu", "emu:2", "emu:77", "emu:123456789"};
inline std::string only_case;
inline int part = 0, parts = 1;
inline bool benching = false;

// Whether the device opens. A process of its own asks, since CUDA does not outlive the fork of a test.
inline bool opens(const std::string &spec) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        try {
            std::printf("device %s\n", open_cuda_device(spec, nullptr)->name().c_str());
        } catch (const Error &e) {
            std::printf("%s: %s\n", spec.c_str(), e.what());
            std::fflush(nullptr);
            _exit(EXIT_FAILURE);
        }
        std::fflush(nullptr);
        _exit(EXIT_SUCCESS);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

// To be called before tests are added.
inline void take_arguments(int argc, char **argv) {
    const std::vector<std::string> emulators = device_specs;
    bool named = false;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        if (argument == "--bench") {
            benching = true;
            continue;
        }
        if (argument.rfind("--case=", 0) == 0) {
            only_case = argument.substr(7);
            continue;
        }
        if (std::sscanf(argument.c_str(), "--part=%d/%d", &part, &parts) == 2 && part >= 0 && part < parts) continue;
        if (!std::exchange(named, true)) device_specs.clear();
        if (argument == "emu") {
            device_specs.insert(device_specs.end(), emulators.begin(), emulators.end());
        } else if (argument.rfind("emu:", 0) == 0) {
            device_specs.push_back(argument);
        } else if (argument.rfind("cuda", 0) == 0) {
            if (!opens(argument)) std::exit(EXIT_FAILURE);
            device_specs.push_back(argument);
        } else if (argument != "cpu") {
            std::printf("%s: \"%s\" is none of cuda[:N], emu[:SEED], cpu, --case=NAME, --part=I/N, --bench\n", argv[0],
                        argv[i]);
            std::exit(EXIT_FAILURE);
        }
    }
}

// Of device_specs. Of the emulators only the first is timed.
inline std::shared_ptr<Device> open_test_device(int index) {
    const std::string &spec = device_specs[static_cast<size_t>(index)];
    const bool emulated = spec.rfind("emu", 0) == 0;
    const std::shared_ptr<Device> device = emulated ? open_emulator(spec) : open_cuda_device(spec, nullptr);
    return benching && (!emulated || spec == "emu") ? std::make_shared<TimedDevice>(device) : device;
}

// All of device_specs, for tests of many sessions: while one is open, a session on a GPU need not make its context,
// which takes longer than its pictures.
inline std::vector<std::shared_ptr<Device>> open_test_devices() {
    std::vector<std::shared_ptr<Device>> devices;
    for (size_t i = 0; i < device_specs.size(); i++) devices.push_back(open_test_device(static_cast<int>(i)));
    return devices;
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

// ---- Times

// One line: median, least and most of the times of `work` such as samples or blocks.
inline void print_times(const std::string &what, const std::string &device, double work, const char *unit,
                        std::vector<double> ms) {
    std::sort(ms.begin(), ms.end());
    const double median = ms[ms.size() / 2];
    std::string rate = "emulated";
    if (device != "emu") {
        static constexpr std::pair<double, const char *> prefixes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
        const double a_second = work / median * 1e3;
        const auto [scale, prefix] =
            *std::find_if(std::begin(prefixes), std::end(prefixes), [&](const auto &p) { return a_second >= p.first; });
        rate = format_string("%.4g %s%s/s", scale > 0 ? a_second / scale : a_second, prefix, unit);
    }
    std::printf("bench %-46s %-7s %10.0f %-8s %10.4f ms (%.4f to %.4f) %s\n", what.c_str(), device.c_str(), work, unit,
                median, ms.front(), ms.back(), rate.c_str());
    std::fflush(stdout);
}

// Whether a test should take a size that is worth its time on a GPU.
inline bool benched_on_gpu(const std::shared_ptr<Device> &device) {
    const auto *timed = dynamic_cast<const TimedDevice *>(device.get());
    return timed && !timed->emulated();
}

// Makes a call that checks what the device's kernels do. With --bench it makes it again, and prints a line for each
// kernel whose module begins with `module`, of all its launches in a call. `work`: of a call.
template <class Call>
void bench(const std::string &what, const std::shared_ptr<Device> &device, double work, const char *unit,
           const Call &call, const char *module = "") {
    auto *timed = dynamic_cast<TimedDevice *>(device.get());
    if (!timed || !timed->emulated()) call();
    if (!timed) return;
    struct Times {
        std::vector<double> ms;  // of each call that launches the kernel
        int launches;            // of the last of these
    };
    std::vector<std::string> kernels;  // in the order of their first launches
    std::map<std::string, Times> times;
    for (int run = 0; run < (timed->emulated() ? 1 : 11); run++) {
        timed->begin();
        call();
        std::map<std::string, Times> of_call;
        for (const auto &[kernel_module, kernel, ms] : timed->end()) {
            if (kernel_module.rfind(module, 0) != 0) continue;
            if (!times.count(kernel)) kernels.push_back(kernel), times[kernel] = {};
            Times &of_kernel = of_call[kernel];
            of_kernel.ms.resize(1);
            of_kernel.ms[0] += ms;
            of_kernel.launches++;
        }
        for (const auto &[kernel, of_kernel] : of_call) {
            times[kernel].ms.push_back(of_kernel.ms[0]);
            times[kernel].launches = of_kernel.launches;
        }
    }
    const std::string name = timed->name().substr(0, timed->name().find_first_of(" ,"));
    for (const std::string &kernel : kernels) {
        const auto &[ms, launches] = times[kernel];
        print_times(what + ": " + kernel + (launches > 1 ? format_string(" x%d", launches) : ""), name, work, unit, ms);
    }
}

// The same of a host function.
template <class Call>
void bench(const std::string &what, double work, const char *unit, const Call &call) {
    using Clock = std::chrono::steady_clock;
    call();
    if (!benching) return;
    std::vector<double> ms;
    for (int run = 0; run < 11; run++) {
        const Clock::time_point begin = Clock::now();
        double calls = 0, passed = 0;
        for (; passed < 10; calls++) {  // so short ones are timed together
            call();
            passed = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
        }
        ms.push_back(passed / calls);
    }
    print_times(what, "cpu", work, unit, ms);
}

// ---- The suite

// libcheck's way to add a test, but for those that --case leaves out, or that are in another part of --part.
inline std::map<const TCase *, std::string> case_names;
inline int tests_added = 0;
inline void add_chosen_test(TCase *c, const TTest *test, int begin, int end) {
    if (case_names[c].find(only_case) == std::string::npos &&
        std::string(test->name).find(only_case) == std::string::npos)
        return;
    for (int i = begin; i < end; i++)
        if (tests_added++ % parts == part) tcase_add_loop_test(c, test, i, i + 1);
}
#undef tcase_add_test
#undef tcase_add_loop_test
inline void tcase_add_loop_test(TCase *c, const TTest *test, int begin, int end) {
    add_chosen_test(c, test, begin, end);
}
inline void tcase_add_test(TCase *c, const TTest *test) { add_chosen_test(c, test, 0, 1); }

inline TCase *add_case(Suite *suite, const char *name) {
    TCase *c = tcase_create(name);
    case_names[c] = name;
    tcase_set_timeout(c, benching ? 600 : 120);
    suite_add_tcase(suite, c);
    return c;
}
inline int run_suite(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    if (!only_case.empty() && !tests_added) {
        std::printf("no case or test has \"%s\" in its name; cases:", only_case.c_str());
        for (const auto &[_, name] : case_names) std::printf(" \"%s\"", name.c_str());
        std::printf("\n");
        return EXIT_FAILURE;
    }
    srunner_run(runner, nullptr, std::getenv("CK_RUN_CASE"), CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace cudaenc::testing
