// SPDX-License-Identifier: LGPL-2.1-or-later
#include "upsample_cpu.h"

#include <array>
#include <vector>

#include "../planes.h"

namespace cudaenc::mjpeg {

namespace {

// From the last sample on: one that is read is not written yet.
void double_columns(uint8_t *row, int width) {
    for (int x = width - 1; x > 0; x--)
        row[x] = static_cast<uint8_t>(doubled(x, width, [&](int i) { return int{row[i]}; }));
}

void double_rows(uint8_t *plane, ptrdiff_t stride, int width, int height) {
    for (int y = height - 1; y > 0; y--)
        for (int x = 0; x < width; x++)
            plane[y * stride + x] =
                static_cast<uint8_t>(doubled(y, height, [&](int i) { return int{plane[i * stride + x]}; }));
}

void convert_to_rgb(const Upsampling &u, const CudaencFormat &format, const CudaencCodedPicture &picture,
                    ThreadPool &pool) {
    constexpr size_t kComponents = 3;
    const int width = format.width, height = format.height;
    std::array<std::vector<uint8_t>, kComponents> coded;
    for (size_t c = 0; c < kComponents; c++) {
        const size_t columns = static_cast<size_t>(reduced_size(width, u.double_x[c]));
        for (int y = 0; y < reduced_size(height, u.double_y[c]); y++) {
            const uint8_t *const row = picture.planes[c] + y * picture.stride[c];
            coded[c].insert(coded[c].end(), row, row + columns);
        }
    }
    pool.for_each(static_cast<size_t>(height), [&](size_t row) {
        const int y = static_cast<int>(row);
        const auto sample = [&](size_t c, int x) {
            const int columns = reduced_size(width, u.double_x[c]);
            return centred(x, y, width, height, u.double_x[c], u.double_y[c], [&](int column, int coded_row) {
                return int{coded[c][static_cast<size_t>(coded_row) * static_cast<size_t>(columns) +
                                    static_cast<size_t>(column)]};
            });
        };
        for (int x = 0; x < width; x++) {
            const int luma = sample(0, x), cb = sample(1, x), cr = sample(2, x);
            for (int c = 0; c < static_cast<int>(kComponents); c++)
                picture.planes[c][y * picture.stride[c] + x] = static_cast<uint8_t>(rgb_of(c, luma, cb, cr));
        }
    });
}

}  // namespace

void upsample(const Upsampling &u, const CudaencFormat &format, const CudaencCodedPicture &picture, ThreadPool &pool) {
    if (u.rgb) return convert_to_rgb(u, format, picture, pool);
    const auto halved = [](size_t size, int times) { return reduced_size(static_cast<int>(size), times); };
    for (int c = 0; c < format.planes; c++) {
        const PlaneSize size = plane_size(format, c);
        uint8_t *const plane = picture.planes[c];
        const ptrdiff_t stride = picture.stride[c];
        pool.for_each(u.double_x[c] ? static_cast<size_t>(halved(size.rows, u.double_y[c])) : 0, [&](size_t y) {
            for (int times = u.double_x[c]; times--;)
                double_columns(plane + static_cast<ptrdiff_t>(y) * stride, halved(size.row_bytes, times));
        });
        for (int times = u.double_y[c]; times--;)
            double_rows(plane, stride, static_cast<int>(size.row_bytes), halved(size.rows, times));
    }
    if (u.inks == Inks::none) return;
    pool.for_each(static_cast<size_t>(format.height), [&](size_t y) {
        uint8_t *row[kMaxStreamComponents];
        for (int c = 0; c < kMaxStreamComponents; c++)
            row[c] = picture.planes[c] + static_cast<ptrdiff_t>(y) * picture.stride[c];
        for (int x = 0; x < format.width; x++)
            for (int c = 0; c < kMaxStreamComponents; c++)
                row[c][x] = static_cast<uint8_t>(light_of(u.inks, c, row[c][x], row[3][x]));
    });
}

}  // namespace cudaenc::mjpeg
