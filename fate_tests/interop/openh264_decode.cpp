// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes a byte stream with OpenH264 to planes of 8 bits. Usage: openh264_decode IN OUT
#include <wels/codec_api.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    std::ifstream in(argv[1], std::ios::binary);
    std::ofstream out(argv[2], std::ios::binary);
    std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    ISVCDecoder *decoder;
    if (WelsCreateDecoder(&decoder)) return 1;
    SDecodingParam parameters{};
    parameters.sVideoProperty.eVideoBsType = VIDEO_BITSTREAM_AVC;
    parameters.eEcActiveIdc = ERROR_CON_DISABLE;
    if (decoder->Initialize(&parameters)) return 1;

    int state = 0;
    const auto put = [&](unsigned char **planes, const SBufferInfo &info) {
        if (info.iBufferStatus != 1) return;
        const SSysMEMBuffer &b = info.UsrData.sSystemBuffer;
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < (c ? b.iHeight / 2 : b.iHeight); y++)
                out.write(reinterpret_cast<const char *>(planes[c]) + static_cast<long>(y) * b.iStride[c ? 1 : 0],
                          c ? b.iWidth / 2 : b.iWidth);
    };
    const auto decode = [&](const unsigned char *from, size_t size) {
        unsigned char *planes[3] = {};
        SBufferInfo info{};
        state |= decoder->DecodeFrameNoDelay(from, static_cast<int>(size), planes, &info);
        put(planes, info);
    };
    // A NAL unit at a time: they begin with start codes of 4 bytes.
    const unsigned char code[4] = {0, 0, 0, 1};
    for (size_t begin = 0, end; begin < bytes.size(); begin = end) {
        for (end = begin + 4; end < bytes.size() && (end + 4 > bytes.size() || std::memcmp(&bytes[end], code, 4));
             end++)
            continue;
        decode(&bytes[begin], end - begin);
    }
    int last = 1;
    decoder->SetOption(DECODER_OPTION_END_OF_STREAM, &last);
    decode(nullptr, 0);
    for (int left = 0; decoder->GetOption(DECODER_OPTION_NUM_OF_FRAMES_REMAINING_IN_BUFFER, &left) == 0 && left > 0;) {
        unsigned char *planes[3] = {};
        SBufferInfo info{};
        state |= decoder->FlushFrame(planes, &info);
        if (info.iBufferStatus != 1) break;
        put(planes, info);
    }
    decoder->Uninitialize();
    WelsDestroyDecoder(decoder);
    if (state) std::fprintf(stderr, "OpenH264: state %#x\n", state);
    return state || !out.good();
}
