// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects that own what a device creates.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../common/device.h"
#include "../common/error.h"

namespace cudaenc {

template <class T, void (Device::*destroy)(T) noexcept>
class DeviceObject {
  public:
    DeviceObject(std::shared_ptr<Device> device, T object) : device_(std::move(device)), object_(object) {}
    ~DeviceObject() { (*device_.*destroy)(object_); }
    DeviceObject(const DeviceObject &) = delete;
    operator T() const { return object_; }

  protected:
    std::shared_ptr<Device> device_;
    T object_;
};

// Waits after an error. Further errors are dropped: the first one counts.
inline void settle_stream(Device &device, Device::Stream stream) noexcept {
    try {
        device.synchronize(stream);
    } catch (...) {
    }
}

struct Stream : DeviceObject<Device::Stream, &Device::destroy_stream> {
    explicit Stream(const std::shared_ptr<Device> &device) : DeviceObject(device, device->create_stream()) {}
    void settle() const noexcept { settle_stream(*device_, object_); }
};

struct Event : DeviceObject<Device::Event, &Device::destroy_event> {
    Event(const std::shared_ptr<Device> &device, bool timing) : DeviceObject(device, device->create_event(timing)) {}
};

// See Device::create_graph().
struct Graph : DeviceObject<Device::Graph, &Device::destroy_graph> {
    Graph(const std::shared_ptr<Device> &device, Device::Stream stream, const std::function<void()> &work)
        : DeviceObject(device, device->create_graph(stream, work)) {}
};

// Pinned host memory for `count` elements of T.
template <class T>
struct PinnedArray : DeviceObject<void *, &Device::free_pinned> {
    PinnedArray(const std::shared_ptr<Device> &device, size_t count)
        : DeviceObject(device, device->alloc_pinned(count * sizeof(T))) {}
    T *data() const { return static_cast<T *>(object_); }
};

template <class T>
DeviceArray<T> upload_table(const std::shared_ptr<Device> &device, Device::Stream stream, const std::vector<T> &host) {
    DeviceArray<T> array(device, std::max<size_t>(host.size(), 1));
    if (!host.empty()) device->upload(stream, array.data(), host.data(), host.size() * sizeof(T));
    return array;
}
// Returns once it is there: `host` may be a temporary.
template <class T>
DeviceArray<T> upload_now(const std::shared_ptr<Device> &device, const std::vector<T> &host) {
    DeviceArray<T> array = upload_table(device, nullptr, host);
    device->synchronize(Device::Stream{});
    return array;
}

}  // namespace cudaenc
