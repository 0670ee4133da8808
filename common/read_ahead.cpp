// SPDX-License-Identifier: LGPL-2.1-or-later
#include "read_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

namespace cudaenc {

namespace {

struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
};

// nullptr: errno tells why. A FIFO opens too, where fopen() would wait for its writer.
std::FILE *open_file(const char *path) {
#ifdef O_NONBLOCK
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return nullptr;
    std::FILE *const file = fdopen(descriptor, "rb");
    if (!file) close(descriptor);
    return file;
#else
    return std::fopen(path, "rb");
#endif
}

// Returns whether the file was read. Else errno tells why, where the system does.
bool read_file(const char *path, FileBytes &to) {
    const std::unique_ptr<std::FILE, Close> opened(open_file(path));
    std::FILE *const file = opened.get();
    if (!file) return false;
    std::setvbuf(file, nullptr, _IONBF, 0);           // straight to its place
    if (std::fseek(file, 0, SEEK_END)) return false;  // in a FIFO nobody can
    const long bytes = std::ftell(file);
    if (bytes < 0 || std::fseek(file, 0, SEEK_SET)) return false;
    std::fgetc(file);  // a folder has a size too
    if (std::ferror(file) || std::fseek(file, 0, SEEK_SET)) return false;
    const size_t size = static_cast<size_t>(bytes);
    if (to.room < size || !to.memory) {
        to.memory.reset();
        to.room = size + size / 4 + 1;  // the next one is about as large
        to.memory = std::make_unique_for_overwrite<uint8_t[]>(to.room);
    }
    to.size = std::fread(to.memory.get(), 1, size, file);
    return !std::ferror(file);
}

}  // namespace

ReadAhead::ReadAhead(std::span<const char *const> paths, int threads, size_t room)
    : paths_(paths), files_(room), pool_(threads) {
    pool_.post(std::make_shared<ThreadPool::Task>([this] { read(); }), static_cast<size_t>(threads));
}

ReadAhead::~ReadAhead() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    has_room_.notify_all();
    pool_.stop();
}

const FileBytes &ReadAhead::wait(size_t number) {
    std::unique_lock lock(mutex_);
    const FileBytes &file = files_[number % files_.size()];
    is_read_.wait(lock, [&] { return file.is_read; });
    return file;
}

void ReadAhead::let_go(size_t number) {
    const std::lock_guard lock(mutex_);
    for (; gone_ < number; gone_++) {
        files_[gone_ % files_.size()].is_read = false;
        has_room_.notify_one();
    }
}

void ReadAhead::read() {
    std::unique_lock lock(mutex_);
    for (;;) {
        has_room_.wait(lock, [this] { return stop_ || next_ == paths_.size() || next_ < gone_ + files_.size(); });
        if (stop_ || next_ == paths_.size()) return;
        const char *const path = paths_[next_];
        FileBytes &file = files_[next_++ % files_.size()];
        lock.unlock();
        errno = file.error = 0;
        file.size = 0;
        try {
            if (path && !read_file(path, file)) file.error = errno ? errno : EIO;
        } catch (const std::bad_alloc &) {
            file.room = 0;
            file.error = ENOMEM;
        }
        lock.lock();
        file.is_read = true;
        is_read_.notify_one();
    }
}

}  // namespace cudaenc
