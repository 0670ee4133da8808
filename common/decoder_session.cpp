// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of decoders: checks arguments, chooses the pipeline.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "abi.h"
#include "codecs.h"
#include "cpu_pipeline.h"
#include "cudaenc.h"
#include "option_checks.h"
#include "options.h"
#include "pipeline.h"
#include "planes.h"
#include "read_ahead.h"
#include "session.h"

using namespace cudaenc;

namespace {

// A header that the caller has read.
struct KnownHeader {
    const uint8_t *data;
    std::vector<uint8_t> bytes;  // that it was read from
    std::unique_ptr<PictureHeader> header;

    // Whether it is that of a packet, which the caller may have overwritten, or cut behind the first of two pictures.
    bool is_of(std::span<const uint8_t> packet) const {
        return header && data == packet.data() && bytes.size() <= packet.size() &&
               std::ranges::equal(bytes, packet.first(bytes.size()));
    }
};

}  // namespace

struct CudaencDecoder {
    SessionLog log;
    const DecoderCodec *codec;
    CudaencDecoderConfig config;
    std::string region, channels;        // of config
    std::array<KnownHeader, 2> headers;  // the fields of a frame; the last one is the newest
    Ring<Decoder> ring;
    bool warned = false;  // of a fallback
    bool warned_of_loss = false;
};

namespace {

Ring<Decoder> make_ring(const CudaencDecoder &decoder) {
    const CudaencDecoderConfig &c = decoder.config;
    const std::shared_ptr<Device> device =
        choose_device(decoder.log, c.device, c.device_frames ? "frames" : nullptr, c.cuda_context, "decoding");
    const int slots = c.async_depth                           ? c.async_depth
                      : !device && decoder.codec->few_threads ? depth_of_threads(c.threads)
                                                              : kUsualDepth;
    return {decoder.codec->make(c, {.slots = slots,
                                    .threads = c.threads,
                                    .device = device,
                                    .device_frames = c.device_frames != 0,
                                    .device_packets = false,
                                    .stage_times = c.stage_times != 0}),
            slots};
}

// The header of a packet, which is not read twice.
std::unique_ptr<PictureHeader> take_header(CudaencDecoder &decoder, std::span<const uint8_t> packet) {
    for (KnownHeader &known : decoder.headers)
        if (known.is_of(packet)) return std::move(known.header);
    std::unique_ptr<PictureHeader> header = decoder.codec->read_header(packet, decoder.config);
    if (header->loss && !std::exchange(decoder.warned_of_loss, true))
        decoder.log.print(CUDAENC_LOG_WARNING, format_string("%s (said once)", header->loss).c_str());
    return header;
}

void check_planes(const CudaencDecoder &decoder, const CudaencFormat &format, const CudaencCodedPicture &picture) {
    for (int i = 0; i < format.planes; i++) {
        if (!picture.planes[i])
            refuse(format_string("planes[%d] is NULL: a picture of %d planes fills it", i, format.planes));
        if (decoder.config.device_frames && picture.stride[i] < 0)
            refuse("a negative stride is not allowed for planes in CUDA memory");
        check_stride(format, i, picture.stride[i], Rows::any);
    }
}

// Takes the oldest picture, as Ring::receive(). prefix: of what the log tells of it.
int take(CudaencDecoder &decoder, Receive when, CudaencDecodedPicture &picture, const char *prefix = "") {
    Decoded decoded;
    const int code = decoder.ring.receive(decoded, picture.opaque, when);
    if (!decoded.damage.empty())
        decoder.log.print(CUDAENC_LOG_WARNING, format_string("%s%s", prefix, decoded.damage.c_str()).c_str());
    if (decoded.fallback && !std::exchange(decoder.warned, true))
        decoder.log.print(CUDAENC_LOG_WARNING,
                          format_string("slow: the CPU decodes %s (said once)", decoded.fallback).c_str());
    picture.corrupt = !decoded.damage.empty();
    return code;
}

int receive(CudaencDecoder *decoder, CudaencDecodedPicture *picture, Receive when) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"picture", picture}}, [&] {
        Result<CudaencDecodedPicture> result("the picture", *picture);
        return take(*decoder, when, *result);
    });
}

// The ring must not be full. Throws Error; then the packet is not in flight.
template <class Check>
void submit(CudaencDecoder &decoder, const CudaencCodedPicture &coded, const Check &check) {
    if (!coded.data) refuse(format_string("data NULL of the coded picture is not allowed, of size %zu", coded.size));
    const std::shared_ptr<PictureHeader> header = take_header(decoder, {coded.data, coded.size});
    check(header->info);
    check_planes(decoder, header->info.format, coded);
    decoder.ring.submit({coded, header}, coded.opaque);
}

std::string describe(const CudaencFormat &f, const int (&is_signed)[4]) {
    constexpr const char *kModels[] = {"gray", "YUV", "RGB", "XYZ", "CMYK", "YCCK"};
    return format_string("%dx%d, %d component%s of %s, %d bits%s, chroma 1/%d by 1/%d, %s range, code points %d/%d/%d",
                         f.width, f.height, f.components, f.components > 1 ? "s" : "", kModels[f.color_model],
                         f.component[0].depth, is_signed[0] ? " with a sign" : "", 1 << f.component[1].log2_subsample_x,
                         1 << f.component[1].log2_subsample_y, f.full_range ? "full" : "limited", f.color_primaries,
                         f.color_transfer, f.color_matrix);
}

// Each picture may fail by itself.
class Batch {
  public:
    Batch(CudaencDecoder &decoder, const CudaencCodedBatch &batch) : decoder_(decoder), batch_(batch) {
        if (batch.count < 0) refuse(format_string("count %d is not allowed: it is 0 or more", batch.count));
        if (!decoder.ring.empty()) refuse("a batch is not allowed with pictures in flight: they are received first");
        if (!batch.count) return;
        if ((!batch.data || !batch.size) && !batch.paths)
            refuse("data or size NULL of the batch is not allowed without paths");
        check_range("readers", batch.readers, 0, 64);
        check_format(batch.format, 1 << 30, CUDAENC_COLOR_YCCK);
        check_planes(decoder, batch.format, picture(0));
        for (int i = 0; i < batch.format.planes; i++) check_step(i);
        if (batch.codes) std::fill_n(batch.codes, batch.count, int{CUDAENC_OK});
        if (batch.corrupt) std::fill_n(batch.corrupt, batch.count, 0);
        if (batch.errors) std::fill_n(batch.errors, batch.count, 0);
        for (int i = 0; i < batch.count; i++) files_.push_back(is_file(i) ? batch.paths[i] : nullptr);
        if (std::ranges::all_of(files_, [](const char *path) { return !path; })) return;
        const int readers = batch.readers ? batch.readers : std::min(thread_count(0), 8);
        const int room = decoder.ring.slots() + 2 * readers;  // for each reader one that it reads, and one that is read
        reader_.emplace(files_, std::min(readers, batch.count), static_cast<size_t>(std::min(room, batch.count)));
    }

    // The code of the first picture that failed.
    int decode() {
        for (int number = 0; number < batch_.count; number++) {
            if (decoder_.ring.full()) take_oldest();
            if (reader_) reader_->let_go(static_cast<size_t>(in_flight_.empty() ? number : in_flight_.front()));
            attempt(number, [&] {
                const CudaencCodedPicture coded = picture(number);
                if (coded.data && decoder_.codec->has_two_fields({coded.data, coded.size}))
                    refuse("two fields are not allowed in a batch: each is a packet");
                submit(decoder_, coded, [&](const CudaencPictureInfo &info) { check_info(info); });
                in_flight_.push_back(number);
            });
        }
        while (!in_flight_.empty()) take_oldest();
        if (!line_.empty()) keep_last_error(line_.c_str());
        return code_;
    }

  private:
    void check_step(int plane) const {
        const PlaneSize size = plane_size(batch_.format, plane);
        if (batch_.count > 1 && static_cast<size_t>(std::abs(batch_.step[plane])) < size.row_bytes)
            refuse(format_string("step %td of plane %d is not allowed: a row has %zu bytes", batch_.step[plane], plane,
                                 size.row_bytes));
    }
    void check_info(const CudaencPictureInfo &info) const {
        if (std::memcmp(&info.format, &batch_.format, sizeof info.format) != 0 ||
            !std::ranges::equal(info.is_signed, batch_.is_signed))
            refuse(format_string("%s is not allowed: the batch has %s", describe(info.format, info.is_signed).c_str(),
                                 describe(batch_.format, batch_.is_signed).c_str()));
    }

    bool is_file(int number) const {
        return batch_.paths && batch_.paths[number] && !(batch_.data && batch_.size && batch_.data[number]);
    }
    CudaencCodedPicture picture(int number) {
        CudaencCodedPicture coded{};
        coded.struct_size = sizeof coded;
        if (reader_ && is_file(number)) {
            const FileBytes &file = reader_->wait(static_cast<size_t>(number));
            if (batch_.errors) batch_.errors[number] = file.error;
            if (file.error)
                throw Error(file.error == ENOMEM ? CUDAENC_ERR_MEMORY : CUDAENC_ERR_INVALID,
                            format_string("%s: %s", batch_.paths[number],
                                          file.error == ESPIPE ? "not a regular file"
                                                               : std::generic_category().message(file.error).c_str()));
            coded.data = file.memory.get();
            coded.size = file.size;
        } else if (batch_.data && batch_.size) {
            coded.data = batch_.data[number];
            coded.size = batch_.size[number];
        }
        for (int i = 0; i < batch_.format.planes; i++) {
            coded.planes[i] = batch_.planes[i] ? batch_.planes[i] + number * batch_.step[i] : nullptr;
            coded.stride[i] = batch_.stride[i];
        }
        coded.cuda_stream = batch_.cuda_stream;
        return coded;
    }

    void take_oldest() {
        const int number = in_flight_.front();
        in_flight_.pop_front();
        CudaencDecodedPicture decoded{};
        attempt(number, [&] { take(decoder_, Receive::now, decoded, format_string("picture %d: ", number).c_str()); });
        if (batch_.corrupt) batch_.corrupt[number] = decoded.corrupt;
    }

    template <class F>
    void attempt(int number, const F &body) {
        std::string line;
        const int code = guarded(decoder_.log, {}, [&] {
            try {
                body();
            } catch (const Error &e) {
                line = format_string("picture %d: %s", number, e.what());
                throw Error(e.code, line);
            }
        });
        if (code == CUDAENC_OK) return;
        if (batch_.codes) batch_.codes[number] = code;
        if (code_ != CUDAENC_OK && failed_ < number) return;
        code_ = code, failed_ = number, line_ = line;
    }

    CudaencDecoder &decoder_;
    const CudaencCodedBatch &batch_;
    std::vector<const char *> files_;  // their paths; nullptr: what is in memory
    std::optional<ReadAhead> reader_;
    std::deque<int> in_flight_;
    int code_ = CUDAENC_OK, failed_ = 0;  // of the first picture that failed, and its number
    std::string line_;                    // of the log
};

}  // namespace

int cudaenc_decoder_init(CudaencDecoderConfig *config, size_t struct_size, CudaencCodec codec) {
    CudaencDecoderConfig defaults;
    const DecoderCodec *known = find_codec(kDecoders, codec);
    set_defaults(known ? known->options : kDecoderOptions, defaults);
    defaults.struct_size = struct_size;
    defaults.codec = codec;
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_decoder_open(CudaencDecoder **out, const CudaencDecoderConfig *config) {
    return open_session("decoder", out, config, [&](CudaencDecoder &decoder) {
        CudaencDecoderConfig defaults;
        set_defaults(kDecoderOptions, defaults);
        decoder.config = read_struct("the configuration", *config, defaults);
        decoder.codec = find_codec(kDecoders, decoder.config.codec);
        if (!decoder.codec) refuse(format_string("codec %d is not decoded", number_of(decoder.config.codec)));
        check_options(decoder.codec->options, decoder.config);
        check_range("device_frames", decoder.config.device_frames, 0, 1);
        decoder.codec->check(decoder.config);
        if (decoder.config.region) decoder.config.region = (decoder.region = decoder.config.region).c_str();
        if (decoder.config.channels) decoder.config.channels = (decoder.channels = decoder.config.channels).c_str();
        decoder.ring = make_ring(decoder);
        decoder.config.device = nullptr;  // the caller's
    });
}

int cudaenc_decoder_async_depth(const CudaencDecoder *decoder) {
    return ask("decoder", decoder, int{CUDAENC_ERR_INVALID}, [](const auto &d) { return d.ring.slots(); });
}

const char *cudaenc_decoder_device_name(const CudaencDecoder *decoder) {
    return ask("decoder", decoder, "", [](const auto &d) { return d.ring.pipeline().device_name().c_str(); });
}

int cudaenc_decoder_read_header(CudaencDecoder *decoder, const uint8_t *data, size_t size,
                                CudaencPictureInfo *callers) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"data", data}, {"info", callers}}, [&] {
        Result<CudaencPictureInfo> info("the picture's information", *callers);
        KnownHeader known{.data = data, .bytes = {}, .header = take_header(*decoder, {data, size})};
        *info = known.header->info;
        known.bytes.assign(data, data + known.header->size);
        decoder->headers[0] = std::exchange(decoder->headers[1], std::move(known));
        return CUDAENC_OK;
    });
}

size_t cudaenc_decoder_picture_size(const uint8_t *data, size_t size) {
    size_t bytes = 0;
    guarded({}, {{"data", data}}, [&] {
        for (const DecoderCodec &d : kDecoders)
            if ((bytes = d.picture_size({data, size}))) return;
    });
    return bytes;
}

int cudaenc_decoder_submit(CudaencDecoder *decoder, const CudaencCodedPicture *coded) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"coded", coded}}, [&]() -> int {
        if (decoder->ring.full()) return CUDAENC_AGAIN;
        submit(*decoder, read_struct("the coded picture", *coded), [](const CudaencPictureInfo &) {});
        return CUDAENC_OK;
    });
}

int cudaenc_decoder_receive(CudaencDecoder *decoder, CudaencDecodedPicture *picture) {
    return receive(decoder, picture, Receive::when_due);
}
int cudaenc_decoder_poll(CudaencDecoder *decoder, CudaencDecodedPicture *picture) {
    return receive(decoder, picture, Receive::when_done);
}
int cudaenc_decoder_wait(CudaencDecoder *decoder, CudaencDecodedPicture *picture) {
    return receive(decoder, picture, Receive::now);
}

int cudaenc_decoder_batch(CudaencDecoder *decoder, const CudaencCodedBatch *callers) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"batch", callers}}, [&] {
        const CudaencCodedBatch batch = read_struct("the batch", *callers);
        return Batch(*decoder, batch).decode();
    });
}

int cudaenc_decoder_flush(CudaencDecoder *decoder) {
    return guarded(log_of(decoder), {{"decoder", decoder}}, [&] { decoder->ring.flush(); });
}

void cudaenc_decoder_close(CudaencDecoder *decoder) { delete decoder; }

int cudaenc_decoder_stage_times(const CudaencDecoder *decoder, CudaencStageTime *times, int capacity) {
    return stage_times("decoder", decoder, times, capacity);
}
