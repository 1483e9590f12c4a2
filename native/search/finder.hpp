// Finds the codes of one segment near each of some queries: chooses a plan for each.
#pragma once

#include "search/chunks.hpp"
#include "search/deletions.hpp"
#include "search/groups.hpp"
#include "search/lookup.hpp"
#include "search/neighbours.hpp"
#include "search/scan.hpp"

namespace kinhash {

template <size_t W>
class Finder {
  public:
    Finder(const Segment& segment, const Kernels& kernels, SegmentPlanes* planes = nullptr,
           uint8_t number = 0)
        : target_(segment, kernels, number), lookup_(target_), neighbours_(target_), deletions_(target_),
          chunks_(target_), scan_(target_, planes), groups_(target_, scan_) {
        n_used_ = n_used(segment.used.data, segment.used.size);
    }
    Finder(const Finder&) = delete;  // groups_ refers to scan_

    // The cheapest plan, or the one that was asked for if it can answer.
    Choice choose(const uint64_t* query, uint32_t radius, AskedPlan asked = {}) const {
        const Segment& segment = target_.segment;
        if (radius == 0 && segment.slots.size && (!asked || asked == Plan::lookup)) return {Plan::lookup};
        if (!asked || asked == Plan::neighbours)
            if (const auto row = neighbours_.listed_row(query, radius)) return {Plan::neighbours, *row};
        Plan best = Plan::scan;
        double lowest = scan_.cost_per_code(query, radius) * double(segment.n_codes());
        if (asked == Plan::scan) return {best};
        const auto consider = [&](Plan plan, std::optional<double> cost) {
            if (!cost || (best == asked && plan != asked)) return;
            if (plan != asked && *cost >= lowest) return;
            best = plan;
            lowest = *cost;
        };
        consider(Plan::deletions, deletions_.cost(query, radius, n_used_));
        consider(Plan::chunks, chunks_.cost(radius, n_used_));
        consider(Plan::groups, groups_.cost(query, radius));
        return {best};
    }

    // Adds to the hits of each query, in no order.
    void within(const std::vector<Asked>& asked, AskedPlan plan, Work& work) {
        const auto at_zero = [](const Asked& one) { return one.radius == 0; };
        if (!plan && target_.segment.slots.size && std::all_of(asked.begin(), asked.end(), at_zero))
            return lookup_.find_all(asked, work);
        if (!plan) lookup_.prefetch(asked);
        scanned_.clear();
        for (const Asked& one : asked)
            work.answered(start(one, choose(one.query, one.radius, plan), plan == Plan::groups, work));
        chunks_.finish(work);
        if (!scanned_.empty()) scan_.find_all(scanned_, work);
    }

    // Whether this query is compared with every code in tiles, at this radius.
    bool by_tiles(const uint64_t* query, uint32_t radius) const {
        return scan_.in_tiles() && !scan_.has_planes(query, radius) &&
               choose(query, radius).plan == Plan::scan;
    }
    // The same at any radius but 0: there is nothing else to choose.
    bool only_by_tiles(const uint64_t* query) const {
        const Segment& segment = target_.segment;
        return scan_.in_tiles() && !segment.levels && !segment.n_chunks && !segment.n_leaders() &&
               !segment.neighbours.starts.size && !scan_.has_planes(query, 0);
    }
    // Adds the rows that may be among the nearest of each query.
    void nearest(const std::vector<Nearest*>& asked, Work& work) {
        scan_.find_nearest(asked, work);
        work.answered(Plan::scan, asked.size());
    }

    const Words<W>& words() const { return target_.words; }

  private:
    // Finds the hits of a query now, or with those of all others; returns the plan that finds them.
    Plan start(const Asked& one, Choice choice, bool force_groups, Work& work) {
        const auto& [query, radius, out] = one;
        switch (choice.plan) {
            case Plan::lookup: lookup_.find(query, *out, work); break;
            case Plan::neighbours: neighbours_.find(choice.row, radius, *out, work); break;
            case Plan::deletions: deletions_.find(query, radius, *out, work); break;
            case Plan::chunks: chunks_.start(one, work); break;
            case Plan::groups:
                if (groups_.find(query, radius, force_groups, *out, work)) break;
                [[fallthrough]];
            case Plan::scan: scanned_.push_back(one); return Plan::scan;
        }
        return choice.plan;
    }

    const Target<W> target_;
    LookupPlan<W> lookup_;
    NeighboursPlan<W> neighbours_;
    DeletionsPlan<W> deletions_;
    ChunksPlan<W> chunks_;
    ScanPlan<W> scan_;
    GroupsPlan<W> groups_;
    std::vector<Asked> scanned_;
    size_t n_used_ = 0;  // bits that any code has
};

}  // namespace kinhash
