// SPDX-License-Identifier: LGPL-2.1-or-later
// OpenJPEG's library, opened at run time, where a program was built with its header: its calls, streams in memory, and
// a decode of one.
#pragma once
#if __has_include(<openjpeg.h>)
#include <dlfcn.h>
#include <openjpeg.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../../common/error.h"

namespace cudaenc::bench {

inline void check_openjpeg(bool good, const char *call) {
    if (!good) throw Error(CUDAENC_ERR_INTERNAL, std::string("OpenJPEG: ") + call + " failed");
}

// A stream in memory, as OpenJPEG's callbacks have it.
struct OpenJpegMemory {
    std::vector<uint8_t> bytes;
    size_t at = 0;

    static OPJ_SIZE_T read(void *to, OPJ_SIZE_T count, void *self) {
        auto &m = *static_cast<OpenJpegMemory *>(self);
        count = m.at < m.bytes.size() ? std::min(count, m.bytes.size() - m.at) : 0;
        if (!count) return static_cast<OPJ_SIZE_T>(-1);
        std::memcpy(to, &m.bytes[m.at], count);
        m.at += count;
        return count;
    }
    static OPJ_SIZE_T write(void *from, OPJ_SIZE_T count, void *self) {
        auto &m = *static_cast<OpenJpegMemory *>(self);
        m.bytes.resize(std::max(m.bytes.size(), m.at + count));
        std::memcpy(&m.bytes[m.at], from, count);
        m.at += count;
        return count;
    }
    static OPJ_OFF_T skip(OPJ_OFF_T count, void *self) {
        static_cast<OpenJpegMemory *>(self)->at += static_cast<size_t>(count);
        return count;
    }
    static OPJ_BOOL seek(OPJ_OFF_T to, void *self) {
        static_cast<OpenJpegMemory *>(self)->at = static_cast<size_t>(to);
        return OPJ_TRUE;
    }
};

struct OpenJpegLibrary {
    // Throws Error where it cannot be opened.
    explicit OpenJpegLibrary(const std::string &file = "libopenjp2.so.7")
        : handle(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) throw Error(CUDAENC_ERR_UNSUPPORTED, dlerror());
        find(version, "opj_version");
        find(image_create, "opj_image_create");
        find(image_destroy, "opj_image_destroy");
        find(stream_create, "opj_stream_create");
        find(stream_destroy, "opj_stream_destroy");
        find(set_read, "opj_stream_set_read_function");
        find(set_write, "opj_stream_set_write_function");
        find(set_skip, "opj_stream_set_skip_function");
        find(set_seek, "opj_stream_set_seek_function");
        find(set_user_data, "opj_stream_set_user_data");
        find(set_length, "opj_stream_set_user_data_length");
        find(set_warning_handler, "opj_set_warning_handler");
        find(set_error_handler, "opj_set_error_handler");
        find(create_decompress, "opj_create_decompress");
        find(default_decoder, "opj_set_default_decoder_parameters");
        find(setup_decoder, "opj_setup_decoder");
        find(read_header, "opj_read_header");
        find(decode_image, "opj_decode");
        find(end_decompress, "opj_end_decompress");
        find(create_compress, "opj_create_compress");
        find(default_encoder, "opj_set_default_encoder_parameters");
        find(setup_encoder, "opj_setup_encoder");
        find(start_compress, "opj_start_compress");
        find(encode, "opj_encode");
        find(end_compress, "opj_end_compress");
        find(set_threads, "opj_codec_set_threads");
        find(destroy_codec, "opj_destroy_codec");
    }
    ~OpenJpegLibrary() { dlclose(handle); }
    OpenJpegLibrary(const OpenJpegLibrary &) = delete;

    struct StreamDeleter {
        const OpenJpegLibrary *lib;
        void operator()(void *stream) const { lib->stream_destroy(static_cast<opj_stream_t *>(stream)); }
    };
    struct CodecDeleter {
        const OpenJpegLibrary *lib;
        void operator()(void *codec) const { lib->destroy_codec(static_cast<opj_codec_t *>(codec)); }
    };
    struct ImageDeleter {
        const OpenJpegLibrary *lib;
        void operator()(opj_image_t *image) const { lib->image_destroy(image); }
    };
    using StreamPointer = std::unique_ptr<opj_stream_t, StreamDeleter>;
    using CodecPointer = std::unique_ptr<opj_codec_t, CodecDeleter>;
    using ImagePointer = std::unique_ptr<opj_image_t, ImageDeleter>;

    StreamPointer open(OpenJpegMemory &memory, bool input) const {
        StreamPointer stream(stream_create(1 << 20, input), {this});
        check_openjpeg(stream != nullptr, "opj_stream_create");
        set_read(stream.get(), OpenJpegMemory::read);
        set_write(stream.get(), OpenJpegMemory::write);
        set_skip(stream.get(), OpenJpegMemory::skip);
        set_seek(stream.get(), OpenJpegMemory::seek);
        set_user_data(stream.get(), &memory, nullptr);
        set_length(stream.get(), memory.bytes.size());
        return stream;
    }

    // Of a codestream or a JP2 file. said: its warnings and errors. Throws Error where there is no picture.
    ImagePointer decode(const std::vector<uint8_t> &bytes, int threads, std::string &said) const {
        OpenJpegMemory memory{bytes};
        const StreamPointer input = open(memory, true);
        const bool bare = !bytes.empty() && bytes[0] == 0xFF;
        const CodecPointer codec(create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), {this});
        const auto say = [](const char *line, void *to) { *static_cast<std::string *>(to) += line; };
        set_warning_handler(codec.get(), say, &said);
        set_error_handler(codec.get(), say, &said);
        opj_dparameters_t parameters;
        default_decoder(&parameters);
        check_openjpeg(setup_decoder(codec.get(), &parameters), "opj_setup_decoder");
        if (threads > 1) check_openjpeg(set_threads(codec.get(), threads), "opj_codec_set_threads");
        opj_image_t *decoded = nullptr;
        const bool header = read_header(input.get(), codec.get(), &decoded);
        ImagePointer image(decoded, {this});
        check_openjpeg(header, "opj_read_header");
        check_openjpeg(decode_image(codec.get(), input.get(), image.get()), "opj_decode");
        check_openjpeg(end_decompress(codec.get(), input.get()), "opj_end_decompress");
        return image;
    }

    void *handle;
    decltype(&opj_version) version;
    decltype(&opj_image_create) image_create;
    decltype(&opj_image_destroy) image_destroy;
    decltype(&opj_stream_create) stream_create;
    decltype(&opj_stream_destroy) stream_destroy;
    decltype(&opj_stream_set_read_function) set_read;
    decltype(&opj_stream_set_write_function) set_write;
    decltype(&opj_stream_set_skip_function) set_skip;
    decltype(&opj_stream_set_seek_function) set_seek;
    decltype(&opj_stream_set_user_data) set_user_data;
    decltype(&opj_stream_set_user_data_length) set_length;
    decltype(&opj_set_warning_handler) set_warning_handler;
    decltype(&opj_set_error_handler) set_error_handler;
    decltype(&opj_create_decompress) create_decompress;
    decltype(&opj_set_default_decoder_parameters) default_decoder;
    decltype(&opj_setup_decoder) setup_decoder;
    decltype(&opj_read_header) read_header;
    decltype(&opj_decode) decode_image;
    decltype(&opj_end_decompress) end_decompress;
    decltype(&opj_create_compress) create_compress;
    decltype(&opj_set_default_encoder_parameters) default_encoder;
    decltype(&opj_setup_encoder) setup_encoder;
    decltype(&opj_start_compress) start_compress;
    decltype(&opj_encode) encode;
    decltype(&opj_end_compress) end_compress;
    decltype(&opj_codec_set_threads) set_threads;
    decltype(&opj_destroy_codec) destroy_codec;

  private:
    template <class F>
    void find(F &function, const char *name) {
        function = reinterpret_cast<F>(dlsym(handle, name));
        if (!function) throw Error(CUDAENC_ERR_UNSUPPORTED, std::string("OpenJPEG has no ") + name);
    }
};

}  // namespace cudaenc::bench
#endif
