// Finds the codes of several segments near each of some queries.
#pragma once

#include <deque>

#include "search/finder.hpp"

namespace kinhash {

using Segments = std::vector<const Segment*>;

template <size_t W>
class Finders {
  public:
    Finders(const Segments& segments, std::vector<SegmentPlanes>& planes, const Kernels& kernels) {
        for (size_t s = 0; s < segments.size(); ++s)
            finders_.emplace_back(*segments[s], kernels, &planes[s], uint8_t(s));
    }

    // Adds to the hits of each query, in no order; by the plan that was asked for, if any.
    void within(const std::vector<Asked>& asked, AskedPlan plan, Work& work) {
        for (Finder<W>& finder : finders_) finder.within(asked, plan, work);
    }
    // Whether every segment answers this query without a scan.
    bool all_by_lookup(const uint64_t* query, uint32_t radius) const {
        return std::all_of(finders_.begin(), finders_.end(), [&](const Finder<W>& finder) {
            const Plan plan = finder.choose(query, radius).plan;
            return plan != Plan::scan && plan != Plan::groups;
        });
    }
    // Whether every segment compares this query with all codes in tiles: at a radius, or at any but 0.
    bool all_by_tiles(const uint64_t* query, uint32_t radius) const {
        return std::all_of(finders_.begin(), finders_.end(),
                           [&](const Finder<W>& finder) { return finder.by_tiles(query, radius); });
    }
    bool only_by_tiles(const uint64_t* query) const {
        return std::all_of(finders_.begin(), finders_.end(),
                           [&](const Finder<W>& finder) { return finder.only_by_tiles(query); });
    }
    // Adds the rows that may be among the nearest of each query.
    void nearest(const std::vector<Nearest*>& asked, Work& work) {
        for (Finder<W>& finder : finders_) finder.nearest(asked, work);
    }
    const Words<W>& words() const { return finders_[0].words(); }

  private:
    std::deque<Finder<W>> finders_;  // which never move: their parts refer to each other
};

}  // namespace kinhash
