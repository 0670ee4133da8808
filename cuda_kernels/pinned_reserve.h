// SPDX-License-Identifier: LGPL-2.1-or-later
// Pinned memory that is kept for the next who needs some: to pin a page takes a hundred times as long as to find it
// here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace cudaenc {

// Any thread may call. What it holds is not freed with it: it ends with the context that it was pinned in.
class PinnedReserve {
  public:
    static constexpr size_t kAlignment = 256;
    static constexpr size_t kChunk = size_t{1} << 20;     // bytes that small pieces are cut from
    static constexpr size_t kSmall = kChunk / 16;         // bytes of a piece, with its head
    static constexpr size_t kMostIdle = size_t{1} << 26;  // bytes of idle pieces that are not small

    // At least `bytes` bytes, aligned to kAlignment, contents undefined. allocate(bytes) pins more, and may throw.
    template <class Allocate>
    void *take(size_t bytes, const Allocate &allocate) {
        const std::lock_guard lock(mutex_);
        const size_t need = (sizeof(Piece) + bytes + kAlignment - 1) / kAlignment * kAlignment;
        Piece **best = nullptr;  // the smallest that fits, and not in so many bytes that they are missed elsewhere
        for (Piece **piece = &idle_; *piece; piece = &(*piece)->next)
            if ((*piece)->size >= need && (*piece)->size <= 2 * need && (!best || (*piece)->size < (*best)->size))
                best = piece;
        Piece *found = best ? *best : nullptr;
        if (found) {
            *best = found->next;
            idle_bytes_ -= counted(found->size);
        } else if (need > kSmall) {
            found = new (allocate(need)) Piece{need};
        } else {
            if (left_ < need) {
                chunk_ = static_cast<uint8_t *>(allocate(kChunk));
                left_ = kChunk;
            }
            found = new (chunk_ + (kChunk - left_)) Piece{need};
            left_ -= need;
        }
        return found + 1;
    }

    // memory: of take(), not in use any more. Returns what the caller has to free: nullptr where it is kept.
    void *put(void *memory) noexcept {
        const std::lock_guard lock(mutex_);
        Piece *const piece = static_cast<Piece *>(memory) - 1;
        const size_t more = counted(piece->size);
        if (idle_bytes_ + more > kMostIdle) return piece;
        idle_bytes_ += more;
        piece->next = idle_;
        idle_ = piece;
        return nullptr;
    }

  private:
    // Before the memory of a piece.
    struct alignas(kAlignment) Piece {
        size_t size;  // bytes, with this
        Piece *next = nullptr;
    };
    static size_t counted(size_t size) { return size > kSmall ? size : 0; }

    std::mutex mutex_;
    Piece *idle_ = nullptr;
    size_t idle_bytes_ = 0;  // of those that are not small
    uint8_t *chunk_ = nullptr;
    size_t left_ = 0;  // bytes at the end of the chunk
};

}  // namespace cudaenc
