// SPDX-License-Identifier: LGPL-2.1-or-later
// The planes of JPEG files by cudaenc and by libjpeg's accurate inverse DCT: the same, sample for sample, of all files
// that libjpeg decodes without a complaint.
// Usage: jpeg_decode DEVICE FILE...
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <cudaenc.h>
#include <jpeglib.h>

namespace {

struct Plane {
    int width = 0, height = 0;
    std::vector<uint8_t> samples;  // rows of `width`
};

struct Picture {
    std::string refused;  // why; else there are planes
    bool damaged = false;
    CudaencColorModel color{};
    std::vector<Plane> planes;
};

struct JpegErrors {
    jpeg_error_mgr manager;
    std::jmp_buf jump;
    std::string line;
};

CudaencColorModel color_of(const jpeg_decompress_struct &info) {
    switch (info.jpeg_color_space) {
        case JCS_GRAYSCALE:
            return CUDAENC_COLOR_GRAY;
        case JCS_RGB:
            return CUDAENC_COLOR_RGB;
        case JCS_CMYK:
            return CUDAENC_COLOR_CMYK;
        case JCS_YCCK:
            return CUDAENC_COLOR_YCCK;
        default:
            return CUDAENC_COLOR_YUV;
    }
}

Picture decode_by_libjpeg(const std::vector<uint8_t> &file) {
    Picture picture;
    JpegErrors errors{};
    jpeg_decompress_struct info{};
    info.err = jpeg_std_error(&errors.manager);
    info.client_data = &errors;
    errors.manager.error_exit = [](j_common_ptr common) {
        auto *e = static_cast<JpegErrors *>(common->client_data);
        char line[JMSG_LENGTH_MAX];
        common->err->format_message(common, line);
        e->line = line;
        std::longjmp(e->jump, 1);
    };
    errors.manager.output_message = [](j_common_ptr) {};
    std::vector<std::vector<uint8_t>> rows_of[4];
    if (setjmp(errors.jump)) {
        picture.refused = errors.line;
        jpeg_destroy_decompress(&info);
        return picture;
    }
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, file.data(), file.size());
    jpeg_read_header(&info, TRUE);
    picture.color = color_of(info);
    info.raw_data_out = TRUE;
    info.do_block_smoothing = FALSE;
    info.dct_method = JDCT_ISLOW;
    info.out_color_space = info.jpeg_color_space;
    jpeg_start_decompress(&info);
    const int lines = info.max_v_samp_factor * DCTSIZE;
    for (int c = 0; c < info.num_components; c++)
        rows_of[c].assign(static_cast<size_t>(info.comp_info[c].v_samp_factor * DCTSIZE),
                          std::vector<uint8_t>(info.comp_info[c].width_in_blocks * DCTSIZE + 64 * DCTSIZE));
    picture.planes.resize(static_cast<size_t>(info.num_components));
    for (int c = 0; c < info.num_components; c++) {
        picture.planes[static_cast<size_t>(c)].width = static_cast<int>(info.comp_info[c].downsampled_width);
        picture.planes[static_cast<size_t>(c)].height = static_cast<int>(info.comp_info[c].downsampled_height);
    }
    while (info.output_scanline < info.output_height) {
        std::vector<JSAMPROW> pointers[4];
        JSAMPARRAY arrays[4];
        for (int c = 0; c < info.num_components; c++) {
            for (auto &row : rows_of[c]) pointers[c].push_back(row.data());
            arrays[c] = pointers[c].data();
        }
        jpeg_read_raw_data(&info, arrays, static_cast<JDIMENSION>(lines));
        for (int c = 0; c < info.num_components; c++) {
            Plane &plane = picture.planes[static_cast<size_t>(c)];
            for (const auto &row : rows_of[c])
                if (plane.samples.size() < static_cast<size_t>(plane.width) * static_cast<size_t>(plane.height))
                    plane.samples.insert(plane.samples.end(), row.begin(), row.begin() + plane.width);
        }
    }
    jpeg_finish_decompress(&info);
    picture.damaged = errors.manager.num_warnings > 0;
    jpeg_destroy_decompress(&info);
    return picture;
}

std::string last_line;

// docs/mjpeg.md names what libjpeg decodes and cudaenc does not.
bool is_unsupported(const std::string &line) { return line.ends_with("is not supported"); }

Picture decode_by_cudaenc(CudaencDecoder *decoder, const std::vector<uint8_t> &file) {
    Picture picture;
    CudaencPictureInfo info;
    last_line.clear();
    if (cudaenc_decoder_read_header(decoder, file.data(), file.size(), &info) != CUDAENC_OK) {
        picture.refused = last_line;
        return picture;
    }
    picture.color = info.format.color_model;
    CudaencCodedPicture coded{};
    coded.data = file.data(), coded.size = file.size();
    for (int c = 0; c < info.format.components; c++) {
        const CudaencComponent &k = info.format.component[c];
        Plane plane;
        plane.width = (((info.format.width - 1) >> k.log2_subsample_x) + 1) * k.step;
        plane.height = ((info.format.height - 1) >> k.log2_subsample_y) + 1;
        plane.samples.resize(static_cast<size_t>(plane.width) * static_cast<size_t>(plane.height));
        picture.planes.push_back(std::move(plane));
    }
    for (size_t c = 0; c < picture.planes.size(); c++)
        coded.planes[c] = picture.planes[c].samples.data(), coded.stride[c] = picture.planes[c].width;
    CudaencDecodedPicture decoded{};
    int code = cudaenc_decoder_submit(decoder, &coded);
    cudaenc_decoder_flush(decoder);
    if (code == CUDAENC_OK) code = cudaenc_decoder_receive(decoder, &decoded);
    if (code != CUDAENC_OK) picture.refused = last_line;
    picture.damaged = decoded.corrupt;
    return picture;
}

// Empty: they agree. Of broken files, each decoder keeps what it can.
std::string difference(const Picture &ours, const Picture &theirs) {
    if (!theirs.refused.empty()) return {};
    if (!ours.refused.empty()) return theirs.damaged || is_unsupported(ours.refused) ? "" : "refused: " + ours.refused;
    if (ours.damaged) return theirs.damaged ? "" : "said to be damaged: " + last_line;
    if (ours.color != theirs.color)
        return "color model " + std::to_string(ours.color) + " instead of " + std::to_string(theirs.color);
    for (size_t c = 0; c < ours.planes.size(); c++) {
        const Plane &a = ours.planes[c], &b = theirs.planes[c];
        if (a.width != b.width || a.height != b.height) return "plane " + std::to_string(c) + " has another size";
        size_t differing = 0;
        for (size_t i = 0; i < a.samples.size(); i++) differing += a.samples[i] != b.samples[i];
        if (differing)
            return "plane " + std::to_string(c) + ": " + std::to_string(differing) + " of " +
                   std::to_string(a.samples.size()) + " samples differ";
    }
    return {};
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3) return std::fprintf(stderr, "usage: %s DEVICE FILE...\n", argv[0]), 2;
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.device = argv[1];
    config.async_depth = 1;
    config.log = [](void *, CudaencLogLevel level, const char *line) {
        if (level <= CUDAENC_LOG_WARNING) last_line = line;
    };
    CudaencDecoder *decoder;
    if (cudaenc_decoder_open(&decoder, &config) != CUDAENC_OK)
        return std::fprintf(stderr, "%s\n", last_line.c_str()), 1;
    int passed = 0, failed = 0, refused = 0, damaged = 0, equal = 0;
    for (int i = 2; i < argc; i++) {
        std::ifstream in(argv[i], std::ios::binary);
        const std::vector<uint8_t> file((std::istreambuf_iterator<char>(in)), {});
        const Picture theirs = decode_by_libjpeg(file), ours = decode_by_cudaenc(decoder, file);
        const std::string what = difference(ours, theirs);
        what.empty() ? passed++ : failed++;
        refused += !ours.refused.empty(), damaged += ours.damaged;
        equal += what.empty() && ours.refused.empty() && !ours.damaged && theirs.refused.empty();
        if (!what.empty()) std::printf("%s: %s\n", argv[i], what.c_str());
    }
    cudaenc_decoder_close(decoder);
    std::printf("%s: %d files with the same samples, %d refused, %d damaged\n", argv[1], equal, refused, damaged);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
