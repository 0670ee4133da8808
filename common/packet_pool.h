// SPDX-License-Identifier: LGPL-2.1-or-later
// A pool of packet memory: pinned where a device downloads into it, the device's where packets stay, else plain.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cudaenc.h"
#include "device.h"

namespace cudaenc {
class PacketPool;
}

// Owns the bytes of a packet. Keeps its pool alive, and with it the device.
struct CudaencBuffer {
    uint8_t *memory;  // nullptr: of the first field of a frame, whose bytes lie before those of the second one
    size_t capacity;  // of the memory, padding included
    uint8_t *data;    // of the packet, within the memory
    size_t size;      // of the packet; in host memory CUDAENC_PACKET_PADDING zero bytes follow
    bool on_device;
    double quality;  // see CudaencPacket
    bool delta;      // likewise
    // A target that the packet misses, in a line; mostly empty. above: its user asked for less, and may want to know.
    std::string missed;
    bool missed_above;
    // What of the frame's metadata is left out, or readers of the file may refuse, in a line; mostly empty.
    std::string metadata_warning;
    std::shared_ptr<cudaenc::PacketPool> pool;
    // Makes `bytes` bytes from `begin` on the packet.
    void set_packet(size_t begin, size_t bytes);
};

namespace cudaenc {

struct BufferReturn {
    void operator()(CudaencBuffer *buffer) const noexcept;  // returns it to its pool
};
using PooledBuffer = std::unique_ptr<CudaencBuffer, BufferReturn>;

class PacketPool : public std::enable_shared_from_this<PacketPool> {
  public:
    // device: nullptr: plain host memory. on_device: its memory, else pinned host memory.
    explicit PacketPool(std::shared_ptr<Device> device, bool on_device = false)
        : device_(std::move(device)), on_device_(on_device) {}
    ~PacketPool();
    PooledBuffer take(size_t size);  // thread-safe; the padding is zeroed, the data is not
    static PooledBuffer without_memory(size_t size);
    void put(CudaencBuffer *buffer) noexcept;

  private:
    void destroy(CudaencBuffer *buffer) noexcept;
    std::shared_ptr<Device> device_;
    const bool on_device_;
    std::mutex mutex_;
    std::vector<CudaencBuffer *> idle_;
};

}  // namespace cudaenc
