// SPDX-License-Identifier: LGPL-2.1-or-later
#include "qp_planner.h"

#include "../../error.h"

namespace cudaenc::h264 {

QpPlanner::QpPlanner(const RateTarget &target, int in_flight) : target_(target), rate_(target) {
    unsettled_.reserve(static_cast<size_t>(in_flight));
}

// Whether plan() knows the size of another picture, by number.
bool QpPlanner::knows(const PlannedPicture &picture, uint64_t other) const {
    if (other >= picture.number) return false;
    const uint64_t least = picture.number - std::min(picture.number, target_.delay);
    if (other <= least) return true;
    const auto after = std::find_if(known_.begin(), known_.end(), [&](const Known &k) { return k.number > least; });
    return after != known_.begin() && std::prev(after)->rate.is_beyond_max_qp();
}

bool QpPlanner::must_wait(const PlannedPicture &picture) const {
    return !unsettled_.empty() && knows(picture, unsettled_.front()->number);
}

void QpPlanner::plan(PlannedPicture &picture) {
    picture.qp = picture.target.qp - (picture.key ? picture.target.key_offset : 0);
    if (target_.constant()) return begin(picture);
    unsettled_.push_back(&picture);
    const uint64_t least = picture.number - std::min(picture.number, target_.delay);
    while (known_.size() > 1 && known_[1].number <= least) known_.pop_front();
    while (!planned_.empty() && planned_.front().number < least) planned_.pop_front();
    while (!planned_.empty() && planned_.back().number >= picture.number) planned_.pop_back();  // one that was lost
    const auto last =
        std::find_if(known_.rbegin(), known_.rend(), [&](const Known &k) { return knows(picture, k.number); });
    RateControl rate = last == known_.rend() ? RateControl(target_) : last->rate;
    for (const Planned &between : planned_) {
        if (last != known_.rend() && between.number <= last->number) continue;
        rate.change(between.target);
        rate.skip(between.skipped);
        rate.assume(between.qp);
    }
    rate.change(picture.target);
    rate.skip(picture.skipped);
    picture.qp = rate.begin(picture.key);
    planned_.push_back({picture.number, picture.skipped, picture.qp, picture.target});
}

void QpPlanner::begin(PlannedPicture &picture) const {
    picture.rate.emplace(*rate_);
    picture.rate->change(picture.target);
    picture.rate->skip(picture.skipped);
    picture.rate->begin(picture.key);
}

bool QpPlanner::is_settled(const PlannedPicture &picture) const {
    return std::find(unsettled_.begin(), unsettled_.end(), &picture) == unsettled_.end();
}

bool QpPlanner::recode(PlannedPicture &picture, const PacketSize &size) {
    RateControl &rate = *picture.rate;
    if (rate.recode(picture.qp, size.most)) return true;
    picture.missed.clear();
    if (size.most > rate.most())
        picture.missed = format_string(
            "a picture has %llu bytes at the highest QP, %llu are allowed by the decoder's buffer or the level",
            static_cast<unsigned long long>(size.most), static_cast<unsigned long long>(rate.most()));
    // Any smaller size can be filled up.
    picture.filler = rate.end(picture.qp, size.most, picture.target.cbr ? size.most : size.likely);
    if (rate.exceeds_average())
        picture.missed = format_string("-b:v %lld is exceeded: at QP %d, the highest allowed, pictures have more",
                                       static_cast<long long>(picture.target.bit_rate), std::min(picture.qp, kMaxQp));
    const bool constant = picture.target.constant();
    if (constant && picture.target.level_idc && picture.missed.empty() && picture.qp > picture.target.qp)
        picture.missed = format_string(
            "level %d.%d allows pictures of %llu bytes at most, and at QP %d some have more: their QP rises. A higher "
            "level has room",
            picture.target.level_idc / 10, picture.target.level_idc % 10, static_cast<unsigned long long>(rate.most()),
            picture.target.qp);
    if (!constant) {
        rate_.emplace(rate);
        known_.push_back({picture.number, rate});
    }
    picture.most_bytes = std::max(size.most, constant ? rate.most() : picture.target.picture_bytes);
    return false;
}

bool QpPlanner::fits(PlannedPicture &picture, const PacketSize &size) const {
    picture.missed.clear();
    picture.filler = 0;
    picture.most_bytes = size.likely;
    return size.most <= picture.rate->most();
}

bool QpPlanner::too_large(PlannedPicture &picture, const PacketSize &size) const {
    if (size.likely <= picture.most_bytes || picture.qp == kLastQp) return false;
    picture.qp++;
    return true;
}

}  // namespace cudaenc::h264
