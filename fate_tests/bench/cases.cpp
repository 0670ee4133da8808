// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cases.h"

#include <algorithm>
#include <sstream>

#include "../../common/error.h"

namespace cudaenc::bench {

std::string Case::text() const {
    return format_string("%dx%d %s %d bit, %s, blocks %dx%d", format.width, format.height,
                         format.layout == Layout::kRgb ? "RGB" : "4:2:2", format.depth,
                         lossless ? "5/3 lossless" : "9/7", cblk, cblk);
}

const std::vector<Case> &all_cases() {
    static const std::vector<Case> cases = {
        {"4k-lossless", {3840, 2160, 8, Layout::kRgb}, true, 32},
        {"4k-lossy", {3840, 2160, 8, Layout::kRgb}, false, 32},
        {"hd-lossless", {1920, 1080, 8, Layout::kRgb}, true, 32},
        {"hd-lossy", {1920, 1080, 8, Layout::kRgb}, false, 32},
        {"4k-12bit-lossless", {3840, 2160, 12, Layout::kRgb}, true, 32},
        {"4k-12bit-lossy", {3840, 2160, 12, Layout::kRgb}, false, 32},
        {"4k-16bit-lossless", {3840, 2160, 16, Layout::kRgb}, true, 32},
        {"4k-16bit-lossy", {3840, 2160, 16, Layout::kRgb}, false, 32},
        {"4k-422p10-lossless", {3840, 2160, 10, Layout::kYuv422}, true, 32},
        {"4k-422p10-lossy", {3840, 2160, 10, Layout::kYuv422}, false, 32},
        {"4k-cblk64-lossless", {3840, 2160, 8, Layout::kRgb}, true, 64},
        {"4k-cblk64-lossy", {3840, 2160, 8, Layout::kRgb}, false, 64},
    };
    return cases;
}

std::vector<Case> choose_cases(const std::string &list) {
    if (list == "all") return all_cases();
    std::vector<Case> chosen;
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) {
        const auto found =
            std::find_if(all_cases().begin(), all_cases().end(), [&](const Case &c) { return name == c.name; });
        if (found == all_cases().end())
            throw Error(CUDAENC_ERR_INVALID, "-case '" + name + "' is not known; -list names the cases");
        chosen.push_back(*found);
    }
    return chosen;
}

CudaencConfig make_config(const Case &c, const char *device) {
    CudaencConfig config;
    cudaenc_config_defaults(&config, CUDAENC_CODEC_J2K);
    config.format = make_format(c.format);
    config.device = device;
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.pred = c.lossless ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
    config.j2k.cblk_width = config.j2k.cblk_height = c.cblk;
    return config;
}

}  // namespace cudaenc::bench
