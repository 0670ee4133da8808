// What a device makes, owned by objects. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../common/device.h"

namespace cudaenc {

// A stream of the device, for as long as the object lives.
class Stream {
  public:
    explicit Stream(std::shared_ptr<Device> device) : device_(std::move(device)), stream_(device_->create_stream()) {}
    ~Stream() { device_->destroy_stream(stream_); }
    Stream(const Stream &) = delete;
    operator Device::Stream() const { return stream_; }

  private:
    std::shared_ptr<Device> device_;
    Device::Stream stream_;
};

class Event {
  public:
    Event(std::shared_ptr<Device> device, bool timing)
        : device_(std::move(device)), event_(device_->create_event(timing)) {}
    ~Event() { device_->destroy_event(event_); }
    Event(const Event &) = delete;
    operator Device::Event() const { return event_; }

  private:
    std::shared_ptr<Device> device_;
    Device::Event event_;
};

// Work that is queued again and again; see Device::create_graph().
class Graph {
  public:
    Graph(std::shared_ptr<Device> device, Device::Stream stream, const std::function<void()> &work)
        : device_(std::move(device)), graph_(device_->create_graph(stream, work)) {}
    ~Graph() { device_->destroy_graph(graph_); }
    Graph(const Graph &) = delete;
    operator Device::Graph() const { return graph_; }

  private:
    std::shared_ptr<Device> device_;
    Device::Graph graph_;
};

// Host memory for `count` elements of T that the device copies from or to.
template <class T>
class PinnedArray {
  public:
    PinnedArray(std::shared_ptr<Device> device, size_t count)
        : device_(std::move(device)), data_(static_cast<T *>(device_->alloc_pinned(count * sizeof(T)))) {}
    ~PinnedArray() { device_->free_pinned(data_); }
    PinnedArray(const PinnedArray &) = delete;
    T *data() const { return data_; }

  private:
    std::shared_ptr<Device> device_;
    T *data_;
};

// Tables that all frames read.
template <class T>
DeviceArray<T> upload_table(const std::shared_ptr<Device> &device, Device::Stream stream, const std::vector<T> &host) {
    DeviceArray<T> array(device, std::max<size_t>(host.size(), 1));
    if (!host.empty()) device->upload(stream, array.data(), host.data(), host.size() * sizeof(T));
    return array;
}

}  // namespace cudaenc
