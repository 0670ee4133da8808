// Device on the CUDA driver API. The driver is opened at run time, so that a program starts where there is none.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstdarg>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

// The loader would print what it does not find; it becomes part of an error's message here. Its context argument is the
// std::string that gets the name.
#define FFNV_LOG_FUNC(logctx, message, name) (*static_cast<std::string *>(logctx) = (name))
#define FFNV_DEBUG_LOG_FUNC(logctx, message, name) (static_cast<void>(logctx))
#include <ffnvcodec/dynlink_loader.h>

#include "../common/device.h"
#include "../common/error.h"
#include "images.h"

namespace cudaenc {
namespace {

// Numbers of cuda.h that not every version of nv-codec-headers has.
constexpr auto cuda_error_out_of_memory = static_cast<CUresult>(2);
constexpr auto cuda_error_no_device = static_cast<CUresult>(100);
constexpr auto cuda_error_not_ready = static_cast<CUresult>(600);
constexpr unsigned host_alloc_portable = 1;

constexpr int capture_thread_local = 1;

constexpr int preferred_shared_memory_carveout = 9;

constexpr unsigned long long graph_use_node_priority = 8;

// cuLaunchKernelEx's, with the one attribute that is used.
struct LaunchAttribute {
    int id, padding;
    union {
        char room[64];
        int priority;
    };
};
constexpr int launch_attribute_priority = 8;
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
    CudaFunctions *table = nullptr;
    CUresult CUDAAPI (*cuMemHostAlloc)(void **memory, size_t bytes, unsigned flags) = nullptr;
    CUresult CUDAAPI (*cuMemFreeHost)(void *memory) = nullptr;
    CUresult CUDAAPI (*cuEventElapsedTime)(float *milliseconds, CUevent begin, CUevent end) = nullptr;
    CUresult CUDAAPI (*cuStreamWaitEvent)(CUstream stream, CUevent event, unsigned flags) = nullptr;
    CUresult CUDAAPI (*cuFuncSetAttribute)(CUfunction function, int attribute, int value) = nullptr;
    CUresult CUDAAPI (*cuCtxGetStreamPriorityRange)(int *least, int *greatest) = nullptr;
    CUresult CUDAAPI (*cuLaunchKernelEx)(const LaunchConfig *config, CUfunction function, void **params,
                                         void **extra) = nullptr;
    CUresult CUDAAPI (*cuStreamBeginCapture)(CUstream stream, int mode) = nullptr;
    CUresult CUDAAPI (*cuStreamEndCapture)(CUstream stream, CudaGraph *graph) = nullptr;
    CUresult CUDAAPI (*cuGraphInstantiateWithFlags)(CudaGraphExec *exec, CudaGraph graph,
                                                    unsigned long long flags) = nullptr;
    CUresult CUDAAPI (*cuGraphLaunch)(CudaGraphExec exec, CUstream stream) = nullptr;
    CUresult CUDAAPI (*cuGraphDestroy)(CudaGraph graph) = nullptr;
    CUresult CUDAAPI (*cuGraphExecDestroy)(CudaGraphExec exec) = nullptr;

    Driver() {
        std::string missing;
        if (cuda_load_functions(&table, &missing) < 0) fail(missing);
        find(cuMemHostAlloc, "cuMemHostAlloc");
        find(cuMemFreeHost, "cuMemFreeHost");
        find(cuEventElapsedTime, "cuEventElapsedTime");
        find(cuStreamWaitEvent, "cuStreamWaitEvent");
        find(cuFuncSetAttribute, "cuFuncSetAttribute");
        find(cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
        find(cuLaunchKernelEx, "cuLaunchKernelEx");
        find(cuStreamBeginCapture, "cuStreamBeginCapture_v2");
        find(cuStreamEndCapture, "cuStreamEndCapture");
        find(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
        find(cuGraphLaunch, "cuGraphLaunch");
        find(cuGraphDestroy, "cuGraphDestroy");
        find(cuGraphExecDestroy, "cuGraphExecDestroy");
        const CUresult result = table->cuInit(0);
        if (result == cuda_error_no_device) {
            cuda_free_functions(&table);
            throw Error(CUDAENC_ERR_DEVICE, "there is no CUDA device: the NVIDIA driver finds none");
        }
        if (result != CUDA_SUCCESS) {
            const std::string text = "the NVIDIA driver does not start: cuInit: " + describe(result);
            cuda_free_functions(&table);
            throw Error(CUDAENC_ERR_DEVICE, text);
        }
    }
    // The driver stays loaded: other parts of the program may be in it, and it does not like to be unloaded at exit.
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;

    std::string describe(CUresult result) const {
        const char *name = nullptr, *text = nullptr;
        table->cuGetErrorName(result, &name);
        table->cuGetErrorString(result, &text);
        if (!name) return "error " + std::to_string(static_cast<int>(result));
        return std::string(name) + (text ? std::string(": ") + text : "");
    }

    // `call` names the driver's function, with what is worth knowing of its arguments.
    void check(CUresult result, const std::string &call) const {
        if (result == CUDA_SUCCESS) return;
        throw Error(result == cuda_error_out_of_memory ? CUDAENC_ERR_MEMORY : CUDAENC_ERR_DEVICE,
                    call + ": " + describe(result));
    }
    void check(CUresult result, const char *call) const {
        if (result != CUDA_SUCCESS) check(result, std::string(call));
    }

  private:
    template <class F>
    void find(F *&function, const char *name) {
        function = reinterpret_cast<F *>(FFNV_SYM_FUNC(table->lib, name));
        if (!function) fail(name);
    }
    [[noreturn]] void fail(const std::string &missing) {
        cuda_free_functions(&table);
        throw Error(CUDAENC_ERR_DEVICE, missing.rfind("cu", 0) == 0
                                            ? "the NVIDIA driver is too old: it has no " + missing
                                            : "there is no NVIDIA driver: " + missing + " cannot be loaded");
    }
};

// Opens the driver the first time, and again after every failure.
const Driver &driver() {
    static const Driver instance;
    return instance;
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
            {
                const Current current(*this);
                cu_.check(cu_.table->cuCtxGetDevice(&own), "cuCtxGetDevice");
            }
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
            retained_ = true;
        }
        try {
            const Current current(*this);
            int least = 0;
            cu_.check(cu_.cuCtxGetStreamPriorityRange(&least, &high_priority_), "cuCtxGetStreamPriorityRange");
            cu_.check(cu_.table->cuEventCreate(&foreign_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        } catch (...) {
            release();
            throw;
        }
    }

    ~CudaDevice() override {
        if (enter()) {
            for (const auto &[name, module] : modules_) cu_.table->cuModuleUnload(module);
            cu_.table->cuEventDestroy(foreign_);
            leave();
        }
        release();
    }

    std::string name() const override { return name_; }
    int multiprocessors() const override { return multiprocessors_; }

    void *alloc(size_t bytes) override {
        const Current current(*this);
        CUdeviceptr memory = 0;
        const CUresult result = cu_.table->cuMemAlloc(&memory, bytes ? bytes : 1);
        if (result != CUDA_SUCCESS) cu_.check(result, format_string("cuMemAlloc of %zu bytes", bytes));
        return reinterpret_cast<void *>(memory);
    }

    void free(void *memory) noexcept override {
        if (!memory || !enter()) return;
        cu_.table->cuMemFree(pointer(memory));
        leave();
    }

    void *alloc_pinned(size_t bytes) override {
        const Current current(*this);
        void *memory = nullptr;
        const CUresult result = cu_.cuMemHostAlloc(&memory, bytes ? bytes : 1, host_alloc_portable);
        if (result != CUDA_SUCCESS) cu_.check(result, format_string("cuMemHostAlloc of %zu bytes", bytes));
        return memory;
    }

    void free_pinned(void *memory) noexcept override {
        if (!memory || !enter()) return;
        cu_.cuMemFreeHost(memory);
        leave();
    }

    Stream create_stream() override {
        const Current current(*this);
        CUstream stream = nullptr;
        // The default stream would otherwise wait for ours, and ours for it.
        cu_.check(cu_.table->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        return reinterpret_cast<Stream>(stream);
    }

    void destroy_stream(Stream stream) noexcept override {
        if (!stream || !enter()) return;
        cu_.table->cuStreamDestroy(native(stream));
        leave();
    }

    Event create_event(bool timing) override {
        const Current current(*this);
        CUevent event = nullptr;
        cu_.check(cu_.table->cuEventCreate(&event, timing ? 0 : CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        return reinterpret_cast<Event>(event);
    }

    void destroy_event(Event event) noexcept override {
        if (!event || !enter()) return;
        cu_.table->cuEventDestroy(native(event));
        leave();
    }

    void record(Event event, Stream stream) override {
        const Current current(*this);
        cu_.check(cu_.table->cuEventRecord(native(event), native(stream)), "cuEventRecord");
    }

    void wait(Stream stream, Event event) override {
        const Current current(*this);
        cu_.check(cu_.cuStreamWaitEvent(native(stream), native(event), 0), "cuStreamWaitEvent");
    }

    void wait_foreign(Stream stream, void *cuda_stream) override {
        const Current current(*this);
        const CUresult state = cu_.table->cuStreamQuery(static_cast<CUstream>(cuda_stream));
        if (state == CUDA_SUCCESS) return;  // nothing to wait for
        if (state != cuda_error_not_ready) cu_.check(state, "cuStreamQuery of the stream of the frame");
        // A wait is for what the event recorded last, so that one event serves all, if nobody records in between.
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

    void synchronize(Event event) override {
        const Current current(*this);
        cu_.check(cu_.table->cuEventSynchronize(native(event)), "cuEventSynchronize");
    }

    void synchronize(Stream stream) override {
        const Current current(*this);
        cu_.check(cu_.table->cuStreamSynchronize(native(stream)), "cuStreamSynchronize");
    }

    float elapsed_ms(Event begin, Event end) override {
        const Current current(*this);
        float milliseconds = 0;
        cu_.check(cu_.cuEventElapsedTime(&milliseconds, native(begin), native(end)), "cuEventElapsedTime");
        return milliseconds;
    }

    void upload(Stream stream, void *device, const void *host, size_t bytes) override {
        if (!bytes) return;
        const Current current(*this);
        cu_.check(cu_.table->cuMemcpyHtoDAsync(pointer(device), host, bytes, native(stream)), "cuMemcpyHtoDAsync");
    }

    void upload_2d(Stream stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch,
                   size_t row_bytes, size_t rows) override {
        if (!row_bytes || !rows) return;
        const Current current(*this);
        if (host_pitch < 0 || static_cast<size_t>(host_pitch) < row_bytes) {  // which cuMemcpy2D does not know
            for (size_t y = 0; y < rows; ++y) {
                cu_.check(cu_.table->cuMemcpyHtoDAsync(
                              pointer(device) + y * device_pitch,
                              static_cast<const char *>(host) + static_cast<ptrdiff_t>(y) * host_pitch, row_bytes,
                              native(stream)),
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
        cu_.check(cu_.table->cuMemcpy2DAsync(&copy, native(stream)), "cuMemcpy2DAsync");
    }

    void download(Stream stream, void *host, const void *device, size_t bytes) override {
        if (!bytes) return;
        const Current current(*this);
        cu_.check(cu_.table->cuMemcpyDtoHAsync(host, pointer(device), bytes, native(stream)), "cuMemcpyDtoHAsync");
    }

    void fill(Stream stream, void *device, uint8_t value, size_t bytes) override {
        if (!bytes) return;
        const Current current(*this);
        cu_.check(cu_.table->cuMemsetD8Async(pointer(device), value, bytes, native(stream)), "cuMemsetD8Async");
    }

    Graph create_graph(Stream stream, const std::function<void()> &work) override {
        const Current current(*this);
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
        const Current current(*this);
        cu_.check(cu_.cuGraphLaunch(native(graph), native(stream)), "cuGraphLaunch");
    }

    void destroy_graph(Graph graph) noexcept override {
        if (!graph || !enter()) return;
        cu_.cuGraphExecDestroy(native(graph));
        leave();
    }

  protected:
    void launch_kernel(Stream stream, const KernelName &name, Grid grid, unsigned threads, const void *params,
                       size_t) override {
        const Current current(*this);
        void *arguments[] = {const_cast<void *>(params)};
        LaunchAttribute attribute{};
        attribute.id = launch_attribute_priority;
        attribute.priority = name.priority == LaunchPriority::kHigh ? high_priority_ : 0;
        const LaunchConfig config{grid, {threads, 1, 1}, 0, native(stream), &attribute, 1};
        const CUresult result = cu_.cuLaunchKernelEx(&config, function(name), arguments, nullptr);
        if (result != CUDA_SUCCESS) {
            cu_.check(result, format_string("cuLaunchKernelEx of %s of %s, %u x %u x %u blocks of %u threads",
                                            name.function, name.module, grid.x, grid.y, grid.z, threads));
        }
    }

  private:
    // Makes the context the calling thread's for as long as it lives; the caller may have another one in use.
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

    bool enter() noexcept { return cu_.table->cuCtxPushCurrent(context_) == CUDA_SUCCESS; }
    void leave() noexcept {
        CUcontext ignored;
        cu_.table->cuCtxPopCurrent(&ignored);
    }

    void release() noexcept {
        if (retained_) cu_.table->cuDevicePrimaryCtxRelease(device_);
        retained_ = false;
    }

    void attribute(int &value, CUdevice_attribute which) {
        cu_.check(cu_.table->cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
    }

    static CUdeviceptr pointer(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }
    static CUstream native(Stream stream) { return reinterpret_cast<CUstream>(stream); }
    static CUevent native(Event event) { return reinterpret_cast<CUevent>(event); }
    static CudaGraphExec native(Graph graph) { return reinterpret_cast<CudaGraphExec>(graph); }

    // The kernel's function; loads its module where this is its first launch. Names are constants that live on, one of
    // each, so that their addresses tell them apart.
    CUfunction function(const KernelName &name) {
        const std::lock_guard lock(modules_mutex_);
        const auto known = functions_.find(&name);
        if (known != functions_.end()) return known->second;
        CUfunction found = nullptr;
        cu_.check(cu_.table->cuModuleGetFunction(&found, module(name.module), name.function),
                  std::string("cuModuleGetFunction of ") + name.function + " of " + name.module);
        cu_.check(cu_.cuFuncSetAttribute(found, preferred_shared_memory_carveout, name.shared_memory_percent),
                  "cuFuncSetAttribute");
        functions_[&name] = found;
        return found;
    }

    CUmodule module(const std::string &name) {
        const auto known = modules_.find(name);
        if (known != modules_.end()) return known->second;
        for (const CudaencImage *image = cudaenc_images; image->module; ++image) {
            if (name != image->module) continue;
            CUmodule loaded = nullptr;
            cu_.check(cu_.table->cuModuleLoadData(&loaded, image->data), "cuModuleLoadData of " + name);
            modules_[name] = loaded;
            return loaded;
        }
        throw Error(CUDAENC_ERR_INTERNAL, "the library was built without the kernels of " + name);
    }

    const Driver &cu_;
    CUdevice device_ = 0;
    CUcontext context_;
    bool retained_ = false;  // the primary context, which is ours to release
    std::string name_;
    int multiprocessors_ = 0;
    int high_priority_ = 0;  // as the driver numbers it
    std::mutex foreign_mutex_;
    CUevent foreign_ = nullptr;
    std::mutex modules_mutex_;
    std::map<std::string, CUmodule> modules_;
    std::unordered_map<const KernelName *, CUfunction> functions_;
};

}  // namespace

std::shared_ptr<Device> open_cuda_device(const std::string &spec, void *cuda_context) {
    parse_spec(spec);  // a wrong name is wrong on machines without a driver too
    return std::make_shared<CudaDevice>(spec, static_cast<CUcontext>(cuda_context));
}

}  // namespace cudaenc
