// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264's rate control through the C API: the average and the decoder's buffer, over clips with cuts, fades, static
// parts and noise; what it costs against constant quality; levels; reconstructions.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../../common/h264/h264_pipeline.h"
#include "../../common/h264/syntax/levels.h"
#include "../../common/thread_pool.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "reconstructions.h"
#include "session_packets.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

constexpr int kWidth = 112, kHeight = 96, kFps = 25;
const CudaencFormat kFormat = make_h264_format(h264_inputs[0], kWidth, kHeight);

// A scene: noise of some octaves that moves, as bright and as detailed as its number says.
Picture draw(int scene, int time, double brightness) {
    Random random(1);  // what is beyond the samples
    Picture picture = make_picture(random, kFormat);
    const auto lattice = [&](int x, int y, int octave) {
        Random at(static_cast<uint64_t>(((scene * 8 + octave) * 4096 + (y & 4095)) * 4096 + (x & 4095)) + 77);
        return static_cast<double>(at.word() >> 8) / (1 << 24) - 0.5;
    };
    for (int c = 0; c < 3; c++) {
        const int scale = c ? 2 : 1;
        for (int y = 0; y < picture.component_rows(c); y++)
            for (int x = 0; x < picture.columns(c); x++) {
                double value = 0;
                for (int octave = 0; octave < 4; octave++) {
                    const double cell = 32.0 / (1 << octave), px = (x * scale + 1.3 * time) / cell + 100 * c;
                    const double py = (y * scale + 0.7 * time) / cell + 100;
                    const int ix = static_cast<int>(px), iy = static_cast<int>(py);
                    const double fx = px - ix, fy = py - iy;
                    const double top = lattice(ix, iy, octave) * (1 - fx) + lattice(ix + 1, iy, octave) * fx;
                    const double bottom = lattice(ix, iy + 1, octave) * (1 - fx) + lattice(ix + 1, iy + 1, octave) * fx;
                    value += (top * (1 - fy) + bottom * fy) * 160 / (1 << octave) * (octave > 1 ? 1 + scene % 3 : 1);
                }
                const double grey = c ? 128 : 16, level = c ? value / 2 : 120 + value;
                const double shown = c ? 128 + level * brightness : grey + (level - grey) * brightness;
                picture.set(c, x, y, static_cast<uint32_t>(std::clamp(std::lround(shown), 0L, 255L)));
            }
    }
    return picture;
}

Picture noise(int seed) {
    Random random(static_cast<uint64_t>(seed) + 1000);
    return make_picture(random, kFormat, Content::noise);
}

// 200 pictures: cuts, a fade out and in, a static part, a flash of noise.
const std::vector<Picture> &clip() {
    static const std::vector<Picture> pictures = [] {
        std::vector<Picture> p;
        for (int i = 0; i < 40; i++) p.push_back(draw(0, i, 1));
        for (int i = 0; i < 30; i++) p.push_back(draw(1, i, 1));
        for (int i = 0; i < 12; i++) p.push_back(draw(1, 30 + i, 1 - (i + 1) / 15.0));
        for (int i = 0; i < 12; i++) p.push_back(draw(3, i, (i + 3) / 15.0));
        for (int i = 0; i < 30; i++) p.push_back(draw(2, 0, 1));
        for (int i = 0; i < 2; i++) p.push_back(noise(i));
        for (int i = 0; i < 40; i++) p.push_back(draw(i / 5 % 3, i, 1));
        for (int i = 0; i < 34; i++) p.push_back(draw(5, i, 1));
        EXPECT(p.size() == 200, "%zu pictures", p.size());
        return p;
    }();
    return pictures;
}

struct AnyLog : Log {
    static void print_all(void *opaque, CudaencLogLevel level, const char *line) {
        if (level <= CUDAENC_LOG_WARNING) static_cast<Log *>(opaque)->lines.push_back(line);
    }
};

// Frames of a variable rate that are left out before the nth.
using Skipped = uint64_t (*)(size_t n);
uint64_t none_skipped(size_t) { return 0; }

std::vector<std::vector<uint8_t>> encode(const CudaencConfig &config, const std::vector<Picture> &pictures,
                                         size_t count, Skipped skipped = none_skipped,
                                         std::vector<double> *qps = nullptr) {
    Packets coded = encode_pictures(
        config, pictures, count, [&](CudaencSession *, CudaencFrame &frame, size_t n) { frame.skipped = skipped(n); });
    EXPECT(coded.packets.size() == count, "%zu packets", coded.packets.size());
    if (qps) *qps = coded.qualities;
    return coded.packets;
}

struct SliceInfo {
    int qp;
    ParsedSps sps;
    double delay = 0;  // initial_cpb_removal_delay, s
};
SliceInfo look_at(const std::vector<uint8_t> &packet) {
    SliceInfo info{};
    ParsedPps pps{};
    for (const Nal &nal : split_stream(packet)) {
        if (nal.type == 7) info.sps = parse_sps(nal);
        if (nal.type == 8) pps = parse_pps(nal);
        if (nal.type == 6) {
            BitReader in(nal.rbsp);
            if (in.u(8)) continue;
            in.u(8);
            in.ue();
            info.delay = in.u(info.sps.hrd_lengths[0]) / 90000.0;
        }
        if (nal.type != 5) continue;
        BitReader in(nal.rbsp);
        info.qp = pps.pic_init_qp + parse_slice_header(in).qp_delta;
        return info;
    }
    return info;
}

// C.1.2 and C.3, of a schedule that gives bits at `rate` and begins `delay` before the first removal: an access unit
// has arrived when it is removed, and with cbr, where bits come all the time, the buffer never holds more than its
// size.
void check_arrivals(const std::vector<std::vector<uint8_t>> &packets, double rate, double size, bool cbr, double delay,
                    double fps, const std::string &what, Skipped skipped = none_skipped) {
    double arrived = 0, held_before = 0, frames = 0;
    for (size_t n = 0; n < packets.size(); n++, frames++) {
        frames += static_cast<double>(skipped(n));
        const double removal = delay + frames / fps, bits = 8 * static_cast<double>(packets[n].size());
        // (C-2): not before the buffer has room, which is the whole buffer's time before the removal.
        const double begin = cbr ? arrived : std::max(arrived, removal - size / rate);
        arrived = begin + bits / rate;
        EXPECT(arrived <= removal + 1e-7, "%s: picture %zu of %.0f bits comes %.6f s late", what.c_str(), n, bits,
               arrived - removal);
        if (cbr) {
            const double held = rate * removal - held_before;
            EXPECT(held <= size + 1, "%s: %.1f bits before picture %zu, the buffer has %.0f", what.c_str(), held, n,
                   size);
        }
        held_before += bits;
    }
}

struct Mode {
    const char *name;
    double bit_rate, max_rate, buffer;  // kbit/s, kbit
    int cbr, crf;
};
constexpr Mode kModes[] = {
    {"average", 400, 0, 0, 0, 0},
    {"average, low", 160, 0, 0, 0, 0},
    {"average, high", 900, 0, 0, 0, 0},
    {"capped", 400, 800, 800, 0, 0},
    {"capped far off", 300, 1500, 1500, 0, 0},
    {"capped at it", 400, 400, 400, 0, 0},
    {"constant", 400, 0, 400, 1, 0},
    {"constant, tight", 500, 0, 100, 1, 0},
    {"one frame", 500, 0, 20, 1, 0},
    {"capped quality", 0, 400, 400, 0, 10},
    {"capped, tight", 0, 500, 100, 0, 14},
};

// Effort 0 plans QPs ahead.
constexpr int kEfforts[] = {1, 0}, kEffortCount = 2;

CudaencConfig make_rate_config(const Mode &mode, Log *log, int effort = 1) {
    CudaencConfig config = make_h264_config(kFormat, "cpu", log);
    CudaencH264Options &o = config.h264;
    o.effort = effort;
    o.frame_rate_num = kFps;
    if (mode.bit_rate > 0) o.rate_control = CUDAENC_H264_BIT_RATE, o.bit_rate = std::lround(1000 * mode.bit_rate);
    o.max_rate = std::lround(1000 * mode.max_rate);
    o.buffer_size = std::lround(1000 * mode.buffer);
    o.cbr = mode.cbr;
    if (mode.crf) o.qp = mode.crf;
    config.threads = 2;
    return config;
}

// Within 5 % over 200 pictures and within 2 % over 1000; of capped quality, no more than that.
START_TEST(averages_and_buffers) {
    const Mode &mode = kModes[_i / kEffortCount];
    Log log;
    const CudaencConfig config = make_rate_config(mode, &log, kEfforts[_i % kEffortCount]);
    const auto packets = encode(config, clip(), 1000);
    const double rate = 1000 * (mode.bit_rate > 0 ? mode.bit_rate : mode.max_rate);
    double bits = 0;
    for (size_t n = 0; n < packets.size(); n++) {
        bits += 8 * static_cast<double>(packets[n].size());
        if (n != 199 && n != 999) continue;
        const double off = bits / rate / static_cast<double>(n + 1) * kFps - 1, most = n == 199 ? 0.05 : 0.02;
        EXPECT(off <= most && (off >= -most || mode.bit_rate == 0), "%s, effort %d: %+.2f %% over %zu pictures",
               mode.name, config.h264.effort, 100 * off, n + 1);
    }
    if (mode.buffer > 0) {
        const double into = 1000 * (mode.cbr ? mode.bit_rate : mode.max_rate), size = 1000 * mode.buffer;
        check_arrivals(packets, into, size, mode.cbr, 0.9 * size / into, kFps, mode.name);
    }
}
END_TEST

// The same with P pictures. Where nothing moves they cannot be large: at QP 0 the average is missed.
START_TEST(predicted_pictures) {
    const Mode &mode = kModes[_i / 2];
    Log log;
    CudaencConfig config = make_rate_config(mode, &log, 0);
    config.h264.gop_size = _i % 2 ? 250 : 12;
    const std::string what = format_string("%s, gop_size %d", mode.name, config.h264.gop_size);
    std::vector<double> qps;
    const auto packets = encode(config, clip(), 1000, none_skipped, &qps);
    const double rate = 1000 * (mode.bit_rate > 0 ? mode.bit_rate : mode.max_rate);
    double bits = 0;
    for (const auto &packet : packets) bits += 8 * static_cast<double>(packet.size());
    const double off = bits / rate / 1000 * kFps - 1;
    const auto lowest = std::count(qps.begin(), qps.end(), 0);
    EXPECT(off <= 0.02 && (off >= -0.02 || mode.bit_rate == 0 || lowest > 200), "%s: %+.2f %%, %lld pictures at QP 0",
           what.c_str(), 100 * off, static_cast<long long>(lowest));
    if (mode.buffer > 0) {
        const double into = 1000 * (mode.cbr ? mode.bit_rate : mode.max_rate), size = 1000 * mode.buffer;
        check_arrivals(packets, into, size, mode.cbr, 0.9 * size / into, kFps, what);
    }
}
END_TEST

// Of a variable rate the average counts the time of frames that are left out, and so does the buffer.
START_TEST(variable_rate) {
    struct Pattern {
        const char *name;
        Skipped skipped;
    };
    const Pattern patterns[] = {
        {"every fifth", [](size_t n) -> uint64_t { return n ? 4 : 0; }},
        {"still parts", [](size_t n) -> uint64_t { return n % 50 == 49 ? 20 : 0; }},
        {"at random", [](size_t n) -> uint64_t { return n ? Random(n).word() >> 30 : 0; }},
    };
    const Mode modes[] = {{"average", 150, 0, 0, 0, 0},
                          {"capped", 150, 300, 300, 0, 0},
                          {"at it", 150, 150, 300, 0, 0},
                          {"capped quality", 0, 150, 150, 0, 10}};
    for (const Pattern &p : patterns)
        for (const Mode &mode : modes) {
            Log log;
            const CudaencConfig config = make_rate_config(mode, &log, kEfforts[_i]);
            const auto packets = encode(config, clip(), 400, p.skipped);
            const std::string what = format_string("%s, %s", mode.name, p.name);
            double bits = 0, frames = 0;
            for (size_t n = 0; n < packets.size(); n++) {
                bits += 8 * static_cast<double>(packets[n].size());
                frames += 1 + static_cast<double>(p.skipped(n));
            }
            const double rate = mode.bit_rate > 0 ? mode.bit_rate : mode.max_rate;
            const double off = bits / rate / 1000 / frames * kFps - 1;
            EXPECT(off <= 0.05 && (off >= -0.05 || mode.bit_rate == 0), "%s, effort %d: %+.2f %%", what.c_str(),
                   config.h264.effort, 100 * off);
            if (mode.buffer > 0)
                check_arrivals(packets, 1000 * mode.max_rate, 1000 * mode.buffer, false,
                               0.9 * mode.buffer / mode.max_rate, kFps, what, p.skipped);
        }
    // HRD parameters tell of a fixed frame rate.
    Log log;
    CudaencConfig config = make_rate_config(kModes[3], &log, kEfforts[_i]);
    config.h264.hrd = 1;
    EXPECT(encode(config, clip(), 20, patterns[0].skipped) == encode(config, clip(), 20), "hrd: other packets");
}
END_TEST

// Noise that QP 51 cannot make small enough: C.3 holds all the same, and decoders show what was reconstructed.
START_TEST(noise_within_a_buffer) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 60; i++) pictures.push_back(i < 10 ? draw(0, i, 1) : i < 40 ? noise(i) : draw(1, i, 1));
    for (const double rate : {60.0, 120.0, 250.0, 500.0})
        for (const double seconds : {0.04, 0.2, 1.0})
            for (const int way : {0, 1, 2}) {  // capped at the average, cbr, capped quality
                const Mode mode = {"noise", way < 2 ? rate : 0, way == 1 ? 0 : rate, rate * seconds, way == 1, 20};
                Log log;
                const std::string what = format_string("%.0f kbit/s, %.2f s, way %d", rate, seconds, way);
                const auto packets = encode(make_rate_config(mode, &log, kEfforts[_i]), pictures, pictures.size());
                check_arrivals(packets, 1000 * rate, 1000 * mode.buffer, mode.cbr, 0.9 * seconds, kFps, what);
                int most = 0;
                for (const auto &packet : packets) most = std::max(most, look_at(packet).qp);
                EXPECT(most == 51 || rate > 300, "%s: QP %d", what.c_str(), most);
                // Back to what the scene needs.
                EXPECT(look_at(packets.back()).qp < 51 || rate < 100, "%s: QP %d in the end", what.c_str(),
                       look_at(packets.back()).qp);
            }
}
END_TEST

// The average is kept beyond QP 51 as well, with and without a buffer; but not beyond a qp_max that is given, where the
// level has room.
START_TEST(noise_on_average) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 20; i++) pictures.push_back(noise(i));
    const auto rate_of = [&](const CudaencConfig &config, size_t count) {
        double bits = 0;
        for (const auto &packet : encode(config, pictures, count)) bits += 8 * static_cast<double>(packet.size());
        return bits / static_cast<double>(count) * kFps;
    };
    Log log;
    CudaencConfig constant = make_rate_config({"", 0, 0, 0, 0, 51}, &log, kEfforts[_i]);
    constant.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
    const double rate = rate_of(constant, 20) / 10;
    for (const double limit : {0.0, 1.0, 2.0, 5.0})
        for (const int cbr : {0, 1}) {
            if (cbr && limit != 0) continue;
            CudaencConfig config =
                make_rate_config({"", rate / 1000, limit * rate / 1000, 0, cbr, 0}, &log, kEfforts[_i]);
            const double off = rate_of(config, 200) / static_cast<double>(config.h264.bit_rate) - 1;
            EXPECT(std::abs(off) <= 0.05, "max_rate %.0f, cbr %d: %+.2f %%", limit, cbr, 100 * off);
            config.h264.qp_max = 50;
            config.h264.level = 41;
            const double more = rate_of(config, 100) / static_cast<double>(config.h264.bit_rate);
            EXPECT(limit != 0 || cbr || more > 9, "qp_max 50: %.2f times", more);
        }
}
END_TEST

// QPs do not depend on threads, nor on how many pictures are analysed side by side.
START_TEST(plans) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 44; i++) pictures.push_back(i / 2 == 14 ? noise(i) : draw(i < 15 || i > 35 ? 0 : 2, i, 1));
    const struct {
        const char *device;
        int threads, depth;
    } ways[] = {{"cpu", 1, 6}, {"cpu", 5, 12}, {"cpu", 3, 24}, {"emu", 2, 1}, {"emu", 2, 6}, {"emu", 2, 12}};
    for (const Mode &mode : {Mode{"average", 400, 0, 0, 0, 0}, Mode{"constant, tight", 500, 0, 100, 1, 0},
                             Mode{"capped quality", 0, 400, 400, 0, 10}}) {
        Log log;
        CudaencConfig config = make_rate_config(mode, &log, kEfforts[_i]);
        config.h264.hrd = mode.buffer > 0;
        const Skipped skipped = [](size_t n) -> uint64_t { return n % 3; };
        config.async_depth = config.threads = 1;
        const auto expected = encode(config, pictures, pictures.size(), skipped);
        for (const auto &way : ways) {
            config.device = way.device, config.threads = way.threads, config.async_depth = way.depth;
            const auto got = encode(config, pictures, pictures.size(), skipped);
            for (size_t i = 0; i < got.size(); i++)
                EXPECT(got[i] == expected[i], "%s, %s, %d threads, %d in flight: picture %zu is another one", mode.name,
                       way.device, way.threads, way.depth, i);
        }
    }
}
END_TEST

// Holds the second picture until those that are planned with it have been tried.
class HeldPicture : public h264::H264Pipeline {
  public:
    HeldPicture(const h264::Params &params, int slots)
        : H264Pipeline(params, slots, 2, kStageNames, false),
          macroblocks_(static_cast<size_t>(slots) * macroblocks()),
          levels_(static_cast<size_t>(slots) * levels()) {
        for (int slot = 0; slot < slots; slot++) {
            const size_t i = static_cast<size_t>(slot);
            set_output(slot, &macroblocks_[i * macroblocks()], &levels_[i * levels()], nullptr);
        }
    }
    ~HeldPicture() override { stop(); }
    int tried_meanwhile() const { return tried_meanwhile_; }

  private:
    std::optional<PooledBuffer> complete(int slot) override {
        const bool held = pictures_[static_cast<size_t>(slot)].number == 1;
        if (held) {
            std::unique_lock lock(mutex_);
            const int others = static_cast<int>(pictures_.size()) - 2;
            changed_.wait_for(lock, std::chrono::seconds(20), [&] { return tried_ == others; });
            tried_meanwhile_ = tried_;
        }
        if (analyse(slot)) return PooledBuffer();
        const std::lock_guard lock(mutex_);
        tried_++;
        changed_.notify_all();
        return std::nullopt;
    }

    static constexpr const char *kStageNames[] = {"intra pipeline", "cavlc"};
    std::vector<h264::Macroblock> macroblocks_;
    std::vector<int16_t> levels_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int tried_ = 0, tried_meanwhile_ = 0;
};

// Pictures that are planned without each other's bits are tried side by side: here all but the first, which plans know.
START_TEST(first_tries_side_by_side) {
    constexpr int kPictures = h264::kRateDelay + 1;
    Log log;
    const CudaencConfig config = make_rate_config(kModes[_i], &log, 0);
    HeldPicture encoder(h264::make_params(kFormat, config.h264), kPictures);
    for (int i = 0; i < kPictures; i++) encoder.submit(i, clip()[static_cast<size_t>(i)].frame());
    for (int i = 0; i < kPictures; i++) encoder.finish(i);
    EXPECT(encoder.tried_meanwhile() == kPictures - 2, "%s: %d pictures were tried beside the second", kModes[_i].name,
           encoder.tried_meanwhile());
}
END_TEST

// The mean PSNR of luma is at most 0.2 dB below that of constant quality with as many bytes.
START_TEST(quality) {
    const Mode &mode = kModes[_i / kEffortCount];
    std::vector<Picture> pictures;
    for (int i = 0; i < 100; i++) pictures.push_back(draw(i / 25 % 2, i, 1));
    Log log;
    const CudaencConfig config = make_rate_config(mode, &log, kEfforts[_i % kEffortCount]);
    const h264::Params p = h264::make_params(kFormat, config.h264);
    h264::IntraCoder coder(p.picture);
    ThreadPool pool(2);
    std::vector<h264::Macroblock> macroblocks(static_cast<size_t>(p.picture.macroblocks()));
    std::vector<int16_t> levels(macroblocks.size() * 16 * 26);
    const auto psnr = [&](const Picture &picture, int qp, double &bytes) {
        SampleLayout layouts[3];
        const CudaencFrame frame = picture.frame();
        for (int c = 0; c < 3; c++) layouts[c] = {frame.data[c], frame.stride[c], 1, 0, 8};
        coder.encode(layouts, {qp, p.effort, p.aq_strength}, pool, macroblocks.data(), levels.data());
        bytes += static_cast<double>(coder.bits()) / 8 + 70;
        return 10 * std::log10(65025.0 * kWidth * kHeight / static_cast<double>(coder.luma_distortion() + 1));
    };
    double bytes = 0, got = 0;
    for (size_t i = 0; const auto &packet : encode(config, pictures, pictures.size()))
        got += psnr(pictures[i++], look_at(packet).qp, bytes) / 100;
    double above = 0, above_bytes = 0;
    for (int qp = 0; qp <= 51; qp++) {
        double here = 0, here_bytes = 0;
        for (const Picture &picture : pictures) here += psnr(picture, qp, here_bytes) / 100;
        if (here_bytes <= bytes) {
            EXPECT(qp > 0, "%s: QP 0 is too small", mode.name);
            const double part = std::log(above_bytes / bytes) / std::log(above_bytes / here_bytes);
            const double wanted = above + (here - above) * part;
            EXPECT(got > wanted - 0.2, "%s: %.2f dB, constant quality has %.2f", mode.name, got, wanted);
            return;
        }
        above = here, above_bytes = here_bytes;
    }
    ck_abort_msg("%s: too few bytes", mode.name);
}
END_TEST

// Annex C by what the stream tells of a buffer of exactly one frame.
START_TEST(hrd_of_one_frame) {
    for (const int cbr : {0, 1}) {
        Log log;
        CudaencConfig config = make_rate_config({"", 800, cbr ? 0.0 : 800, 32, cbr, 0}, &log, kEfforts[_i]);
        config.h264.hrd = 1;
        const auto packets = encode(config, clip(), 200);
        const SliceInfo first = look_at(packets[0]);
        EXPECT(first.sps.hrd_bit_rate == 800000 && first.sps.hrd_size == 32000 && first.sps.fixed_frame_rate == 1,
               "%llu bits/s, %llu bits", static_cast<unsigned long long>(first.sps.hrd_bit_rate),
               static_cast<unsigned long long>(first.sps.hrd_size));
        check_arrivals(packets, 800000, 32000, cbr, first.delay, kFps, cbr ? "cbr" : "vbr");
    }
    if (_i) return;
    // What clocks of 90 kHz and 16 bits leave nothing of is refused.
    Log log;
    CudaencConfig config = make_rate_config({"", 1000000, 0, 16, 1, 0}, &log);
    config.h264.hrd = 1;
    CudaencSession *session;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_ERR_INVALID && log.lines.size() == 1 &&
               log.lines[0].find("buffer_size 16000 is not allowed") != std::string::npos,
           "'%s'", log.lines.empty() ? "" : log.lines[0].c_str());
}
END_TEST

// Rates at the ends of what options allow: a picture is coded, and no sum runs over (UndefinedBehaviorSanitizer).
START_TEST(extreme_rates) {
    for (const int64_t rate : {int64_t{1}, int64_t{1'200'000'000}, int64_t{4'000'000'000}})
        for (const int den : {1, 1001, std::numeric_limits<int>::max()})
            for (const int cbr : {0, 1}) {
                Log log;
                CudaencConfig config = make_rate_config({"", 1, 0, 0, cbr, 0}, &log);
                config.h264.bit_rate = rate;
                config.h264.frame_rate_num = 1;
                config.h264.frame_rate_den = den;
                CudaencSession *session;
                const int code = cudaenc_open(&session, &config);
                cudaenc_close(session);
                // A second's buffer is less than a frame, or no level has the rate.
                EXPECT((code == CUDAENC_ERR_INVALID && log.lines.size() == 1) || code == CUDAENC_OK, "code %d", code);
                if (code != CUDAENC_OK || cbr) continue;
                config.h264.qp_min = 20;
                encode(config, clip(), 5);
            }
}
END_TEST

// The lowest level that does not bind, and a warning where a given one does.
START_TEST(levels_do_not_harm) {
    struct Case {
        int width, height, fps, crf, level;
    };
    constexpr Case cases[] = {
        {1280, 720, 30, 20, 41},  {1280, 720, 25, 0, 50},   {1920, 1080, 25, 20, 41},  {1920, 1080, 25, 0, 51},
        {1920, 1080, 60, 40, 42}, {1280, 720, 60, 8, 50},   {352, 288, 30, 30, 32},    {352, 288, 172, 51, 41},
        {352, 288, 173, 51, 60},  {1280, 720, 240, 51, 60}, {1920, 1080, 240, 51, 60}, {3840, 2160, 30, 20, 51},
        {352, 288, 1000, 51, 60},
    };
    AnyLog log;
    for (const Case &c : cases) {
        CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[0], c.width, c.height), "cpu", &log);
        config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
        config.h264.qp = c.crf;
        config.h264.frame_rate_num = c.fps;
        const h264::Params p = h264::make_params(config.format, config.h264);
        EXPECT(p.sets.level_idc == c.level && p.warning.empty(), "%dx%d, %d/s, QP %d: level %d, %s", c.width, c.height,
               c.fps, c.crf, p.sets.level_idc, p.warning.c_str());
    }
    // Pictures of detail at QP 0: level 1.1 has no room for them, the chosen one does not raise QP.
    CudaencConfig config = make_h264_config(kFormat, "cpu", &log);
    config.log = AnyLog::print_all;
    config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
    config.h264.frame_rate_num = 70;
    config.h264.qp = 0;
    for (const int level : {0, 11}) {
        config.h264.level = level;
        log.lines.clear();
        int highest = 0;
        for (const auto &packet : encode(config, {draw(2, 0, 1), draw(5, 0, 1), noise(1)}, 21))
            highest = std::max(highest, look_at(packet).qp);
        EXPECT((highest > 0) == (level > 0), "level %d: QP %d", level, highest);
        EXPECT(log.lines.size() == (level > 0) && (!level || log.lines[0].find("level 1.1 is low") == 0),
               "level %d: %zu lines", level, log.lines.size());
    }
}
END_TEST

// A.3.1 i), A.3.3 g): of noise, the bits/s at constant QP and quality are within those of the level, as the frame rate
// is told; and a level that is chosen up to 4.2 leaves the QP as it is.
START_TEST(noise_within_its_level) {
    AnyLog log;
    for (const int profile : {CUDAENC_H264_CONSTRAINED_BASELINE, CUDAENC_H264_HIGH, CUDAENC_H264_CAVLC_444_INTRA})
        for (const int qp : {4, 18, 30, 45})
            for (const int level : {0, 11}) {
                CudaencConfig config = make_h264_config(kFormat, "cpu", &log);
                config.log = AnyLog::print_all;
                config.h264.profile = profile;
                config.h264.level = level;
                config.h264.qp = qp;
                config.h264.effort = _i;
                config.h264.frame_rate_num = 60;
                log.lines.clear();
                double bits = 0;
                int highest = 0;
                SliceInfo info{};
                const auto packets = encode(config, {noise(1), noise(2)}, 4);
                for (const auto &packet : packets) {
                    info = look_at(packet);
                    highest = std::max(highest, info.qp);
                    bits += 8 * static_cast<double>(packet.size());
                }
                const auto has = std::find_if(std::begin(h264::kLevels), std::end(h264::kLevels),
                                              [&](const h264::Level &l) { return l.idc == info.sps.level_idc; });
                const int factor = profile == CUDAENC_H264_CONSTRAINED_BASELINE ? 1000
                                   : profile == CUDAENC_H264_HIGH               ? 1250
                                                                                : 4000;
                const double most = has->bit_rate * static_cast<double>(factor);
                EXPECT(bits / 4 * 60 <= most, "profile %d, QP %d: level %d, %.0f bits/s of %.0f", profile, qp,
                       info.sps.level_idc, bits / 4 * 60, most);
                EXPECT(level || (highest == qp && log.lines.empty()), "profile %d, QP %d: QP %d in level %d", profile,
                       qp, highest, info.sps.level_idc);
                EXPECT(highest == qp || !log.lines.empty(), "QP %d became %d, unsaid", qp, highest);
            }
}
END_TEST

// Budgets of about a byte a macroblock, headers included: C.3 holds at every effort.
START_TEST(byte_a_macroblock) {
    std::vector<Picture> pictures;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 352, 288);
    for (int i = 0; i < 3; i++) {
        Random random(static_cast<uint64_t>(i));
        pictures.push_back(make_picture(random, format));
        fill(random, pictures.back(), Content::noise);
    }
    for (const int hrd : {0, 1}) {
        AnyLog log;
        const double rate = 8 * 396 * 60;
        CudaencConfig config = make_rate_config({"", 0, rate / 1000, rate / 4000, 0, 20}, &log, _i);
        config.format = format;
        config.log = AnyLog::print_all;
        config.h264.frame_rate_num = 60;
        config.h264.hrd = hrd;
        const auto packets = encode(config, pictures, 80);
        const SliceInfo first = look_at(packets[0]);
        const double into = hrd ? static_cast<double>(first.sps.hrd_bit_rate) : rate;
        const double size = hrd ? static_cast<double>(first.sps.hrd_size) : rate / 4;
        check_arrivals(packets, into, size, false, hrd ? first.delay : 0.9 * size / into, 60,
                       format_string("effort %d, hrd %d", _i, hrd));
        EXPECT(log.lines.empty(), "effort %d: %s", _i, log.lines.empty() ? "" : log.lines[0].c_str());
    }
}
END_TEST

// Cuts between black, a chart, white and noise: bits that some leave, noise takes. Without a buffer of their own,
// streams keep to their level's (A.3.3 g, C.3), which has room for four times the average.
START_TEST(cuts_on_average) {
    for (const int length : {12, 30, 60})
        for (const double limit : {0.0, 4.0}) {
            std::vector<Picture> pictures;
            for (int i = 0; i < 4 * length; i++) {
                Random random(1);
                Picture picture = i / length == 3 ? noise(i) : make_picture(random, kFormat);
                if (i / length != 3)
                    for (int c = 0; c < 3; c++)
                        for (int y = 0; y < picture.component_rows(c); y++)
                            for (int x = 0; x < picture.columns(c); x++)
                                picture.set(c, x, y,
                                            c                 ? 128
                                            : i / length == 0 ? 16
                                            : i / length == 3
                                                ? 235
                                                : static_cast<uint32_t>(16 + (x / 8 * 29 + y / 8 * 13) % 200));
                pictures.push_back(picture);
            }
            Log log;
            CudaencConfig config = make_rate_config({"", 400, 400 * limit, 0, 0, 0}, &log, kEfforts[_i]);
            const auto packets = encode(config, pictures, 960);
            double bits = 0;
            for (const auto &packet : packets) bits += 8 * static_cast<double>(packet.size());
            const double off = bits / 960 * kFps / 400000 - 1;
            EXPECT(std::abs(off) <= 0.02, "cuts of %d, max_rate %.0f: %+.2f %%", length, limit, 100 * off);
            const int idc = look_at(packets[0]).sps.level_idc;
            const auto level = std::find_if(std::begin(h264::kLevels), std::end(h264::kLevels),
                                            [&](const h264::Level &l) { return l.idc == idc; });
            const double into = level->bit_rate * 1250.0, size = level->buffer_size * 1250.0;
            check_arrivals(packets, into, size, false, size / into, kFps,
                           format_string("level %d, cuts of %d", idc, length));
        }
}
END_TEST

// The VUI says no more of reordering than it has to.
START_TEST(bitstream_restriction) {
    for (int profile = CUDAENC_H264_CONSTRAINED_BASELINE; profile <= CUDAENC_H264_CAVLC_444_INTRA; profile++) {
        Log log;
        CudaencConfig config = make_h264_config(kFormat, "cpu", &log);
        config.h264.profile = profile;
        const ParsedSps sps = look_at(encode(config, {draw(0, 0, 1)}, 1)[0]).sps;
        const bool implied = profile >= CUDAENC_H264_HIGH;
        EXPECT(sps.max_dec_frame_buffering == (implied ? -1 : 1), "profile %d: %d", profile,
               sps.max_dec_frame_buffering);
        EXPECT((sps.constraint_sets >> 4 & 1) == implied && sps.fixed_frame_rate == 0, "profile %d", profile);
    }
}
END_TEST

// The pipelines' own reconstruction, on the CPU and on a device, is what decoders show.
START_TEST(reconstructions) {
    const std::vector<Picture> pictures = {draw(0, 0, 1), noise(1), noise(2), noise(3), noise(4), draw(2, 0, 1)};
    Reconstructions reconstructions;
    for (const char *device : {"cpu", "emu"}) {
        Log log;
        CudaencConfig config = make_rate_config({"", 60, 0, 30, 1, 0}, &log);
        config.device = device;
        std::vector<uint8_t> stream;
        for (const auto &packet : encode(config, pictures, pictures.size()))
            stream.insert(stream.end(), packet.begin(), packet.end());
        std::vector<std::string> shown;
        add_checksums(decode_stream(stream), shown);
        const std::vector<std::string> got = reconstructions.take();
        EXPECT(got == shown, "%s: %zu and %zu reconstructions", device, got.size(), shown.size());
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    clip();  // here, since each test is a process of its own
    Suite *suite = suite_create("h264_rate");
    constexpr int kCount = kEffortCount * static_cast<int>(std::size(kModes));
    TCase *rates = add_case(suite, "rates");
    tcase_add_loop_test(rates, averages_and_buffers, 0, kCount);
    tcase_add_loop_test(rates, predicted_pictures, 0, 2 * static_cast<int>(std::size(kModes)));
    tcase_add_loop_test(rates, quality, 0, kCount);
    for (const TTest *test : {variable_rate, noise_within_a_buffer, noise_on_average, plans, hrd_of_one_frame})
        tcase_add_loop_test(rates, test, 0, kEffortCount);
    tcase_add_loop_test(rates, noise_within_its_level, 0, 4);
    tcase_add_loop_test(rates, byte_a_macroblock, 0, 4);
    tcase_add_loop_test(rates, cuts_on_average, 0, kEffortCount);
    tcase_add_loop_test(rates, first_tries_side_by_side, 0, static_cast<int>(std::size(kModes)));
    tcase_add_test(rates, extreme_rates);
    TCase *others = add_case(suite, "others");
    for (const TTest *test : {levels_do_not_harm, bitstream_restriction, reconstructions}) tcase_add_test(others, test);
    return run_suite(suite);
}
