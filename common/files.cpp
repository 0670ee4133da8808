// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of files that become packets in memory.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "abi.h"
#include "cudaenc.h"
#include "session.h"
#include "thread_pool.h"

using namespace cudaenc;

namespace {

struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
};

// Gives what of(file) does of an open file, straight from the system. Where that is no number of bytes, or the file
// cannot be read, it gives 0 and sets `error` to an errno.
template <class F>
size_t with_file(const char *path, int &error, const F &of) {
    errno = error = 0;
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path, "rb"));
    if (file) std::setvbuf(file.get(), nullptr, _IONBF, 0);
    const auto bytes = file ? of(file.get()) : -1;
    if (bytes >= 0 && !std::ferror(file.get())) return static_cast<size_t>(bytes);
    error = errno ? errno : EIO;
    return 0;
}

// Of what can be read: a folder has a size too.
long size_of(std::FILE *file) {
    std::fgetc(file);
    return std::ferror(file) || std::fseek(file, 0, SEEK_END) ? -1 : std::ftell(file);
}

}  // namespace

int cudaenc_read_files(const CudaencFiles *callers, int *there) {
    if (there) *there = 0;
    return guarded({}, {{"files", callers}, {"read", there}}, [&] {
        const CudaencFiles files = read_struct("the files", *callers);
        if (files.count < 0) refuse(format_string("count %d is not allowed: it is 0 or more", files.count));
        if (files.threads < 0 || files.threads > 64)
            refuse(format_string("threads %d is not allowed: it is 0 to 64", files.threads));
        if (!files.count) return;
        for (const auto &[name, pointer] :
             {Needed{"paths", files.paths}, Needed{"bytes", files.bytes}, Needed{"data", files.data},
              Needed{"size", files.size}, Needed{"errors", files.errors}})
            if (!pointer) refuse(format_string("%s NULL of the files is not allowed", name));
        const size_t all = static_cast<size_t>(files.count);
        if (std::find(files.paths, files.paths + all, nullptr) != files.paths + all)
            refuse("a path NULL of the files is not allowed");

        const int threads = files.threads ? files.threads : std::min(thread_count(0), 8);
        ThreadPool pool(static_cast<int>(std::min<size_t>(static_cast<size_t>(threads), all)) - 1);
        pool.for_each(all, [&](size_t i) { files.size[i] = with_file(files.paths[i], files.errors[i], size_of); });
        size_t count = 0;
        for (size_t begin = 0; count < all && files.size[count] <= files.capacity - begin; count++) {
            files.data[count] = files.bytes + begin;
            begin += files.size[count];
        }
        pool.for_each(count, [&](size_t i) {
            if (!files.size[i]) return;
            files.size[i] = with_file(files.paths[i], files.errors[i], [&](std::FILE *file) {
                return static_cast<long>(
                    std::fread(files.bytes + (files.data[i] - files.bytes), 1, files.size[i], file));
            });
        });
        *there = static_cast<int>(count);
    });
}
