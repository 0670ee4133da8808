// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reference_picture.h"

namespace cudaenc::h264 {

DeviceReference::DeviceReference(const std::shared_ptr<Device> &device, int columns, int rows) {
    for (DevicePlane &plane : luma) plane = DevicePlane(device, 16 * columns, 16 * rows);
    for (DevicePlane &plane : chroma) plane = DevicePlane(device, 8 * columns, 8 * rows);
}

DeviceReference::operator ReferencePlanes() const {
    ReferencePlanes planes{};
    for (int i = 0; i < kHalfPlanes; i++) planes.luma[i] = luma[i].plane();
    planes.decoded[0] = planes.luma[kWhole];
    for (int i = 0; i < 2; i++) planes.decoded[1 + i] = chroma[i].plane();
    return planes;
}

namespace {

template <int Bytes>
void queue_completion(Device &device, Device::Stream stream, const ReferencePlanes &planes, ChromaFormat format,
                      int bit_depth) {
    const auto blocks = [](int samples, int each) {
        return static_cast<unsigned>(ceil_div(samples + 2 * kPlaneMargin, each));
    };
    HalfPlanesParams<Bytes> halves{.planes = {}, .decoded = planes.decoded[0], .shift = bit_depth - 8};
    for (int i = 0; i < kHalfPlanes; i++) halves.planes[i] = planes.luma[i];
    const MarginPlane &whole = planes.luma[kWhole];
    device.launch(stream, {blocks(whole.width, kTileColumns), blocks(whole.height, kTileRows)}, kReferenceThreads,
                  halves);
    const auto fill_margins = [&](unsigned count, const MarginPlane &first, const MarginPlane &second) {
        device.launch(stream, {blocks(first.width, 4 * kReferenceThreads), blocks(first.height, 1), count},
                      kReferenceThreads, MarginsParams<Bytes>{{first, second}});
    };
    if (Bytes > 1) fill_margins(1, planes.decoded[0], {});
    if (format != ChromaFormat::c400) fill_margins(2, planes.decoded[1], planes.decoded[2]);
}

}  // namespace

void complete_reference(Device &device, Device::Stream stream, const ReferencePlanes &planes, ChromaFormat format,
                        int bit_depth) {
    if (decoded_sample_bytes(format, bit_depth) == 1)
        queue_completion<1>(device, stream, planes, format, bit_depth);
    else
        queue_completion<2>(device, stream, planes, format, bit_depth);
}

}  // namespace cudaenc::h264
