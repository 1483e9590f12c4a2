// Compares leaders first, then the codes of the groups whose leader is near enough.
#pragma once

#include <utility>

#include "search/scan.hpp"

namespace kinhash {

template <size_t W>
class GroupsPlan {
  public:
    GroupsPlan(const Target<W>& target, const ScanPlan<W>& scan) : target_(target), scan_(scan) {}

    // ns, if groups can answer.
    std::optional<double> cost(const uint64_t* query, uint32_t radius) const {
        const Segment& segment = target_.segment;
        if (!segment.n_leaders()) return {};
        const double n_words = double(segment.n_words);
        const double per_leader =
            scan_.suits_planes(query, radius) ? costs::COMPARE_PLANES : costs::COMPARE_WORD * n_words;
        return costs::GROUPS_START + per_leader * double(segment.n_leaders()) +
               costs::GROUP_WORD * n_words * double(segment.n_codes());
    }

    // A code within r of the query has a leader within r + group_radius of it. Returns false, with no hits,
    // if so many groups are near that a scan is faster, unless `forced`.
    bool find(const uint64_t* query, uint32_t radius, bool forced, Hits& out, Work& work) {
        if (!find_leaders(query, radius, forced, work)) return false;
        size_t left = target_.segment.n_codes();  // groups share no codes, unless the file is damaged
        for (const Hit& leader : near_) {
            const size_t from = group(leader.row).first,
                         to = std::max(from, group(leader.row + leader.more).second);
            const size_t size = std::min(to - from, left);
            scan_.scan(query, radius, from, from + size, out, work);
            left -= size;
        }
        return true;
    }

  private:
    bool find_leaders(const uint64_t* query, uint32_t radius, bool forced, Work& work) {
        const Segment& segment = target_.segment;
        const size_t n = segment.n_leaders();
        const double scan_cost = scan_.cost_per_code(query, radius) * double(segment.n_codes());
        near_.clear();
        size_t n_near = 0, counted = 0;
        constexpr size_t BLOCK = costs::LEADERS_PER_ESTIMATE;
        static_assert(BLOCK % PLANE_CODES == 0);
        for (size_t first = 0; first < n; first += BLOCK) {
            const size_t seen = std::min(first + BLOCK, n);
            scan_.scan_leaders(query, radius + segment.group_radius, first, seen, near_, work);
            for (; counted < near_.size(); ++counted) n_near += near_[counted].more + size_t(1);
            const double expected = double(n_near) * double(n) / double(seen);
            const double limit = scan_cost * (seen < n ? costs::SURELY_TOO_MANY : 1);
            if (!forced && costs::NEAR_GROUP * expected > limit) return false;
        }
        return true;
    }

    // The rows of group g.
    std::pair<size_t, size_t> group(size_t g) const {
        const Segment& segment = target_.segment;
        const size_t n = segment.n_codes(), from = std::min<size_t>(segment.group_starts[g], n);
        return {from, std::max(from, std::min<size_t>(segment.group_starts[g + 1], n))};
    }

    Target<W> target_;
    const ScanPlan<W>& scan_;
    Hits near_;
};

}  // namespace kinhash
