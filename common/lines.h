// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that begins with a cache line: what is aligned in it lies in as few as can be. Large memory lies in huge pages
// where the system has them: what goes through pictures by several rows at once meets many pages.
#pragma once
#include <cstddef>
#include <new>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace cudaenc {

template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr size_t kLine = 64, kHugePage = 2 << 20;
    static constexpr std::align_val_t alignment(size_t bytes) {
        return std::align_val_t{bytes < kHugePage ? kLine : kHugePage};
    }
    LineAllocator() = default;
    template <class Other>
    LineAllocator(const LineAllocator<Other> &) {}
    T *allocate(size_t count) {
        const size_t bytes = count * sizeof(T);
        void *const memory = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
        if (bytes >= kHugePage) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // or stays as it is
#endif
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, size_t count) { ::operator delete(memory, alignment(count * sizeof(T))); }
    bool operator==(const LineAllocator &) const { return true; }
};
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace cudaenc
