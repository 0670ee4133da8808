// SPDX-License-Identifier: LGPL-2.1-or-later
#include "headers.h"

#include <algorithm>
#include <cstring>

#include "../bytes.h"
#include "../error.h"
#include "../exif.h"
#include "../icc_profile.h"
#include "../option_checks.h"
#include "markers.h"
#include "rate.h"

namespace cudaenc::mjpeg {

namespace {

constexpr size_t kMaxSegment = 65533;  // bytes after the length
constexpr size_t kExifHead = 6, kIccHead = 14;

void put_segment(Bytes &out, uint32_t marker, size_t size) {
    out.put16(marker);
    out.put16(2 + static_cast<uint32_t>(size));
}

// T.871 10.1. FFmpeg and others take the densities for the sample aspect ratio itself, width to height. Terms are
// halved until they fit 16 bits.
void put_jfif(Bytes &out, int aspect_num, int aspect_den) {
    if (aspect_num <= 0 || aspect_den <= 0) aspect_num = aspect_den = 1;
    while (std::max(aspect_num, aspect_den) > 65535) {
        aspect_num = std::max(aspect_num / 2, 1);
        aspect_den = std::max(aspect_den / 2, 1);
    }
    put_segment(out, kApp0, 14);
    out.put_text("JFIF"), out.put8(0);
    out.put16(0x0102);
    out.put8(0);  // no unit
    out.put16(aspect_num), out.put16(aspect_den);
    out.put8(0), out.put8(0);  // no thumbnail
}

// OpenDML AVI File Format Extensions 1.02, Motion JPEG: which lines of a frame the picture has. set_field_size() knows
// the sizes.
void put_avi1(Bytes &out, PictureKind kind) {
    put_segment(out, kApp0, 14);
    out.put_text("AVI1");
    out.put8(kind == PictureKind::top_field ? 1 : 2), out.put8(0);
    out.put32(0), out.put32(0);
}

// The densities of TIFF 6.0 without a unit, for RGB, which JFIF does not know: EXIF with one directory.
std::vector<uint8_t> aspect_exif(int aspect_num, int aspect_den) {
    constexpr uint32_t kShort = 3, kRational = 5, kNoUnit = 1, kValues = 8 + 2 + 3 * 12 + 4;
    Bytes out;
    out.put_text("MM"), out.put16(42), out.put32(8);
    out.put16(3);
    out.put16(Exif::kXResolution), out.put16(kRational), out.put32(1), out.put32(kValues);
    out.put16(Exif::kYResolution), out.put16(kRational), out.put32(1), out.put32(kValues + 8);
    out.put16(Exif::kResolutionUnit), out.put16(kShort), out.put32(1), out.put16(kNoUnit), out.put16(0);
    out.put32(0);
    for (const int density : {aspect_den, aspect_num}) out.put32(static_cast<uint32_t>(density)), out.put32(1);
    return std::move(out.data);
}

// ICC.1 B.4: chunks, numbered from 1.
void put_icc_profile(Bytes &out, const std::vector<uint8_t> &profile) {
    constexpr size_t longest = kMaxSegment - kIccHead;
    const size_t chunks = (profile.size() + longest - 1) / longest;
    for (size_t i = 0; i < chunks; i++) {
        const size_t size = std::min(longest, profile.size() - i * longest);
        put_segment(out, kApp2, kIccHead + size);
        out.put_text("ICC_PROFILE"), out.put8(0);
        out.put8(static_cast<uint32_t>(i + 1)), out.put8(static_cast<uint32_t>(chunks));
        out.put_bytes(&profile[i * longest], size);
    }
}

}  // namespace

Metadata take_metadata(const Params &p, const SourcePicture &frame) {
    Metadata m;
    m.aspect_num = frame.sample_aspect_num;
    m.aspect_den = frame.sample_aspect_den;
    m.kind = frame.kind;
    const char *space = p.input.color_model == CUDAENC_COLOR_GRAY ? "GRAY" : "RGB ";
    if (icc_profile_is_of(frame.icc_profile, frame.icc_profile_size, space))
        m.icc_profile.assign(frame.icc_profile, frame.icc_profile + frame.icc_profile_size);
    m.warning = icc_profile_left_out(frame.icc_profile, frame.icc_profile_size, space);
    m.exif.assign(frame.exif, frame.exif + frame.exif_size);
    if (p.coded_rgb && m.exif.empty() && m.aspect_num > 0 && m.aspect_den > 0 && m.aspect_num != m.aspect_den)
        m.exif = aspect_exif(m.aspect_num, m.aspect_den);
    if (m.icc_profile.size() > 255 * (kMaxSegment - kIccHead))
        refuse(format_string("an ICC profile of %zu bytes is not allowed: it has at most %zu", m.icc_profile.size(),
                             255 * (kMaxSegment - kIccHead)));
    if (m.exif.size() > kMaxSegment - kExifHead)
        refuse(format_string("EXIF data of %zu bytes are not allowed: they have at most %zu", m.exif.size(),
                             kMaxSegment - kExifHead));
    return m;
}

std::vector<uint8_t> make_frame_header(const Params &p, const Metadata &metadata, const Divisors &divisors) {
    Bytes out;
    out.data.reserve(1024);
    out.put16(kSoi);
    if (!p.coded_rgb) put_jfif(out, metadata.aspect_num, metadata.aspect_den);  // JFIF knows no RGB
    if (metadata.kind != PictureKind::frame) put_avi1(out, metadata.kind);
    if (!metadata.exif.empty()) {
        put_segment(out, kApp1, kExifHead + metadata.exif.size());
        out.put_text("Exif"), out.put8(0), out.put8(0);
        out.put_bytes(metadata.exif.data(), metadata.exif.size());
    }
    put_icc_profile(out, metadata.icc_profile);
    if (p.coded_rgb) {  // T.872 6.5.3: no transform
        put_segment(out, kApp14, 12);
        out.put_text("Adobe");
        out.put16(100), out.put16(0), out.put16(0), out.put8(0);
    }
    if (!p.comment.empty()) {
        put_segment(out, kCom, p.comment.size());
        out.put_text(p.comment.c_str());
    }
    // JPEG has full range. Decoders that know this comment, FFmpeg among them, take it for limited range.
    if (!p.input.full_range && p.input.color_model != CUDAENC_COLOR_RGB) {
        put_segment(out, kCom, 10);
        out.put_text("CS=ITU601"), out.put8(0);
    }
    put_segment(out, kDqt, 65 * static_cast<size_t>(p.tables));  // B.2.4.1
    for (int table = 0; table < p.tables; table++) {
        out.put8(table);  // 8 bits
        for (int k = 0; k < kBlockSamples; k++) out.put8(divisors.of[table][kZigzag[k]]);
    }
    put_segment(out, kSof0, 6 + 3 * p.components.size());  // B.2.2
    out.put8(8);
    out.put16(p.height), out.put16(p.width);
    out.put8(static_cast<uint32_t>(p.components.size()));
    for (const Component &c : p.components) out.put8(c.id), out.put8(c.h << 4 | c.v), out.put8(c.table);
    return std::move(out.data);
}

HuffmanSpecs default_huffman() {
    HuffmanSpecs specs;
    std::copy_n(kDcHuffman, kTables, specs.dc);
    std::copy_n(kAcHuffman, kTables, specs.ac);
    return specs;
}

void append_dht(std::vector<uint8_t> &to, const HuffmanSpecs &huffman, int tables) {
    size_t size = 0;
    Bytes out;
    out.data = std::move(to);
    for (int t = 0; t < tables; t++) size += 2 * 17 + symbols_of(huffman.dc[t]) + symbols_of(huffman.ac[t]);
    put_segment(out, kDht, size);  // B.2.4.2
    for (int t = 0; t < tables; t++)
        for (const int ac : {0, 1}) {
            const HuffmanSpec &spec = ac ? huffman.ac[t] : huffman.dc[t];
            out.put8(ac << 4 | t);
            out.put_bytes(spec.codes, sizeof spec.codes);
            out.put_bytes(spec.symbols, symbols_of(spec));
        }
    to = std::move(out.data);
}

void set_field_size(uint8_t *field, size_t size) {
    uint8_t *segment = field + 2;  // behind SOI
    while (std::memcmp(segment + 4, "AVI1", 4) != 0) segment += 2 + (segment[2] << 8 | segment[3]);
    for (size_t i = 0; i < 8; i++)  // with what pads it, which is nothing, and without
        segment[10 + i] = static_cast<uint8_t>(size >> (24 - 8 * (i % 4)));
}

std::vector<uint8_t> make_scan_header(const Params &p, const Scan &scan) {
    Bytes out;
    if (scan.grid.restart_interval) {  // B.2.4.4
        put_segment(out, kDri, 2);
        out.put16(scan.grid.restart_interval);
    }
    put_segment(out, kSos, 4 + 2 * static_cast<size_t>(scan.count));  // B.2.3
    out.put8(scan.count);
    for (int i = 0; i < scan.count; i++) {
        const Component &c = p.components[static_cast<size_t>(scan.first + i)];
        out.put8(c.id), out.put8(c.table << 4 | c.table);
    }
    out.put8(0), out.put8(63), out.put8(0);  // all coefficients, at once
    return std::move(out.data);
}

uint64_t packet_bytes(const Params &p, const Metadata &metadata, const Divisors &divisors, const HuffmanSpecs &huffman,
                      uint64_t bits) {
    std::vector<uint8_t> header = make_frame_header(p, metadata, divisors);
    append_dht(header, huffman, p.tables);
    uint64_t bytes = coded_bytes(bits) + header.size() + 2;
    for (const Scan &scan : p.scans) bytes += make_scan_header(p, scan).size() + marker_bytes(scan.grid);
    return bytes;
}

}  // namespace cudaenc::mjpeg
