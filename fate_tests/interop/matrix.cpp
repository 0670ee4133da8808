// SPDX-License-Identifier: LGPL-2.1-or-later
// Encodes a small picture by a line of options, and has libavcodec's decoder and OpenJPEG's library read the stream:
// many lines in one process. matrix.py chooses the options and judges; matrix.sh builds this. Usage: matrix FOLDER
// <lines A line is NUMBER PIXEL_FORMAT WIDTHxHEIGHT CONTENT SEED TASKS OPTION=VALUE...; TASKS, joined by commas:
//   jpeg2000, openjpeg  decoders to be asked
//   emu                 the emulator's stream as well
//   files               leaves FOLDER/NUMBER.jp2, and .samples as the decoder has them, in words of the machine's order
//   source              in the place of a decoder: .samples are the source's
// Answers with one line of fields between tabs, NUMBER first, then name=value:
//   refused, line       the error's code; what the encoder said (once for each line)
//   bytes, emu          the packet's size; whether the emulator's is the same
//   DECODER             how far it is from the source, at most; -1: another size or depth, or no picture
//   DECODER.line        what it said, warnings and errors
//   jpeg2000.format     the pixel format that it chose
//   between             how far the two decoders are from each other
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <openjpeg.h>
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace {

struct Component {
    int width, height, depth;
    std::vector<uint16_t> samples;
};
using Picture = std::vector<Component>;

// The greatest difference of two samples, -1 for pictures of different shapes.
int distance(const Picture &a, const Picture &b) {
    int most = a.size() == b.size() ? 0 : -1;
    for (size_t c = 0; c < a.size() && most >= 0; c++) {
        if (a[c].width != b[c].width || a[c].height != b[c].height || a[c].depth != b[c].depth) return -1;
        for (size_t i = 0; i < a[c].samples.size(); i++)
            most = std::max(most, std::abs(a[c].samples[i] - b[c].samples[i]));
    }
    return most;
}

// What libraries said since it was emptied, in one line each.
std::vector<std::string> said;
void say(const char *text) {
    std::string line = text;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    for (char &c : line)
        if (c == '\t' || c == '\n') c = ' ';
    if (!line.empty()) said.push_back(line);
}
void log_of_ffmpeg(void *, int level, const char *format, va_list arguments) {
    if (level > AV_LOG_WARNING) return;
    char line[1024];
    std::vsnprintf(line, sizeof line, format, arguments);
    say(line);
}

struct FrameDeleter {
    void operator()(AVFrame *frame) const { av_frame_free(&frame); }
};
struct PacketDeleter {
    void operator()(AVPacket *packet) const { av_packet_free(&packet); }
};
struct CodecDeleter {
    void operator()(AVCodecContext *context) const { avcodec_free_context(&context); }
};
using Frame = std::unique_ptr<AVFrame, FrameDeleter>;
using Packet = std::unique_ptr<AVPacket, PacketDeleter>;
using Codec = std::unique_ptr<AVCodecContext, CodecDeleter>;

struct Line {
    std::string number, format, content, tasks;
    int width = 0, height = 0;
    uint64_t seed = 0;
    std::vector<std::string> options;

    bool asks(const std::string &task) const { return ("," + tasks + ",").find("," + task + ",") != std::string::npos; }
};

// The same numbers everywhere (xorshift64*).
struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}
    unsigned below(unsigned n) {
        state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
        return static_cast<unsigned>((state * 0x2545F4914F6CDD1Du >> 32) * n >> 32);
    }
};

unsigned sample(Random &random, const std::string &content, int x, int y, int c, unsigned limit, int width) {
    const unsigned ramp = static_cast<unsigned>(x * 3 + y * 5 + c * 40) * (limit / 255 + 1) / 4;
    if (content == "noise") return random.below(limit + 1);
    if (content == "extremes") return random.below(2) * limit;
    if (content == "flat") return limit / 3;
    if (content == "board") return ((x / 3 + y / 3) & 1) * limit;
    if (content == "dots") return random.below(50) ? limit / 2 : random.below(limit + 1);
    if (content == "smooth") return (ramp + random.below(limit / 32 + 1)) & limit;
    // mixed: a gradient, noise, nothing, from left to right
    return 3 * x < width ? ramp & limit : 3 * x < 2 * width ? random.below(limit + 1) : limit / 5;
}

Frame make_frame(const Line &line, Picture &source) {
    Frame frame(av_frame_alloc());
    frame->format = av_get_pix_fmt(line.format.c_str());
    frame->width = line.width;
    frame->height = line.height;
    frame->color_range = AVCOL_RANGE_JPEG;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame->format));
    if (!layout || av_frame_get_buffer(frame.get(), 0) < 0) return nullptr;
    for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        std::memset(frame->buf[i]->data, 0, frame->buf[i]->size);  // what is written is ORed to it
    Random random(line.seed);
    for (int c = 0; c < layout->nb_components; c++) {
        const bool chroma = c == 1 || c == 2;
        Component to{AV_CEIL_RSHIFT(line.width, chroma ? layout->log2_chroma_w : 0),
                     AV_CEIL_RSHIFT(line.height, chroma ? layout->log2_chroma_h : 0),
                     layout->comp[c].depth,
                     {}};
        const unsigned limit = (1u << to.depth) - 1;
        for (int y = 0; y < to.height; y++) {
            for (int x = 0; x < to.width; x++)
                to.samples.push_back(static_cast<uint16_t>(sample(random, line.content, x, y, c, limit, to.width)));
            av_write_image_line2(&to.samples[to.samples.size() - static_cast<size_t>(to.width)], frame->data,
                                 frame->linesize, layout, 0, y, c, to.width, 2);
        }
        source.push_back(std::move(to));
    }
    return frame;
}

// A packet; or none, and the error's code.
Packet encode(const Line &line, const AVFrame *frame, const char *device, int &code) {
    const AVCodec *encoder = avcodec_find_encoder_by_name("j2k_cuda");
    Codec context(avcodec_alloc_context3(encoder));
    context->width = line.width;
    context->height = line.height;
    context->pix_fmt = static_cast<AVPixelFormat>(frame->format);
    context->color_range = AVCOL_RANGE_JPEG;
    context->time_base = {1, 25};
    context->framerate = {25, 1};
    context->thread_count = 1;
    AVDictionary *options = nullptr;
    av_dict_set(&options, "device", device, 0);
    av_dict_set(&options, "async_depth", "1", 0);
    for (const std::string &option : line.options) {
        const size_t at = option.find('=');
        av_dict_set(&options, option.substr(0, at).c_str(), option.substr(at + 1).c_str(), 0);
    }
    code = avcodec_open2(context.get(), encoder, &options);
    if (code >= 0 && av_dict_count(options)) say("an option is not known"), code = AVERROR_OPTION_NOT_FOUND;
    av_dict_free(&options);
    Packet packet(av_packet_alloc());
    if (code >= 0) code = avcodec_send_frame(context.get(), frame);
    if (code >= 0) avcodec_send_frame(context.get(), nullptr);
    if (code >= 0) code = avcodec_receive_packet(context.get(), packet.get());
    return code < 0 ? nullptr : std::move(packet);
}

// A format with more bits than the stream has them in the high bits of a word, but YUV's in the low ones.
Picture by_ffmpeg(const AVPacket *packet, const Picture &source, std::string &format) {
    const AVCodec *decoder = avcodec_find_decoder_by_name("jpeg2000");
    Codec context(avcodec_alloc_context3(decoder));
    context->thread_count = 1;
    Frame frame(av_frame_alloc());
    if (avcodec_open2(context.get(), decoder, nullptr) < 0 || avcodec_send_packet(context.get(), packet) < 0 ||
        avcodec_receive_frame(context.get(), frame.get()) < 0)
        return {};
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame->format));
    const bool low = !std::strncmp(layout->name, "yuv", 3);
    format = layout->name;
    Picture picture;
    for (int c = 0; c < layout->nb_components && static_cast<size_t>(c) < source.size(); c++) {
        const bool chroma = c == 1 || c == 2;
        Component to{AV_CEIL_RSHIFT(frame->width, chroma ? layout->log2_chroma_w : 0),
                     AV_CEIL_RSHIFT(frame->height, chroma ? layout->log2_chroma_h : 0),
                     source[static_cast<size_t>(c)].depth,
                     {}};
        to.samples.resize(static_cast<size_t>(to.width) * static_cast<size_t>(to.height));
        for (int y = 0; y < to.height; y++)
            av_read_image_line2(&to.samples[static_cast<size_t>(y) * static_cast<size_t>(to.width)],
                                const_cast<const uint8_t **>(frame->data), frame->linesize, layout, 0, y, c, to.width,
                                0, 2);
        if (!low && layout->comp[c].depth > to.depth)
            for (uint16_t &value : to.samples)
                value = static_cast<uint16_t>(value >> (layout->comp[c].depth - to.depth));
        picture.push_back(std::move(to));
    }
    return picture;
}

// A stream in memory, as OpenJPEG's callbacks have it.
struct Memory {
    const uint8_t *data;
    size_t size, at;

    static OPJ_SIZE_T read(void *to, OPJ_SIZE_T count, void *self) {
        auto &m = *static_cast<Memory *>(self);
        count = std::min<OPJ_SIZE_T>(count, m.size - m.at);
        if (!count) return static_cast<OPJ_SIZE_T>(-1);
        std::memcpy(to, m.data + m.at, count);
        m.at += count;
        return count;
    }
    static OPJ_OFF_T skip(OPJ_OFF_T count, void *self) {
        auto &m = *static_cast<Memory *>(self);
        m.at = std::min(m.size, m.at + static_cast<size_t>(count));
        return count;
    }
    static OPJ_BOOL seek(OPJ_OFF_T to, void *self) {
        static_cast<Memory *>(self)->at = static_cast<size_t>(to);
        return OPJ_TRUE;
    }
};

Picture by_openjpeg(const AVPacket *packet) {
    Memory memory{packet->data, static_cast<size_t>(packet->size), 0};
    const std::unique_ptr<opj_stream_t, void (*)(opj_stream_t *)> stream(opj_stream_default_create(OPJ_TRUE),
                                                                         opj_stream_destroy);
    opj_stream_set_read_function(stream.get(), Memory::read);
    opj_stream_set_skip_function(stream.get(), Memory::skip);
    opj_stream_set_seek_function(stream.get(), Memory::seek);
    opj_stream_set_user_data(stream.get(), &memory, nullptr);
    opj_stream_set_user_data_length(stream.get(), memory.size);
    const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t *)> codec(
        opj_create_decompress(packet->data[0] == 0xFF ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
    const auto log = [](const char *text, void *) { say(text); };
    opj_set_warning_handler(codec.get(), log, nullptr);
    opj_set_error_handler(codec.get(), log, nullptr);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_setup_decoder(codec.get(), &parameters);
    opj_image_t *decoded = nullptr;
    const bool good = opj_read_header(stream.get(), codec.get(), &decoded) &&
                      opj_decode(codec.get(), stream.get(), decoded) && opj_end_decompress(codec.get(), stream.get());
    const std::unique_ptr<opj_image_t, void (*)(opj_image_t *)> image(decoded, opj_image_destroy);
    Picture picture;
    for (unsigned c = 0; good && c < image->numcomps; c++) {
        const opj_image_comp_t &from = image->comps[c];
        if (!from.data) return {};
        picture.push_back({static_cast<int>(from.w), static_cast<int>(from.h), static_cast<int>(from.prec),
                           std::vector<uint16_t>(from.data, from.data + size_t{from.w} * from.h)});
    }
    return picture;
}

void print_said(const char *name) {
    for (const std::string &line : said) std::cout << '\t' << name << '=' << line;
    said.clear();
}

void check(const Line &line, const std::string &folder) {
    std::cout << line.number;
    Picture source;
    const Frame frame = make_frame(line, source);
    if (!frame) {
        std::cout << "\trefused=0\tline=no such format";
        return;
    }
    int code;
    said.clear();
    const Packet packet = encode(line, frame.get(), "cpu", code);
    if (!packet) std::cout << "\trefused=" << code;
    print_said("line");
    if (!packet) return;
    std::cout << "\tbytes=" << packet->size;
    if (line.asks("emu")) {
        const Packet other = encode(line, frame.get(), "emu", code);
        std::cout << "\temu="
                  << (other && other->size == packet->size && !std::memcmp(other->data, packet->data, packet->size)
                          ? "same"
                          : "differs");
        print_said("line");
    }
    std::map<std::string, Picture> decoded;
    std::string format;
    for (const char *name : {"jpeg2000", "openjpeg"}) {
        if (!line.asks(name)) continue;
        decoded[name] = *name == 'j' ? by_ffmpeg(packet.get(), source, format) : by_openjpeg(packet.get());
        std::cout << '\t' << name << '=' << distance(source, decoded[name]);
        print_said((std::string(name) + ".line").c_str());
    }
    if (line.asks("source")) decoded["source"] = source;
    if (!format.empty()) std::cout << "\tjpeg2000.format=" << format;
    if (decoded.size() == 2) std::cout << "\tbetween=" << distance(decoded["jpeg2000"], decoded["openjpeg"]);
    if (!line.asks("files") || decoded.empty()) return;
    std::ofstream(folder + "/" + line.number + ".jp2").write(reinterpret_cast<char *>(packet->data), packet->size);
    std::ofstream samples(folder + "/" + line.number + ".samples");
    for (const Component &c : decoded.rbegin()->second)
        samples.write(reinterpret_cast<const char *>(c.samples.data()),
                      static_cast<std::streamsize>(c.samples.size() * 2));
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 2) return std::cerr << "usage: matrix FOLDER <lines\n", 2;
    av_log_set_callback(log_of_ffmpeg);
    std::string text;
    while (std::getline(std::cin, text)) {
        Line line;
        char times;
        std::istringstream words(text);
        words >> line.number >> line.format >> line.width >> times >> line.height >> line.content >> line.seed >>
            line.tasks;
        for (std::string option; words >> option;) line.options.push_back(option);
        check(line, argv[1]);
        std::cout << std::endl;
    }
}
