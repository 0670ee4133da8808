// SPDX-License-Identifier: LGPL-2.1-or-later
// What a fuzzer's bytes stand for: numbers, texts, and options by their tables.
#pragma once
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "../../../common/options.h"

namespace cudaenc::testing {

// Ends the process, which the fuzzer reports.
inline void expect(bool condition, const char *what) {
    if (condition) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::abort();
}

// No bytes left: zeros, and the lowest of a range.
class Input : public FuzzedDataProvider {
  public:
    using FuzzedDataProvider::FuzzedDataProvider;
    int between(int low, int high) { return ConsumeIntegralInRange<int>(low, high); }
    int any() { return ConsumeIntegral<int>(); }
    bool one_in(int n) { return between(0, n - 1) == n - 1; }
    // Kept until the input ends, since options point to it.
    const char *text(size_t longest) { return texts_.emplace_back(ConsumeRandomLengthString(longest)).c_str(); }
    const std::vector<uint8_t> &bytes(size_t most) {
        return buffers_.emplace_back(ConsumeBytes<uint8_t>(ConsumeIntegralInRange<size_t>(0, most)));
    }
    // Every option stays, or becomes one that is allowed by itself, or anything.
    template <class Options>
    void change(OptionTable<Options> table, Options &options) {
        for (const Option<Options> &o : table) {
            const int how = between(0, 7);
            if (how >= 5) std::visit([&](auto member) { set(o, options.*member, how == 7); }, o.member);
        }
    }

  private:
    template <class Options, class T>
    void set(const Option<Options> &o, T &value, bool anything) {
        if constexpr (std::is_pointer_v<T>) {
            value = text(40);
        } else if constexpr (std::is_floating_point_v<T>) {
            value = anything ? ConsumeFloatingPoint<T>()
                             : ConsumeFloatingPointInRange<T>(static_cast<T>(o.low), static_cast<T>(o.high));
        } else {
            const T low = static_cast<T>(o.low), high = static_cast<T>(o.high);
            value = anything ? ConsumeIntegral<T>() : ConsumeIntegralInRange<T>(low, high);
            if (!anything && o.power_of_two)
                value = static_cast<T>(std::bit_floor(static_cast<std::make_unsigned_t<T>>(value)));
        }
    }
    std::deque<std::string> texts_;
    std::deque<std::vector<uint8_t>> buffers_;
};

// What a session says: lines without newlines. An internal error is a bug.
struct Lines {
    int errors = 0;
    static void count(void *opaque, CudaencLogLevel level, const char *line) {
        static_cast<Lines *>(opaque)->errors += level == CUDAENC_LOG_ERROR;
        const std::string text = line;
        expect(!text.empty() && text.find('\n') == text.npos, "a line has a newline");
    }
};

}  // namespace cudaenc::testing
