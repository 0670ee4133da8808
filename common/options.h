// SPDX-License-Identifier: LGPL-2.1-or-later
// Options as tables: a row has the name, text, default, range and named values of one option. Defaults and the checks
// of single options come from it; checks that relate options are make_params()'s. fate_tests/interop/options.py holds
// cudaenc.h and the glue to the tables, and writes those of the documents.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "cudaenc.h"
#include "error.h"
#include "option_checks.h"

namespace cudaenc {

// A number is low to high, or its default, which stands for "not set" where it lies outside.
template <class Options>
struct Option {
    const char *name;  // of the member
    std::variant<int Options::*, int64_t Options::*, double Options::*, const char * Options::*> member;
    const char *text;
    int64_t standard = 0, low = 0, high = 0;  // of numbers; standard: the default
    const char *names = nullptr;  // of values, from the lowest one on, or of flags; between spaces; a|b: both
    bool power_of_two = false;
    const char *standard_text = nullptr;  // of texts
};
template <class Options>
using OptionTable = std::span<const Option<Options>>;

extern const OptionTable<CudaencConfig> kSharedOptions;
extern const OptionTable<CudaencDecoderConfig> kDecoderOptions;
extern const OptionTable<CudaencCavlcConfig> kCavlcOptions;
extern const OptionTable<CudaencJ2kOptions> kJ2kOptions;
extern const OptionTable<CudaencMjpegOptions> kMjpegOptions;
extern const OptionTable<CudaencH264Options> kH264Options;

template <class Options>
void set_defaults(OptionTable<Options> table, Options &options) {
    options = {};
    const auto set = []<class T>(const Option<Options> &o, T &value) {
        if constexpr (std::is_pointer_v<T>)
            value = o.standard_text;
        else
            value = static_cast<T>(o.standard);
    };
    for (const Option<Options> &o : table) std::visit([&](auto member) { set(o, options.*member); }, o.member);
}

// "4 to 1024", "0 or 1", "-1 to 32", "1 to 100, or -1 (default)".
template <class Options>
std::string allowed_values(const Option<Options> &o) {
    const bool adjoins = o.standard == o.low - 1 && !std::holds_alternative<double Options::*>(o.member);
    const int64_t low = adjoins ? o.standard : o.low;
    const std::string most = o.high == INT64_MAX               ? " or more"
                             : !low && o.high == 1 && !o.names ? " or 1"
                                                               : " to " + std::to_string(o.high);
    return (o.power_of_two ? "a power of two, " : "") + std::to_string(low) + most +
           (o.standard < low || o.standard > o.high ? ", or " + std::to_string(o.standard) + " (default)" : "");
}

// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
template <class Options>
void check_options(OptionTable<Options> table, const Options &options) {
    const auto check = []<class T>(const Option<Options> &o, const T &value) {
        if constexpr (!std::is_pointer_v<T>) {
            const bool power = !o.power_of_two || std::has_single_bit(static_cast<uint64_t>(value));
            if (value != o.standard && !(value >= o.low && value <= o.high && power))
                refuse(format_string("%s %.16g is not allowed: it is %s", o.name, static_cast<double>(value),
                                     allowed_values(o).c_str()));
        }
    };
    for (const Option<Options> &o : table) std::visit([&](auto member) { check(o, options.*member); }, o.member);
}

}  // namespace cudaenc
