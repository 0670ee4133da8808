// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernel emulator's side of cuda_kernels/device.cuh: kernels are compiled by the host's compiler, and every thread
// of a thread-block is a fiber that runs until it waits for others.
//
//
// Thread-blocks run one after the other and threads one at a time, both in an order that the device's seed shuffles.
// Shared memory is filled with garbage where a thread-block begins. What breaks a rule of device.cuh ends the launch
// with Error(CUDAENC_ERR_INTERNAL), which names the kernel, block and thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../common/kernel_name.h"

namespace cudaenc::emu {

// Where the running thread is.
struct Position {
    int thread, threads;
    int block_x, block_y, block_z;
    int grid_x, grid_y, grid_z;
};
extern Position position;

// Ends the launch with an error; `what` follows the kernel's name and position. Called from kernels.
[[noreturn, gnu::format(printf, 1, 2)]] void report(const char *format, ...);

// Kernels that are linked into the program, by name.
struct Registrar {
    Registrar(const KernelName &name, size_t params_size, int max_threads, void (*run)(const void *params));
};

// Whether a source file is that of a kernel module: its path ends in "/MODULE.cu".
constexpr bool is_module_file(const char *file, const char *module) {
    size_t file_length = 0, module_length = 0;
    while (file[file_length]) ++file_length;
    while (module[module_length]) ++module_length;
    if (file_length < module_length + 3 || !same_text(file + file_length - 3, ".cu")) return false;
    const size_t begin = file_length - 3 - module_length;
    for (size_t i = 0; i < module_length; ++i) {
        if (file[begin + i] != module[i]) return false;
    }
    return begin == 0 || file[begin - 1] == '/';
}

// The number of the thread-block that runs, over all launches; never 0 within one.
extern uint64_t block_serial;
// Counts the memory against what a thread-block may have, and fills it with garbage.
void begin_shared(const char *name, void *memory, size_t bytes);
[[noreturn]] void shared_index_failed(const char *name, int dimension, long long index, size_t count);

// A shared array. Only threads that entered its scope can reach it, so the first one to enter makes it the block's own.
template <class T, size_t N>
class SharedArray {
  public:
    explicit SharedArray(const char *name) : name_(name) {}
    SharedArray &enter() {
        if (serial_ != block_serial) {
            serial_ = block_serial;
            begin_shared(name_, data_, sizeof data_);
        }
        return *this;
    }
    template <class I>
    T &operator[](I index) {
        if (static_cast<size_t>(index) >= N) shared_index_failed(name_, 1, static_cast<long long>(index), N);
        return data_[static_cast<size_t>(index)];
    }
    operator T *() { return data_; }

  private:
    const char *name_;
    uint64_t serial_ = 0;
    alignas(16) T data_[N];
};

template <class T, size_t N, size_t M>
class SharedArray2 {
  public:
    class Row {
      public:
        Row(const char *name, T *data) : name_(name), data_(data) {}
        template <class I>
        T &operator[](I index) const {
            if (static_cast<size_t>(index) >= M) shared_index_failed(name_, 2, static_cast<long long>(index), M);
            return data_[static_cast<size_t>(index)];
        }
        operator T *() const { return data_; }

      private:
        const char *name_;
        T *data_;
    };

    explicit SharedArray2(const char *name) : name_(name) {}
    SharedArray2 &enter() {
        if (serial_ != block_serial) {
            serial_ = block_serial;
            begin_shared(name_, data_, sizeof data_);
        }
        return *this;
    }
    template <class I>
    Row operator[](I index) {
        if (static_cast<size_t>(index) >= N) shared_index_failed(name_, 1, static_cast<long long>(index), N);
        return Row(name_, data_[static_cast<size_t>(index)]);
    }

  private:
    const char *name_;
    uint64_t serial_ = 0;
    alignas(16) T data_[N][M];
};

// What lanes of a warp do together. The compiler's line of the call tells calls at different places apart.
enum class Collective {
    sync,
    shuffle,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    ballot,
    any,
    all,
    add,
    or_,
    max,
    min,
    scan
};

// Hands in the lane's value and waits for the warp's other lanes. Returns the warp's 32 values, valid until the lane's
// next collective.
const uint64_t *warp_collective(Collective what, uint64_t value, const char *file, int line);
// Waits for the block's other threads. Returns whether any of them had a true condition.
bool block_barrier(bool is_vote, bool condition, const char *file, int line);

}  // namespace cudaenc::emu

namespace cudaenc {

#define CUDAENC_EMU_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline int thread_x() { return emu::position.thread; }
inline int block_x() { return emu::position.block_x; }
inline int block_y() { return emu::position.block_y; }
inline int block_z() { return emu::position.block_z; }
inline int grid_x() { return emu::position.grid_x; }
inline int grid_y() { return emu::position.grid_y; }
inline int grid_z() { return emu::position.grid_z; }
inline int block_threads() { return emu::position.threads; }
inline int lane_id() { return emu::position.thread & 31; }
inline int warp_id() { return emu::position.thread >> 5; }

inline void block_sync(CUDAENC_EMU_PLACE) { emu::block_barrier(false, false, file, line); }
inline bool block_any(bool condition, CUDAENC_EMU_PLACE) { return emu::block_barrier(true, condition, file, line); }
inline void warp_sync(CUDAENC_EMU_PLACE) { emu::warp_collective(emu::Collective::sync, 0, file, line); }

namespace emu {
template <class T>
inline T shuffle(Collective what, T value, int lane, const char *file, int line) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warp shuffles take types of 4 and 8 bytes");
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    word = warp_collective(what, word, file, line)[lane];
    std::memcpy(&value, &word, sizeof value);
    return value;
}
}  // namespace emu

template <class T>
inline T warp_shuffle(T value, int lane, CUDAENC_EMU_PLACE) {
    return emu::shuffle(emu::Collective::shuffle, value, lane & 31, file, line);
}
template <class T>
inline T warp_shuffle_up(T value, int distance, CUDAENC_EMU_PLACE) {
    const int lane = lane_id();
    return emu::shuffle(emu::Collective::shuffle_up, value, lane >= distance ? lane - distance : lane, file, line);
}
template <class T>
inline T warp_shuffle_down(T value, int distance, CUDAENC_EMU_PLACE) {
    const int lane = lane_id();
    return emu::shuffle(emu::Collective::shuffle_down, value, lane + distance < 32 ? lane + distance : lane, file,
                        line);
}
template <class T>
inline T warp_shuffle_xor(T value, int mask, CUDAENC_EMU_PLACE) {
    return emu::shuffle(emu::Collective::shuffle_xor, value, lane_id() ^ (mask & 31), file, line);
}

inline uint32_t warp_ballot(bool condition, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::ballot, condition, file, line);
    uint32_t ballot = 0;
    for (int i = 0; i < 32; ++i) ballot |= static_cast<uint32_t>(values[i]) << i;
    return ballot;
}
inline bool warp_any(bool condition, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::any, condition, file, line);
    uint64_t any = 0;
    for (int i = 0; i < 32; ++i) any |= values[i];
    return any != 0;
}
inline bool warp_all(bool condition, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::all, condition, file, line);
    uint64_t all = 1;
    for (int i = 0; i < 32; ++i) all &= values[i];
    return all != 0;
}
inline uint32_t warp_add(uint32_t v, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::add, v, file, line);
    uint64_t sum = 0;
    for (int i = 0; i < 32; ++i) sum += values[i];
    return static_cast<uint32_t>(sum);
}
inline uint32_t warp_or(uint32_t v, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::or_, v, file, line);
    uint64_t result = 0;
    for (int i = 0; i < 32; ++i) result |= values[i];
    return static_cast<uint32_t>(result);
}
inline uint32_t warp_max(uint32_t v, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::max, v, file, line);
    uint64_t result = values[0];
    for (int i = 1; i < 32; ++i) result = values[i] > result ? values[i] : result;
    return static_cast<uint32_t>(result);
}
inline uint32_t warp_min(uint32_t v, CUDAENC_EMU_PLACE) {
    const uint64_t *values = emu::warp_collective(emu::Collective::min, v, file, line);
    uint64_t result = values[0];
    for (int i = 1; i < 32; ++i) result = values[i] < result ? values[i] : result;
    return static_cast<uint32_t>(result);
}
template <class T>
inline T warp_inclusive_add(T v, CUDAENC_EMU_PLACE) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    const uint64_t *values = emu::warp_collective(emu::Collective::scan, static_cast<uint64_t>(v), file, line);
    const int lane = lane_id();
    uint64_t sum = 0;
    for (int i = 0; i <= lane; ++i) sum += values[i];
    return static_cast<T>(sum);
}

#undef CUDAENC_EMU_PLACE

// Threads run one at a time, so that plain operations are atomic.
namespace emu {
template <class T>
inline T exchange(T *address, T value) {
    const T old = *address;
    *address = value;
    return old;
}
}  // namespace emu
inline uint32_t atomic_add(uint32_t *address, uint32_t value) { return emu::exchange(address, *address + value); }
inline uint64_t atomic_add(uint64_t *address, uint64_t value) { return emu::exchange(address, *address + value); }
inline unsigned long long atomic_add(unsigned long long *address, unsigned long long value) {
    return emu::exchange(address, *address + value);
}
inline uint32_t atomic_or(uint32_t *address, uint32_t value) { return emu::exchange(address, *address | value); }
inline uint32_t atomic_max(uint32_t *address, uint32_t value) {
    return emu::exchange(address, *address < value ? value : *address);
}
inline uint32_t atomic_min(uint32_t *address, uint32_t value) {
    return emu::exchange(address, value < *address ? value : *address);
}
inline uint64_t atomic_load(const uint64_t *address) { return *address; }
inline void atomic_store(uint64_t *address, uint64_t value) { *address = value; }
inline void thread_fence() {}
inline void allow_next_launch() {}
inline void wait_for_launch_before() {}
inline void back_off() {}

inline int popcount(uint32_t x) { return __builtin_popcount(x); }
inline int find_first_set(uint32_t x) { return __builtin_ctz(x); }
inline int32_t dot_bytes(uint32_t a, uint32_t b, int32_t c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<uint8_t>(a >> i) * static_cast<int8_t>(b >> i);
    return c;
}
inline uint32_t sad_bytes(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8) {
        const int d = static_cast<uint8_t>(a >> i) - static_cast<uint8_t>(b >> i);
        c += static_cast<uint32_t>(d < 0 ? -d : d);
    }
    return c;
}
inline uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t nibble = selector >> (4 * i);
        uint32_t byte = static_cast<uint32_t>(both >> (8 * (nibble & 7))) & 0xff;
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

template <class T>
inline T load_readonly(const T *address) {
    static_assert(alignof(T) >= sizeof(T), "load_readonly() takes types that one load moves");
    T value;
    std::memcpy(&value, address, sizeof value);  // kernels read words of one type as those of another
    return value;
}

inline void load_readonly_if(bool condition, const uint32_t *address, uint32_t &value) {
    if (condition) value = load_readonly(address);
}

template <class T>
inline T load_coherent(const T *address) {
    return load_readonly(address);
}

inline uint32_t opaque(uint32_t value) { return value; }
template <class T>
inline T *opaque(T *address) {
    return address;
}
template <class T>
inline T *opaque_shared(T *address) {
    return address;
}

}  // namespace cudaenc
