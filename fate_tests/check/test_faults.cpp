// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults: every allocation, device call and start of a thread fails in turn, alone or with all that follow, with all
// codecs and rate controls. The call that meets it gives its code, nothing is lost, and later packets have their bytes.
// With --all at every point; else at the first and the last one of each call stack, and at some others. What an earlier
// case of the codec tried is known, unless later packets depend on other things.
#include <dlfcn.h>
#include <pthread.h>

#include <csignal>
#include <new>

#include "fault_device.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

// ---- What may fail

namespace {

Failures allocations, device_calls, threads;
std::atomic<long> living_allocations{0};

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (allocations.fails()) return nullptr;
    void *memory = nullptr;
    if (posix_memalign(&memory, std::max(alignment, sizeof(void *)), size ? size : 1)) return nullptr;
    living_allocations++;
    return std::memset(memory, 0xA5, size);  // nothing is zero by chance
}
void *allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void *memory = allocate(size, alignment)) return memory;
    throw std::bad_alloc();
}
void deallocate(void *memory) noexcept {
    living_allocations -= memory != nullptr;
    std::free(memory);
}
constexpr std::size_t kUsual = alignof(std::max_align_t);

}  // namespace

void *operator new(std::size_t size) { return allocate_or_throw(size, kUsual); }
void *operator new[](std::size_t size) { return allocate_or_throw(size, kUsual); }
void *operator new(std::size_t size, std::align_val_t to) { return allocate_or_throw(size, static_cast<size_t>(to)); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, kUsual); }
void operator delete(void *memory) noexcept { deallocate(memory); }
void operator delete[](void *memory) noexcept { deallocate(memory); }
void operator delete(void *memory, std::size_t) noexcept { deallocate(memory); }
void operator delete[](void *memory, std::size_t) noexcept { deallocate(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { deallocate(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { deallocate(memory); }

// In place of the C library's.
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                              void *argument) noexcept {
    using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return threads.fails() ? EAGAIN : create(thread, attributes, start, argument);
}

namespace {

bool at_every_point = false;

// ---- Sessions

constexpr int kPictures = 3;  // of a slot: launches, a graph that is made, a graph that runs; frames take turns

// What later packets depend on.
enum class State {
    none,
    parity,  // how many pictures were before: idr_pic_id alternates, and is another one after a lost picture
    slope,   // of the picture before
    sizes,   // of all pictures before
    chain,   // pictures from the last IDR picture on
};

struct Case {
    const char *name;
    State state;
    CudaencFormat format;
    Content content;
    void (*set)(CudaencConfig &);
    int launch_pictures = 1;  // that share a launch: a failed call of the device loses as many at most
};

const CudaencFormat kGray = make_format(36, 34, 1, 8, false, CUDAENC_COLOR_GRAY),
                    kOneBit = make_format(160, 160, 1, 1, false, CUDAENC_COLOR_GRAY),
                    kNoise = make_format(128, 128, 1, 8, false, CUDAENC_COLOR_GRAY),
                    kRgb = make_format(24, 20, 3, 8, true, CUDAENC_COLOR_RGB),
                    kYuv = make_h264_format(h264_inputs[0], 48, 48);

void set_h264_rate(CudaencH264Options &o, int64_t rate, int64_t max_rate, bool cbr) {
    o.rate_control = CUDAENC_H264_BIT_RATE;
    o.bit_rate = rate;
    o.max_rate = max_rate;
    if (max_rate || cbr) o.buffer_size = 40000, o.hrd = 1;
    o.cbr = cbr;
}

// The target has no room for the boxes of a JP2 file.
template <CudaencJ2kRateControl mode>
void set_ratio(CudaencConfig &c) {
    c.j2k.format = CUDAENC_J2K_CODESTREAM;
    c.j2k.compression_ratio = 5;
    c.j2k.rate_control = mode;
    c.j2k.pst_lag = 1;
}

const Case kCases[] = {
    {"j2k lossless", State::none, kGray, Content::noise,
     [](CudaencConfig &c) {
         c.j2k.pred = CUDAENC_J2K_DWT53, c.j2k.plt = c.j2k.tlm = c.stage_times = 1, c.async_depth = 2;
     }},
    {"j2k fields", State::none, kGray, Content::smooth,
     [](CudaencConfig &c) {
         c.fields = CUDAENC_BOTTOM_FIELD_FIRST, c.j2k.format = CUDAENC_J2K_CODESTREAM, c.async_depth = 2;
     }},
    {"j2k tiles", State::none, kRgb, Content::smooth,
     [](CudaencConfig &c) {
         c.j2k.tile_width = 16, c.j2k.precincts = "16x16", c.j2k.roi = "2,3,9,8", c.j2k.poc = "0,0,1,3,3,rpcl";
         c.j2k.cblk_style = CUDAENC_J2K_BYPASS;
     }},
    {"j2k that outgrows its memory", State::none, kOneBit, Content::noise,
     [](CudaencConfig &c) { c.j2k.pred = CUDAENC_J2K_DWT53; }},
    {"j2k pcrd", State::none, kGray, Content::smooth, set_ratio<CUDAENC_J2K_RATE_PCRD>},
    {"j2k psp", State::none, kGray, Content::smooth, set_ratio<CUDAENC_J2K_RATE_PSP>},
    {"j2k psp, frames apart", State::none, kGray, Content::smooth,
     [](CudaencConfig &c) { set_ratio<CUDAENC_J2K_RATE_PSP>(c), c.async_depth = 3; }},
    {"j2k pst", State::slope, kGray, Content::smooth, set_ratio<CUDAENC_J2K_RATE_PST>},
    {"j2k psb", State::none, kGray, Content::smooth, set_ratio<CUDAENC_J2K_RATE_PSB>},
    {"j2k bpi", State::none, kGray, Content::smooth, set_ratio<CUDAENC_J2K_RATE_BPI>},
    {"j2k psnr", State::none, kGray, Content::smooth, [](CudaencConfig &c) { c.j2k.psnr = 35; }},
    {"j2k layer_rates", State::none, kGray, Content::smooth,
     [](CudaencConfig &c) { c.j2k.format = CUDAENC_J2K_CODESTREAM, c.j2k.layer_rates = "20,8,3"; }},
    {"mjpeg default tables", State::none, kYuv, Content::smooth,
     [](CudaencConfig &c) { c.mjpeg.huffman = CUDAENC_MJPEG_HUFFMAN_DEFAULT, c.mjpeg.restart_interval = 2; }},
    {"mjpeg optimal tables", State::none, kYuv, Content::smooth, [](CudaencConfig &c) { c.async_depth = 2; }},
    {"mjpeg fields", State::none, kYuv, Content::smooth, [](CudaencConfig &c) { c.fields = CUDAENC_TOP_FIELD_FIRST; }},
    {"mjpeg frame_bytes", State::none, kYuv, Content::smooth, [](CudaencConfig &c) { c.mjpeg.frame_bytes = 1500; }},
    {"mjpeg that outgrows its memory", State::none, kNoise, Content::noise,
     [](CudaencConfig &c) { c.mjpeg.quality = 100; }},
    {"h264 qp", State::parity, kYuv, Content::smooth,
     [](CudaencConfig &c) { c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.slices = 2, c.async_depth = 2; }},
    {"h264 effort 0", State::parity, kYuv, Content::smooth,
     [](CudaencConfig &c) { c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.effort = 0, c.async_depth = 2; }},
    {"h264 effort 0, shared launches", State::parity, kYuv, Content::smooth,
     [](CudaencConfig &c) { c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.effort = 0, c.async_depth = 9; }, 3},
    {"h264 crf", State::parity, kYuv, Content::smooth, [](CudaencConfig &c) { c.h264.timecodes = 1; }},
    {"h264 bit rate", State::sizes, kYuv, Content::smooth,
     [](CudaencConfig &c) { set_h264_rate(c.h264, 100000, 0, false); }},
    {"h264 vbv", State::sizes, kYuv, Content::smooth,
     [](CudaencConfig &c) { set_h264_rate(c.h264, 100000, 150000, false), c.async_depth = 3; }},
    {"h264 effort 0, vbv", State::sizes, kYuv, Content::smooth,
     [](CudaencConfig &c) { set_h264_rate(c.h264, 100000, 150000, false), c.h264.effort = 0, c.async_depth = 3; }},
    {"h264 cbr", State::sizes, kYuv, Content::smooth, [](CudaencConfig &c) { set_h264_rate(c.h264, 100000, 0, true); }},
    {"h264 gop", State::chain, kYuv, Content::smooth,
     [](CudaencConfig &c) {
         c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.effort = 0, c.h264.gop_size = 9, c.async_depth = 3;
     }},
    {"h264 gop, vbv", State::chain, kYuv, Content::smooth,
     [](CudaencConfig &c) {
         set_h264_rate(c.h264, 100000, 150000, false);
         c.h264.effort = 0, c.h264.gop_size = 250, c.async_depth = 2;
     }},
    {"h264 lookahead", State::chain, kYuv, Content::smooth,
     [](CudaencConfig &c) {
         c.h264.rate_control = CUDAENC_H264_CONSTANT_QP, c.h264.effort = 0, c.h264.gop_size = 9, c.h264.lookahead = 2;
         c.async_depth = 3;
     }},
    {"h264 fields, gop", State::chain, kYuv, Content::smooth,
     [](CudaencConfig &c) {
         c.fields = CUDAENC_TOP_FIELD_FIRST, c.h264.effort = 0, c.h264.gop_size = 9, c.async_depth = 2;
     }},
    {"h264 capped crf", State::sizes, kYuv, Content::smooth,
     [](CudaencConfig &c) { c.h264.max_rate = 100000, c.h264.buffer_size = 20000; }},
};
constexpr size_t kCaseCount = std::size(kCases);

// "cpu", and what lies beneath the fault device.
std::vector<std::string> devices;
std::shared_ptr<Device> (*open_real_emulator)(const std::string &) = nullptr;
std::shared_ptr<Device> open_fault_device(const std::string &) {
    const std::string &spec = devices.back();
    const bool real = spec.rfind("cuda", 0) == 0;
    return std::make_shared<FaultDevice>(real ? open_cuda_device(spec, nullptr) : open_real_emulator(spec),
                                         device_calls, real);
}

// A log that allocates nothing.
int lines = 0;
void count_line(void *, CudaencLogLevel level, const char *) { lines += level == CUDAENC_LOG_ERROR; }

CudaencConfig config_of(const Case &c, const std::string &device) {
    CudaencConfig config;
    const std::string name = c.name;
    cudaenc_config_defaults(&config, name.rfind("j2k", 0) == 0     ? CUDAENC_CODEC_J2K
                                     : name.rfind("mjpeg", 0) == 0 ? CUDAENC_CODEC_MJPEG
                                                                   : CUDAENC_CODEC_H264);
    config.format = c.format;
    config.device = device == "cpu" ? "cpu" : "emu";  // which stands for the fault device
    config.threads = 3;
    config.async_depth = 1;
    config.log = count_line;
    config.j2k.levels = 2;
    config.h264.effort = 2;  // of cases that do not say another one
    config.h264.frame_rate_num = 25, config.h264.frame_rate_den = 1;
    c.set(config);
    return config;
}

// Of a session, twice.
int pictures_of(const CudaencConfig &config) { return std::max(kPictures, config.async_depth); }

using Packets = std::vector<std::vector<uint8_t>>;

// Pictures, and what their packets may be.
struct Material {
    std::vector<Picture> pictures;
    std::vector<CudaencFrame> frames;
    Packets in_order;                 // of pictures_of(), twice
    std::vector<Packets> of_picture;  // [picture]: what State says
};

const CudaencTimecode kTimecode{1, 2, 3, 4, 0};
const std::vector<uint8_t> kBytes(300, 'm');
const CudaencUserData kUserData{kBytes.data(), 100};

void add_metadata(CudaencFrame &frame) {
    frame.icc_profile = kBytes.data(), frame.icc_profile_size = kBytes.size();
    frame.exif = kBytes.data(), frame.exif_size = kBytes.size();
    frame.timecode = &kTimecode;
    frame.captions = kBytes.data(), frame.captions_size = 9;
    frame.user_data = &kUserData, frame.user_data_count = 1;
}

// The packets of a session without failures, which is flushed as that of Run is: a lookahead ends there.
Packets encode_these(const CudaencConfig &config, const Material &m, const std::vector<int> &order) {
    Packets packets;
    CudaencSession *session;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open");
    const auto receive = [&] {
        for (;;) {
            CudaencPacket packet;
            const int code = cudaenc_receive(session, &packet);
            if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return;
            EXPECT(code == CUDAENC_OK, "receive: %d", code);
            packets.emplace_back(packet.data, packet.data + packet.size);
            cudaenc_buffer_free(packet.buffer);
        }
    };
    for (size_t i = 0; i < order.size(); i++) {
        EXPECT(cudaenc_submit(session, &m.frames[static_cast<size_t>(order[i])]) == CUDAENC_OK, "submit");
        receive();
        if ((i + 1) % static_cast<size_t>(pictures_of(config)) == 0) cudaenc_flush(session), receive();
    }
    cudaenc_flush(session);
    receive();
    cudaenc_close(session);
    EXPECT(packets.size() == order.size(), "%zu packets", packets.size());
    return packets;
}

Material make_material(const Case &c, const CudaencConfig &config) {
    Material m;
    Random random(1);
    for (int i = 0; i < kPictures; i++) {
        m.pictures.push_back(make_picture(random, c.format));
        fill(random, m.pictures.back(), c.content);
    }
    for (const Picture &picture : m.pictures) {
        m.frames.push_back(picture.frame());
        add_metadata(m.frames.back());
    }
    std::vector<int> twice;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < pictures_of(config); i++) twice.push_back(i % kPictures);
    m.in_order = encode_these(config, m, twice);
    for (int i = 0; i < kPictures; i++) {
        Packets &own = m.of_picture.emplace_back();
        if (c.state == State::none) own = {m.in_order[static_cast<size_t>(i)]};
        if (c.state == State::parity || c.state == State::slope) own = encode_these(config, m, {i, i});
        for (int before = 0; c.state == State::slope && before < kPictures; before++)
            own.push_back(encode_these(config, m, {before, i})[1]);
    }
    return m;
}

// A decoded picture is near the one that was coded.
bool shows(const std::vector<uint8_t> &packet, const std::vector<uint8_t> &extradata, const Picture &picture) {
    try {
        const auto decoded = decode_stream(packet, extradata);
        if (decoded.size() != 1) return false;
        long difference = 0;
        for (int y = 0; y < picture.format.height; y++)
            for (int x = 0; x < picture.format.width; x++)
                difference += std::abs(decoded[0].decoded->sample(0, x, y) - static_cast<int>(picture.get(0, x, y)));
        return difference < 40L * picture.format.width * picture.format.height;
    } catch (const std::exception &) {
        return false;
    }
}

long idr_pic_id_of(const std::vector<uint8_t> &packet) {
    for (const Nal &nal : split_stream(packet)) {
        if (nal.type != 5) continue;
        BitReader in(nal.rbsp);
        return parse_slice_header(in).idr_pic_id;
    }
    return -1;
}

// ---- A session with failures

struct Point {
    const char *name, *device, *what;
    long call;
    bool onwards;
} point;

#define EXPECT_HERE(condition, ...)                                                                        \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            const MayFail none(false);                                                                     \
            ck_abort_msg("%s on %s, %s %ld%s: %s", point.name, point.device, point.what, point.call,       \
                         point.onwards ? " and all that follow" : "", format_string(__VA_ARGS__).c_str()); \
        }                                                                                                  \
    } while (0)

void hangs(int) {
    std::fprintf(stderr, "%s on %s, %s %ld%s: hangs\n", point.name, point.device, point.what, point.call,
                 point.onwards ? " and all that follow" : "");
    std::_Exit(EXIT_FAILURE);
}

struct Run {
    const Case &c;
    const CudaencConfig &config;
    const Material &m;
    Failures &failures;
    bool device_may_fail;
    CudaencSession *session = nullptr;
    int accepted = 0, errors = 0, delivered = 0;
    long idr_pic_id = -1;             // of the packet before
    std::vector<uint8_t> chain = {};  // packets from the last IDR picture on, and how many
    size_t chained = 0;

    bool is_allowed(int code) const {
        return code == CUDAENC_ERR_MEMORY || (device_may_fail && code == CUDAENC_ERR_DEVICE);
    }

    // Opens, submits all pictures, receives them; the same for all slots without failures; closes. Returns whether a
    // call failed.
    bool all() {
        lines = 0;
        failures.begin(point.call, point.onwards);
        const int opened = cudaenc_open(&session, &config);
        if (opened != CUDAENC_OK) {
            failures.end();
            EXPECT_HERE(is_allowed(opened) && !session && lines <= 1, "open: %d, %d lines", opened, lines);
            return true;
        }
        pass(pictures_of(config));
        const bool reached = failures.end();
        failures.note(false);
        EXPECT_HERE(delivered + errors == pictures_of(config), "%d packets and %d errors", delivered, errors);
        EXPECT_HERE(lines == errors, "%d lines for %d errors", lines, errors);
        const int before = errors;
        delivered = 0;
        pass(config.async_depth);
        EXPECT_HERE(delivered == config.async_depth && errors == before, "%d packets afterwards", delivered);
        cudaenc_close(session);
        decode_chain();
        return reached;
    }

    void pass(int pictures) {
        for (int i = 0; i < pictures; i++) {
            CudaencFrame frame = m.frames[static_cast<size_t>(i % kPictures)];
            frame.opaque = reinterpret_cast<void *>(static_cast<size_t>(accepted * kPictures + i % kPictures + 1));
            int code;
            while ((code = cudaenc_submit(session, &frame)) == CUDAENC_AGAIN) receive();
            if (code == CUDAENC_OK) {
                accepted++;
                continue;
            }
            EXPECT_HERE(is_allowed(code), "submit: %d", code);
            errors++;
        }
        cudaenc_flush(session);
        while (receive() != CUDAENC_EOF) {
        }
    }

    int receive() {
        CudaencPacket packet;
        const int code = cudaenc_receive(session, &packet);
        if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return code;
        EXPECT_HERE(packet.opaque, "a packet of no frame");
        const size_t tag = reinterpret_cast<size_t>(packet.opaque) - 1;
        if (code != CUDAENC_OK) {
            EXPECT_HERE(is_allowed(code) && !packet.buffer, "receive: %d", code);
            errors++;
            return code;
        }
        delivered++;
        check(packet, tag / kPictures, tag % kPictures);
        cudaenc_buffer_free(packet.buffer);
        return code;
    }

    void check_chain(const CudaencPacket &packet, const std::vector<uint8_t> &bytes, size_t number) {
        EXPECT_HERE(errors || number >= m.in_order.size() || bytes == m.in_order[number],
                    "packet %zu has other bytes without an error", number);
        if (!packet.delta) decode_chain();
        chain.insert(chain.end(), bytes.begin(), bytes.end());
        chained++;
    }

    // After an error all that is delivered can be decoded, from an IDR picture on. Begins another chain.
    void decode_chain() {
        const MayFail none(false);
        size_t decoded = 0;
        try {
            if (chained) decoded = decode_stream(chain).size() / (config.fields ? 2 : 1);
        } catch (const std::exception &) {
        }
        EXPECT_HERE(decoded == chained, "of %zu packets from an IDR picture on %zu can be decoded after %d errors",
                    chained, decoded, errors);
        chain.clear();
        chain.shrink_to_fit();  // so that nothing is left
        chained = 0;
    }

    // number: of the pictures that were accepted.
    void check(const CudaencPacket &packet, size_t number, size_t picture) {
        const MayFail none(false);
        const std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
        if (c.state == State::chain) return check_chain(packet, bytes, number);
        if (config.codec == CUDAENC_CODEC_H264) {
            const long before = std::exchange(idr_pic_id, idr_pic_id_of(bytes));
            EXPECT_HERE(idr_pic_id >= 0 && idr_pic_id != before, "packet %zu has the idr_pic_id of the one before, %ld",
                        number, before);
        }
        if (!errors && bytes == m.in_order[number]) return;
        const Packets &allowed = m.of_picture[picture];
        const bool known = c.state == State::parity ? bytes == allowed[number % 2]
                                                    : std::find(allowed.begin(), allowed.end(), bytes) != allowed.end();
        const bool other = c.state == State::sizes || (c.state == State::parity && idr_pic_id == 2);
        const bool same = other ? errors && shows(bytes, {}, m.pictures[picture]) : known;
        EXPECT_HERE(same, "packet %zu, of picture %zu, is wrong after %d errors", number, picture, errors);
    }
};

// ---- Tests

enum Kind { kAllocations, kDeviceCalls, kThreads, kKinds };
Failures *const kFailures[] = {&allocations, &device_calls, &threads};
const char *const kKindNames[] = {"allocation", "device call", "thread"};
// Besides the points of each site.
constexpr long kStrides[] = {97, 11, 1};
SharedSet *known_sites = nullptr;  // of all cases

START_TEST(every_call_may_fail) {
    const Case &c = kCases[static_cast<size_t>(_i) / kKinds / devices.size()];
    const std::string &device = devices[static_cast<size_t>(_i) / kKinds % devices.size()];
    const Kind kind = static_cast<Kind>(_i % kKinds);
    if (kind == kDeviceCalls && device == "cpu") return;
    // Keeps the GPU's context, which takes longer to make than all else.
    const auto held = device.rfind("cuda", 0) == 0 ? open_cuda_device(device, nullptr) : nullptr;
    Failures &failures = *kFailures[kind];
    const CudaencConfig config = config_of(c, device);
    const Material m = make_material(c, config);
    std::signal(SIGALRM, hangs);

    const char *const slow = std::getenv("CK_TIMEOUT_MULTIPLIER");  // an instrumented program, or a busy machine
    const unsigned seconds = 30 * static_cast<unsigned>(slow ? std::max(1, std::atoi(slow)) : 1);
    int most_lost = 0;  // by one failed call
    const auto run = [&](long call, bool onwards) {
        point = {c.name, device.c_str(), kKindNames[kind], call, onwards};
        const long before = living_allocations;
        alarm(seconds);
        Run session{c, config, m, failures, kind == kDeviceCalls};
        const bool reached = session.all();
        alarm(0);
        if (!onwards) most_lost = std::max(most_lost, session.errors);
        EXPECT_HERE(living_allocations == before, "%ld allocations are left", living_allocations - before);
        return reached;
    };
    if (config.codec == CUDAENC_CODEC_H264) shows(m.in_order[0], {}, m.pictures[0]);  // makes the decoder's tables
    // Cases with the same codec, device and dependencies of packets recover from a failure in the same way.
    const uint64_t group = ((config.codec * 2 + (device == "cpu")) * kKinds + kind) * 100 +
                           static_cast<uint64_t>(c.state) * 10 + static_cast<uint64_t>(c.launch_pictures);
    failures.note(true);
    run(0, false);
    run(0, false);
    const std::vector<long> points = failures.points(kStrides[kind], group, *known_sites);
    long tried = 0, reached = 0;
    for (const bool onwards : {false, true}) {
        if (at_every_point)
            for (long call = 1; run(call, onwards); call++) tried++, reached++;
        else
            for (size_t i = 0; i < points.size(); i += onwards ? 3 : 1) tried++, reached += run(points[i], onwards);
    }
    std::printf("%s on %s: %ld of %ld points where a %s fails\n", c.name, device.c_str(), reached, tried,
                kKindNames[kind]);
    std::fflush(stdout);
    if (kind == kDeviceCalls)
        EXPECT(most_lost == c.launch_pictures, "%s: a failed call loses %d pictures", c.name, most_lost);
    if (!(kind == kThreads && points.empty())) EXPECT(reached > 0);  // a device without threads of the host
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    std::vector<char *> arguments;
    for (int i = 0; i < argc; i++) {
        if (std::string(argv[i]) == "--all")
            at_every_point = true;
        else
            arguments.push_back(argv[i]);
    }
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");  // with more of them pictures share no launches
    take_arguments(static_cast<int>(arguments.size()), arguments.data());
    // The CPU and one emulator, or what the arguments name.
    const std::string beneath = device_specs.empty() ? "cpu" : device_specs[0];
    const bool emulated = beneath.rfind("emu", 0) == 0;
    if (emulated || beneath == "cpu") devices.push_back("cpu");
    if (beneath != "cpu") {
        devices.push_back(beneath);
        open_real_emulator = std::exchange(open_emulator, open_fault_device);
    }
    SharedSet known;
    known_sites = &known;
    Suite *suite = suite_create("faults");
    for (size_t i = 0; i < kCaseCount; i++) {
        const int tests = static_cast<int>(devices.size()) * kKinds;
        TCase *tcase = add_case(suite, kCases[i].name);
        if (at_every_point) tcase_set_timeout(tcase, 3600);
        tcase_add_loop_test(tcase, every_call_may_fail, static_cast<int>(i) * tests, static_cast<int>(i + 1) * tests);
    }
    return run_suite(suite);
}
