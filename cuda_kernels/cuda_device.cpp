// SPDX-License-Identifier: LGPL-2.1-or-later
// Device on the CUDA driver API. The driver is opened at run time, so that a program starts where there is none.
#include <cstdarg>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

// The loader would print the name that it does not find. Here it becomes part of an error's message: the context
// argument is the std::string that gets it.
#define FFNV_LOG_FUNC(logctx, message, name) (*static_cast<std::string *>(logctx) = (name))
#define FFNV_DEBUG_LOG_FUNC(logctx, message, name) (static_cast<void>(logctx))
#include <ffnvcodec/dynlink_loader.h>

#include "../common/device.h"
#include "../common/error.h"
#include "images.h"
#include "memory_reserve.h"

namespace cudaenc {
namespace {

// Constants of cuda.h that not every version of nv-codec-headers has.
constexpr auto cuda_error_out_of_memory = static_cast<CUresult>(2);
constexpr auto cuda_error_no_device = static_cast<CUresult>(100);
constexpr auto cuda_error_not_ready = static_cast<CUresult>(600);
constexpr unsigned host_alloc_portable = 1;
constexpr int pointer_attribute_memory_type = 2;
constexpr int capture_thread_local = 1;
constexpr int function_ptx_version = 5, preferred_shared_memory_carveout = 9;
constexpr unsigned long long graph_use_node_priority = 8;

// The parameters of cuLaunchKernelEx, with the attributes that are used.
struct LaunchAttribute {
    int id, padding;
    union {
        char room[64];
        int priority;
        int overlaps;
    };
};
constexpr int launch_attribute_programmatic_stream_serialization = 6, launch_attribute_priority = 8;
struct LaunchConfig {
    Grid grid;
    unsigned threads[3];
    unsigned shared_memory;
    CUstream stream;
    const LaunchAttribute *attributes;
    unsigned attribute_count;
};

using CudaGraph = struct CUgraph_st *;
using CudaGraphExec = struct CUgraphExec_st *;

// The driver: the loader's table, and the functions that it lacks.
struct Driver {
    struct Unload {
        void operator()(CudaFunctions *table) const { cuda_free_functions(&table); }
    };
    const std::unique_ptr<CudaFunctions, Unload> table{load()};
    CUresult CUDAAPI (*cuMemGetInfo)(size_t *free, size_t *total) = find("cuMemGetInfo_v2");
    CUresult CUDAAPI (*cuMemHostAlloc)(void **memory, size_t bytes, unsigned flags) = find("cuMemHostAlloc");
    CUresult CUDAAPI (*cuMemFreeHost)(void *memory) = find("cuMemFreeHost");
    CUresult CUDAAPI (*cuPointerGetAttribute)(void *data, int attribute,
                                              CUdeviceptr memory) = find("cuPointerGetAttribute");
    CUresult CUDAAPI (*cuEventElapsedTime)(float *milliseconds, CUevent begin,
                                           CUevent end) = find("cuEventElapsedTime");
    CUresult CUDAAPI (*cuStreamWaitEvent)(CUstream stream, CUevent event, unsigned flags) = find("cuStreamWaitEvent");
    CUresult CUDAAPI (*cuFuncGetAttribute)(int *value, int attribute, CUfunction function) = find("cuFuncGetAttribute");
    CUresult CUDAAPI (*cuFuncSetAttribute)(CUfunction function, int attribute, int value) = find("cuFuncSetAttribute");
    CUresult CUDAAPI (*cuCtxGetStreamPriorityRange)(int *least, int *greatest) = find("cuCtxGetStreamPriorityRange");
    CUresult CUDAAPI (*cuLaunchKernelEx)(const LaunchConfig *config, CUfunction function, void **params,
                                         void **extra) = find("cuLaunchKernelEx");
    CUresult CUDAAPI (*cuStreamBeginCapture)(CUstream stream, int mode) = find("cuStreamBeginCapture_v2");
    CUresult CUDAAPI (*cuStreamEndCapture)(CUstream stream, CudaGraph *graph) = find("cuStreamEndCapture");
    CUresult CUDAAPI (*cuGraphInstantiateWithFlags)(CudaGraphExec *exec, CudaGraph graph,
                                                    unsigned long long flags) = find("cuGraphInstantiateWithFlags");
    CUresult CUDAAPI (*cuGraphLaunch)(CudaGraphExec exec, CUstream stream) = find("cuGraphLaunch");
    CUresult CUDAAPI (*cuGraphDestroy)(CudaGraph graph) = find("cuGraphDestroy");
    CUresult CUDAAPI (*cuGraphExecDestroy)(CudaGraphExec exec) = find("cuGraphExecDestroy");
    CUresult CUDAAPI (*cuCtxSynchronize)() = find("cuCtxSynchronize");
    CUresult CUDAAPI (*cuCtxGetId)(CUcontext context, unsigned long long *id) = find("cuCtxGetId");

    Driver() {
        const CUresult result = table->cuInit(0);
        if (result == cuda_error_no_device)
            throw Error(CUDAENC_ERR_DEVICE, "there is no CUDA device: the NVIDIA driver finds none");
        if (result != CUDA_SUCCESS)
            throw Error(CUDAENC_ERR_DEVICE, "the NVIDIA driver does not start: cuInit: " + describe(result));
    }

    std::string describe(CUresult result) const {
        const char *name = nullptr, *text = nullptr;
        table->cuGetErrorName(result, &name);
        table->cuGetErrorString(result, &text);
        if (!name) return "error " + std::to_string(static_cast<int>(result));
        return std::string(name) + (text ? std::string(": ") + text : "");
    }

    // call: the function's name, with what is worth knowing of its arguments.
    void check(CUresult result, std::string_view call) const {
        if (result == CUDA_SUCCESS) return;
        throw Error(result == cuda_error_out_of_memory ? CUDAENC_ERR_MEMORY : CUDAENC_ERR_DEVICE,
                    std::string(call) + ": " + describe(result));
    }

  private:
    static CudaFunctions *load() {
        CudaFunctions *loaded = nullptr;
        std::string missing;
        if (cuda_load_functions(&loaded, &missing) < 0) fail(missing);
        return loaded;
    }
    struct Symbol {
        void *address;
        template <class F>
        operator F *() const {
            return reinterpret_cast<F *>(address);
        }
    };
    Symbol find(const char *name) {
        void *address = reinterpret_cast<void *>(FFNV_SYM_FUNC(table->lib, name));
        if (!address) fail(name);
        return {address};
    }
    [[noreturn]] static void fail(const std::string &missing) {
        throw Error(CUDAENC_ERR_DEVICE, missing.rfind("cu", 0) == 0
                                            ? "the NVIDIA driver is too old: it has no " + missing
                                            : "there is no NVIDIA driver: " + missing + " cannot be loaded");
    }
};

// Opens the driver on the first call, and again after a failure. It stays loaded: other parts of the program may use
// it, and unloading it at exit is not safe.
const Driver &driver() {
    static const Driver &instance = *new Driver;
    return instance;
}

// What takes milliseconds to make in a context: the modules of kernels, loaded where one is needed, and memory. They
// end with the context. Memory is asked for where the context is current.
struct ContextParts {
    explicit ContextParts(const Driver &cu)
        : memory({.allocate =
                      [&cu](size_t bytes) {
                          CUdeviceptr memory = 0;
                          cu.check(cu.table->cuMemAlloc(&memory, bytes),
                                   format_string("cuMemAlloc of %zu bytes", bytes));
                          return reinterpret_cast<void *>(memory);
                      },
                  .free = [&cu](void *memory) { cu.table->cuMemFree(reinterpret_cast<CUdeviceptr>(memory)); },
                  .settle = [this, &cu] { return synchronize(cu); }},
                 kMostIdle, false),
          pinned({.allocate =
                      [&cu](size_t bytes) {
                          void *memory = nullptr;
                          cu.check(cu.cuMemHostAlloc(&memory, bytes, host_alloc_portable),
                                   format_string("cuMemHostAlloc of %zu bytes", bytes));
                          return memory;
                      },
                  .free =
                      [this, &cu](void *memory) {
                          synchronize(cu);
                          cu.cuMemFreeHost(memory);
                      },
                  .settle = [this, &cu] { return synchronize(cu); }},
                 kMostIdlePinned, true) {}

    static constexpr size_t kMostIdle = size_t{1} << 28, kMostIdlePinned = size_t{1} << 26;  // bytes
    // Waits for all work. false: that failed.
    bool synchronize(const Driver &cu) noexcept {
        const std::lock_guard lock(capture);
        return cu.cuCtxSynchronize() == CUDA_SUCCESS;
    }
    std::mutex mutex;    // of modules
    std::mutex capture;  // held while a stream is captured: cuCtxSynchronize() of another thread would end that
    std::map<std::string, CUmodule> modules;
    MemoryReserve memory;  // compute-sanitizer sees its pieces: none is cut from a larger one
    MemoryReserve pinned;
};

// Those of a context, which all its sessions share, also one after the other. Another context in its place, such as a
// primary one that was reset, has another number, and begins anew.
std::shared_ptr<ContextParts> parts_of(const Driver &cu, CUcontext context) {
    struct Numbered {
        unsigned long long number;
        std::shared_ptr<ContextParts> parts;
    };
    static std::mutex mutex;
    static std::map<CUcontext, Numbered> &contexts = *new std::map<CUcontext, Numbered>;  // stays, as the driver does
    unsigned long long number = 0;
    cu.check(cu.cuCtxGetId(context, &number), "cuCtxGetId");
    const std::lock_guard lock(mutex);
    Numbered &known = contexts[context];
    if (!known.parts || known.number != number) known = {number, std::make_shared<ContextParts>(cu)};
    return known.parts;
}

// -1 for "cuda", N for "cuda:N".
int parse_spec(const std::string &spec) {
    if (spec == "cuda") return -1;
    const std::string prefix = "cuda:";
    const std::string digits = spec.rfind(prefix, 0) == 0 ? spec.substr(prefix.size()) : "";
    if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos) {
        throw Error(CUDAENC_ERR_INVALID,
                    "device \"" + spec + "\" is not \"cuda\" or \"cuda:N\" with a device's number N");
    }
    return std::stoi(digits);
}

class CudaDevice final : public Device {
  public:
    CudaDevice(const std::string &spec, CUcontext context) : cu_(driver()), context_(context) {
        const int wanted = parse_spec(spec);
        int count = 0;
        cu_.check(cu_.table->cuDeviceGetCount(&count), "cuDeviceGetCount");
        if (count < 1) throw Error(CUDAENC_ERR_DEVICE, "there is no CUDA device: the NVIDIA driver finds none");
        if (wanted >= count) {
            throw Error(CUDAENC_ERR_DEVICE,
                        count == 1 ? format_string("there is no device cuda:%d: the only one is cuda:0", wanted)
                                   : format_string("there is no device cuda:%d: there are %d, cuda:0 to cuda:%d",
                                                   wanted, count, count - 1));
        }
        int number = wanted < 0 ? 0 : wanted;
        cu_.check(cu_.table->cuDeviceGet(&device_, number), "cuDeviceGet");
        if (context_) {
            CUdevice own = 0;
            call("cuCtxGetDevice", cu_.table->cuCtxGetDevice, &own);
            if (wanted >= 0 && own != device_) {
                throw Error(CUDAENC_ERR_INVALID, "device \"" + spec + "\" is not the one that the frames are on");
            }
            device_ = own;
            for (int i = 0; i < count; ++i) {
                CUdevice other = 0;
                if (cu_.table->cuDeviceGet(&other, i) == CUDA_SUCCESS && other == own) number = i;
            }
        }

        char device_name[256] = "";
        int major = 0, minor = 0;
        cu_.check(cu_.table->cuDeviceGetName(device_name, sizeof device_name, device_), "cuDeviceGetName");
        attribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        attribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        attribute(multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        name_ = format_string("cuda:%d %s, sm_%d%d", number, device_name, major, minor);
        if (major < 7 || (major == 7 && minor < 5)) {
            throw Error(CUDAENC_ERR_DEVICE,
                        format_string("cuda:%d %s has compute capability %d.%d; 7.5 or later is needed", number,
                                      device_name, major, minor));
        }

        if (!context_) {
            cu_.check(cu_.table->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
            primary_.reset(context_, [this](void *) { cu_.table->cuDevicePrimaryCtxRelease(device_); });
        }
        parts_ = parts_of(cu_, context_);
        int least = 0;
        call("cuCtxGetStreamPriorityRange", cu_.cuCtxGetStreamPriorityRange, &least, &high_priority_);
        call("cuEventCreate", cu_.table->cuEventCreate, &foreign_, CU_EVENT_DISABLE_TIMING);
    }

    // Here a session waits once for all that it freed, so that the next one does not.
    ~CudaDevice() override {
        drop(cu_.table->cuEventDestroy, foreign_);
        if (!enter()) return;
        parts_->memory.settle();
        parts_->pinned.settle();
        leave();
    }

    std::string name() const override { return name_; }
    int multiprocessors() const override { return multiprocessors_; }
    uint64_t free_memory() override {
        size_t free = 0, total = 0;
        call("cuMemGetInfo", cu_.cuMemGetInfo, &free, &total);
        return free + parts_->memory.idle_bytes();
    }

    void *alloc(size_t bytes) override { return take(parts_->memory, bytes); }
    void free(void *memory) noexcept override { put(parts_->memory, memory); }
    void *alloc_pinned(size_t bytes) override { return take(parts_->pinned, bytes); }
    void free_pinned(void *memory) noexcept override { put(parts_->pinned, memory); }

    bool pageable(const void *host) override {
        const Current current(*this);
        unsigned type = 0;
        const CUresult result = cu_.cuPointerGetAttribute(&type, pointer_attribute_memory_type, pointer(host));
        return result != CUDA_SUCCESS || !type;  // CUDA does not know the memory
    }

    Stream create_stream() override {
        CUstream stream = nullptr;
        // Blocking streams would wait for the default stream, and that for them.
        call("cuStreamCreate", cu_.table->cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
        return reinterpret_cast<Stream>(stream);
    }
    void destroy_stream(Stream stream) noexcept override { drop(cu_.table->cuStreamDestroy, native(stream)); }

    Event create_event(bool timing) override {
        CUevent event = nullptr;
        call("cuEventCreate", cu_.table->cuEventCreate, &event, timing ? 0 : CU_EVENT_DISABLE_TIMING);
        return reinterpret_cast<Event>(event);
    }
    void destroy_event(Event event) noexcept override { drop(cu_.table->cuEventDestroy, native(event)); }

    void record(Event event, Stream stream) override {
        call("cuEventRecord", cu_.table->cuEventRecord, native(event), native(stream));
    }

    void wait(Stream stream, Event event) override {
        call("cuStreamWaitEvent", cu_.cuStreamWaitEvent, native(stream), native(event), 0);
    }

    void wait_foreign(Stream stream, void *cuda_stream) override {
        const Current current(*this);
        const CUresult state = cu_.table->cuStreamQuery(static_cast<CUstream>(cuda_stream));
        if (state == CUDA_SUCCESS) return;  // nothing to wait for
        if (state != cuda_error_not_ready) cu_.check(state, "cuStreamQuery of the stream of the frame");
        // One event serves all: a wait is for its last record, and the lock keeps others from recording in between.
        const std::lock_guard lock(foreign_mutex_);
        cu_.check(cu_.table->cuEventRecord(foreign_, static_cast<CUstream>(cuda_stream)),
                  "cuEventRecord on the stream of the frame");
        cu_.check(cu_.cuStreamWaitEvent(native(stream), foreign_, 0), "cuStreamWaitEvent for the stream of the frame");
    }

    bool done(Event event) override {
        const Current current(*this);
        const CUresult result = cu_.table->cuEventQuery(native(event));
        if (result != cuda_error_not_ready) cu_.check(result, "cuEventQuery");
        return result == CUDA_SUCCESS;
    }

    void synchronize(Event event) override { call("cuEventSynchronize", cu_.table->cuEventSynchronize, native(event)); }
    void synchronize(Stream stream) override {
        call("cuStreamSynchronize", cu_.table->cuStreamSynchronize, native(stream));
    }

    float elapsed_ms(Event begin, Event end) override {
        float milliseconds = 0;
        call("cuEventElapsedTime", cu_.cuEventElapsedTime, &milliseconds, native(begin), native(end));
        return milliseconds;
    }

    void upload(Stream stream, void *device, const void *host, size_t bytes) override {
        if (bytes)
            call("cuMemcpyHtoDAsync", cu_.table->cuMemcpyHtoDAsync, pointer(device), host, bytes, native(stream));
    }

    void upload_2d(Stream stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch,
                   size_t row_bytes, size_t rows) override {
        if (!row_bytes || !rows) return;
        if (host_pitch < 0 || static_cast<size_t>(host_pitch) < row_bytes) {  // cuMemcpy2D does not take these
            const Current current(*this);
            for (size_t y = 0; y < rows; ++y) {
                const char *row = static_cast<const char *>(host) + static_cast<ptrdiff_t>(y) * host_pitch;
                cu_.check(
                    cu_.table->cuMemcpyHtoDAsync(pointer(device) + y * device_pitch, row, row_bytes, native(stream)),
                    "cuMemcpyHtoDAsync");
            }
            return;
        }
        CUDA_MEMCPY2D copy{};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = host;
        copy.srcPitch = static_cast<size_t>(host_pitch);
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = pointer(device);
        copy.dstPitch = device_pitch;
        copy.WidthInBytes = row_bytes;
        copy.Height = rows;
        call("cuMemcpy2DAsync", cu_.table->cuMemcpy2DAsync, &copy, native(stream));
    }

    void download_2d(Stream stream, void *host, ptrdiff_t host_pitch, const void *device, size_t device_pitch,
                     size_t row_bytes, size_t rows) override {
        if (!row_bytes || !rows) return;
        if (host_pitch < 0 || static_cast<size_t>(host_pitch) < row_bytes) {
            for (size_t y = 0; y < rows; ++y)
                download(stream, static_cast<char *>(host) + static_cast<ptrdiff_t>(y) * host_pitch,
                         static_cast<const char *>(device) + y * device_pitch, row_bytes);
            return;
        }
        CUDA_MEMCPY2D copy{};
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = pointer(device);
        copy.srcPitch = device_pitch;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = host;
        copy.dstPitch = static_cast<size_t>(host_pitch);
        copy.WidthInBytes = row_bytes;
        copy.Height = rows;
        call("cuMemcpy2DAsync", cu_.table->cuMemcpy2DAsync, &copy, native(stream));
    }

    void download(Stream stream, void *host, const void *device, size_t bytes) override {
        if (bytes)
            call("cuMemcpyDtoHAsync", cu_.table->cuMemcpyDtoHAsync, host, pointer(device), bytes, native(stream));
    }

    void fill(Stream stream, void *device, uint8_t value, size_t bytes) override {
        if (bytes) call("cuMemsetD8Async", cu_.table->cuMemsetD8Async, pointer(device), value, bytes, native(stream));
    }

    Graph create_graph(Stream stream, const std::function<void()> &work) override {
        const Current current(*this);
        const std::lock_guard lock(parts_->capture);
        cu_.check(cu_.cuStreamBeginCapture(native(stream), capture_thread_local), "cuStreamBeginCapture");
        CudaGraph graph = nullptr;
        try {
            work();
        } catch (...) {
            cu_.cuStreamEndCapture(native(stream), &graph);
            if (graph) cu_.cuGraphDestroy(graph);
            throw;
        }
        cu_.check(cu_.cuStreamEndCapture(native(stream), &graph), "cuStreamEndCapture");
        CudaGraphExec exec = nullptr;
        const CUresult result = cu_.cuGraphInstantiateWithFlags(&exec, graph, graph_use_node_priority);
        cu_.cuGraphDestroy(graph);
        cu_.check(result, "cuGraphInstantiateWithFlags");
        return reinterpret_cast<Graph>(exec);
    }

    void run(Stream stream, Graph graph) override {
        call("cuGraphLaunch", cu_.cuGraphLaunch, native(graph), native(stream));
    }
    void destroy_graph(Graph graph) noexcept override { drop(cu_.cuGraphExecDestroy, native(graph)); }

  protected:
    void launch_kernel(Stream stream, const KernelName &name, Grid grid, unsigned threads, const void *params,
                       size_t) override {
        const Current current(*this);
        void *arguments[] = {const_cast<void *>(params)};
        const Function kernel = function(name);
        LaunchAttribute attributes[2]{};
        attributes[0].id = launch_attribute_priority;
        attributes[0].priority = name.priority == LaunchPriority::kHigh ? high_priority_ : 0;
        attributes[1].id = launch_attribute_programmatic_stream_serialization;
        attributes[1].overlaps = 1;
        const LaunchConfig config{.grid = grid,
                                  .threads = {threads, 1, 1},
                                  .shared_memory = 0,
                                  .stream = native(stream),
                                  .attributes = attributes,
                                  .attribute_count = kernel.overlaps ? 2u : 1u};
        const CUresult result = cu_.cuLaunchKernelEx(&config, kernel.handle, arguments, nullptr);
        if (result != CUDA_SUCCESS) {
            cu_.check(result, format_string("cuLaunchKernelEx of %s of %s, %u x %u x %u blocks of %u threads",
                                            name.function, name.module, grid.x, grid.y, grid.z, threads));
        }
    }

  private:
    // Makes the context current for the calling thread for its lifetime; the caller may use another one.
    class Current {
      public:
        explicit Current(CudaDevice &device) : device_(device) {
            device.cu_.check(device.cu_.table->cuCtxPushCurrent(device.context_), "cuCtxPushCurrent");
        }
        ~Current() { device_.leave(); }
        Current(const Current &) = delete;
        Current &operator=(const Current &) = delete;

      private:
        CudaDevice &device_;
    };

    // name: of the function, with what is worth knowing of its arguments.
    template <class F, class... Arguments>
    void call(std::string_view name, F *function, Arguments... arguments) {
        const Current current(*this);
        cu_.check(function(arguments...), name);
    }
    // For what frees and destroys, which does not throw.
    template <class F, class T>
    void drop(F *function, T object) noexcept {
        if (!object || !enter()) return;
        function(object);
        leave();
    }

    void *take(MemoryReserve &reserve, size_t bytes) {
        const Current current(*this);
        return reserve.take(bytes);
    }
    void put(MemoryReserve &reserve, void *memory) noexcept {
        if (!memory || !enter()) return;
        reserve.put(memory);
        leave();
    }

    bool enter() noexcept { return cu_.table->cuCtxPushCurrent(context_) == CUDA_SUCCESS; }
    void leave() noexcept {
        CUcontext ignored;
        cu_.table->cuCtxPopCurrent(&ignored);
    }

    void attribute(int &value, CUdevice_attribute which) {
        cu_.check(cu_.table->cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
    }

    static CUdeviceptr pointer(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }
    static CUstream native(Stream stream) { return reinterpret_cast<CUstream>(stream); }
    static CUevent native(Event event) { return reinterpret_cast<CUevent>(event); }
    static CudaGraphExec native(Graph graph) { return reinterpret_cast<CudaGraphExec>(graph); }

    struct Function {
        CUfunction handle;
        bool overlaps;
    };
    // The kernel's function; the first launch in a context loads the module. Each name is one constant, so its address
    // identifies it.
    Function function(const KernelName &name) {
        const std::lock_guard lock(functions_mutex_);
        const auto known = functions_.find(&name);
        if (known != functions_.end()) return known->second;
        CUfunction found = nullptr;
        cu_.check(cu_.table->cuModuleGetFunction(&found, module(name.module), name.function),
                  std::string("cuModuleGetFunction of ") + name.function + " of " + name.module);
        cu_.check(cu_.cuFuncSetAttribute(found, preferred_shared_memory_carveout, name.shared_memory_percent),
                  "cuFuncSetAttribute");
        int ptx_version = 0;  // code for older ones does not wait by itself
        cu_.check(cu_.cuFuncGetAttribute(&ptx_version, function_ptx_version, found), "cuFuncGetAttribute");
        return functions_[&name] = {found, name.overlaps && ptx_version >= 90};
    }

    CUmodule module(const std::string &name) {
        const std::lock_guard lock(parts_->mutex);
        CUmodule &loaded = parts_->modules[name];
        if (loaded) return loaded;
        for (const CudaencImage *image = cudaenc_images; image->module; ++image) {
            if (name != image->module) continue;
            cu_.check(cu_.table->cuModuleLoadData(&loaded, image->data), "cuModuleLoadData of " + name);
            return loaded;
        }
        throw Error(CUDAENC_ERR_INTERNAL, "the library was built without the kernels of " + name);
    }

    const Driver &cu_;
    CUdevice device_ = 0;
    CUcontext context_;
    std::shared_ptr<void> primary_;  // the primary context, where that is context_
    std::string name_;
    int multiprocessors_ = 0;
    int high_priority_ = 0;  // the driver's number
    std::mutex foreign_mutex_;
    CUevent foreign_ = nullptr;
    std::shared_ptr<ContextParts> parts_;
    std::mutex functions_mutex_;
    std::unordered_map<const KernelName *, Function> functions_;
};

}  // namespace

std::shared_ptr<Device> open_cuda_device(const std::string &spec, void *cuda_context) {
    parse_spec(spec);  // refuses a wrong name on machines without a driver too
    if (!cudaenc_images[0].module)
        throw Error(CUDAENC_ERR_DEVICE, "this library was built without kernels, for the CPU only");
    return std::make_shared<CudaDevice>(spec, static_cast<CUcontext>(cuda_context));
}

}  // namespace cudaenc
