// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of CAVLC for other formats: checks arguments, chooses the device.
#include "abi.h"
#include "h264/plane_coder.h"
#include "option_checks.h"
#include "options.h"
#include "session.h"

using namespace cudaenc;

struct CudaencCavlc {
    SessionLog log;
    bool device_memory;
    std::unique_ptr<h264::PlaneCoder> coder;
};

namespace {

std::unique_ptr<h264::PlaneCoder> make_coder(const SessionLog &log, const CudaencCavlcConfig &c) {
    const h264::BlockPlane plane{.columns = static_cast<uint32_t>(c.columns),
                                 .rows = static_cast<uint32_t>(c.rows),
                                 .scanned = c.scanned != 0,
                                 .without_dc = c.without_dc != 0};
    const std::shared_ptr<Device> device =
        choose_device(log, c.device, c.device_memory ? "coefficients" : nullptr, c.cuda_context, "coding");
    return device ? h264::make_device_plane_coder(plane, device, c.device_memory) : h264::make_cpu_plane_coder(plane);
}

void check_alignment(const char *name, const void *pointer, size_t bytes) {
    if (reinterpret_cast<uintptr_t>(pointer) % bytes)
        refuse(format_string("%s %p is not allowed: it is a multiple of %zu", name, pointer, bytes));
}

void check_plane(const CudaencCavlc &coder, const CudaencCavlcPlane &plane) {
    if (!plane.coefficients) refuse("coefficients NULL of the plane is not allowed");
    if (!plane.bytes) refuse("bytes NULL of the plane is not allowed");
    check_alignment("coefficients", plane.coefficients, coder.device_memory ? 16 : 2);
    check_alignment("bytes", plane.bytes, coder.device_memory ? 4 : 1);
    check_alignment("lengths", plane.lengths, 2);
}

}  // namespace

int cudaenc_cavlc_init(CudaencCavlcConfig *config, size_t struct_size) {
    CudaencCavlcConfig defaults;
    set_defaults(kCavlcOptions, defaults);
    defaults.struct_size = struct_size;
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_cavlc_open(CudaencCavlc **out, const CudaencCavlcConfig *config) {
    return open_session("coder", out, config, [&](CudaencCavlc &coder) {
        CudaencCavlcConfig defaults;
        cudaenc_cavlc_defaults(&defaults);
        const CudaencCavlcConfig known = read_struct("the configuration", *config, defaults);
        check_options(kCavlcOptions, known);
        check_range("device_memory", known.device_memory, 0, 1);
        if (int64_t{known.columns} * known.rows > 1 << 26)
            refuse(format_string("columns %d with rows %d is not allowed: blocks are at most 2^26", known.columns,
                                 known.rows));
        coder.device_memory = known.device_memory;
        coder.coder = make_coder(coder.log, known);
    });
}

int cudaenc_cavlc_code(CudaencCavlc *coder, const CudaencCavlcPlane *plane, uint64_t *bits) {
    if (bits) *bits = 0;
    return guarded(log_of(coder), {{"coder", coder}, {"plane", plane}, {"bits", bits}}, [&] {
        const CudaencCavlcPlane known = read_struct("the plane", *plane);
        check_plane(*coder, known);
        *bits =
            coder->coder->code({known.coefficients, known.cuda_stream}, {known.bytes, known.capacity, known.lengths});
        if (h264::whole_words(*bits) > known.capacity)
            refuse(format_string("capacity %zu is not allowed: the blocks take %llu bytes", known.capacity,
                                 static_cast<unsigned long long>(h264::whole_words(*bits))));
    });
}

void cudaenc_cavlc_close(CudaencCavlc *coder) { delete coder; }
