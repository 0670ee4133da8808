// Memory that begins with a cache line: what is aligned in it lies in as few as can be.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace cudaenc {

template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};
    LineAllocator() = default;
    template <class Other>
    LineAllocator(const LineAllocator<Other> &) {}
    T *allocate(size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), kLine)); }
    void deallocate(T *memory, size_t) { ::operator delete(memory, kLine); }
    bool operator==(const LineAllocator &) const { return true; }
};
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace cudaenc
