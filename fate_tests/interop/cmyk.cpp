// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes a JPEG file of cyan, magenta, yellow and black by libjpeg, with Adobe's marker. The PPM of the standard input
// becomes these inks. Usage: cmyk cmyk|ycck SAMPLING [RESTART_INTERVAL] <PPM >JPEG   SAMPLING: 1 or 2, of the first
// component and black.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <jpeglib.h>

int main(int argc, char **argv) {
    if (argc < 3) return std::fprintf(stderr, "usage: %s cmyk|ycck SAMPLING [RESTART_INTERVAL]\n", argv[0]), 2;
    unsigned width = 0, height = 0;
    if (std::scanf("P6 %u %u 255", &width, &height) != 2 || std::getchar() == EOF) return 1;
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_stdio_dest(&info, stdout);
    info.image_width = width, info.image_height = height;
    info.input_components = 4;
    info.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, std::strcmp(argv[1], "ycck") ? JCS_CMYK : JCS_YCCK);
    for (int c = 0; c < 4; c++)
        info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = c == 0 || c == 3 ? std::atoi(argv[2]) : 1;
    jpeg_set_quality(&info, 80, TRUE);
    info.restart_interval = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
    jpeg_start_compress(&info, TRUE);
    std::vector<JSAMPLE> rgb(3 * width), inks(4 * width);
    for (unsigned y = 0; y < height; y++) {
        if (std::fread(rgb.data(), 3, width, stdin) != width) return 1;
        for (unsigned x = 0; x < width; x++) {
            const int most = std::max({rgb[3 * x], rgb[3 * x + 1], rgb[3 * x + 2], JSAMPLE{1}});
            for (unsigned c = 0; c < 3; c++) inks[4 * x + c] = static_cast<JSAMPLE>(255 * rgb[3 * x + c] / most);
            inks[4 * x + 3] = static_cast<JSAMPLE>(most);
        }
        JSAMPROW row = inks.data();
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    return 0;
}
