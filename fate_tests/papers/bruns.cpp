// SPDX-License-Identifier: LGPL-2.1-or-later
// V. Bruns, M. A. Martinez-del-Amor, "Sample-Parallel Execution of EBCOT in Fast Mode" (2016).
#include <cstdio>
#include <numeric>

#include "papers.h"
#include "stuffing.h"
#include "tier1.h"
#include "tier1_forms.h"

namespace cudaenc::bench {

namespace {

// What a block's passes make, as a codestream has them where raw passes begin with `first_raw`: of Part 1 the tenth, in
// the fifth bit-plane, of Part 2 also those of planes before; kNever: none. Counts of each pass go to `symbols` and
// `bits`.
constexpr int kNever = 1000;
struct PassCounts {
    uint64_t symbols = 0, bytes = 0;
};
class BypassSink {
  public:
    BypassSink(int first_raw, RawBitsOf *raw, std::vector<PassCounts> *passes)
        : first_raw_(first_raw), raw_(raw), passes_(passes), codeword_(1 << 16), mq_(codeword_.data()) {
        for (int i = 0; i < kContexts; i++) contexts_[i] = kMqTable.row[mq_initial_row(i)];
    }
    void put(int context, uint32_t decision) {
        symbols_++;
        if (is_raw_pass()) {
            segment_.push_back(decision);
            return;
        }
        contexts_[context] = encode_decision(mq_, contexts_[context], decision, kMqTable.row);
        decisions_++;
    }
    void put_raw(uint32_t) {}
    void end_pass() {
        const uint32_t now = bytes_ + (is_raw_pass() ? static_cast<uint32_t>(segment_.size() + 7) / 8
                                       : decisions_  ? mq_.sufficient_bytes()
                                                     : 0);
        if (passes_) {
            if (passes_->size() <= static_cast<size_t>(pass_)) passes_->resize(static_cast<size_t>(pass_) + 1);
            PassCounts &counts = (*passes_)[static_cast<size_t>(pass_)];
            counts.symbols += symbols_;
            counts.bytes += now - std::min(now, before_);
        }
        before_ = now;
        symbols_ = 0;
        const bool ends =
            first_raw_ != kNever &&
            (pass_ == first_raw_ - 1 || (pass_ >= first_raw_ && pass_kind(pass_) != kSignificancePropagation));
        if (ends) end_segment();
        pass_++;
    }
    uint32_t finish() {
        pass_--;
        if (decisions_ || !segment_.empty()) end_segment();
        return bytes_;
    }

  private:
    bool is_raw_pass() const { return pass_ >= first_raw_ && pass_kind(pass_) != kCleanUp; }
    void end_segment() {
        if (!segment_.empty()) {
            bytes_ += static_cast<uint32_t>(stuff_plainly(segment_).size());
            if (raw_) raw_->segments.push_back(segment_);
            segment_.clear();
        }
        if (decisions_) bytes_ += mq_.flush(false);
        decisions_ = 0;
        mq_ = MqEncoder(codeword_.data());
    }
    const int first_raw_;
    RawBitsOf *const raw_;
    std::vector<PassCounts> *const passes_;
    std::vector<uint8_t> codeword_;
    MqEncoder mq_;
    MqState contexts_[kContexts];
    std::vector<bool> segment_;
    uint64_t symbols_ = 0;
    uint32_t decisions_ = 0, bytes_ = 0, before_ = 0;
    int pass_ = 0;
};

struct CodedBlocks {
    uint64_t bytes = 0;
    RawBitsOf raw;
    std::vector<PassCounts> passes;
};
CodedBlocks code_blocks_of(const CodedCase &coded, int first_raw) {
    CodedBlocks all;
    for (const CodeBlock &b : coded.geometry.blocks) {
        BypassSink sink(first_raw, &all.raw, &all.passes);
        std::vector<uint16_t> flags(static_cast<size_t>(flags_count(b.width, b.height)));
        SequentialCoder<BypassSink> coder(&coded.coefficients[0][b.coefficients], b.stride, b.width, b.height,
                                          b.orientation, 0, flags.data(), sink);
        if (coder.code(false).passes) all.bytes += sink.finish();
    }
    return all;
}

Case case_of(bool lossless, int width, int height) {
    Case c = choose_cases(lossless ? "hd-lossless" : "hd-lossy")[0];
    c.format.width = width, c.format.height = height;
    c.style = CUDAENC_J2K_BYPASS;
    return c;
}

// Figures 1 and 3: what passes take, and what the bypass costs by where it begins.
CodedBlocks print_sizes(const Picture &picture, const Case &c, const CodedCase &coded) {
    CodedBlocks of[5];  // without the bypass, and with raw passes behind so many bit-planes
    parallel(5, [&](int plane) { of[plane] = code_blocks_of(coded, plane ? 3 * plane - 2 : kNever); });
    const CodedBlocks &none = of[0];
    std::printf("| %s | %s | %llu |", picture.name.c_str(), c.lossless ? "5/3" : "9/7",
                static_cast<unsigned long long>(none.bytes));
    for (const int plane : {1, 2, 3, 4})
        std::printf(" %.4f |", static_cast<double>(of[plane].bytes) / static_cast<double>(none.bytes));
    static_assert(3 * 4 - 2 == kFirstRawPass);
    std::printf(" ");
    for (size_t pass = 0; pass < none.passes.size(); pass++) {  // bits a symbol
        const PassCounts &p = none.passes[pass];
        if (pass_kind(static_cast<int>(pass)) == kSignificancePropagation) std::printf("; ");
        std::printf("%s%.2f", pass_kind(static_cast<int>(pass)) == kSignificancePropagation ? "" : " ",
                    p.symbols ? 8 * static_cast<double>(p.bytes) / static_cast<double>(p.symbols) : 0.0);
    }
    std::printf(" |\n");
    std::fflush(stdout);
    return std::move(of[4]);
}

// Algorithm 2 beside the encoder's way, on the raw segments of a picture. Returns whether all segments are right.
bool print_stuffing(const PaperRun &run, const Picture &picture, const Case &c, const CodedCase &coded,
                    const RawBitsOf &raw) {
    if (raw.segments.empty()) return true;
    const Stream stream(run.device);
    const Event begin(run.device, true), end(run.device, true);
    const Stuffing forms(run.device, raw);
    const auto time = [&](auto work) {
        return median_of(run.runs, [&] {
            run.device->record(begin, stream);
            work();
            run.device->record(end, stream);
            run.device->synchronize(static_cast<Device::Event>(end));
            return static_cast<double>(run.device->elapsed_ms(begin, end));
        });
    };
    const double by_bytes = time([&] { forms.by_bytes(stream); }).median;
    const size_t different = forms.compare(raw);
    const std::vector<uint32_t> iterations = forms.iterations(), stuffed = forms.stuffed();
    const double by_warps = time([&] { forms.by_warps(stream); }).median;
    const size_t also = forms.compare(raw);
    Blocks blocks(run.device, coded.params, coded.geometry, coded.coefficients, 1);
    const double tier1 = median_of(run.runs, [&] {
                             const Blocks::Times times = blocks.code(8);
                             return times.context + times.mq;
                         }).median;
    double bits = 0, turns = 0, all_stuffed = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < raw.segments.size(); i++) {
        bits += static_cast<double>(raw.segments[i].size());
        turns += iterations[i];
        all_stuffed += stuffed[i];
        most = std::max(most, iterations[i]);
    }
    std::printf("| %s | %s | %zu | %.0f | %.2f, %u | %.4f | %.4f | %.3f | %.1f %% | %.1f %% |%s\n",
                picture.name.c_str(), c.lossless ? "5/3" : "9/7", raw.segments.size(), 1e6 * all_stuffed / bits,
                turns / static_cast<double>(raw.segments.size()), most, by_bytes, by_warps, tier1,
                100 * by_bytes / tier1, 100 * by_warps / tier1, different || also ? " SEGMENTS DIFFER" : "");
    std::fflush(stdout);
    return !different && !also;
}

}  // namespace

bool measure_bruns(const PaperRun &run) {
    const int width = run.small ? 100 : 1920, height = run.small ? 72 : 1080;
    bool good = true;
    std::printf(
        "\nBruns 2016, sizes: %dx%d, blocks of 32x32. Bytes of all code-blocks by the bit-plane behind which "
        "raw passes begin, to those without; the fourth is Part 1's, others are Part 2's. Bits a symbol of each "
        "pass without the bypass, by bit-planes: clean-up; then propagation, refinement, clean-up\n\n",
        width, height);
    std::printf("| picture | wavelet | bytes | 1 | 2 | 3 | 4 | bits a symbol |\n|---|---|---|---|---|---|---|---|\n");
    struct Kept {
        const Picture *picture;
        Case c;
        CodedCase coded;
        RawBitsOf raw;
    };
    std::vector<Kept> kept;
    for (size_t i = 0; i < std::min<size_t>(run.pictures.size(), 4); i++)
        for (const bool lossless : {true, false}) {
            const Case c = case_of(lossless, width, height);
            const Picture &picture = run.pictures[i];
            const Frames frames({picture}, c.format, 1, nullptr);
            CodedCase coded = code_case(c, frames, 0);
            CodedBlocks blocks = print_sizes(picture, c, coded);
            kept.push_back({&picture, c, std::move(coded), std::move(blocks.raw)});
        }
    std::printf(
        "\nBruns 2016, bit-stuffing: ms of a frame's raw segments by algorithm 2 and by warps, and their shares "
        "of tier-1\n\n");
    std::printf(
        "| picture | wavelet | segments | stuffed, ppm | turns, most | algorithm 2 | by warps | tier-1 | share "
        "| by warps |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const Kept &k : kept) good &= print_stuffing(run, *k.picture, k.c, k.coded, k.raw);
    std::printf(
        "\nBruns 2016, strategies: the encoder's two kernels, one, three, and by bit-planes, where context "
        "modelling and MQ coding overlap on streams; then those without the bypass, their baseline\n");
    Json json;
    json.open('[');
    const std::vector<int> frames = run.small ? std::vector<int>{1} : std::vector<int>{1, 2, 4, 8};
    for (size_t i = 0; i < std::min<size_t>(run.pictures.size(), 2); i++)
        for (const bool by_planes : {false, true}) {
            Case c = case_of(false, width, height);
            if (by_planes) c.style = 0;
            good &= compare_tier1(run.device, run.pictures[i], c, by_planes, 0, frames, run.runs, json);
        }
    return good;
}

}  // namespace cudaenc::bench
