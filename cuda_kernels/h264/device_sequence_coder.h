// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of a sequence on a device, as SequenceCoder: IDR pictures, and P pictures that refer to one before.
#pragma once
#include <array>
#include <memory>
#include <optional>

#include "deblocker.h"
#include "inter/device_inter_coder.h"
#include "inter/device_intra_macroblocks.h"
#include "inter/finish.h"
#include "inter/motion_refinement.h"
#include "intra/intra_coder.h"

namespace cudaenc::h264 {

// What the next pictures refer to: the picture as it was, and as a decoder has it.
struct SequenceFrame {
    DevicePyramid source;
    DevicePlane decoded[3];  // see decoded_sample_bytes()
};

// What the lookahead has of a picture in flight, of macroblocks.
struct LookaheadBuffers {
    DeviceArray<SourceCosts> costs;
    PinnedArray<SourceCosts> host_costs;
    PinnedArray<int8_t> host_offsets;  // to QPs
    DeviceArray<int8_t> offsets;
};

// The device memory of a picture in flight.
struct SequenceBuffers {
    IntraBuffers intra;  // macroblocks and levels, QPs, and what an IDR picture takes
    DeviceIntraMacroblocks::Buffers intra_macroblocks;
    std::vector<DeviceMotionSearch::Buffers> searches;         // by the last picture, and of fields by the one before
    std::optional<int> constant_qp = {};                       // that intra.qps has
    std::unique_ptr<PinnedArray<SceneCosts>> costs = nullptr;  // of searches, of rows of macroblocks; or none
    std::unique_ptr<WeighedSource> weighed = nullptr;          // with weighted prediction, of frames
    std::unique_ptr<LookaheadBuffers> lookahead = nullptr;     // or none
};

// Pictures are loaded and searched ahead, each on a stream of its own. They are coded in order, all on one stream, with
// memory that they share.
class DeviceSequenceCoder {
  public:
    // vertical: the level's limit for vectors, in samples. deblock: references are filtered (8.7). aq_strength: see
    // PictureQuality.
    DeviceSequenceCoder(std::shared_ptr<Device> device, const PictureFormat &format, int vertical, bool deblock,
                        int aq_strength);
    // The slices of what is coded from here on, in place of the format's. Queues a copy; nothing is in flight.
    void set_slices(Device::Stream stream, const std::vector<Slice> &slices);
    SequenceFrame make_frame() const;
    // finds_costs: scene_costs() follow; weighs: weights(); looks_ahead: QPs have the offsets of a lookahead.
    SequenceBuffers make_buffers(bool finds_costs, bool weighs = false, bool looks_ahead = false) const;

    struct Picture {
        SequenceBuffers *buffers;
        const SequenceFrame *own;
        std::array<const SequenceFrame *, 2> before;  // the last one, none of an IDR picture; of fields the one before
        std::array<SampleLayout, 3> components;
        int qp;                       // see PictureQuality
        RefreshColumns refresh = {};  // of intra refresh, of a P picture
        QpRegions regions = {};
        PictureWeights weights = {};    // those that weights() has told
        FieldReference refers_to = {};  // of a P field
    };
    // Queues what needs the source alone.
    void load(Device::Stream stream, const Picture &picture) const;
    // Queues the costs that a lookahead takes, which need the source of the picture before as well. before: nullptr:
    // there is none. Their search is overwritten by search().
    void find_source_costs(Device::Stream stream, const SequenceBuffers &buffers, const SequenceFrame &own,
                           const SequenceFrame *before) const;
    // Queues what needs the QP and the source of the picture before: the search.
    void search(Device::Stream stream, const Picture &picture) const;
    // Of a picture that was searched, once the stream has run that: by the picture that is so many before.
    SceneCosts scene_costs(const SequenceBuffers &buffers, int distance) const;

    static PictureWeights weights(const SequenceBuffers &buffers) {
        return buffers.weighed ? *buffers.weighed->host_weights.data() : PictureWeights{};
    }

    // Queues the upload of the offsets that a lookahead has found. Ahead of choose_qps(), and of code().
    void upload_offsets(Device::Stream stream, const SequenceBuffers &buffers) const;
    // Queues the choice of QPs of a P picture's macroblocks.
    void choose_qps(Device::Stream stream, const Picture &picture) const;

    // Queues the coding: macroblocks and levels, for DeviceSliceCoder. Behind search(), choose_qps(), and keep() of the
    // picture before.
    void code(Device::Stream stream, const Picture &picture);
    // Queues what makes it a reference of the next ones.
    void keep(Device::Stream stream, const Picture &picture);
    // After errors, once nothing is in flight.
    void reset();

  private:
    bool is_adaptive(const Picture &picture) const {
        return (aq_strength_ || offsets(picture) || picture.regions.count) && picture.qp <= kMaxQp;
    }
    static const int8_t *offsets(const Picture &picture) {
        return picture.buffers->lookahead ? picture.buffers->lookahead->offsets.data() : nullptr;
    }
    // What motion is searched for.
    static const DevicePyramid &compared(const Picture &picture) {
        return picture.buffers->weighed ? picture.buffers->weighed->pyramid : picture.own->source;
    }
    void code_predicted(Device::Stream stream, const Picture &picture);
    // Samples between samples of a reference, of 8 bits; the plane of whole ones is empty where decoded[0] has bytes.
    struct Between {
        const SequenceFrame *of = nullptr;
        DevicePlane planes[kHalfPlanes];
    };
    ReferencePlanes planes_of(const SequenceFrame &frame, const Between &between) const;
    void make_between(Device::Stream stream, const SequenceFrame &frame);
    ReferencePlanes reference(Device::Stream stream, const SequenceFrame &frame);

    const std::shared_ptr<Device> device_;
    const PictureFormat format_;
    const int columns_, rows_, aq_strength_;
    const DeviceMotionSearch search_;
    const DeviceMotionRefinement refinement_;
    const DeviceIntraCoder intra_coder_;
    const DeviceInterCoder inter_coder_;
    const DeviceIntraMacroblocks intra_macroblocks_;
    DeviceArray<MacroblockSlice> slices_;
    std::vector<MacroblockSlice> host_slices_;    // with set_slices()
    std::unique_ptr<DeviceDeblocker> deblocker_;  // nullptr: references are not filtered
    // Of the picture that is coded.
    std::vector<Between> between_;  // of the last reference, and of fields of another one
    DeviceMotionRefinement::Buffers refined_;
    DeviceArray<MacroblockMotion> motion_;
    DeviceArray<InterOutcome> outcomes_;
    DeviceArray<int8_t> decoded_qps_;
    DeviceArray<DeblockMacroblock> deblock_macroblocks_;
    DeviceArray<DeblockVector> deblock_vectors_;
    DeblockBuffers deblock_buffers_;
};

}  // namespace cudaenc::h264
