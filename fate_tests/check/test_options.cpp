// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of options: defaults come from them, and what is outside of a range is refused by a line that says so.
// "test_options print" prints the tables for fate_tests/interop/options.py.
#include "../../common/options.h"

#include <cstring>

#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// A configuration that opens, as far as options go.
CudaencConfig config_of(CudaencCodec codec, Log *log) {
    CudaencConfig config;
    cudaenc_config_defaults(&config, codec);
    config.format.width = config.format.height = 16;
    config.format.components = config.format.planes = 1;
    config.format.component[0] = {0, 0, 1, 0, 8, 0, 0};
    config.format.color_model = CUDAENC_COLOR_GRAY;
    config.device = "cpu";
    config.log = Log::print;
    config.log_opaque = log;
    return config;
}

// Calls f(codec, table, the table's options within a configuration) for each table.
template <class F>
void for_each_table(F f) {
    f(CUDAENC_CODEC_J2K, kSharedOptions, [](CudaencConfig &config) -> CudaencConfig & { return config; });
    f(CUDAENC_CODEC_J2K, kJ2kOptions, [](CudaencConfig &config) -> CudaencJ2kOptions & { return config.j2k; });
    f(CUDAENC_CODEC_MJPEG, kMjpegOptions, [](CudaencConfig &config) -> CudaencMjpegOptions & { return config.mjpeg; });
    f(CUDAENC_CODEC_H264, kH264Options, [](CudaencConfig &config) -> CudaencH264Options & { return config.h264; });
}

// Calls f(row, the member of a number), and the same for texts.
template <class Options, class Number, class Text>
void for_each_row(OptionTable<Options> table, Number number, Text text) {
    for (const Option<Options> &row : table)
        std::visit(
            [&](auto member) {
                if constexpr (std::is_same_v<decltype(member), const char * Options::*>)
                    text(row, member);
                else
                    number(row, member);
            },
            row.member);
}

START_TEST(defaults_are_the_tables) {
    for_each_table([](CudaencCodec codec, auto table, auto options_of) {
        CudaencConfig config;
        std::memset(static_cast<void *>(&config), 0x55, sizeof config);
        cudaenc_config_defaults(&config, codec);
        for_each_row(
            table,
            [&](const auto &row, auto member) { EXPECT(options_of(config).*member == row.standard, "%s", row.name); },
            [&](const auto &row, auto member) {
                const char *text = options_of(config).*member;
                EXPECT(text == row.standard_text || !std::strcmp(text, row.standard_text), "%s", row.name);
            });
    });
}
END_TEST

START_TEST(ranges_are_the_tables) {
    for_each_table([](CudaencCodec codec, auto table, auto options_of) {
        const auto number = [&](const auto &row, auto member) {
            using T = std::remove_cvref_t<decltype(options_of(std::declval<CudaencConfig &>()).*member)>;
            Log log;
            CudaencConfig config = config_of(codec, &log);
            const auto set = [&](int64_t value) { options_of(config).*member = static_cast<T>(value); };
            for (const int64_t allowed : {row.standard, row.low, row.high}) {
                set(allowed);
                check_options(table, options_of(config));
            }
            std::vector<int64_t> outside = {row.low - (row.low - 1 == row.standard ? 2 : 1)};
            if (row.high < INT32_MAX) outside.push_back(row.high + 1);
            if (row.power_of_two) outside.push_back(row.low + 1);
            for (const int64_t value : outside) {
                set(value);
                CudaencSession *session;
                log.lines.clear();
                const int code = cudaenc_open(&session, &config);
                const std::string line = format_string("%s %lld is not allowed: it is ", row.name, (long long)value);
                EXPECT(code == CUDAENC_ERR_INVALID && log.lines.size() == 1 && log.lines[0].rfind(line, 0) == 0,
                       "%s %lld: %d, %s", row.name, static_cast<long long>(value), code,
                       log.lines.empty() ? "" : log.lines[0].c_str());
            }
        };
        for_each_row(table, number, [](const auto &, auto) {});
    });
}
END_TEST

// A row of a table a line, between tabulators.
template <class Options>
void print(const char *name, OptionTable<Options> table) {
    const auto print_row = [&](const char *kind, const auto &row) {
        std::printf("%s\t%s\t%s\t%lld\t%lld\t%lld\t%d\t%s\t%s\t%s\n", name, row.name, kind,
                    static_cast<long long>(row.standard), static_cast<long long>(row.low),
                    static_cast<long long>(row.high), row.power_of_two, row.names ? row.names : "",
                    row.standard_text ? row.standard_text : "", row.text);
    };
    for_each_row(
        table, [&](const auto &row, auto) { print_row("number", row); },
        [&](const auto &row, auto) { print_row("text", row); });
}
void print() {
    print("CudaencConfig", kSharedOptions);
    print("CudaencDecoderConfig", kDecoderOptions);
    print("CudaencCavlcConfig", kCavlcOptions);
    print("CudaencJ2kOptions", kJ2kOptions);
    print("CudaencMjpegOptions", kMjpegOptions);
    print("CudaencH264Options", kH264Options);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc > 1 && !std::strcmp(argv[1], "print")) {
        print();
        return 0;
    }
    Suite *suite = suite_create("options");
    TCase *tables = add_case(suite, "tables");
    tcase_add_test(tables, defaults_are_the_tables);
    tcase_add_test(tables, ranges_are_the_tables);
    return run_suite(suite);
}
