// cudaenc_bench: how fast the encoders are. docs/benchmarks.md says what is measured and how to read it.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/device.h"
#include "../../common/error.h"
#include "cases.h"
#include "json.h"
#include "measure.h"
#include "peer_nvjpeg2k.h"
#include "picture.h"
#include "tier1.h"

using namespace cudaenc;
using namespace cudaenc::bench;

namespace {

constexpr const char *kDefaultCases = "4k-lossless,4k-lossy,hd-lossless,hd-lossy";
constexpr const char *kTier1Cases = "4k-lossless,4k-lossy";

constexpr const char *kHelp =
    "cudaenc_bench [options] [picture...]   pictures: PPM, PGM, PNG; none: a generated one\n"
    "  -tier1           tier-1 alone: the kernels against a thread a code-block\n"
    "  -smoke           checks on a small picture that both give the same bytes, and the device the CPU's\n"
    "  -device D        auto (default), cuda, cuda:N, cpu, emu\n"
    "  -case A,B        cases, or all; -list names them\n"
    "  -yuv WxH:FORMAT  the files are raw video: yuv420p yuv422p yuv444p, or these with 10 appended\n"
    "  -size WxH        this size in place of the cases' own\n"
    "  -frames N        distinct frames in rotation (16)\n"
    "  -depths A,B      frames in flight of the multi mode (2,4,8,16; on the CPU 2,4);\n"
    "                   with -tier1 frames that are coded at once (1,4,8,16)\n"
    "  -threads A,B     of the CPU (1,2,4,8,16 up to its cores)\n"
    "  -single N        frames of the single mode (32)\n"
    "  -runs N          of the multi mode (5)\n"
    "  -seconds S       that a run lasts at least (0.5)\n"
    "  -nvjpeg2k FILE   nvJPEG2000's library, in a build that knows its header (libnvjpeg2k.so.0); no: not measured\n"
    "  -save PREFIX     writes the first frame's codestreams to PREFIX-CASE.j2k, nvJPEG2000's to PREFIX-CASE-peer.j2k\n"
    "  -o FILE          the results as JSON\n";

struct Options {
    std::string device = "auto", cases, yuv, output, save, nvjpeg2k, command;
    bool tier1 = false, smoke = false;
    int width = 0, height = 0, frames = 16;
    std::vector<int> threads;
    Effort effort;
    std::vector<std::string> files;
};

std::vector<std::string> split(const std::string &list) {
    std::vector<std::string> parts;
    std::istringstream in(list);
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    return parts;
}

int parse_number(const std::string &text, int least, int most, const char *option) {
    char *end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end || value < least || value > most)
        throw Error(CUDAENC_ERR_INVALID,
                    format_string("%s '%s' is not allowed: it is %d to %d", option, text.c_str(), least, most));
    return static_cast<int>(value);
}

std::vector<int> parse_numbers(const std::string &text, int most, const char *option) {
    std::vector<int> numbers;
    for (const std::string &part : split(text)) numbers.push_back(parse_number(part, 1, most, option));
    return numbers;
}

Options parse_options(int argc, char **argv) {
    Options o;
    for (int i = 0; i < argc; i++) o.command += (i ? " " : "") + std::string(argv[i]);
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (name.size() < 2 || name[0] != '-') {
            o.files.push_back(name);
            continue;
        }
        if (name == "-h" || name == "-help" || name == "--help") {
            std::fputs(kHelp, stdout);
            std::exit(0);
        }
        if (name == "-tier1" || name == "-smoke") {
            (name == "-tier1" ? o.tier1 : o.smoke) = true;
            continue;
        }
        if (name == "-list") {
            for (const Case &c : all_cases()) std::printf("%-19s %s\n", c.name, c.text().c_str());
            std::exit(0);
        }
        if (i + 1 == argc)
            throw Error(CUDAENC_ERR_INVALID, name + ": not an option, or its value is missing; see -help");
        const std::string value = argv[++i];
        if (name == "-device")
            o.device = value;
        else if (name == "-case")
            o.cases = value;
        else if (name == "-i")
            o.files.push_back(value);
        else if (name == "-yuv")
            o.yuv = value;
        else if (name == "-o")
            o.output = value;
        else if (name == "-nvjpeg2k")
            o.nvjpeg2k = value;
        else if (name == "-save")
            o.save = value;
        else if (name == "-frames")
            o.frames = parse_number(value, 1, 1000, "-frames");
        else if (name == "-single")
            o.effort.single_frames = parse_number(value, 1, 100000, "-single");
        else if (name == "-runs")
            o.effort.runs = parse_number(value, 1, 1000, "-runs");
        else if (name == "-seconds")
            o.effort.run_seconds = std::atof(value.c_str());
        else if (name == "-depths")
            o.effort.depths = parse_numbers(value, 64, "-depths");
        else if (name == "-threads")
            o.threads = parse_numbers(value, 1024, "-threads");
        else if (name == "-size") {
            if (std::sscanf(value.c_str(), "%dx%d", &o.width, &o.height) != 2 || o.width < 1 || o.height < 1 ||
                o.width > 32768 || o.height > 32768)
                throw Error(CUDAENC_ERR_INVALID, "-size '" + value + "' is not allowed: it is WxH, up to 32768x32768");
        } else
            throw Error(CUDAENC_ERR_INVALID, name + " is not an option; see -help");
    }
    return o;
}

// The first line of a file that contains `key`, from there on.
std::string line_with(const char *file, const char *key) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (const size_t at = line.find(key); at != std::string::npos) return line.substr(at);
    return "";
}

std::string driver_version() {
    if (const std::string version = line_with("/sys/module/nvidia/version", ""); !version.empty()) return version;
    std::istringstream words(line_with("/proc/driver/nvidia/version", "NVRM"));
    for (std::string word; words >> word;)
        if (word.size() > 4 && word.find_first_not_of("0123456789.") == std::string::npos) return word;
    return "";
}

std::string cpu_name() {
    const std::string line = line_with("/proc/cpuinfo", "model name");
    const size_t colon = line.find(": ");
    return (colon == std::string::npos ? "unknown CPU" : line.substr(colon + 2)) +
           format_string(", %u cores", std::thread::hardware_concurrency());
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}

// A line of the table at the end.
struct Row {
    std::string picture, name;
    double bytes, bits_per_pixel;
    std::string quality;
    int threads;
    double single_ms, multi_fps;
    int depth;
};

class Bench {
  public:
    explicit Bench(Options options) : o_(std::move(options)) {}

    // Returns the program's exit code.
    int run() {
        if (o_.cases.empty()) o_.cases = o_.tier1 ? kTier1Cases : kDefaultCases;
        const std::vector<Case> cases = choose_cases(o_.cases);
        choose_device();
        if (o_.smoke) return smoke();
        begin();
        bool good = true;
        json_.open("rows", '[');
        if (o_.files.empty()) {
            good = measure_picture(generate_picture(3840, 2160), cases);
        } else {
            for (const std::string &file : o_.files) good &= measure_picture(read_picture(file, o_.yuv), cases);
        }
        json_.close(']');
        json_.close('}');
        if (!rows_.empty()) print_table();
        if (o_.output.empty()) return !good;
        std::ofstream out(o_.output);
        out << json_.text << '\n';
        out.close();
        if (!out) throw Error(CUDAENC_ERR_INVALID, "cannot write " + o_.output);
        return !good;
    }

  private:
    void choose_device() {
        if (o_.device == "auto") {
            try {
                device_ = open_cuda_device("cuda", nullptr);
                o_.device = "cuda";
            } catch (const Error &e) {
                std::fprintf(stderr, "warning: no CUDA device, the CPU is measured: %s\n", e.what());
                o_.device = "cpu";
            }
        } else if (o_.device.rfind("cuda", 0) == 0) {
            device_ = open_cuda_device(o_.device, nullptr);
        }
        // Tier-1 alone is launched here; else the session opens the emulator, and frames lie in host memory.
        if ((o_.tier1 || o_.smoke) && !device_) {
            if (!open_emulator || o_.device.rfind("emu", 0) != 0)
                throw Error(CUDAENC_ERR_INVALID, "-tier1 and -smoke need a device that runs kernels: cuda or emu");
            device_ = open_emulator(o_.device);
        }
        device_text_ = device_ ? device_->name() : o_.device;
        const int cores = static_cast<int>(std::thread::hardware_concurrency());
        if (o_.device != "cpu") {
            o_.threads = {0};
        } else if (o_.threads.empty()) {
            for (const int n : {1, 2, 4, 8, 16})
                if (n <= cores || n == 1) o_.threads.push_back(n);
        }
        if (o_.effort.depths.empty())
            o_.effort.depths = o_.tier1  ? std::vector<int>{1, 4, 8, 16}
                               : device_ ? std::vector<int>{2, 4, 8, 16}
                                         : std::vector<int>{2, 4};
    }

    // What was measured, where and how.
    void begin() {
        std::printf("cudaenc_bench %d.%d.%d, %s\n", CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR, CUDAENC_VERSION_PATCH,
                    today().c_str());
        const std::string driver = driver_version();
        std::printf("device    %s%s\n", device_text_.c_str(),
                    device_ && !driver.empty() ? (", driver " + driver).c_str() : "");
        std::printf("cpu       %s\n", cpu_name().c_str());
        const std::string queues = device_ ? std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") : "";
        if (device_) std::printf("queues    CUDA_DEVICE_MAX_CONNECTIONS=%s\n", queues.c_str());
        std::printf("boundary  A: pixels in %s memory to finished bytes in %s memory\n", device_ ? "GPU" : "host",
                    device_ ? "pinned host" : "host");
        std::printf(
            "frames    %d distinct in rotation: each picture, and cyclic shifts of it by\n"
            "          odd numbers of columns and rows\n",
            o_.frames);
        json_.open('{');
        json_.put("program", "cudaenc_bench");
        json_.put("version",
                  format_string("%d.%d.%d", CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR, CUDAENC_VERSION_PATCH));
        json_.put("date", today());
        json_.put("command", o_.command);
        json_.put("device", device_text_);
        json_.put("driver", driver);
        json_.put("cpu", cpu_name());
        json_.put("boundary", device_ ? "A: GPU memory to pinned host memory" : "A: host memory to host memory");
        if (device_) json_.put("cuda_device_max_connections", queues);
        json_.put("distinct_frames", o_.frames);
        json_.put("frames_made_by", "cyclic shifts of the picture by odd numbers of columns and rows");
    }

    bool measure_picture(const Picture &picture, const std::vector<Case> &cases) {
        std::printf("\npicture   %s, %dx%d, %d bit\n", picture.name.c_str(), picture.width, picture.height,
                    picture.depth);
        bool good = true;
        for (Case c : cases) {
            if (o_.width) {
                c.format.width = o_.width;
                c.format.height = o_.height;
            }
            if (o_.tier1)
                good &= compare_tier1(device_, picture, c, o_.effort.depths, o_.effort.runs, json_);
            else
                measure_case(picture, c);
        }
        return good;
    }

    // A few seconds on the emulator. Ends as the other tests do, with the sum.
    int smoke() {
        const Picture picture = generate_picture(100, 72);
        int passed = 0, failed = 0;
        json_.open('[');
        for (const char *name :
             {"4k-lossless", "4k-lossy", "4k-422p10-lossy", "4k-cblk64-lossless", "4k-cblk64-lossy"}) {
            Case c = choose_cases(name).front();
            c.format.width = picture.width;
            c.format.height = picture.height;
            const bool tier1_equal = compare_tier1(device_, picture, c, {1, 2}, 1, json_);
            const Frames frames(fit_picture(picture, c.format), c.format, 3, nullptr);
            std::vector<std::vector<uint8_t>> streams[2];
            for (const char *device : {"cpu", o_.device.c_str()}) {
                Session session(make_config(c, device));
                for (size_t i = 0; i < 3; i++) session.submit(frames[i]);
                session.flush();
                for (size_t i = 0; i < 3; i++) {
                    const CudaencPacket packet = session.receive();
                    streams[device != std::string("cpu")].emplace_back(packet.data, packet.data + packet.size);
                    cudaenc_buffer_free(packet.buffer);
                }
            }
            const bool streams_equal = streams[0] == streams[1];
            if (!streams_equal) std::printf("  %s: the codestreams of %s and cpu differ\n", name, o_.device.c_str());
            (tier1_equal ? passed : failed)++;
            (streams_equal ? passed : failed)++;
        }
        std::printf("\n%d passed, %d failed\n", passed, failed);
        return failed != 0;
    }

    void measure_case(const Picture &picture, const Case &c) {
        const Frames frames(fit_picture(picture, c.format), c.format, o_.frames, device_);
        CudaencConfig config = make_config(c, o_.device.c_str());
        config.device_frames = device_ != nullptr;
        std::printf("\n%s: %s\n", c.name, c.text().c_str());
        if (!c.lossless) {
            config.j2k.quality = find_quality(config, frames, c.target_bytes());
            std::printf("  quality  %d: the highest for which the picture takes at most %zu bytes\n",
                        config.j2k.quality, c.target_bytes());
        }
        for (const int threads : o_.threads) {
            config.threads = threads;
            measure(picture, c, config, frames);
        }
    }

    void measure(const Picture &picture, const Case &c, const CudaencConfig &config, const Frames &frames) {
        if (config.threads) std::printf("  threads  %d\n", config.threads);
        const Single single = measure_single(config, frames, o_.effort);
        print_single(c, single);
        std::vector<Multi> multis;
        for (const int depth : o_.effort.depths) {
            multis.push_back(measure_multi(config, frames, depth, o_.effort));
            print_multi(multis.back());
        }
        const Multi &best = best_of(multis);
        std::printf("  best     %9.1f fps with %d in flight\n", best.fps.median, best.depth);
        const std::vector<Stage> stages = measure_stages(config, frames);
        for (const Stage &s : stages)
            std::printf("  %-18s %8.3f ms  %5.1f %%\n", s.name.c_str(), s.milliseconds, s.percent);
        if (!o_.save.empty()) {
            CudaencConfig once = config;
            once.async_depth = 1;
            Session session(once);
            session.submit(frames[0]);
            const CudaencPacket packet = session.receive();
            save(std::string("-") + c.name + ".j2k", packet.data, packet.size);
            cudaenc_buffer_free(packet.buffer);
        }

        json_.open('{');
        json_.put("case", c.name);
        json_.put("picture", picture.name);
        json_.put("width", c.format.width);
        json_.put("height", c.format.height);
        json_.put("depth", c.format.depth);
        json_.put("format", c.format.layout == Layout::kRgb ? "rgb planar" : "yuv422 planar");
        json_.put("wavelet", c.lossless ? "5/3" : "9/7");
        json_.put("cblk", c.cblk);
        json_.put("quality", c.lossless ? 0 : config.j2k.quality);
        if (config.threads) json_.put("threads", config.threads);
        put_rates(c, single, multis);
        json_.open("stages", '[');
        for (const Stage &s : stages) {
            json_.open('{');
            json_.put("name", s.name);
            json_.put("ms", s.milliseconds);
            json_.put("percent", s.percent);
            json_.close('}');
        }
        json_.close(']');
        rows_.push_back({picture.name, c.name, single.bytes_per_frame, 8 * single.bytes_per_frame / c.pixels(),
                         c.lossless ? "-" : std::to_string(config.j2k.quality), config.threads,
                         single.milliseconds.median, best.fps.median, best.depth});
        measure_peer(picture, c, frames, single, best);
        json_.close('}');
    }

    // nvJPEG2000, where the program has it and frames are on the first GPU.
    void measure_peer(const Picture &picture, const Case &c, const Frames &frames, const Single &own_single,
                      const Multi &own_best) {
        if (!has_nvjpeg2k() || !device_ || o_.nvjpeg2k == "no" || (o_.device != "cuda" && o_.device != "cuda:0"))
            return;
        PeerResult peer;
        try {
            peer = measure_nvjpeg2k(o_.nvjpeg2k, c, frames, o_.effort, {1, 4, 8, 16});
        } catch (const Error &e) {
            std::printf("  nvJPEG2000 is not measured: %s\n", e.what());
            return;
        }
        std::printf("  %s%s, a state and a stream for each of 1 .. 16 threads\n", peer.name.c_str(),
                    c.lossless ? "" : format_string(", Q-factor %.2f", peer.quality).c_str());
        print_single(c, peer.single);
        for (const Multi &m : peer.multis) print_multi(m);
        const Multi &best = best_of(peer.multis);
        const double own_ms = own_single.milliseconds.median, ms = peer.single.milliseconds.median;
        std::printf("  best     %9.1f fps with %d threads; cudaenc: %.2f times as fast single, %.2f times multi\n",
                    best.fps.median, best.depth, ms / own_ms, own_best.fps.median / best.fps.median);
        std::fflush(stdout);
        json_.open("peer", '{');
        json_.put("name", peer.name);
        json_.put("quality", peer.quality);
        put_rates(c, peer.single, peer.multis);
        json_.put("cudaenc_single_times", ms / own_ms);
        json_.put("cudaenc_multi_times", own_best.fps.median / best.fps.median);
        json_.close('}');
        rows_.push_back({picture.name, "  nvJPEG2000", peer.single.bytes_per_frame,
                         8 * peer.single.bytes_per_frame / c.pixels(),
                         c.lossless ? "-" : format_string("%.1f", peer.quality), 0, ms, best.fps.median, best.depth});
        if (!o_.save.empty())
            save(std::string("-") + c.name + "-peer.j2k", peer.first_stream.data(), peer.first_stream.size());
    }

    static void print_single(const Case &c, const Single &single) {
        const Spread &ms = single.milliseconds;
        std::printf("  size     %.0f bytes/frame, %.3f bits/pixel\n", single.bytes_per_frame,
                    8 * single.bytes_per_frame / c.pixels());
        std::printf("  single   %9.3f ms = %.1f fps  (%zu frames, %.3f .. %.3f ms)\n", ms.median, 1e3 / ms.median,
                    ms.all.size(), ms.least, ms.most);
        std::fflush(stdout);
    }
    static void print_multi(const Multi &m) {
        std::printf("  multi %-2d %9.1f fps  (%zu runs of %d frames, %.1f .. %.1f)\n", m.depth, m.fps.median,
                    m.fps.all.size(), m.frames, m.fps.least, m.fps.most);
        std::fflush(stdout);
    }
    static const Multi &best_of(const std::vector<Multi> &multis) {
        return *std::max_element(multis.begin(), multis.end(),
                                 [](const Multi &a, const Multi &b) { return a.fps.median < b.fps.median; });
    }
    void put_rates(const Case &c, const Single &single, const std::vector<Multi> &multis) {
        json_.put("bytes_per_frame", single.bytes_per_frame);
        json_.put("bits_per_pixel", 8 * single.bytes_per_frame / c.pixels());
        json_.put("single_ms", single.milliseconds);
        json_.put("single_fps", 1e3 / single.milliseconds.median);
        json_.open("multi", '[');
        for (const Multi &m : multis) {
            json_.open('{');
            json_.put("depth", m.depth);
            json_.put("frames", m.frames);
            json_.put("fps", m.fps);
            json_.close('}');
        }
        json_.close(']');
        json_.put("best_fps", best_of(multis).fps.median);
        json_.put("best_depth", best_of(multis).depth);
    }

    void save(const std::string &ending, const uint8_t *data, size_t size) const {
        std::ofstream out(o_.save + ending, std::ios::binary);
        out.write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
        out.close();
        if (!out) throw Error(CUDAENC_ERR_INVALID, "cannot write " + o_.save + ending);
    }

    void print_table() const {
        std::printf("\n%-18s %9s %6s %4s %9s %8s %9s %5s\n", "case", "bytes", "bpp", "q", "single ms", "fps",
                    "multi fps", "depth");
        std::string picture;
        for (const Row &r : rows_) {
            if (r.picture != picture) std::printf("%s\n", (picture = r.picture).c_str());
            std::printf("%-18s %9.0f %6.2f %4s %9.3f %8.1f %9.1f %5d%s\n", r.name.c_str(), r.bytes, r.bits_per_pixel,
                        r.quality.c_str(), r.single_ms, 1e3 / r.single_ms, r.multi_fps, r.depth,
                        r.threads ? format_string(" (%d threads)", r.threads).c_str() : "");
        }
    }

    Options o_;
    std::shared_ptr<Device> device_;
    std::string device_text_;
    Json json_;
    std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char **argv) {
    // As users who measure would: streams that share the driver's queues wait for each other (docs/benchmarks.md).
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    try {
        return Bench(parse_options(argc, argv)).run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "cudaenc_bench: %s\n", e.what());
        return 1;
    }
}
