// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "codecs.h"
#include "option_checks.h"
#include "planes.h"

namespace cudaenc {

namespace {

// Twice as many pictures a second.
void double_rate(int &num, int &den) {
    if (den > 0 && den % 2 == 0)
        den /= 2;
    else if (num <= INT_MAX / 2)
        num *= 2;
    else
        refuse(format_string("frame_rate %d/%d is not allowed with fields: its numerator is at most %d", num, den,
                             INT_MAX / 2));
}

// Half of a target; a target stays one.
void halve(int64_t &bytes) { bytes -= bytes / 2; }

void halve_targets(CudaencJ2kOptions &o) {
    if (o.format == CUDAENC_J2K_JP2)
        refuse("format 1 (jp2) is not allowed with fields: a packet has two codestreams; allowed is 0 (j2k)");
    o.format = CUDAENC_J2K_CODESTREAM;
    double_rate(o.frame_rate_num, o.frame_rate_den);
    halve(o.frame_bytes);
    halve(o.min_frame_bytes);
    if (o.rate_control == CUDAENC_J2K_RATE_PST && o.pst_lag > CUDAENC_MAX_ASYNC_DEPTH / 2)
        refuse(format_string("pst_lag %d is not allowed with fields: it is 1 to %d", o.pst_lag,
                             CUDAENC_MAX_ASYNC_DEPTH / 2));
    o.pst_lag = std::min(2 * o.pst_lag, CUDAENC_MAX_ASYNC_DEPTH);  // a field of the same lines
}

}  // namespace

bool has_separate_fields(const CudaencConfig &c) {
    return c.fields && !(c.codec == CUDAENC_CODEC_H264 && c.h264.avc_intra_class);
}

CudaencConfig config_of_fields(const CudaencConfig &config) {
    CudaencConfig c = config;
    if (c.format.components > kDescribedComponents)
        refuse(format_string("%d components are not allowed with fields: they are at most %d", c.format.components,
                             kDescribedComponents));
    int log2_rows = 0;
    for (int i = 0; i < c.format.components; i++)
        log2_rows = std::max(log2_rows, std::clamp(c.format.component[i].log2_subsample_y, 0, 8));
    const int multiple = 2 << log2_rows;
    if (c.format.height < multiple || c.format.height % multiple)
        refuse(
            format_string("height %d is not allowed with fields: it is a multiple of %d", c.format.height, multiple));
    if (c.device_packets) refuse("device_packets 1 is not allowed with fields: it is 0");
    c.format.height /= 2;
    switch (c.codec) {
        case CUDAENC_CODEC_J2K:
            halve_targets(c.j2k);
            break;
        case CUDAENC_CODEC_MJPEG:
            halve(c.mjpeg.frame_bytes);
            break;
        case CUDAENC_CODEC_H264:
            double_rate(c.h264.frame_rate_num, c.h264.frame_rate_den);
            break;
    }
    return c;
}

SourcePicture field_of(const CudaencFrame &frame, int fields, bool second) {
    const bool bottom = second != (fields == CUDAENC_BOTTOM_FIELD_FIRST);
    SourcePicture field(frame, bottom ? PictureKind::bottom_field : PictureKind::top_field, second);
    for (int plane = 0; plane < 4; plane++) {
        if (bottom && field.data[plane]) field.data[plane] += field.stride[plane];
        field.stride[plane] *= 2;
    }
    field.skipped = second ? 0 : 2 * frame.skipped;
    if (second) {
        field.icc_profile_size = field.exif_size = field.xmp_size = field.iptc_size = field.captions_size = 0;
        field.user_data_count = 0;
        field.timecode = nullptr;
        field.mastering_display = nullptr;
        field.content_light = nullptr;
        field.key = 0;
    }
    return field;
}

void FrameRing::submit(const CudaencFrame &frame, void *opaque) {
    if (!fields_) return ring_.submit(frame, opaque);
    frames_.emplace_back();
    try {
        SourcePicture first = field_of(frame, fields_, false);
        if (lost_) first.key = 1;
        ring_.submit(first, opaque);
    } catch (...) {
        frames_.pop_back();
        throw;
    }
    flushed_ = false;
    try {
        ring_.submit(field_of(frame, fields_, true), opaque);
    } catch (...) {  // the first one is in flight: the frame is lost when its turn comes
        frames_.back().error = std::current_exception();
        frames_.back().has_second = false;
    }
}

// Ring::receive() of a field; its error is the frame's.
int FrameRing::receive_field(PooledBuffer &output, void *&opaque, Receive when) {
    try {
        return ring_.receive(output, opaque, when);
    } catch (...) {
        if (!frames_.front().error) frames_.front().error = std::current_exception();
        return CUDAENC_OK;
    }
}

int FrameRing::receive(PooledBuffer &output, void *&opaque, Receive when) {
    if (!fields_) return ring_.receive(output, opaque, when);
    if (frames_.empty()) return flushed_ ? CUDAENC_EOF : CUDAENC_AGAIN;
    if (when == Receive::when_due) {
        if (!flushed_ && !full()) return CUDAENC_AGAIN;
        when = Receive::now;
    }
    Frame &frame = frames_.front();
    if (!frame.first_received) {
        const int code = receive_field(frame.first, opaque, when);
        if (code != CUDAENC_OK) return code;
        frame.first_received = true;
    }
    PooledBuffer second;
    if (frame.has_second) {
        const int code = receive_field(second, opaque, when);
        if (code != CUDAENC_OK) return code;
    }
    const Frame whole = std::move(frame);
    frames_.pop_front();
    if (whole.error) std::rethrow_exception(whole.error);
    if (!whole.first->delta) lost_ = nullptr;
    if (lost_) std::rethrow_exception(lost_);
    try {
        output = join(*whole.first, std::move(second));
    } catch (...) {
        lost_ = std::current_exception();
        throw;
    }
    return CUDAENC_OK;
}

void FrameRing::flush() {
    flushed_ = true;
    ring_.flush();
}

// The packet of a frame: the memory of its second field, where that has both, else a copy.
PooledBuffer FrameRing::join(const CudaencBuffer &first, PooledBuffer second) const {
    const size_t second_size = second->size, size = first.size + second_size;
    if (!first.memory) {
        second->set_packet(static_cast<size_t>(second->data - second->memory) - first.size, size);
    } else {
        PooledBuffer both = packets_->take(size);
        std::memcpy(both->data, first.data, first.size);
        std::memcpy(both->data + first.size, second->data, second_size);
        both->missed = second->missed;
        both->missed_above = second->missed_above;
        second = std::move(both);
    }
    if (set_field_size_) {
        set_field_size_(second->data, first.size);
        set_field_size_(second->data + first.size, second_size);
    }
    if (!first.missed.empty()) {
        second->missed = first.missed;
        second->missed_above = first.missed_above;
    }
    second->quality = first.quality;
    second->delta = first.delta;
    second->metadata_warning = first.metadata_warning;
    return second;
}

}  // namespace cudaenc
