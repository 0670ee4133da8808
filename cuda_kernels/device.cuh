// SPDX-License-Identifier: LGPL-2.1-or-later
// The device primitives of all kernels, three ways: nvcc, clang without a CUDA toolkit, and the emulator of the tests
// (CUDAENC_EMU, g++). Kernels name no CUDA built-in.
//
// Thread-blocks are one-dimensional, of a multiple of 32 threads. All 32 lanes of a warp call its collectives at the
// same place. All threads of a block reach every block_sync() and block_any(). The emulator reports violations.
//
//     KERNEL(256, my_kernel, MyParams) { ... p.field ... }   MyParams::kernel.function is "my_kernel"
//     DEVICE int f(int x) { ... }                            a function; DEVICE_MEMBER for member functions
//     SHARED(uint32_t, sums, 32);                            shared memory of the thread-block, undefined, 16-aligned
//     SHARED2(int16_t, tile, 34, 66);                        tile[row][column]
// A shared array becomes a pointer where one is asked for by type (uint32_t *p = sums), or as &sums[i].
#pragma once
#include <cstdint>

#include "../common/hd.h"
#include "../common/kernel_name.h"

#if defined(CUDAENC_EMU)
#include "../fate_tests/emu/emu.h"

#define DEVICE static inline
#define DEVICE_MEMBER inline
#define SHARED(T, name, N)                                           \
    static ::cudaenc::emu::SharedArray<T, (N)> name##_memory(#name); \
    ::cudaenc::emu::SharedArray<T, (N)> &name = name##_memory.enter()
#define SHARED2(T, name, N, M)                                             \
    static ::cudaenc::emu::SharedArray2<T, (N), (M)> name##_memory(#name); \
    ::cudaenc::emu::SharedArray2<T, (N), (M)> &name = name##_memory.enter()
#define CUDAENC_KERNEL_FUNCTION(threads, blocks, name, P)                                                      \
    static_assert(::cudaenc::emu::is_module_file(__FILE__, P::kernel.module), "P::kernel names another file"); \
    static void name(const P &p);                                                                              \
    static const ::cudaenc::emu::Registrar name##_registrar{                                                   \
        P::kernel, sizeof(P), (threads), [](const void *params) { name(*static_cast<const P *>(params)); }};   \
    static void name(const P &p)

#else
#if defined(__clang__)
#define CUDAENC_CLANG_DEVICE 1
#define CUDAENC_GLOBAL __attribute__((global))
#define CUDAENC_BOUNDS(threads, blocks) __attribute__((launch_bounds(threads, blocks)))
#define CUDAENC_PARAMS const
#define CUDAENC_SHARED __attribute__((shared))
#define DEVICE_MEMBER __attribute__((device)) inline __attribute__((always_inline))
#else
#define CUDAENC_CLANG_DEVICE 0
#define CUDAENC_GLOBAL __global__
#define CUDAENC_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define CUDAENC_PARAMS const __grid_constant__
#define CUDAENC_SHARED __shared__
#define DEVICE_MEMBER __device__ __forceinline__
#endif

#define DEVICE static DEVICE_MEMBER
#define SHARED(T, name, N) alignas(16) CUDAENC_SHARED T name[N]
#define SHARED2(T, name, N, M) alignas(16) CUDAENC_SHARED T name[N][M]
#define CUDAENC_KERNEL_FUNCTION(threads, blocks, name, P)                                               \
    extern "C" CUDAENC_GLOBAL void CUDAENC_BOUNDS(threads, ::cudaenc::blocks_that_fit(threads, blocks)) \
        name(CUDAENC_PARAMS P p)
#endif

namespace cudaenc {
// So many thread-blocks, or as many as a multiprocessor has threads for (CUDA C++ Programming Guide, Technical
// Specifications per Compute Capability). clang's PTX is for all architectures; the driver ignores what exceeds one.
constexpr int blocks_that_fit(int threads, int blocks) {
#if !defined(__CUDA_ARCH__) || defined(__clang__)
    constexpr int kMost = 2048;
#elif __CUDA_ARCH__ == 750
    constexpr int kMost = 1024;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
    constexpr int kMost = 1536;
#else
    constexpr int kMost = 2048;
#endif
    return blocks * threads > kMost ? kMost / threads : blocks;
}
}  // namespace cudaenc

// Defines a kernel with at most `threads` threads a block; its body reads the parameters `p`.
#define KERNEL(threads, name, P) KERNEL_BLOCKS(threads, 0, name, P)
// The same with few enough registers that `blocks` thread-blocks fit a multiprocessor.
#define KERNEL_BLOCKS(threads, blocks, name, P)                                                         \
    static_assert(::cudaenc::same_text(P::kernel.function, #name), "P::kernel names another function"); \
    CUDAENC_KERNEL_FUNCTION(threads, blocks, name, P)

namespace cudaenc {

// Functions, in all three ways. T: any trivially copyable type of 4 or 8 bytes. I: an integer of 32 or 64 bits.
//
// thread_x() block_threads() lane_id() warp_id()            int: within the block
// block_x() block_y() block_z() grid_x() grid_y() grid_z()  int: the block, and the number of blocks
// block_sync() block_any(bool)                              barriers of all threads; block_any: any condition is true
// warp_sync() warp_ballot(bool) warp_any(bool) warp_all(bool)
// warp_shuffle(T, lane) warp_shuffle_up(T, distance) warp_shuffle_down(T, distance) warp_shuffle_xor(T, mask)
// warp_add(uint32_t) warp_or(uint32_t) warp_max(uint32_t) warp_min(uint32_t)  reductions, to every lane
// warp_inclusive_add(I)                                     the sum up to and including the own lane
// atomic_add(p, v) atomic_or(p, v) atomic_max(p, v) atomic_min(p, v)          relaxed, in global or shared memory, of
//                                                           uint32_t, atomic_add of uint64_t too; return the old value
// thread_fence()                                            orders memory operations for all threads of the device
// allow_next_launch() wait_for_launch_before()              programmatic dependent launch, from sm_90 on: thread-blocks
//                                                           of a kernel that overlaps start once all of those before
//                                                           have called the first. Before the second they touch nothing
//                                                           that the kernel before writes
// back_off()                                                between polls: pauses the warp for some 100 ns
// atomic_load(const uint64_t *) atomic_store(uint64_t *, uint64_t)            relaxed, of global memory
// load_coherent(const Uint4 *)                              of global memory that other blocks write meanwhile
// load_readonly(const T *)                                  of 1 to 16 bytes that nobody writes meanwhile
// load_readonly_if(bool, const uint32_t *, uint32_t &)      the same, in place: nothing waits before the value is used
// popcount(uint32_t) find_first_set(uint32_t)               the latter: the number of the lowest set bit, of x > 0
// dot_bytes(uint32_t a, uint32_t b, int32_t c)              c + the dot product of a's unsigned and b's signed bytes
// sad_bytes(uint32_t a, uint32_t b, uint32_t c)             c + the sum of absolute differences of unsigned bytes
// byte_permute(a, b, selector)                              byte i is byte (selector >> 4 i) % 8 of b:a
// opaque(T *) opaque_shared(T *)                            the argument, in global or shared memory; the compiler
//                                                           keeps this address instead of computing it anew
// opaque(uint32_t)                                          the same of a number

// Four words that one load or store moves.
struct alignas(16) Uint4 {
    uint32_t x, y, z, w;
};

#if !defined(CUDAENC_EMU)
namespace detail {

constexpr uint32_t all_lanes = 0xffffffffu;

template <class To, class From>
DEVICE To bits(const From &from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// The hardware shuffles 32 bits at a time.
template <class T, class Shuffle>
DEVICE T shuffle_words(T value, Shuffle shuffle) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warp shuffles take types of 4 and 8 bytes");
    if constexpr (sizeof(T) == 4) {
        return bits<T>(shuffle(bits<uint32_t>(value)));
    } else {
        const uint64_t both = bits<uint64_t>(value);
        const uint32_t low = shuffle(static_cast<uint32_t>(both));
        const uint32_t high = shuffle(static_cast<uint32_t>(both >> 32));
        return bits<T>(uint64_t{high} << 32 | low);
    }
}

// The compilers' names for shuffles, read-only loads and address spaces.
#if CUDAENC_CLANG_DEVICE
DEVICE uint32_t shuffle(uint32_t v, int lane) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_idx_i32(all_lanes, static_cast<int>(v), lane, 0x1f));
}
DEVICE uint32_t shuffle_up(uint32_t v, int distance) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_up_i32(all_lanes, static_cast<int>(v), distance, 0));
}
DEVICE uint32_t shuffle_down(uint32_t v, int distance) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_down_i32(all_lanes, static_cast<int>(v), distance, 0x1f));
}
DEVICE uint32_t shuffle_xor(uint32_t v, int mask) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_bfly_i32(all_lanes, static_cast<int>(v), mask, 0x1f));
}
using FourWords = unsigned __attribute__((ext_vector_type(4)));
DEVICE unsigned char ldg(const unsigned char *address) { return __nvvm_ldg_uc(address); }
DEVICE unsigned short ldg(const unsigned short *address) { return __nvvm_ldg_us(address); }
DEVICE unsigned ldg(const unsigned *address) { return __nvvm_ldg_ui(address); }
DEVICE unsigned long long ldg(const unsigned long long *address) { return __nvvm_ldg_ull(address); }
DEVICE FourWords ldg(const FourWords *address) { return __nvvm_ldg_ui4(address); }
#define CUDAENC_IS_GLOBAL(address) __nvvm_isspacep_global(address)
#define CUDAENC_IS_SHARED(address) __nvvm_isspacep_shared(address)
#else
DEVICE uint32_t shuffle(uint32_t v, int lane) { return __shfl_sync(all_lanes, v, lane); }
DEVICE uint32_t shuffle_up(uint32_t v, int distance) { return __shfl_up_sync(all_lanes, v, distance); }
DEVICE uint32_t shuffle_down(uint32_t v, int distance) { return __shfl_down_sync(all_lanes, v, distance); }
DEVICE uint32_t shuffle_xor(uint32_t v, int mask) { return __shfl_xor_sync(all_lanes, v, mask); }
using FourWords = uint4;
template <class T>
DEVICE T ldg(const T *address) {
    return __ldg(address);
}
#define CUDAENC_IS_GLOBAL(address) __isGlobal(address)
#define CUDAENC_IS_SHARED(address) __isShared(address)
#endif

}  // namespace detail

#if CUDAENC_CLANG_DEVICE
DEVICE int thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE int block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEVICE int grid_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE int grid_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
DEVICE int grid_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
DEVICE int block_threads() { return __nvvm_read_ptx_sreg_ntid_x(); }

DEVICE void block_sync() { __syncthreads(); }
DEVICE bool block_any(bool condition) { return __nvvm_bar0_or(condition) != 0; }
DEVICE void warp_sync() { __nvvm_bar_warp_sync(detail::all_lanes); }
DEVICE uint32_t warp_ballot(bool condition) {
    return static_cast<uint32_t>(__nvvm_vote_ballot_sync(detail::all_lanes, condition));
}
DEVICE bool warp_any(bool condition) { return __nvvm_vote_any_sync(detail::all_lanes, condition); }
DEVICE bool warp_all(bool condition) { return __nvvm_vote_all_sync(detail::all_lanes, condition); }

// Atomic among the threads of one device. Older versions of clang cannot exclude the host.
#if __has_builtin(__scoped_atomic_fetch_add)
#define CUDAENC_ATOMIC(operation, address, value) \
    __scoped_atomic_fetch_##operation(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#else
#define CUDAENC_ATOMIC(operation, address, value) __atomic_fetch_##operation(address, value, __ATOMIC_RELAXED)
#endif
DEVICE uint32_t atomic_add(uint32_t *address, uint32_t value) { return CUDAENC_ATOMIC(add, address, value); }
DEVICE uint64_t atomic_add(uint64_t *address, uint64_t value) { return CUDAENC_ATOMIC(add, address, value); }
DEVICE unsigned long long atomic_add(unsigned long long *address, unsigned long long value) {
    return CUDAENC_ATOMIC(add, address, value);
}
DEVICE uint32_t atomic_or(uint32_t *address, uint32_t value) { return CUDAENC_ATOMIC(or, address, value); }
DEVICE uint32_t atomic_max(uint32_t *address, uint32_t value) { return CUDAENC_ATOMIC(max, address, value); }
DEVICE uint32_t atomic_min(uint32_t *address, uint32_t value) { return CUDAENC_ATOMIC(min, address, value); }
#undef CUDAENC_ATOMIC

DEVICE int popcount(uint32_t x) { return __builtin_popcount(x); }
DEVICE int find_first_set(uint32_t x) { return __builtin_ctz(x); }
DEVICE uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
    return result;
}

#else  // nvcc
DEVICE int thread_x() { return static_cast<int>(threadIdx.x); }
DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
DEVICE int grid_x() { return static_cast<int>(gridDim.x); }
DEVICE int grid_y() { return static_cast<int>(gridDim.y); }
DEVICE int grid_z() { return static_cast<int>(gridDim.z); }
DEVICE int block_threads() { return static_cast<int>(blockDim.x); }

DEVICE void block_sync() { __syncthreads(); }
DEVICE bool block_any(bool condition) { return __syncthreads_or(condition) != 0; }
DEVICE void warp_sync() { __syncwarp(); }
DEVICE uint32_t warp_ballot(bool condition) { return __ballot_sync(detail::all_lanes, condition); }
DEVICE bool warp_any(bool condition) { return __any_sync(detail::all_lanes, condition) != 0; }
DEVICE bool warp_all(bool condition) { return __all_sync(detail::all_lanes, condition) != 0; }

DEVICE uint32_t atomic_add(uint32_t *address, uint32_t value) { return atomicAdd(address, value); }
DEVICE uint64_t atomic_add(uint64_t *address, uint64_t value) {
    return atomicAdd(reinterpret_cast<unsigned long long *>(address), static_cast<unsigned long long>(value));
}
DEVICE unsigned long long atomic_add(unsigned long long *address, unsigned long long value) {
    return atomicAdd(address, value);
}
DEVICE uint32_t atomic_or(uint32_t *address, uint32_t value) { return atomicOr(address, value); }
DEVICE uint32_t atomic_max(uint32_t *address, uint32_t value) { return atomicMax(address, value); }
DEVICE uint32_t atomic_min(uint32_t *address, uint32_t value) { return atomicMin(address, value); }

DEVICE int popcount(uint32_t x) { return __popc(x); }
DEVICE int find_first_set(uint32_t x) { return __ffs(static_cast<int>(x)) - 1; }
DEVICE uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) { return __byte_perm(a, b, selector); }
#endif

template <class T>
DEVICE T load_readonly(const T *address) {
    static_assert(alignof(T) >= sizeof(T), "load_readonly() takes types that one load moves");
    const auto load_as = [&](auto word) {
        return detail::bits<T>(detail::ldg(reinterpret_cast<const decltype(word) *>(address)));
    };
    if constexpr (sizeof(T) == 1)
        return load_as(static_cast<unsigned char>(0));
    else if constexpr (sizeof(T) == 2)
        return load_as(static_cast<unsigned short>(0));
    else if constexpr (sizeof(T) == 4)
        return load_as(0u);
    else if constexpr (sizeof(T) == 8)
        return load_as(0ull);
    else
        return load_as(detail::FourWords{});
}

DEVICE void load_readonly_if(bool condition, const uint32_t *address, uint32_t &value) {
    asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t@p ld.global.nc.u32 %0, [%2];\n\t}"
        : "+r"(value)
        : "r"(static_cast<uint32_t>(condition)), "l"(address));
}

DEVICE uint32_t opaque(uint32_t value) {
    asm("" : "+r"(value));
    return value;
}
template <class T>
DEVICE T *opaque(T *address) {
    asm("" : "+l"(address));
    __builtin_assume(CUDAENC_IS_GLOBAL(address));
    return address;
}
template <class T>
DEVICE T *opaque_shared(T *address) {
    asm("" : "+l"(address));
    __builtin_assume(CUDAENC_IS_SHARED(address));
    return address;
}
#undef CUDAENC_IS_GLOBAL
#undef CUDAENC_IS_SHARED

DEVICE void back_off() { asm volatile("nanosleep.u32 100;"); }
#if CUDAENC_DEVICE_CODE && __CUDA_ARCH__ >= 900
DEVICE void allow_next_launch() { asm volatile("griddepcontrol.launch_dependents;"); }
DEVICE void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" : : : "memory"); }
#else
DEVICE void allow_next_launch() {}
DEVICE void wait_for_launch_before() {}
#endif
DEVICE void thread_fence() { asm volatile("fence.acq_rel.gpu;" : : : "memory"); }
DEVICE uint64_t atomic_load(const uint64_t *address) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}
DEVICE void atomic_store(uint64_t *address, uint64_t value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(address), "l"(value) : "memory");
}
DEVICE int32_t dot_bytes(uint32_t a, uint32_t b, int32_t c) {
    int32_t result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

DEVICE uint32_t sad_bytes(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

DEVICE Uint4 load_coherent(const Uint4 *address) {
    Uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address)
                 : "memory");
    return v;
}

DEVICE int lane_id() { return thread_x() & 31; }
DEVICE int warp_id() { return thread_x() >> 5; }

// The value of lane `lane` modulo 32.
template <class T>
DEVICE T warp_shuffle(T value, int lane) {
    return detail::shuffle_words(value, [=](uint32_t v) { return detail::shuffle(v, lane); });
}
// The value of the lane `distance` (0..31) below; the lowest lanes keep their own.
template <class T>
DEVICE T warp_shuffle_up(T value, int distance) {
    return detail::shuffle_words(value, [=](uint32_t v) { return detail::shuffle_up(v, distance); });
}
// The value of the lane `distance` (0..31) above; the highest lanes keep their own.
template <class T>
DEVICE T warp_shuffle_down(T value, int distance) {
    return detail::shuffle_words(value, [=](uint32_t v) { return detail::shuffle_down(v, distance); });
}
// The value of the lane whose number differs in the bits of `mask` (0..31).
template <class T>
DEVICE T warp_shuffle_xor(T value, int mask) {
    return detail::shuffle_words(value, [=](uint32_t v) { return detail::shuffle_xor(v, mask); });
}

// Reductions over the warp; every lane gets the result.
#if CUDAENC_DEVICE_CODE && __CUDA_ARCH__ >= 800 && !CUDAENC_CLANG_DEVICE  // clang compiles for sm_75
DEVICE uint32_t warp_add(uint32_t v) { return __reduce_add_sync(detail::all_lanes, v); }
DEVICE uint32_t warp_or(uint32_t v) { return __reduce_or_sync(detail::all_lanes, v); }
DEVICE uint32_t warp_max(uint32_t v) { return __reduce_max_sync(detail::all_lanes, v); }
DEVICE uint32_t warp_min(uint32_t v) { return __reduce_min_sync(detail::all_lanes, v); }
#else
namespace detail {
template <class Combine>
DEVICE uint32_t reduce(uint32_t v, const Combine &combine) {
    for (int mask = 16; mask; mask >>= 1) v = combine(v, warp_shuffle_xor(v, mask));
    return v;
}
}  // namespace detail
DEVICE uint32_t warp_add(uint32_t v) {
    return detail::reduce(v, [](uint32_t a, uint32_t b) { return a + b; });
}
DEVICE uint32_t warp_or(uint32_t v) {
    return detail::reduce(v, [](uint32_t a, uint32_t b) { return a | b; });
}
DEVICE uint32_t warp_max(uint32_t v) { return detail::reduce(v, max_of<uint32_t>); }
DEVICE uint32_t warp_min(uint32_t v) { return detail::reduce(v, min_of<uint32_t>); }
#endif

// The sum over the lanes up to and including the own one.
template <class T>
DEVICE T warp_inclusive_add(T v) {
    const int lane = lane_id();
    for (int distance = 1; distance < 32; distance <<= 1) {
        const T below = warp_shuffle_up(v, distance);
        v += lane >= distance ? below : T(0);
    }
    return v;
}
#endif  // !CUDAENC_EMU

// The sum over the threads of the block up to and including the own one. sums: shared, a word a warp, in use until the
// next block_sync().
template <class T>
DEVICE T block_inclusive_add(T v, T *sums) {
    const T inclusive = warp_inclusive_add(v);
    if (lane_id() == 31) sums[warp_id()] = inclusive;
    block_sync();
    if (warp_id() == 0) {
        const bool is_warp = lane_id() < block_threads() / 32;
        const T own = is_warp ? sums[lane_id()] : T(0), before = warp_inclusive_add(own) - own;
        if (is_warp) sums[lane_id()] = before;
    }
    block_sync();
    return inclusive + sums[warp_id()];
}

}  // namespace cudaenc
