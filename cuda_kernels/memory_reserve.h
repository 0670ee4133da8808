// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that is kept for the next who needs some: to pin a page takes a hundred times as long as to find it here, and
// a session has more than a hundred buffers on its device.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "../common/error.h"

namespace cudaenc {

// Any thread may call. What it holds is not freed with it: it ends with its context.
class MemoryReserve {
  public:
    static constexpr size_t kAlignment = 256;
    static constexpr size_t kChunk = size_t{1} << 20;  // bytes that small pieces are cut from
    static constexpr size_t kSmall = kChunk / 16;      // bytes

    struct Source {
        std::function<void *(size_t bytes)> allocate;  // aligned to kAlignment; may throw Error
        std::function<void(void *memory)> free;        // waits for work that uses it
        std::function<bool()> settle;                  // waits for all work; false: that failed
    };
    // most_idle: bytes that are kept, but for small pieces. cuts: whether those of kSmall bytes are cut from chunks.
    MemoryReserve(Source source, size_t most_idle, bool cuts)
        : source_(std::move(source)), most_idle_(most_idle), cuts_(cuts) {}

    // At least `bytes` bytes, aligned to kAlignment, contents undefined. Throws what allocate() does.
    void *take(size_t bytes) {
        const std::lock_guard lock(mutex_);
        const bool small = is_small(bytes);
        size_t need = std::max<size_t>(bytes, 1);
        if (small) need = (need + kAlignment - 1) / kAlignment * kAlignment;
        Piece *best = find_idle(need);
        if (!best && take_back()) best = find_idle(need);
        if (best) {
            best->state = kTaken;
            if (!is_small(best->bytes)) idle_bytes_ -= best->bytes;
            return best->memory;
        }
        if (pieces_.size() == pieces_.capacity()) pieces_.reserve(2 * pieces_.size() + 64);
        void *const memory = small ? cut(need) : allocate(need);
        pieces_.push_back({memory, need, kTaken});
        return memory;
    }

    // memory: of take(). Work may still use it.
    void put(void *memory) noexcept {
        const std::lock_guard lock(mutex_);
        const auto piece = std::ranges::find(pieces_, memory, &Piece::memory);
        const bool small = is_small(piece->bytes);
        if (small || idle_bytes_ + piece->bytes <= most_idle_) {
            piece->state = kLeftBehind;
            if (!small) idle_bytes_ += piece->bytes;
            return;
        }
        pieces_.erase(piece);
        source_.free(memory);
    }

    // Waits for work that uses what was put: then take() need not.
    void settle() noexcept {
        const std::lock_guard lock(mutex_);
        take_back();
    }

    // Of what would be free, were nothing kept.
    uint64_t idle_bytes() {
        const std::lock_guard lock(mutex_);
        return idle_bytes_;
    }

  private:
    enum State { kTaken, kLeftBehind, kIdle };  // work may use what is left behind
    struct Piece {
        void *memory;
        size_t bytes;
        State state;
    };
    bool is_small(size_t bytes) const { return cuts_ && bytes <= kSmall; }

    // The smallest that fits, and not in so many bytes that they are missed elsewhere; nullptr: none.
    Piece *find_idle(size_t need) {
        Piece *best = nullptr;
        for (Piece &piece : pieces_)
            if (piece.state == kIdle && piece.bytes >= need && piece.bytes <= 2 * need &&
                (!best || piece.bytes < best->bytes))
                best = &piece;
        return best;
    }

    // Returns whether more is idle.
    bool take_back() {
        if (std::ranges::find(pieces_, kLeftBehind, &Piece::state) == pieces_.end() || !source_.settle()) return false;
        for (Piece &piece : pieces_)
            if (piece.state == kLeftBehind) piece.state = kIdle;
        return true;
    }

    // What is idle goes before memory runs out.
    void *allocate(size_t bytes) {
        try {
            return source_.allocate(bytes);
        } catch (const Error &) {
            if (!idle_bytes_) throw;
        }
        std::erase_if(pieces_, [&](const Piece &piece) {
            if (piece.state != kIdle || is_small(piece.bytes)) return false;
            source_.free(piece.memory);
            idle_bytes_ -= piece.bytes;
            return true;
        });
        return source_.allocate(bytes);
    }

    void *cut(size_t bytes) {
        if (left_ < bytes) {
            chunk_ = static_cast<uint8_t *>(allocate(kChunk));
            left_ = kChunk;
        }
        left_ -= bytes;
        return chunk_ + (kChunk - left_ - bytes);
    }

    const Source source_;
    const size_t most_idle_;
    const bool cuts_;
    std::mutex mutex_;
    std::vector<Piece> pieces_;
    size_t idle_bytes_ = 0;  // of those that are not taken, but for small ones
    uint8_t *chunk_ = nullptr;
    size_t left_ = 0;  // bytes at the end of the chunk
};

}  // namespace cudaenc
