// Finds the codes of several segments that lie near each of some queries.
#pragma once

#include "finder.hpp"

namespace kinhash {

using Segments = std::vector<const Segment*>;

template <size_t W>
class Finders {
  public:
    Finders(const Segments& segments, std::vector<SegmentPlanes>& planes, const Kernels& kernels) : segments_(segments) {
        for (size_t s = 0; s < segments.size(); ++s) finders_.emplace_back(*segments[s], kernels, &planes[s], uint8_t(s));
    }

    // Adds to the hits of each, in no order; by the `plan` that was asked for, where one was.
    void within(const std::vector<Asked>& asked, int plan_asked, Work& work) {
        for (size_t s = 0; s < segments_.size(); ++s) {
            Finder<W>& finder = finders_[s];
            if (plan_asked < 0 && segments_[s]->slots.size && all_at_zero(asked)) {
                finder.lookup_all(asked, work);
                continue;
            }
            scanning_.clear();
            by_planes_.clear();
            if (plan_asked < 0) finder.expect(asked);
            for (const Asked& one : asked) {
                Choice choice = finder.plan(one.query, one.radius, plan_asked);
                switch (choice.plan) {
                    case Plan::groups:
                        if (finder.groups(one.query, one.radius, int(choice.plan) == plan_asked, *one.out, work)) break;
                        choice.plan = Plan::scan;
                        [[fallthrough]];
                    case Plan::scan: (finder.has_planes(one.query, one.radius) ? by_planes_ : scanning_).push_back(one); break;
                    case Plan::chunks: finder.start_chunks(one, work); break;
                    default: finder.within(choice, one.query, one.radius, *one.out, work); continue;
                }
                ++work.queries[size_t(choice.plan)];
            }
            finder.finish_chunks(work);
            // All queries over one block of codes before the next block comes in from memory.
            const size_t n = segments_[s]->n_codes();
            const auto in_blocks = [&](const std::vector<Asked>& those, size_t size, auto scan) {
                for (size_t block = 0; block < n && !those.empty(); block += size)
                    for (const Asked& one : those)
                        (finder.*scan)(one.query, one.radius, block, std::min(block + size, n), *one.out, work);
            };
            in_blocks(scanning_, SCAN_BLOCK, &Finder<W>::scan);
            in_blocks(by_planes_, PLANES_BLOCK, &Finder<W>::scan_planes);
        }
    }

    const Finder<W>& operator[](size_t segment) const { return finders_[segment]; }
    // Whether looking up keys answers this query everywhere.
    bool all_by_lookup(const uint64_t* query, uint32_t radius) const {
        return std::all_of(finders_.begin(), finders_.end(), [&](const Finder<W>& finder) {
            const Plan plan = finder.plan(query, radius).plan;
            return plan != Plan::scan && plan != Plan::groups;
        });
    }

  private:
    static bool all_at_zero(const std::vector<Asked>& asked) {
        return std::all_of(asked.begin(), asked.end(), [](const Asked& one) { return one.radius == 0; });
    }
    const Segments& segments_;
    std::vector<Finder<W>> finders_;
    std::vector<Asked> scanning_, by_planes_;
};

}  // namespace kinhash
