// SPDX-License-Identifier: LGPL-2.1-or-later
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "../../common/error.h"
#include "cases.h"

namespace cudaenc::bench {

namespace {

constexpr const char *kHelp =
    "cudaenc_bench [options] [picture...]   pictures: PPM, PGM, PNG; none: a generated one\n"
    "  -tier1           tier-1 alone: the kernels against a thread a code-block, or with -style against no style\n"
    "  -cibo            tier-1 alone, by bit-planes (Martinez-del-Amor 2017) against all planes at once\n"
    "  -cavlc           H.264's entropy coder alone, at QP 0 to 50 or those of -quality, against CAVLC_SU,\n"
    "                   at 1280x720 and 3840x2160 or -size\n"
    "  -h264            H.264 as a whole, effort 0, at the QPs of -quality (17,22,27,32,37), against x264's,\n"
    "                   at 1920x1080 and 3840x2160 or -size\n"
    "  -decode          decoding of what the cases code, against nvJPEG's, libjpeg-turbo's and nvJPEG2000's\n"
    "  -starts          JPEG's Huffman decoding from each bit (Patel et al. 2009)\n"
    "  -memory          GPU memory of a session, buffer by buffer\n"
    "  -endurance N     codes N frames and looks whether memory stays as it was\n"
    "  -papers          the tables of docs/papers.md: each paper's own method beside ours\n"
    "  -smoke           checks on a small picture that both give the same bytes, and the device the CPU's\n"
    "  -device D        auto (default), cuda, cuda:N, cpu, emu\n"
    "  -case A,B        cases, j2k, mjpeg, or all; -list names them\n"
    "  -style A+B       code-block styles of JPEG 2000\n"
    "  -tile N          of JPEG 2000: side of tiles; 0: the picture is one\n"
    "  -lowres N        of -decode, JPEG 2000: resolutions that are left out\n"
    "  -region X,Y,WIDTH,HEIGHT  likewise: what is decoded\n"
    "  -trellis N       of JPEG, 0 or 1\n"
    "  -restart N       of JPEG: MCUs between restart markers\n"
    "  -small           of -papers: the sizes of a test\n"
    "  -fields          frames are interlaced, each coded as two fields\n"
    "  -yuv444          of -h264: 4:4:4 in place of 4:2:0\n"
    "  -slices A,B      of -h264: slices of a picture (1)\n"
    "  -gop N           of -h264: P pictures, so many from an IDR picture to the next; with -yuv of all frames of a\n"
    "                   file, there and back\n"
    "  -lookahead N     of -gop: the encoder's option\n"
    "  -kernels         of -h264 on a GPU: what each kernel takes, in place of rates\n"
    "  -device_packets  JPEG's packets stay in the GPU's memory\n"
    "  -memory_of_frames M  gpu (default); pinned or host: copies to the GPU count, and are measured alone\n"
    "  -rotation        the pictures take turns, instead of each by itself\n"
    "  -yuv WxH:FORMAT  the files are raw video: yuv420p yuv422p yuv444p, or these with 10 appended\n"
    "  -size WxH,WxH    these sizes in place of the cases' own\n"
    "  -quality A,B     of 9/7 in place of the one found for 1.23 bits/pixel, of JPEG in place of 90: a sweep\n"
    "  -rate_control R  of JPEG 2000: pcrd, pst, psb, bpi or psp, for 1.23 bits/pixel or\n"
    "  -frame_bytes A,B bytes of a frame: a sweep\n"
    "  -frames N        distinct frames in rotation (16)\n"
    "  -depths A,B      frames in flight of the multi mode (2,4,8,16, JPEG also 32; on the CPU 2,4);\n"
    "                   with -tier1 frames that are coded at once (1,4,8,16); with -memory and -endurance 4\n"
    "  -sessions A,B    sessions at once, a thread and 8 frames in flight each, as well (JPEG on a GPU: 2,4; 1: none)\n"
    "  -threads A,B     of the CPU (1,2,4,8,16 up to its cores)\n"
    "  -single N        frames of the single mode (32)\n"
    "  -runs N          of the multi mode (5)\n"
    "  -seconds S       that a run lasts at least (0.5)\n"
    "  -nvjpeg FILE     nvJPEG's library, in a build that knows its header (libnvjpeg.so.13); no: not measured\n"
    "  -nvjpeg2k FILE   nvJPEG2000's library, in a build that knows its header (libnvjpeg2k.so.0); no: not measured\n"
    "  -openjpeg FILE   OpenJPEG's library, likewise (libopenjp2.so.7): PSNR, and an encoder beside the CPU's; no: "
    "neither\n"
    "  -turbojpeg FILE  libjpeg-turbo's TurboJPEG library, likewise (libturbojpeg.so.0); no: not measured\n"
    "  -peers A,B       of -decode, only these: nvjpeg, hybrid, gpu, hardware, libjpeg-turbo, nvjpeg2k\n"
    "  -x264 FILE       x264's library, likewise (libx264.so with its number); no: not measured\n"
    "  -save PREFIX     writes the first frame's codestreams to PREFIX-PICTURE-CASE-ENCODER.j2k or .jpg\n"
    "  -o FILE          the results as JSON\n";

const std::map<std::string, Mode> kModes = {
    {"-tier1", Mode::kTier1},   {"-cibo", Mode::kCibo},     {"-cavlc", Mode::kCavlc}, {"-memory", Mode::kMemory},
    {"-decode", Mode::kDecode}, {"-starts", Mode::kStarts}, {"-h264", Mode::kH264},   {"-endurance", Mode::kEndurance},
    {"-papers", Mode::kPapers}, {"-smoke", Mode::kSmoke}};

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

// The value of a name. allowed: for the message.
template <class T>
T parse_name(const std::string &text, const std::map<std::string, T> &names, const char *option, const char *allowed) {
    const auto found = names.find(text);
    if (found == names.end())
        throw Error(CUDAENC_ERR_INVALID,
                    format_string("%s '%s' is not allowed: it is %s", option, text.c_str(), allowed));
    return found->second;
}

int parse_rate_control(const std::string &text) {
    return parse_name<int>(text,
                           {{"pcrd", CUDAENC_J2K_RATE_PCRD},
                            {"psb", CUDAENC_J2K_RATE_PSB},
                            {"bpi", CUDAENC_J2K_RATE_BPI},
                            {"pst", CUDAENC_J2K_RATE_PST},
                            {"psp", CUDAENC_J2K_RATE_PSP}},
                           "-rate_control", "pcrd, pst, psb, bpi or psp");
}

Memory parse_memory(const std::string &text) {
    return parse_name<Memory>(text, {{"gpu", Memory::kDevice}, {"pinned", Memory::kPinned}, {"host", Memory::kHost}},
                              "-memory_of_frames", "gpu, pinned or host");
}

std::vector<std::pair<int, int>> parse_sizes(const std::string &list) {
    std::vector<std::pair<int, int>> sizes;
    for (const std::string &size : split(list)) {
        int width = 0, height = 0;
        if (std::sscanf(size.c_str(), "%dx%d", &width, &height) != 2 || width < 1 || height < 1 || width > 32768 ||
            height > 32768)
            throw Error(CUDAENC_ERR_INVALID, "-size '" + size + "' is not allowed: it is WxH, up to 32768x32768");
        sizes.emplace_back(width, height);
    }
    return sizes;
}

// Options that stand alone. Whether `name` is one. -help and -list end the program.
bool take_flag(Options &o, const std::string &name) {
    if (name == "-h" || name == "-help" || name == "--help") {
        std::fputs(kHelp, stdout);
        std::exit(0);
    }
    if (name == "-list") {
        for (const Case &c : all_cases()) std::printf("%-20s %s\n", c.name, c.text().c_str());
        std::exit(0);
    }
    const std::map<std::string, bool *> flags = {{"-rotation", &o.rotation}, {"-fields", &o.fields},
                                                 {"-yuv444", &o.yuv444},     {"-small", &o.small},
                                                 {"-kernels", &o.kernels},   {"-device_packets", &o.device_packets}};
    if (const auto flag = flags.find(name); flag != flags.end()) {
        *flag->second = true;
        return true;
    }
    const auto mode = kModes.find(name);
    if (mode == kModes.end()) return false;
    o.mode = mode->second;
    return o.mode != Mode::kEndurance;  // which has a value
}

// Options with a value. Whether `name` is one.
bool take_value(Options &o, const std::string &name, const std::string &value) {
    const std::map<std::string, std::string *> texts = {
        {"-device", &o.device},       {"-case", &o.cases},  {"-yuv", &o.yuv},           {"-o", &o.output},
        {"-nvjpeg", &o.nvjpeg},       {"-save", &o.save},   {"-nvjpeg2k", &o.nvjpeg2k}, {"-openjpeg", &o.openjpeg},
        {"-turbojpeg", &o.turbojpeg}, {"-peers", &o.peers}, {"-x264", &o.x264},         {"-region", &o.region}};
    struct Number {
        int *to;
        int least, most;
    };
    const std::map<std::string, Number> numbers = {{"-endurance", {&o.endurance_frames, 10, 10000000}},
                                                   {"-trellis", {&o.trellis, 0, 1}},
                                                   {"-restart", {&o.restart, 0, 65535}},
                                                   {"-gop", {&o.gop, 1, 1000000}},
                                                   {"-lookahead", {&o.lookahead, 0, 48}},
                                                   {"-tile", {&o.tile, 0, 1 << 20}},
                                                   {"-lowres", {&o.lowres, 0, 32}},
                                                   {"-frames", {&o.frames, 1, 1000}},
                                                   {"-single", {&o.effort.single_frames, 1, 100000}},
                                                   {"-runs", {&o.effort.runs, 1, 1000}}};
    struct Numbers {
        std::vector<int> *to;
        int most;
    };
    const std::map<std::string, Numbers> lists = {
        {"-quality", {&o.qualities, 100}},           {"-slices", {&o.slices, 64}},
        {"-frame_bytes", {&o.frame_bytes, 1 << 30}}, {"-depths", {&o.effort.depths, 64}},
        {"-sessions", {&o.effort.sessions, 64}},     {"-threads", {&o.threads, 1024}}};
    if (const auto text = texts.find(name); text != texts.end())
        *text->second = value;
    else if (const auto number = numbers.find(name); number != numbers.end())
        *number->second.to = parse_number(value, number->second.least, number->second.most, name.c_str());
    else if (const auto list = lists.find(name); list != lists.end())
        *list->second.to = parse_numbers(value, list->second.most, name.c_str());
    else if (name == "-style")
        o.style = parse_style(value);
    else if (name == "-rate_control")
        o.rate_control = parse_rate_control(value);
    else if (name == "-memory_of_frames")
        o.memory = parse_memory(value);
    else if (name == "-seconds")
        o.effort.run_seconds = std::atof(value.c_str());
    else if (name == "-size")
        o.sizes = parse_sizes(value);
    else
        return false;
    return true;
}

}  // namespace

Options parse_options(int argc, char **argv) {
    Options o;
    for (int i = 0; i < argc; i++) o.command += (i ? " " : "") + std::string(argv[i]);
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (name.size() < 2 || name[0] != '-') {
            o.files.push_back(name);
            continue;
        }
        if (take_flag(o, name)) continue;
        if (i + 1 == argc)
            throw Error(CUDAENC_ERR_INVALID, name + ": not an option, or its value is missing; see -help");
        if (!take_value(o, name, argv[++i])) throw Error(CUDAENC_ERR_INVALID, name + " is not an option; see -help");
    }
    if (o.fields && o.mode == Mode::kDecode)
        throw Error(CUDAENC_ERR_INVALID, "-fields is not allowed with -decode, which takes a picture a packet");
    return o;
}

}  // namespace cudaenc::bench
