// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jp2_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "../bytes.h"
#include "../error.h"
#include "../exif.h"
#include "../icc_profile.h"
#include "../planes.h"
#include "block_coders.h"
#include "codestream/markers.h"
#include "jp2_metadata.h"

namespace cudaenc::j2k {

namespace {

// A profile would say what is not so of YUV samples, or of grey ones from an RGB picture.
const char *profile_space(CudaencColorModel model) {
    return model == CUDAENC_COLOR_RGB ? "RGB " : model == CUDAENC_COLOR_GRAY ? "GRAY" : nullptr;
}

bool has_profile(const CudaencFrame &frame, CudaencColorModel model) {
    const char *space = profile_space(model);
    return space && icc_profile_is_of(frame.icc_profile, frame.icc_profile_size, space);
}

// Samples a metre in one direction (I.5.3.7): a numerator and a denominator of 16 bits each, and a power of ten.
struct Resolution {
    uint32_t numerator, denominator, exponent;
};

// A ratio with a numerator of any size; nothing where that is 0.
std::optional<Resolution> rounded(uint64_t numerator, uint32_t denominator) {
    uint32_t exponent = 0;
    for (; numerator > 65535; exponent++) numerator = (numerator + 5) / 10;
    if (!numerator) return {};
    return Resolution{static_cast<uint32_t>(numerator), denominator, exponent};
}

// Of samples an inch, which is 254 / 10000 of a metre.
std::optional<Resolution> resolution_of(double ppi) {
    return rounded(static_cast<uint64_t>(std::llround(ppi * 10000)), 254);
}

void put_resolution_box(Bytes &out, const char *type, const Resolution &vertical, const Resolution &horizontal) {
    out.put32(18), out.put_text(type);
    for (const Resolution &r : {vertical, horizontal}) out.put16(r.numerator), out.put16(r.denominator);
    out.put8(vertical.exponent), out.put8(horizontal.exponent);
}

// The resolution that EXIF tells, samples a unit; nothing where it tells none.
std::optional<Resolution> exif_resolution(const Exif &exif, Exif::Tag tag) {
    constexpr uint32_t kInch = 2, kCentimetre = 3;
    const std::optional<ExifRational> told = exif.rational(tag);
    const uint32_t unit = exif.number(Exif::kResolutionUnit).value_or(kInch);
    if (!told || (unit != kInch && unit != kCentimetre)) return {};
    const uint64_t scaled = uint64_t{told->numerator} * (unit == kInch ? 10000 : 100);
    return rounded((scaled + told->denominator / 2) / told->denominator, unit == kInch ? 254 : 1);
}

struct Resolutions {
    Resolution vertical, horizontal;
};

// By the option, else from EXIF, but for 72 a unit, which EXIF has where it knows none (CIPA DC-008, 4.6.4).
std::optional<Resolutions> capture_resolutions(const Params &p, const CudaencFrame &frame) {
    if (p.capture_ppi != 0) return Resolutions{*resolution_of(p.capture_ppi), *resolution_of(p.capture_ppi)};
    const Exif exif({frame.exif, frame.exif_size});
    const std::optional<Resolution> vertical = exif_resolution(exif, Exif::kYResolution),
                                    horizontal = exif_resolution(exif, Exif::kXResolution);
    const auto is_unknown = [](const Resolution &r) { return r.numerator == 7200 && r.exponent == 2; };
    if (!vertical || !horizontal || (is_unknown(*vertical) && is_unknown(*horizontal) && vertical->denominator == 254))
        return {};
    return Resolutions{*vertical, *horizontal};
}

// By the option, which counts rows. Samples that are wider than high are fewer along a row. Without the option only the
// ratio is known.
std::optional<Resolutions> display_resolutions(const Params &p, const CudaencFrame &frame) {
    int64_t num = frame.sample_aspect_num, den = frame.sample_aspect_den;
    if (num <= 0 || den <= 0) num = den = 1;
    if (p.display_ppi != 0) {
        const Resolution vertical = *resolution_of(p.display_ppi);
        const double across = p.display_ppi * static_cast<double>(den) / static_cast<double>(num);
        return Resolutions{vertical, resolution_of(std::min(across, 1e9)).value_or(Resolution{1, 254, 0})};
    }
    if (num == den) return {};
    // A term has 16 bits. A larger one is divided, and the divisor goes to the other direction.
    const auto divisor = [](int64_t x) { return static_cast<uint32_t>((x + 65534) / 65535); };
    const auto quotient = [&](int64_t x) { return static_cast<uint32_t>((x + divisor(x) / 2) / divisor(x)); };
    return Resolutions{{quotient(num), quotient(den), 0}, {divisor(den), divisor(num), 0}};
}

void put_resolutions(Bytes &out, const Params &p, const CudaencFrame &frame) {
    const auto captured = capture_resolutions(p, frame), displayed = display_resolutions(p, frame);
    if (!captured && !displayed) return;
    out.put32(8 + (captured ? 18 : 0) + (displayed ? 18 : 0)), out.put_text("res ");
    // First, since FFmpeg's decoder reads the aspect from the first one.
    if (displayed) put_resolution_box(out, "resd", displayed->vertical, displayed->horizontal);
    if (captured) put_resolution_box(out, "resc", captured->vertical, captured->horizontal);
}

}  // namespace

// Of what JP2 has boxes for (I.5.3.3).
static std::string warning_of_boxes(const Params &p, const CudaencFrame &frame) {
    if (!p.jp2) {
        const bool any = frame.icc_profile_size || frame.exif_size || frame.xmp_size || frame.iptc_size;
        return any ? "the frame's ICC profile, EXIF, XMP and IPTC data are left out: format jp2 has a place for them"
                   : "";
    }
    if (!has_profile(frame, p.color_model))
        return icc_profile_left_out(frame.icc_profile, frame.icc_profile_size, profile_space(p.color_model));
    if (icc_profile_is_matrix_based(frame.icc_profile, frame.icc_profile_size)) return {};
    return "readers may refuse the file: JP2 takes ICC profiles of an input device or a display with a curve for grey, "
           "or "
           "a matrix and curves for RGB; this frame's is of another class or has tables, and is written as it is. "
           "format "
           "j2k has no profile";
}

std::string metadata_warning(const Params &p, const CudaencFrame &frame) {
    std::string boxes = warning_of_boxes(p, frame);
    if (!frame.region_count || p.takes_regions) return boxes;
    return "regions of interest have no effect: they weigh errors where the MQ coder meets a target of bytes by "
           "rate_control pcrd, psp or pst" +
           (boxes.empty() ? "" : "; " + boxes);
}

std::vector<uint8_t> make_jp2_boxes(const Params &p, const CudaencFrame &frame, uint64_t codestream) {
    if (!p.jp2) return {};
    Bytes out;
    const auto put_box = [&](const char *type, const auto &put_contents) {
        const size_t at = out.data.size();
        out.put32(0), out.put_text(type);
        put_contents();
        put_be32(&out.data[at], static_cast<uint32_t>(out.data.size() - at));
    };
    const uint32_t count = static_cast<uint32_t>(p.components.size());
    const CudaencColorModel model = p.color_model;

    put_box("jP  ", [&] { out.put32(0x0D0A870A); });  // I.5.1
    const char *const brand = block_coder_traits(p.style).brand;
    put_box("ftyp", [&] { out.put_text(brand), out.put32(0), out.put_text(brand); });  // I.5.2
    put_box("jp2h", [&] {                                                              // I.5.3
        const bool one_depth = std::all_of(p.components.begin(), p.components.end(),
                                           [&](const Component &c) { return c.depth == p.components[0].depth; });
        const auto bits = [](const Component &c) { return (c.depth - 1) | (c.is_signed ? 128 : 0); };
        put_box("ihdr", [&] {
            out.put32(p.height), out.put32(p.width), out.put16(count);
            out.put8(one_depth ? bits(p.components[0]) : 255);
            out.put8(7), out.put8(0), out.put8(0);
        });
        if (!one_depth)
            put_box("bpcc", [&] {
                for (const Component &c : p.components) out.put8(bits(c));
            });
        put_box("colr", [&] {
            const bool profile = has_profile(frame, model);
            const std::vector<uint8_t> &icc = p.colour.icc;
            out.put8(profile || !icc.empty() ? 2 : 1), out.put8(0), out.put8(0);
            if (profile)
                out.put_bytes(frame.icc_profile, frame.icc_profile_size);
            else if (!icc.empty())
                out.put_bytes(icc.data(), icc.size());
            else
                out.put32(static_cast<uint32_t>(p.colour.enumerated));
        });
        // I.5.3.6: colour channels in order, then one for opacity, then those that no type tells of.
        constexpr uint32_t kColour = 0, kOpacity = 1, kUnspecified = 65535;
        const bool alike = count > kDescribedComponents;
        const uint32_t alpha = p.input.has_alpha ? 1 : 0, colours = !alike                        ? count - alpha
                                                                    : model == CUDAENC_COLOR_GRAY ? 1
                                                                                                  : 3;
        if (alpha || alike)
            put_box("cdef", [&] {
                out.put16(count);
                for (uint32_t c = 0; c < count; c++) {
                    const uint32_t type = c < colours ? kColour : c < colours + alpha ? kOpacity : kUnspecified;
                    out.put16(c), out.put16(type), out.put16(type == kColour ? c + 1 : type == kOpacity ? 0 : type);
                }
            });
        put_resolutions(out, p, frame);
    });

    using Contents = std::span<const uint8_t>;
    const auto put_uuid = [&](const Uuid &uuid, Contents contents) {  // I.7.2
        if (contents.empty()) return;
        put_box("uuid", [&] {
            out.put_bytes(uuid.data(), uuid.size());
            out.put_bytes(contents.data(), contents.size());
        });
    };
    const Contents xmp = frame.xmp_size ? Contents(frame.xmp, frame.xmp_size) : p.xmp,
                   iptc = frame.iptc_size ? Contents(frame.iptc, frame.iptc_size) : p.iptc;
    put_uuid(kExifUuid, {frame.exif, frame.exif_size});
    put_uuid(is_image_resources(iptc) ? kImageResourcesUuid : kIptcUuid, iptc);
    put_uuid(kXmpUuid, xmp);

    // A box of more than 32 bits says 1 and gives its length after the type (I.4).
    const uint64_t size = codestream + 8;
    const bool fits = size <= 0xFFFFFFFFu;
    out.put32(fits ? static_cast<uint32_t>(size) : 1), out.put_text("jp2c");
    if (!fits) out.put32(static_cast<uint32_t>((size + 8) >> 32)), out.put32(static_cast<uint32_t>(size + 8));
    return std::move(out.data);
}

}  // namespace cudaenc::j2k
