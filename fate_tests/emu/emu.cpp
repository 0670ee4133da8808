// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernel emulator: fibers for the threads of a thread-block, and what they wait for together.
//
// There is no scheduler in between. A fiber runs unstarted threads one after the other to their end; only a thread that
// has to wait costs a switch, straight to the thread that runs next. Fibers and their stacks are used again by all
// later blocks, so that nothing is allocated while a kernel runs, and a kernel whose threads never wait runs on one
// fiber.
#include "emu.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emu_launch.h"

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CUDAENC_EMU_ASAN 1
#else
#define CUDAENC_EMU_ASAN 0
#endif

namespace cudaenc::emu {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

Position position;
uint64_t block_serial;

namespace {

constexpr size_t page_bytes = 4096;
// AddressSanitizer makes frames several times larger.
constexpr size_t stack_bytes = CUDAENC_EMU_ASAN ? 256 << 10 : 64 << 10;
// Where a stack begins is spread over this much, as stacks that all begin at the same place of a page-aligned area
// would fight for the same few lines of the processor's caches.
constexpr size_t stagger_bytes = 16 << 10;
constexpr int max_threads = 1024;
constexpr int max_warps = max_threads / 32;
constexpr size_t max_shared_bytes = 48 << 10;

struct Fiber {
    fcontext_t context = nullptr;
    char *stack = nullptr;  // lowest address
    size_t size = 0;
    void *fake_stack = nullptr;  // AddressSanitizer's
};

const char *const collective_names[] = {"warp_sync",         "warp_shuffle", "warp_shuffle_up", "warp_shuffle_down",
                                        "warp_shuffle_xor",  "warp_ballot",  "warp_any",        "warp_all",
                                        "warp_add",          "warp_or",      "warp_max",        "warp_min",
                                        "warp_inclusive_add"};

struct Warp {
    uint32_t lanes;       // that exist
    uint32_t started;     // threads that have a fiber, or had one
    uint32_t ready;       // threads that could run now
    uint32_t arrived;     // lanes that wait in the collective
    uint32_t at_barrier;  // lanes that wait at the block's barrier
    uint32_t exited;
    // The collective that the arrived lanes wait in.
    Collective what;
    int line;
    const char *file;
    // Lanes may be in the next collective while others still read the values of the last one, but never in the one
    // after.
    unsigned turn;
    uint64_t values[2][32];
};

struct Block {
    Warp warps[max_warps];
    Fiber *fibers[max_threads];  // of the threads that wait
    uint32_t ready_warps;
    int current_warp;
    int threads;
    int arrived;  // at the barrier
    int exited;
    bool vote, any;
    int barrier_line;
    const char *barrier_file;
    bool last_any;
};

// All that a launch uses. One launch runs at a time, whichever thread asks for it.
struct Machine {
    std::mutex mutex;
    Block block;
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::vector<Fiber *> idle;
    Fiber main;
    Fiber *running = nullptr;
    std::thread::id owner;
    const Kernel *kernel = nullptr;
    const void *params = nullptr;
    uint64_t seed = 0;
    uint64_t random = 0;
    std::string error;
    std::exception_ptr thrown;  // other than KernelFailed
    bool failed = false;
    size_t shared_bytes = 0;

    ~Machine() {
        for (auto &fiber : fibers) munmap(fiber->stack - page_bytes, fiber->size + page_bytes);
    }
};
Machine machine;

struct KernelFailed {};  // unwinds the thread that failed

inline uint32_t random_word() {
    // xorshift64*
    uint64_t x = machine.random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    machine.random = x;
    return static_cast<uint32_t>(x * 0x2545f4914f6cdd1dull >> 32);
}

// The number of one of the set bits of a mask that is not 0.
inline int random_bit(uint32_t mask) {
    const unsigned turn = random_word() & 31;
    const uint32_t turned = mask >> turn | mask << (-turn & 31);
    return static_cast<int>((static_cast<unsigned>(__builtin_ctz(turned)) + turn) & 31);
}

inline uint32_t bit(int lane) { return uint32_t{1} << lane; }

std::string thread_list(uint32_t lanes, int warp) {
    std::string list;
    for (int i = 0; i < 32; ++i) {
        if (!(lanes >> i & 1)) continue;
        int last = i;
        while (last < 31 && lanes >> (last + 1) & 1) ++last;
        if (!list.empty()) list += ' ';
        list += std::to_string(32 * warp + i);
        if (last > i) list += "-" + std::to_string(32 * warp + last);
        i = last;
    }
    return list;
}

const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

void worker(transfer_t from);

void prepare(Fiber &fiber, size_t index) {
    const size_t stagger = index * 37 % (stagger_bytes / 64) * 64;
    fiber.context = make_fcontext(fiber.stack + fiber.size - stagger, fiber.size - stagger, worker);
    fiber.fake_stack = nullptr;
#if CUDAENC_EMU_ASAN
    __asan_unpoison_memory_region(fiber.stack, fiber.size);
#endif
}

Fiber *take_fiber() {
    if (machine.idle.empty()) {
        machine.idle.reserve(machine.fibers.size() + 1);
        machine.fibers.reserve(machine.fibers.size() + 1);
        auto fiber = std::make_unique<Fiber>();
        fiber->size = stack_bytes + stagger_bytes;
        void *memory = mmap(nullptr, fiber->size + page_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) report("no memory for the stack of another thread");
        mprotect(memory, page_bytes, PROT_NONE);  // so that an overflow faults
        fiber->stack = static_cast<char *>(memory) + page_bytes;
        prepare(*fiber, machine.fibers.size());
        machine.fibers.push_back(std::move(fiber));
        return machine.fibers.back().get();
    }
    Fiber *fiber = machine.idle.back();
    machine.idle.pop_back();
    return fiber;
}

// Forgets what runs on the fibers, none of which is running.
void reset_fibers() {
    machine.idle.clear();
    for (size_t i = 0; i < machine.fibers.size(); ++i) {
        prepare(*machine.fibers[i], i);
        machine.idle.push_back(machine.fibers[i].get());
    }
}

inline void arrive([[maybe_unused]] Fiber &self, transfer_t transfer) {
    Fiber &from = *static_cast<Fiber *>(transfer.data);
    from.context = transfer.fctx;
#if CUDAENC_EMU_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(self.fake_stack, &bottom, &size);
    if (&from == &machine.main) {  // which runs on a stack that is not ours
        from.stack = static_cast<char *>(const_cast<void *>(bottom));
        from.size = size;
    }
#endif
}

inline void switch_to(Fiber &self, Fiber &next) {
    machine.running = &next;
#if CUDAENC_EMU_ASAN
    __sanitizer_start_switch_fiber(&self.fake_stack, next.stack, next.size);
#endif
    arrive(self, jump_fcontext(next.context, &self));
}

// Takes a thread that can run out of those that wait for their turn; -1 where there is none. Threads of one warp mostly
// follow each other, which keeps their stacks in the processor's caches.
inline int pick_thread() {
    Block &block = machine.block;
    if (!block.ready_warps) return -1;
    int w = block.current_warp;
    if (!(block.ready_warps >> w & 1) || (random_word() & 31) == 0) w = random_bit(block.ready_warps);
    block.current_warp = w;
    Warp &warp = block.warps[w];
    const int lane = random_bit(warp.ready);
    warp.ready &= ~bit(lane);
    if (!warp.ready) block.ready_warps &= ~bit(w);
    return 32 * w + lane;
}

// The fiber of a thread that was picked, made the running thread; nullptr where the thread has not been started.
inline Fiber *resume(int thread) {
    position.thread = thread;
    Warp &warp = machine.block.warps[thread >> 5];
    const uint32_t lane = bit(thread & 31);
    if (warp.started & lane) return machine.block.fibers[thread];
    warp.started |= lane;
    return nullptr;
}

// Nothing can run, and not all threads are done.
[[noreturn]] void fail_stuck() {
    const Block &block = machine.block;
    std::string text;
    for (int w = 0; w < (block.threads + 31) / 32; ++w) {
        const Warp &warp = block.warps[w];
        if (warp.at_barrier) {
            text += "; threads " + thread_list(warp.at_barrier, w) + " wait in " +
                    (block.vote ? "block_any" : "block_sync") + " of " + base_name(block.barrier_file) + ":" +
                    std::to_string(block.barrier_line);
        }
        if (warp.arrived) {
            text += "; threads " + thread_list(warp.arrived, w) + " wait in " +
                    collective_names[static_cast<int>(warp.what)] + " of " + base_name(warp.file) + ":" +
                    std::to_string(warp.line);
        }
        if (text.size() > 600) {
            text += "; ...";
            break;
        }
    }
    report("divergent threads wait for each other%s", text.c_str());
}

// The running thread waits until somebody made it ready, and others run.
inline void wait_for_turn() {
    Fiber &self = *machine.running;
    machine.block.fibers[position.thread] = &self;
    const int next = pick_thread();
    if (next < 0) fail_stuck();
    Fiber *fiber = resume(next);
    switch_to(self, fiber ? *fiber : *take_fiber());
}

inline void make_ready(int warp, uint32_t lanes) {
    if (!lanes) return;
    machine.block.warps[warp].ready |= lanes;
    machine.block.ready_warps |= bit(warp);
}

void exit_thread() {
    Block &block = machine.block;
    Warp &warp = block.warps[position.thread >> 5];
    if (warp.arrived) {
        report("the thread ends while threads %s of its warp wait in %s of %s:%d",
               thread_list(warp.arrived, position.thread >> 5).c_str(), collective_names[static_cast<int>(warp.what)],
               base_name(warp.file), warp.line);
    }
    if (block.arrived) {
        report("divergent barrier: the thread ends while %d threads wait in %s of %s:%d", block.arrived,
               block.vote ? "block_any" : "block_sync", base_name(block.barrier_file), block.barrier_line);
    }
    warp.exited |= bit(position.thread & 31);
    ++block.exited;
}

// Runs threads until none is left that could run without waiting for another; started by the first thread it runs.
void run_threads(Fiber &self) {
    for (;;) {
        machine.kernel->run(machine.params);
        exit_thread();
        const int next = pick_thread();
        if (next < 0) {
            if (machine.block.exited == machine.block.threads) return;
            fail_stuck();
        }
        if (Fiber *fiber = resume(next)) {
            machine.idle.push_back(&self);
            switch_to(self, *fiber);  // who comes back here has made a thread the running one that is to be started
        }
    }
}

void worker(transfer_t from) {
    Fiber &self = *machine.running;
    arrive(self, from);
    for (;;) {
        try {
            run_threads(self);
        } catch (const KernelFailed &) {
            machine.failed = true;
        } catch (...) {  // no host memory
            machine.failed = true;
            machine.thrown = std::current_exception();
        }
        // The block is over. Where it failed, all fibers are set up anew.
        if (!machine.failed) machine.idle.push_back(&self);
        switch_to(self, machine.main);
    }
}

std::vector<Kernel> &kernels() {
    static std::vector<Kernel> all;  // here, as registrars of other files run before this file's own statics
    return all;
}

void run_block(int threads) {
    Block &block = machine.block;
    block.threads = threads;
    block.arrived = 0;
    block.exited = 0;
    block.any = false;
    const int warps = (threads + 31) / 32;
    for (int w = 0; w < warps; ++w) {
        Warp &warp = block.warps[w];
        warp.lanes = threads - 32 * w >= 32 ? ~uint32_t{0} : bit(threads - 32 * w) - 1;
        warp.started = 0;
        warp.ready = warp.lanes;
        warp.arrived = 0;
        warp.at_barrier = 0;
        warp.exited = 0;
        warp.turn = 0;
    }
    block.ready_warps = warps == 32 ? ~uint32_t{0} : bit(warps) - 1;
    block.current_warp = random_bit(block.ready_warps);
    ++block_serial;
    machine.shared_bytes = 0;
    resume(pick_thread());
    switch_to(machine.main, *take_fiber());
}

// Visits the numbers 0..n-1 in an order of its own: i -> (i * step + begin) mod n, with a step that has no divisor with
// n in common, so that no table is needed for a grid of any size.
class Shuffled {
  public:
    explicit Shuffled(uint64_t n) : n_(n), next_((uint64_t{random_word()} << 32 | random_word()) % n), step_(1) {
        if (n < 3) return;
        do {
            step_ = 1 + (uint64_t{random_word()} << 32 | random_word()) % (n - 1);
        } while (std::gcd(step_, n) != 1);
    }
    uint64_t next() {
        const uint64_t value = next_;
        next_ += step_;
        if (next_ >= n_) next_ -= n_;
        return value;
    }

  private:
    uint64_t n_, next_, step_;
};

}  // namespace

Registrar::Registrar(const KernelName &name, size_t params_size, int threads, void (*run)(const void *params)) {
    kernels().push_back({name, params_size, threads, run});
}

const Kernel *find_kernel(const KernelName &name) {
    for (const Kernel &kernel : kernels()) {
        if (same_text(kernel.name.module, name.module) && same_text(kernel.name.function, name.function))
            return &kernel;
    }
    return nullptr;
}

void report(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char where[256];
    snprintf(where, sizeof where, "kernel %s of %s, block (%d,%d,%d), thread %d: ", machine.kernel->name.function,
             machine.kernel->name.module, position.block_x, position.block_y, position.block_z, position.thread);
    machine.error = std::string(where) + text;
    throw KernelFailed();
}

void fill_garbage(void *memory, size_t bytes, uint64_t seed) {
    uint64_t x = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
    auto *out = static_cast<unsigned char *>(memory);
    for (size_t i = 0; i < bytes; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const uint64_t word = x | 0x8000800080008000ull;  // never 0, and far out of the range of an index
        memcpy(out + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

void begin_shared(const char *name, void *memory, size_t bytes) {
    machine.shared_bytes += bytes;
    if (machine.shared_bytes > max_shared_bytes) {
        report("shared array %s makes it %zu bytes of shared memory; a thread-block has %zu", name,
               machine.shared_bytes, max_shared_bytes);
    }
    fill_garbage(memory, bytes, machine.seed + block_serial);
}

void shared_index_failed(const char *name, int dimension, long long index, size_t count) {
    report("index %lld is out of bounds of the shared array %s, whose dimension %d has %zu elements", index, name,
           dimension, count);
}

const uint64_t *warp_collective(Collective what, uint64_t value, const char *file, int line) {
    const int w = position.thread >> 5, lane = position.thread & 31;
    Warp &warp = machine.block.warps[w];
    if (!warp.arrived) {
        if (warp.lanes != ~uint32_t{0} || warp.exited) {
            report("%s of %s:%d takes all 32 lanes of the warp, but threads %s are not there or have ended",
                   collective_names[static_cast<int>(what)], base_name(file), line,
                   thread_list(~warp.lanes | warp.exited, w).c_str());
        }
        warp.what = what;
        warp.line = line;
        warp.file = file;
    } else if (warp.what != what || warp.line != line || (warp.file != file && !same_text(warp.file, file))) {
        report("mismatched warp collectives: %s of %s:%d, but threads %s wait in %s of %s:%d",
               collective_names[static_cast<int>(what)], base_name(file), line, thread_list(warp.arrived, w).c_str(),
               collective_names[static_cast<int>(warp.what)], base_name(warp.file), warp.line);
    }
    uint64_t *values = warp.values[warp.turn & 1];
    values[lane] = value;
    warp.arrived |= bit(lane);
    if (warp.arrived == ~uint32_t{0}) {
        warp.arrived = 0;
        ++warp.turn;
        make_ready(w, ~bit(lane));
    } else {
        wait_for_turn();
    }
    return values;
}

bool block_barrier(bool is_vote, bool condition, const char *file, int line) {
    Block &block = machine.block;
    if (!block.arrived) {
        if (block.exited) {
            report("divergent barrier: %s of %s:%d, but %d threads of the block have ended",
                   is_vote ? "block_any" : "block_sync", base_name(file), line, block.exited);
        }
        block.vote = is_vote;
        block.any = false;
        block.barrier_line = line;
        block.barrier_file = file;
    } else if (block.vote != is_vote || block.barrier_line != line ||
               (block.barrier_file != file && !same_text(block.barrier_file, file))) {
        report("divergent barrier: %s of %s:%d, but %d threads wait in %s of %s:%d",
               is_vote ? "block_any" : "block_sync", base_name(file), line, block.arrived,
               block.vote ? "block_any" : "block_sync", base_name(block.barrier_file), block.barrier_line);
    }
    block.any |= condition;
    if (++block.arrived == block.threads) {
        block.arrived = 0;
        block.last_any = block.any;  // nobody reaches the end of the next barrier before all have read this
        const int own = position.thread >> 5;
        for (int w = 0; w < (block.threads + 31) / 32; ++w) {
            Warp &warp = block.warps[w];
            warp.at_barrier = 0;
            make_ready(w, warp.lanes & ~(w == own ? bit(position.thread & 31) : 0));
        }
    } else {
        block.warps[position.thread >> 5].at_barrier |= bit(position.thread & 31);
        wait_for_turn();
    }
    return block.last_any;
}

std::string run_kernel(const Kernel &kernel, Grid grid, int threads, const void *params, uint64_t seed) {
    std::lock_guard lock(machine.mutex);
    if (machine.owner != std::this_thread::get_id()) {
        // Code on a fiber may have kept addresses of the thread that ran it.
        machine.owner = std::this_thread::get_id();
        reset_fibers();
    }
    machine.kernel = &kernel;
    machine.params = params;
    machine.seed = seed;
    machine.random = (seed + block_serial) * 0x9e3779b97f4a7c15ull | 1;
    for (int i = 0; i < 4; ++i) random_word();
    machine.failed = false;
    machine.error.clear();
    position.threads = threads;
    position.grid_x = static_cast<int>(grid.x);
    position.grid_y = static_cast<int>(grid.y);
    position.grid_z = static_cast<int>(grid.z);
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    Shuffled order(blocks);
    for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t block = order.next();
        position.block_x = static_cast<int>(block % grid.x);
        position.block_y = static_cast<int>(block / grid.x % grid.y);
        position.block_z = static_cast<int>(block / grid.x / grid.y);
        try {
            run_block(threads);
        } catch (...) {
            machine.failed = true;
            machine.thrown = std::current_exception();
        }
        if (machine.failed) {
            reset_fibers();
            break;
        }
    }
    if (machine.thrown) std::rethrow_exception(std::exchange(machine.thrown, nullptr));
    return machine.error;
}

}  // namespace cudaenc::emu
