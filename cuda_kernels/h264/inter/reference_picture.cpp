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
    for (int i = 0; i < 2; i++) planes.chroma[i] = chroma[i].plane();
    return planes;
}

void complete_reference(Device &device, Device::Stream stream, const ReferencePlanes &planes) {
    const auto blocks = [](int samples, int each) {
        return static_cast<unsigned>(ceil_div(samples + 2 * kPlaneMargin, each));
    };
    HalfPlanesParams halves{};
    for (int i = 0; i < kHalfPlanes; i++) halves.planes[i] = planes.luma[i];
    const MarginPlane &whole = planes.luma[kWhole], &cb = planes.chroma[0];
    device.launch(stream, {blocks(whole.width, kTileColumns), blocks(whole.height, kTileRows)}, kReferenceThreads,
                  halves);
    device.launch(stream, {blocks(cb.width, 4 * kReferenceThreads), blocks(cb.height, 1), 2}, kReferenceThreads,
                  MarginsParams{{cb, planes.chroma[1]}});
}

}  // namespace cudaenc::h264
