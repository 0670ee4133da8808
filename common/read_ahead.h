// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that threads read before they are needed.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "thread_pool.h"

namespace cudaenc {

struct FileBytes {
    std::unique_ptr<uint8_t[]> memory;
    size_t room = 0, size = 0;  // bytes
    int error = 0;              // errno, where the file cannot be read; ESPIPE: it is a FIFO or the like
    bool is_read = false;
};

// By one thread, which waits for the files in their order, and lets go of them so.
class ReadAhead {
  public:
    // paths: nullptr is no file, and is not read. room: files that are held at a time, 1 or more. They must stay.
    ReadAhead(std::span<const char *const> paths, int threads, size_t room);
    ~ReadAhead();
    // A file, whose bytes stay until it is let go.
    const FileBytes &wait(size_t number);
    // Of all files before `number`: their memory is for others.
    void let_go(size_t number);

  private:
    void read();
    const std::span<const char *const> paths_;
    std::mutex mutex_;
    std::condition_variable has_room_, is_read_;
    std::vector<FileBytes> files_;  // that of number n is n modulo room
    size_t next_ = 0, gone_ = 0;    // the first file that nobody reads yet; the first that is held
    bool stop_ = false;
    ThreadPool pool_;
};

}  // namespace cudaenc
