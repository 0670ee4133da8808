// SPDX-License-Identifier: LGPL-2.1-or-later
#include "packet_pool.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "error.h"

void CudaencBuffer::set_packet(size_t begin, size_t bytes) {
    data = memory + begin;
    size = bytes;
    if (!on_device) std::memset(data + size, 0, CUDAENC_PACKET_PADDING);
}

namespace cudaenc {

constexpr size_t kIdleBuffers = 64;  // as many as a ring holds

void BufferReturn::operator()(CudaencBuffer *buffer) const noexcept {
    const auto pool = std::move(buffer->pool);  // outlives the call
    if (pool)
        pool->put(buffer);
    else
        delete buffer;
}

PacketPool::~PacketPool() {
    for (CudaencBuffer *buffer : idle_) destroy(buffer);
}

PooledBuffer PacketPool::take(size_t size) {
    const size_t need = size + CUDAENC_PACKET_PADDING;
    CudaencBuffer *buffer = nullptr;
    {
        const std::lock_guard lock(mutex_);
        // The smallest idle buffer that fits. If none does, one is destroyed: the pool does not keep small ones.
        auto best = idle_.end();
        for (auto it = idle_.begin(); it != idle_.end(); ++it)
            if ((*it)->capacity >= need && (best == idle_.end() || (*it)->capacity < (*best)->capacity)) best = it;
        if (best == idle_.end() && !idle_.empty()) {
            destroy(idle_.back());
            idle_.pop_back();
        } else if (best != idle_.end()) {
            buffer = *best;
            idle_.erase(best);
        }
    }
    if (!buffer) {
        // A quarter more: the packets of the next frames are about as large.
        const size_t capacity = (need + need / 4 + 4095) & ~size_t{4095};
        auto fresh = std::make_unique<CudaencBuffer>();
        fresh->on_device = on_device_;
        if (on_device_)
            fresh->memory = static_cast<uint8_t *>(device_->alloc(capacity));
        else if (device_)
            fresh->memory = static_cast<uint8_t *>(device_->alloc_pinned(capacity));
        else
            fresh->memory = static_cast<uint8_t *>(::operator new(capacity, std::align_val_t{64}));
        fresh->capacity = capacity;
        buffer = fresh.release();
    }
    buffer->pool = shared_from_this();
    buffer->quality = CUDAENC_NO_QUALITY;
    buffer->delta = false;
    buffer->missed.clear();
    buffer->metadata_warning.clear();
    buffer->set_packet(0, size);
    return PooledBuffer(buffer);
}

PooledBuffer PacketPool::without_memory(size_t size) {
    PooledBuffer buffer(new CudaencBuffer{});
    buffer->size = size;
    buffer->quality = CUDAENC_NO_QUALITY;
    return buffer;
}

void PacketPool::put(CudaencBuffer *buffer) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (idle_.size() < kIdleBuffers) {
            try {
                idle_.push_back(buffer);
                return;
            } catch (const std::bad_alloc &) {
            }
        }
    }
    destroy(buffer);
}

void PacketPool::destroy(CudaencBuffer *buffer) noexcept {
    if (on_device_)
        device_->free(buffer->memory);
    else if (device_)
        device_->free_pinned(buffer->memory);
    else
        ::operator delete(buffer->memory, std::align_val_t{64});
    delete buffer;
}

}  // namespace cudaenc
