// SPDX-License-Identifier: LGPL-2.1-or-later
// cudaenc_bench: how fast the encoders are. docs/benchmarks.md says what is measured and how to read it.
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
#include "../papers/cavlc.h"
#include "../papers/jpeg_starts.h"
#include "../papers/papers.h"
#include "../papers/tier1.h"
#include "cases.h"
#include "h264.h"
#include "jpeg_decode.h"
#include "jpeg_psnr.h"
#include "json.h"
#include "measure.h"
#include "memory.h"
#include "options.h"
#include "peer_nvjpeg.h"
#include "peer_nvjpeg2k.h"
#include "peer_openjpeg.h"
#include "picture.h"

using namespace cudaenc;
using namespace cudaenc::bench;

namespace {

constexpr const char *kDefaultCases = "4k-lossless,4k-lossy,hd-lossless,hd-lossy";
constexpr const char *kFewerCases = "4k-lossless,4k-lossy";

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
    double bits_per_pixel;
    std::string quality;
    size_t first_bytes;  // of the first frame, which the PSNR is of
    double psnr;         // dB; 0: not measured
    int threads;
    double single_ms, multi_fps;
    std::string in_flight;
    double single_times = 0, multi_times = 0;  // of a peer: how many times as fast cudaenc is
};

class Bench {
  public:
    explicit Bench(Options options) : o_(std::move(options)) {}

    // Returns the program's exit code.
    int run() {
        if (o_.cases.empty()) o_.cases = o_.mode == Mode::kRates ? kDefaultCases : kFewerCases;
        const std::vector<Case> cases = choose_cases(o_.cases);
        choose_device();
        if (o_.mode == Mode::kSmoke) return smoke();
        if (std::any_of(cases.begin(), cases.end(), [](const Case &c) { return c.is_j2k(); })) open_openjpeg();
        begin();
        bool good = true;
        json_.open("rows", '[');
        if (o_.files.empty()) {
            good = measure_pictures({generate_picture(3840, 2160)}, cases);
        } else if (plays_video()) {
            for (const std::string &file : o_.files) {
                Pictures pictures = read_video(file, o_.yuv);
                for (size_t i = pictures.size(); i-- > 2;) pictures.push_back(pictures[i - 1]);
                o_.frames = static_cast<int>(pictures.size());
                good &= measure_pictures(pictures, cases);
            }
        } else if (o_.rotation) {
            Pictures pictures;
            for (const std::string &file : o_.files) pictures.push_back(read_picture(file, o_.yuv));
            good = measure_pictures(pictures, cases);
        } else {
            for (const std::string &file : o_.files) good &= measure_pictures({read_picture(file, o_.yuv)}, cases);
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
        // Some modes launch kernels here; else the session opens the emulator, and frames lie in host memory.
        const bool launches = o_.mode == Mode::kTier1 || o_.mode == Mode::kCibo || o_.mode == Mode::kCavlc ||
                              o_.mode == Mode::kMemory || o_.mode == Mode::kStarts || o_.mode == Mode::kPapers ||
                              o_.mode == Mode::kSmoke;
        if (launches && !device_) {
            if (!open_emulator || o_.device.rfind("emu", 0) != 0)
                throw Error(CUDAENC_ERR_INVALID,
                            "-tier1, -cibo, -cavlc, -starts, -papers, -memory and -smoke need a device that runs "
                            "kernels: cuda or emu");
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
        if (o_.effort.depths.empty() && o_.mode != Mode::kRates && o_.mode != Mode::kDecode)
            o_.effort.depths =
                o_.mode == Mode::kTier1 || o_.mode == Mode::kCibo ? std::vector<int>{1, 4, 8, 16} : std::vector<int>{4};
    }

    // What Effort leaves open, by the case.
    std::vector<int> depths_of(const Case &c) const {
        if (!o_.effort.depths.empty()) return o_.effort.depths;
        if (!device_) return {2, 4};
        return c.is_j2k() ? std::vector<int>{2, 4, 8, 16} : std::vector<int>{2, 4, 8, 16, 32};
    }
    std::vector<int> sessions_of(const Case &c) const {
        return o_.effort.sessions.empty() && device_ && !c.is_j2k() ? std::vector<int>{2, 4} : o_.effort.sessions;
    }

    // PSNR is measured where it is there.
    void open_openjpeg() {
        if (o_.openjpeg == "no" || (o_.mode != Mode::kRates && o_.mode != Mode::kPapers)) return;
        try {
            openjpeg_ = std::make_unique<OpenJpeg>(o_.openjpeg);
        } catch (const Error &e) {
            std::fprintf(stderr, "warning: OpenJPEG and PSNR are not measured: %s\n", e.what());
        }
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
        const char *const packets = !device_ ? "host" : o_.device_packets ? "GPU" : "pinned host";
        const char *const frames = !device_ || o_.memory == Memory::kHost ? "host"
                                   : o_.memory == Memory::kPinned         ? "pinned host"
                                                                          : "GPU";
        std::printf("boundary  A: pixels in %s memory to finished bytes in %s memory\n", frames, packets);
        if (plays_video())
            std::printf("frames    all of the file, there and back\n");
        else
            std::printf(
                "frames    %d distinct in rotation: %s, and cyclic shifts by\n"
                "          odd numbers of columns and rows\n",
                o_.frames, o_.rotation ? "all pictures in turn" : "each picture");
        json_.open('{');
        json_.put("program", "cudaenc_bench");
        json_.put("version",
                  format_string("%d.%d.%d", CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR, CUDAENC_VERSION_PATCH));
        json_.put("date", today());
        json_.put("command", o_.command);
        json_.put("device", device_text_);
        json_.put("driver", driver);
        json_.put("cpu", cpu_name());
        json_.put("boundary", format_string("A: %s memory to %s memory", frames, packets));
        if (device_) json_.put("cuda_device_max_connections", queues);
        if (!plays_video()) json_.put("distinct_frames", o_.frames);
        json_.put("frames_made_by", plays_video() ? "all frames of the file, there and back"
                                                  : "cyclic shifts of the picture by odd numbers of columns and rows");
    }

    // P pictures need frames that follow each other.
    bool plays_video() const { return o_.gop > 1 && !o_.yuv.empty(); }

    using Pictures = std::vector<Picture>;

    static std::string name_of(const Pictures &pictures) {
        return pictures.size() == 1 ? pictures[0].name : std::to_string(pictures.size()) + " pictures in turn";
    }

    bool measure_pictures(const Pictures &pictures, const std::vector<Case> &cases) {
        std::printf("\n");
        for (size_t i = 0; i < (plays_video() ? 1 : pictures.size()); i++)
            std::printf("picture   %s, %dx%d, %d bit\n", pictures[i].name.c_str(), pictures[i].width,
                        pictures[i].height, pictures[i].depth);
        bool good = true;
        if (o_.mode == Mode::kPapers) return measure_papers(pictures, o_.effort.runs, o_.small);
        if (o_.mode == Mode::kCavlc) {
            using Size = std::pair<int, int>;
            const std::vector<Size> sizes = o_.sizes.empty() ? std::vector<Size>{{1280, 720}, {3840, 2160}} : o_.sizes;
            for (const auto &[width, height] : sizes)
                good &= compare_cavlc(
                    device_, pictures[0], width, height,
                    o_.qualities.empty() ? std::vector<int>{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50} : o_.qualities,
                    std::min(o_.frames, 4), o_.effort.runs, json_);
            return good;
        }
        if (o_.mode == Mode::kH264) {
            using Size = std::pair<int, int>;
            const std::vector<Size> sizes = o_.sizes.empty() ? std::vector<Size>{{1920, 1080}, {3840, 2160}} : o_.sizes;
            const bool on_device = device_ && o_.device.rfind("cuda", 0) == 0;
            for (const auto &[width, height] : sizes)
                measure_h264(on_device ? device_ : nullptr, o_.device, pictures,
                             {.width = width,
                              .height = height,
                              .layout = o_.yuv444 ? Layout::kYuv444 : Layout::kYuv420,
                              .gop = o_.gop,
                              .lookahead = o_.lookahead,
                              .fields = o_.fields,
                              .qps = o_.qualities.empty() ? std::vector<int>{17, 22, 27, 32, 37} : o_.qualities,
                              .slices = o_.slices.empty() ? std::vector<int>{1} : o_.slices,
                              .kernels = o_.kernels},
                             o_.effort, o_.frames, o_.x264, json_);
            return good;
        }
        for (Case c : cases) {
            c.fields = o_.fields;
            if (c.is_j2k())
                c.style = o_.style, c.tile = o_.tile;
            else
                c.trellis = o_.trellis, c.restart = o_.restart;
            if (o_.sizes.empty()) good &= measure_size(pictures, c);
            for (const auto &[width, height] : o_.sizes) {
                c.format.width = width, c.format.height = height;
                good &= measure_size(pictures, c);
            }
        }
        return good;
    }

    bool measure_size(const Pictures &pictures, const Case &c) {
        bool good = true;
        switch (o_.mode) {
            case Mode::kTier1:
            case Mode::kCibo:
                if (!c.is_j2k()) throw Error(CUDAENC_ERR_INVALID, "-tier1 and -cibo are of JPEG 2000's cases");
                good &= compare_tier1(device_, pictures[0], c, o_.mode == Mode::kCibo,
                                      o_.qualities.empty() ? 0 : o_.qualities.front(), o_.effort.depths, o_.effort.runs,
                                      json_);
                break;
            case Mode::kMemory:
                print_session_memory(device_, c, o_.effort.depths.front(),
                                     Frames(pictures, c.format, o_.frames, device_), json_);
                break;
            case Mode::kDecode:
                decode(pictures, c);
                break;
            case Mode::kStarts:
                good &= decode_from_starts(pictures, c);
                break;
            case Mode::kEndurance:
                good &= endure(pictures, c);
                break;
            default:
                measure_case(pictures, c);
        }
        return good;
    }

    bool measure_papers(const Pictures &pictures, int runs, bool small) const {
        const PaperRun run{device_, pictures, runs, small, openjpeg_.get()};
        bool good = measure_bruns(run);
        good &= measure_matela(run);
        good &= measure_martinez(run);
        good &= measure_fuentes(run);
        return measure_patel(run) && good;
    }

    // A few seconds on the emulator. Ends as the other tests do, with the sum.
    int smoke() {
        const Picture picture = generate_picture(100, 72);
        int passed = 0, failed = 0;
        json_.open('[');
        (measure_papers({picture}, 1, true) ? passed : failed)++;
        (compare_cavlc(device_, picture, picture.width, picture.height, {0, 25, 50}, 2, 1, json_) ? passed : failed)++;
        for (Case c : choose_cases("4k-lossless,4k-lossy,4k-422p10-lossy,4k-cblk64-lossless,4k-cblk64-lossy,mjpeg")) {
            c.format.width = picture.width;
            c.format.height = picture.height;
            if (c.is_j2k()) {
                (compare_tier1(device_, picture, c, false, 0, {1, 2}, 1, json_) ? passed : failed)++;
                (compare_tier1(device_, picture, c, true, 0, {1, 2}, 1, json_) ? passed : failed)++;
                c.style = CUDAENC_J2K_BYPASS;
                (compare_tier1(device_, picture, c, false, 0, {1, 2}, 1, json_) ? passed : failed)++;
            }
            const Frames frames({picture}, c.format, 3, nullptr);
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
            if (!streams_equal) std::printf("  %s: the streams of %s and cpu differ\n", c.name, o_.device.c_str());
            (streams_equal ? passed : failed)++;
            if (c.name == std::string("mjpeg-4k-420")) {
                Case small = c;
                small.format.width = 32, small.format.height = 32;
                (decode_from_starts({picture}, small) ? passed : failed)++;
            }
            {
                json_.open('{');
                measure_decoding(c.codec, {}, nullptr, o_.device, streams[0],
                                 {.single_frames = 1, .runs = 1, .run_seconds = 0, .depths = {}, .sessions = {}}, {2},
                                 {2}, {.nvjpeg = "no", .turbojpeg = "", .nvjpeg2k = "no", .only = ""}, json_);
                json_.close('}');
            }
            // Nothing that decodes is far from its picture.
            if (!c.is_j2k() && !c.fields)
                (jpeg_psnr(c.format, frames.first_on_host(), streams[0][0]) > 30 ? passed : failed)++;
        }
        std::printf("\n%d passed, %d failed\n", passed, failed);
        return failed != 0;
    }

    // Frames in the memory that boundary A begins in, on the device that is measured.
    CudaencConfig config_of(const Case &c) const {
        CudaencConfig config = make_config(c, o_.device.c_str());
        config.device_frames = device_ != nullptr && o_.device.rfind("cuda", 0) == 0 && o_.memory == Memory::kDevice;
        config.device_packets = o_.device_packets;
        return config;
    }

    // The streams of a case, as pictures that are decoded.
    static CodedPictures code(CudaencConfig config, const Frames &frames) {
        config.device_packets = 0;
        CodedPictures coded;
        Session session(config);
        for (int i = 0; i < frames.count(); i++) {
            session.submit(frames[static_cast<size_t>(i)]);
            session.flush();
            const CudaencPacket packet = session.receive();
            coded.emplace_back(packet.data, packet.data + packet.size);
            cudaenc_buffer_free(packet.buffer);
        }
        return coded;
    }

    void decode(const Pictures &pictures, const Case &c) {
        CudaencConfig config = config_of(c);
        if (c.is_j2k() && !c.lossless && !c.profile)
            config.j2k.frame_bytes = o_.frame_bytes.empty() ? static_cast<int>(c.target_bytes()) : o_.frame_bytes[0];
        const Frames frames(pictures, c.format, o_.frames, config.device_frames ? device_ : nullptr);
        std::vector<int> qualities = o_.qualities;
        if (qualities.empty()) qualities = {c.is_j2k() ? -1 : quality_of(config)};
        for (const int quality : qualities) {
            quality_of(config) = quality;
            std::printf("\n%s%s: %s\n", c.name, quality < 0 ? "" : format_string(", quality %d", quality).c_str(),
                        c.text().c_str());
            json_.open('{');
            json_.put("case", c.name);
            json_.put("picture", name_of(pictures));
            json_.put("width", c.format.width);
            json_.put("height", c.format.height);
            json_.put("quality", quality);
            json_.put("restart", c.restart);
            json_.put("fields", c.fields);
            json_.put("style", style_text(c.style));
            json_.put("tile", c.tile);
            json_.put("lowres", o_.lowres);
            json_.put("region", o_.region);
            measure_decoding(
                c.codec, {.lowres = o_.lowres, .region = o_.region}, config.device_frames ? device_ : nullptr,
                o_.device, code(config, frames), o_.effort, depths_of(c), sessions_of(c),
                {.nvjpeg = o_.nvjpeg, .turbojpeg = o_.turbojpeg, .nvjpeg2k = o_.nvjpeg2k, .only = o_.peers}, json_);
            json_.close('}');
        }
    }

    bool decode_from_starts(const Pictures &pictures, const Case &c) {
        if (c.is_j2k()) throw Error(CUDAENC_ERR_INVALID, "-starts is of JPEG's cases");
        const CudaencConfig config = make_config(c, "cpu");
        const CodedPictures coded = code(config, Frames(pictures, c.format, 1, nullptr));
        std::printf("\n%s: %s\n", c.name, c.text().c_str());
        json_.open('{');
        json_.put("case", c.name);
        json_.put("picture", name_of(pictures));
        json_.put("width", c.format.width);
        json_.put("height", c.format.height);
        const bool whole = measure_jpeg_starts(device_, coded[0], o_.effort.runs, json_);
        json_.close('}');
        return whole;
    }

    bool endure(const Pictures &pictures, const Case &c) {
        CudaencConfig config = config_of(c);
        const Frames frames(pictures, c.format, o_.frames, config.device_frames ? device_ : nullptr);
        config.async_depth = o_.effort.depths.front();
        config.threads = o_.threads.back();
        std::printf("\n%s: %s, async_depth %d\n", c.name, c.text().c_str(), config.async_depth);
        json_.open('{');
        json_.put("case", c.name);
        json_.put("width", c.format.width);
        json_.put("height", c.format.height);
        json_.put("async_depth", config.async_depth);
        const bool flat = measure_endurance(config, frames, o_.endurance_frames, json_);
        json_.close('}');
        return flat;
    }

    void measure_case(const Pictures &pictures, const Case &c) {
        CudaencConfig config = config_of(c);
        const Frames frames(pictures, c.format, o_.frames, device_, o_.memory);
        std::printf("\n%s: %s\n", c.name, c.text().c_str());
        if (c.profile) return measure(name_of(pictures), c, config, frames);
        std::vector<int> qualities = {quality_of(config)};
        if (c.is_j2k() && o_.rate_control) {
            config.j2k.rate_control = o_.rate_control;
            quality_of(config) = o_.qualities.empty() ? -1 : o_.qualities.front();
            std::vector<int> sizes = o_.frame_bytes;
            if (sizes.empty()) sizes = {static_cast<int>(c.target_bytes())};
            for (const int bytes : sizes) {
                std::printf("  target   %d bytes\n", bytes);
                config.j2k.frame_bytes = bytes;
                measure(name_of(pictures), c, config, frames);
            }
            return;
        }
        if (!c.lossless) {
            if (!o_.qualities.empty()) {
                qualities = o_.qualities;
            } else if (c.is_j2k()) {
                qualities = {find_quality(config, frames, c.target_bytes())};
                std::printf("  quality  %d: the highest for which the picture takes at most %zu bytes\n", qualities[0],
                            c.target_bytes());
            }
        }
        for (const int quality : qualities)
            for (const int threads : o_.threads) {
                quality_of(config) = quality;
                config.threads = threads;
                measure(name_of(pictures), c, config, frames);
            }
    }

    void measure(const std::string &picture, const Case &c, CudaencConfig config, const Frames &frames) {
        const int quality = c.lossless || c.profile ? 0 : quality_of(config);
        if (config.threads) std::printf("  threads  %d\n", config.threads);
        Spread copies;
        if (device_ && o_.memory != Memory::kDevice) {
            copies = measure_copies(*device_, frames, o_.effort);
            std::printf("  copies   %9.1f fps to the GPU alone, %.1f GB/s  (%.1f .. %.1f fps)\n", copies.median,
                        copies.median * static_cast<double>(frames.bytes()) * 1e-9, copies.least, copies.most);
        }
        if (quality && (o_.qualities.size() > 1 || !c.is_j2k())) std::printf("  quality  %d\n", quality);
        const Single single = measure_single(config, frames, o_.effort);
        print_single(c, single);
        std::vector<Multi> multis;
        const auto add = [&](int sessions, int depth) {
            multis.push_back(measure_multi(config, frames, sessions, depth, o_.effort));
            print_multi(multis.back());
        };
        for (const int depth : depths_of(c)) add(1, depth);
        for (const int sessions : sessions_of(c))
            if (sessions > 1) add(sessions, kSessionDepth);
        const Multi &best = best_of(multis);
        std::printf("  best     %9.1f fps with %s in flight\n", best.fps.median, best.in_flight().c_str());
        const std::vector<Stage> stages = measure_stages(config, frames);
        for (const Stage &s : stages)
            std::printf("  %-18s %8.3f ms  %5.1f %%\n", s.name.c_str(), s.milliseconds, s.percent);
        const std::vector<uint8_t> first = code_first(config, frames);
        const double psnr = measure_psnr(c, frames, first);
        print_psnr(first.size(), psnr);
        save(picture, c, "cudaenc", first);

        json_.open('{');
        json_.put("case", c.name);
        json_.put("picture", picture);
        json_.put("width", c.format.width);
        json_.put("height", c.format.height);
        json_.put("depth", c.format.depth);
        json_.put("what", c.text());
        if (c.is_j2k()) {
            json_.put("wavelet", c.lossless ? "5/3" : "9/7");
            json_.put("cblk", c.cblk);
            json_.put("style", style_text(c.style));
        }
        json_.put("quality", quality);
        if (config.j2k.frame_bytes) json_.put("rate_control", config.j2k.rate_control);
        if (config.j2k.frame_bytes) json_.put("frame_bytes", static_cast<size_t>(config.j2k.frame_bytes));
        put_psnr(first.size(), psnr);
        if (config.threads) json_.put("threads", config.threads);
        if (!copies.all.empty()) json_.put("copies_fps", copies);
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
        rows_.push_back({picture, c.name, 8 * single.bytes_per_frame / c.pixels(),
                         c.lossless ? "-" : std::to_string(quality), first.size(), psnr, config.threads,
                         single.milliseconds.median, best.fps.median, best.in_flight()});
        json_.open("peers", '[');
        if (!c.profile && o_.memory == Memory::kDevice)
            measure_nvidia(picture, c, frames, quality, first.size(), single, best);
        if (c.is_j2k() && !c.profile) measure_openjpeg(picture, c, frames, config.threads, first.size(), single);
        json_.close(']');
        json_.close('}');
    }

    // nvJPEG2000 or nvJPEG, where the program has it and frames are on the first GPU. quality, bytes: of cudaenc's
    // first frame; JPEG is asked for the same quality, JPEG 2000 for the same size.
    void measure_nvidia(const std::string &picture, const Case &c, const Frames &frames, int quality, size_t bytes,
                        const Single &own_single, const Multi &own_best) {
        const char *const name = c.is_j2k() ? "nvJPEG2000" : "nvJPEG";
        const std::string &library = c.is_j2k() ? o_.nvjpeg2k : o_.nvjpeg;
        if (!(c.is_j2k() ? has_nvjpeg2k() : has_nvjpeg()) || !device_ || library == "no" ||
            (o_.device != "cuda" && o_.device != "cuda:0"))
            return;
        PeerResult peer;
        try {
            const std::vector<int> threads = {1, 4, 8, 16};
            peer = c.is_j2k() ? measure_nvjpeg2k(library, c, frames, bytes, o_.effort, threads)
                              : measure_nvjpeg(library, c, frames, quality, o_.effort, threads);
        } catch (const Error &e) {
            std::printf("  %s is not measured: %s\n", name, e.what());
            return;
        }
        std::printf("  %s, a state and a stream for each of 1 .. 16 threads\n", peer.name.c_str());
        print_single(c, peer.single);
        for (const Multi &m : peer.multis) print_multi(m);
        const Multi &best = best_of(peer.multis);
        const double own_ms = own_single.milliseconds.median, ms = peer.single.milliseconds.median;
        std::printf("  best     %9.1f fps with %d threads; cudaenc: %.2f times as fast single, %.2f times multi\n",
                    best.fps.median, best.depth, ms / own_ms, own_best.fps.median / best.fps.median);
        json_.open('{');
        json_.put("name", peer.name);
        put_rates(c, peer.single, peer.multis);
        json_.put("cudaenc_single_times", ms / own_ms);
        json_.put("cudaenc_multi_times", own_best.fps.median / best.fps.median);
        Row row{picture,
                std::string("  ") + name,
                8 * peer.single.bytes_per_frame / c.pixels(),
                "-",
                0,
                0,
                0,
                ms,
                best.fps.median,
                best.in_flight(),
                ms / own_ms,
                own_best.fps.median / best.fps.median};
        json_.open("first_frame", '[');
        for (const PeerStream &stream : peer.first_streams) {  // of all ways to ask for a size, the best PSNR counts
            const double psnr = measure_psnr(c, frames, stream.bytes);
            std::printf("  %s %.4g:\n", stream.quality_type.c_str(), stream.value);
            print_psnr(stream.bytes.size(), psnr);
            json_.open('{');
            json_.put("asked_by", stream.quality_type);
            json_.put("value", stream.value);
            put_psnr(stream.bytes.size(), psnr);
            json_.close('}');
            save(picture, c, std::string(name) + "-" + stream.quality_type.substr(0, 1), stream.bytes);
            if (row.first_bytes && psnr <= row.psnr) continue;
            row.first_bytes = stream.bytes.size();
            row.psnr = psnr;
            if (!c.lossless) row.quality = stream.quality_type.substr(0, 1) + format_string(" %.3g", stream.value);
        }
        json_.close(']');
        json_.close('}');
        rows_.push_back(row);
    }

    // OpenJPEG's encoder beside the CPU's.
    void measure_openjpeg(const std::string &picture, const Case &c, const Frames &frames, int threads, size_t bytes,
                          const Single &own) {
        if (!openjpeg_ || o_.device != "cpu") return;
        std::vector<uint8_t> first;
        const Single single = openjpeg_->encode(c, frames, static_cast<double>(bytes), threads, o_.effort, first);
        std::printf("  %s, %d threads on one frame\n", openjpeg_->name().c_str(), threads);
        print_single(c, single);
        const double psnr = measure_psnr(c, frames, first), ms = single.milliseconds.median;
        print_psnr(first.size(), psnr);
        save(picture, c, "openjpeg", first);
        json_.open('{');
        json_.put("name", openjpeg_->name());
        json_.put("threads", threads);
        put_single(c, single);
        put_psnr(first.size(), psnr);
        json_.put("cudaenc_single_times", ms / own.milliseconds.median);
        json_.close('}');
        rows_.push_back({picture, "  OpenJPEG", 8 * single.bytes_per_frame / c.pixels(), "-", first.size(), psnr,
                         threads, ms, 1e3 / ms, "1", ms / own.milliseconds.median, 0});
    }

    static std::vector<uint8_t> code_first(CudaencConfig config, const Frames &frames) {
        config.async_depth = 1;
        config.device_packets = 0;  // the bytes are the same
        Session session(config);
        session.submit(frames[0]);
        const CudaencPacket packet = session.receive();
        std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
        cudaenc_buffer_free(packet.buffer);
        return bytes;
    }

    // 0: not measured.
    double measure_psnr(const Case &c, const Frames &frames, const std::vector<uint8_t> &stream) const {
        if (!c.is_j2k()) return c.fields ? 0 : jpeg_psnr(c.format, frames.first_on_host(), stream);
        return openjpeg_ && !c.lossless && !c.profile ? openjpeg_->psnr(c, frames.first_on_host(), stream) : 0;
    }
    static void print_psnr(size_t bytes, double psnr) {
        if (psnr > 0) std::printf("  psnr     %9.3f dB over all samples of the first frame, %zu bytes\n", psnr, bytes);
        std::fflush(stdout);
    }
    void put_psnr(size_t bytes, double psnr) {
        json_.put("first_frame_bytes", bytes);
        if (psnr > 0) json_.put("psnr_db", psnr);
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
        std::printf("  multi %-4s %7.1f fps  (%zu runs of %d frames, %.1f .. %.1f)\n", m.in_flight().c_str(),
                    m.fps.median, m.fps.all.size(), m.frames, m.fps.least, m.fps.most);
        std::fflush(stdout);
    }
    static const Multi &best_of(const std::vector<Multi> &multis) {
        return *std::max_element(multis.begin(), multis.end(),
                                 [](const Multi &a, const Multi &b) { return a.fps.median < b.fps.median; });
    }
    void put_single(const Case &c, const Single &single) {
        json_.put("bytes_per_frame", single.bytes_per_frame);
        json_.put("bits_per_pixel", 8 * single.bytes_per_frame / c.pixels());
        json_.put("single_ms", single.milliseconds);
        json_.put("single_fps", 1e3 / single.milliseconds.median);
    }
    void put_rates(const Case &c, const Single &single, const std::vector<Multi> &multis) {
        put_single(c, single);
        json_.open("multi", '[');
        for (const Multi &m : multis) {
            json_.open('{');
            json_.put("depth", m.depth);
            if (m.sessions > 1) json_.put("sessions", m.sessions);
            json_.put("frames", m.frames);
            json_.put("fps", m.fps);
            json_.close('}');
        }
        json_.close(']');
        json_.put("best_fps", best_of(multis).fps.median);
        json_.put("best_depth", best_of(multis).depth);
        if (best_of(multis).sessions > 1) json_.put("best_sessions", best_of(multis).sessions);
    }

    void save(const std::string &picture, const Case &c, const std::string &encoder,
              const std::vector<uint8_t> &stream) const {
        if (o_.save.empty()) return;
        const std::string stem = picture.substr(0, picture.rfind('.')),
                          file = o_.save + "-" + stem + "-" + c.name + "-" + encoder + (c.is_j2k() ? ".j2k" : ".jpg");
        std::ofstream out(file, std::ios::binary);
        out.write(reinterpret_cast<const char *>(stream.data()), static_cast<std::streamsize>(stream.size()));
        out.close();
        if (!out) throw Error(CUDAENC_ERR_INVALID, "cannot write " + file);
    }

    void print_table() const {
        std::printf("\n%-20s %9s %6s %7s %7s %9s %8s %9s %5s\n", "case", "bytes", "bpp", "quality", "PSNR", "single ms",
                    "fps", "multi fps", "depth");
        std::string picture;
        for (const Row &r : rows_) {
            if (r.picture != picture) std::printf("%s\n", (picture = r.picture).c_str());
            std::printf("%-20s %9zu %6.3f %7s %7s %9.3f %8.1f %9.1f %5s", r.name.c_str(), r.first_bytes,
                        r.bits_per_pixel, r.quality.c_str(), r.psnr > 0 ? format_string("%.3f", r.psnr).c_str() : "-",
                        r.single_ms, 1e3 / r.single_ms, r.multi_fps, r.in_flight.c_str());
            if (r.threads) std::printf(" (%d threads)", r.threads);
            if (r.single_times > 0) std::printf("  cudaenc %.2f times single", r.single_times);
            if (r.multi_times > 0) std::printf(", %.2f multi", r.multi_times);
            std::printf("\n");
        }
        std::printf("bytes, PSNR: of the first frame; bpp: mean over all\n");
    }

    Options o_;
    std::shared_ptr<Device> device_;
    std::string device_text_;
    std::unique_ptr<OpenJpeg> openjpeg_;
    Json json_;
    std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char **argv) {
    // As users who measure would: streams that share the driver's queues wait for each other (docs/experiments).
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    try {
        return Bench(parse_options(argc, argv)).run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "cudaenc_bench: %s\n", e.what());
        return 1;
    }
}
