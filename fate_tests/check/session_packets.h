// SPDX-License-Identifier: LGPL-2.1-or-later
// What a session makes of pictures.
#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "pictures.h"
#include "testing.h"

namespace cudaenc::testing {

struct Packets {
    std::vector<std::vector<uint8_t>> packets;
    std::vector<uint8_t> stream;  // all of them
    std::string types;            // K: a key packet, d: one that needs others
    std::vector<double> qualities;
};

// What is done before the nth frame is submitted.
using Change = std::function<void(CudaencSession *session, CudaencFrame &frame, size_t n)>;

// config: its log_opaque is a Log. count: of frames; the pictures repeat.
inline Packets encode_pictures(const CudaencConfig &config, const std::vector<Picture> &pictures, size_t count,
                               const Change &change) {
    Packets result;
    CudaencSession *session;
    const std::vector<std::string> &lines = static_cast<const Log *>(config.log_opaque)->lines;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open: %s", lines.empty() ? "" : lines.back().c_str());
    const auto receive = [&] {
        CudaencPacket packet;
        while (cudaenc_receive(session, &packet) == CUDAENC_OK) {
            result.packets.emplace_back(packet.data, packet.data + packet.size);
            result.stream.insert(result.stream.end(), packet.data, packet.data + packet.size);
            result.types += packet.delta ? 'd' : 'K';
            result.qualities.push_back(packet.quality);
            cudaenc_buffer_free(packet.buffer);
        }
    };
    for (size_t n = 0; n < count; n++) {
        CudaencFrame frame = pictures[n % pictures.size()].frame();
        change(session, frame, n);
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
        receive();
    }
    cudaenc_flush(session);
    receive();
    cudaenc_close(session);
    return result;
}

// keys: numbers of frames that ask for a key packet.
inline Packets encode_with_keys(const CudaencConfig &config, const std::vector<Picture> &pictures,
                                const std::vector<size_t> &keys = {}) {
    return encode_pictures(config, pictures, pictures.size(), [&](CudaencSession *, CudaencFrame &frame, size_t n) {
        frame.key = std::ranges::find(keys, n) != keys.end();
    });
}

}  // namespace cudaenc::testing
