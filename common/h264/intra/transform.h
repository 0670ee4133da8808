// SPDX-License-Identifier: LGPL-2.1-or-later
// Integer transforms (H.264, 8.5.10 to 8.5.13) of a line; T is int32_t, or a vector for as many lines.
#pragma once
#include "../../hd.h"

namespace cudaenc::h264 {

// The forward core transform of a line of 4. The squared gains of its outputs are 4, 10, 4, 10.
template <class T>
CUDAENC_HD void forward_transform(T (&v)[4]) {
    const T s03 = v[0] + v[3], s12 = v[1] + v[2], d03 = v[0] - v[3], d12 = v[1] - v[2];
    v[0] = s03 + s12;
    v[1] = d03 + d03 + d12;
    v[2] = s03 - s12;
    v[3] = d03 - d12 - d12;
}

// 8.5.12.2: rows first, then columns.
template <class T>
CUDAENC_HD void inverse_transform(T (&v)[4]) {
    const T e0 = v[0] + v[2], e1 = v[0] - v[2], e2 = (v[1] >> 1) - v[3], e3 = v[1] + (v[3] >> 1);
    v[0] = e0 + e3;
    v[1] = e1 + e2;
    v[2] = e1 - e2;
    v[3] = e0 - e3;
}

// The forward transform of a line of 8. The squared gains are 8, 289/32, 5, 289/32, 8, 289/32, 5, 289/32.
template <class T>
CUDAENC_HD void forward_transform(T (&v)[8]) {
    const T s07 = v[0] + v[7], s16 = v[1] + v[6], s25 = v[2] + v[5], s34 = v[3] + v[4];
    const T d07 = v[0] - v[7], d16 = v[1] - v[6], d25 = v[2] - v[5], d34 = v[3] - v[4];
    const T a0 = s07 + s34, a1 = s16 + s25, a2 = s07 - s34, a3 = s16 - s25;
    const T a4 = d16 + d25 + d07 + (d07 >> 1), a5 = d07 - d34 - d25 - (d25 >> 1);
    const T a6 = d07 + d34 - d16 - (d16 >> 1), a7 = d16 - d25 + d34 + (d34 >> 1);
    v[0] = a0 + a1;
    v[1] = a4 + (a7 >> 2);
    v[2] = a2 + (a3 >> 1);
    v[3] = a5 + (a6 >> 2);
    v[4] = a0 - a1;
    v[5] = a6 - (a5 >> 2);
    v[6] = (a2 >> 1) - a3;
    v[7] = (a4 >> 2) - a7;
}

// 8.5.13: rows first, then columns.
template <class T>
CUDAENC_HD void inverse_transform(T (&v)[8]) {
    const T e0 = v[0] + v[4], e1 = v[5] - v[3] - v[7] - (v[7] >> 1), e2 = v[0] - v[4];
    const T e3 = v[1] + v[7] - v[3] - (v[3] >> 1), e4 = (v[2] >> 1) - v[6], e5 = v[7] - v[1] + v[5] + (v[5] >> 1);
    const T e6 = v[2] + (v[6] >> 1), e7 = v[3] + v[5] + v[1] + (v[1] >> 1);
    const T f0 = e0 + e6, f1 = e1 + (e7 >> 2), f2 = e2 + e4, f3 = e3 + (e5 >> 2);
    const T f4 = e2 - e4, f5 = (e3 >> 2) - e5, f6 = e0 - e6, f7 = e7 - (e1 >> 2);
    v[0] = f0 + f7;
    v[1] = f2 + f5;
    v[2] = f4 + f3;
    v[3] = f6 + f1;
    v[4] = f6 - f1;
    v[5] = f4 - f3;
    v[6] = f2 - f5;
    v[7] = f0 - f7;
}

// The matrix of 8.5.10, and of the columns of 8.5.11.1 for 4:2:2: its own inverse, squared gain 4.
template <class T>
CUDAENC_HD void hadamard_transform(T (&v)[4]) {
    const T s01 = v[0] + v[1], s23 = v[2] + v[3], d01 = v[0] - v[1], d23 = v[2] - v[3];
    v[0] = s01 + s23;
    v[1] = s01 - s23;
    v[2] = d01 - d23;
    v[3] = d01 + d23;
}

// The same for rows of chroma, and for columns of 4:2:0; squared gain 2.
template <class T>
CUDAENC_HD void hadamard_transform(T (&v)[2]) {
    const T a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
}

}  // namespace cudaenc::h264
