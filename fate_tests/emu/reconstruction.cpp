// SPDX-License-Identifier: LGPL-2.1-or-later
// What h264_cavlc_cuda reconstructs, for whoever compares it with decoders: a checksum of each picture, as a line of
// the file that CUDAENC_RECONSTRUCTIONS names.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../../common/h264/h264_pipeline.h"
#include "../../common/h264/h264_sequence.h"
#include "../check/checksum.h"

namespace cudaenc::h264 {

namespace {

// picture(c): whole macroblocks of a component.
template <class Picture>
void note(const PictureFormat &format, const Picture &picture) {
    const char *const name = std::getenv("CUDAENC_RECONSTRUCTIONS");
    if (!name) return;
    testing::Checksum sum;
    for (int c = 0; c < format.components(); c++) {
        const ConstBlock r = picture(c);
        for (int y = 0; y < format.macroblock_rows() * format.rows(c); y++)
            for (int x = 0; x < format.macroblock_columns() * format.columns(c); x++) sum.add(r.data[y * r.stride + x]);
    }
    char line[32];
    const int length = std::snprintf(line, sizeof line, "%016llx\n", static_cast<unsigned long long>(sum.value));
    // One write is one line, also of several threads and processes.
    const int file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || write(file, line, static_cast<size_t>(length)) != length) std::abort();
    close(file);
}

}  // namespace

void reconstructed(const PictureFormat &format, const IntraCoder &coder) {
    note(format, [&](int c) { return coder.reconstruction(c); });
}
void reconstructed(const PictureFormat &format, const SequenceCoder &coder) {
    note(format, [&](int c) { return coder.decoded(c); });
}

}  // namespace cudaenc::h264
