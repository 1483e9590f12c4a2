// Radius 0: looks up the query's own code in the hash table.
#pragma once

#include <vector>

#include "search/plan.hpp"

namespace kinhash {

template <size_t W>
class LookupPlan {
  public:
    explicit LookupPlan(const Target<W>& target) : target_(target) {}

    void find(const uint64_t* query, Hits& out, Work& work) const {
        if (const auto row = target_.find(query)) out.push_back(target_.hit(*row, 0));
        work.compare(1);
    }

    // All queries at once, so that the waits for memory overlap.
    void find_all(const std::vector<Asked>& asked, Work& work) {
        const Segment& segment = target_.segment;
        prefetch_codes(asked, [&](size_t row) { __builtin_prefetch(segment.offsets.data + row); });
        for (size_t i = 0; i < asked.size(); ++i) {
            const auto& [hash, likely] = first_[i];
            const uint64_t* const query = asked[i].query;
            const bool is_first = likely && target_.words.equal(segment.code(*likely), query);
            if (const auto row = is_first ? likely : segment.find(target_.words, query, hash))
                asked[i].out->push_back(target_.hit(*row, 0));
        }
        work.answered(Plan::lookup, asked.size());
        work.compare(asked.size());
    }

    // Prefetches each query's slot, code and list of neighbours.
    void prefetch(const std::vector<Asked>& asked) {
        const Segment& segment = target_.segment;
        if (!segment.slots.size || asked.size() < 2 || asked[0].radius > Segment::LISTED_BITS) return;
        const Span<uint32_t>& starts = segment.neighbours.starts;
        prefetch_codes(asked, [&](size_t row) {
            if (starts.size) __builtin_prefetch(starts.data + Segment::LISTED_BITS * row);
        });
        for (size_t i = 0; i < asked.size() && starts.size; ++i) {
            const size_t at = Segment::LISTED_BITS * size_t(first_[i].row.value_or(0));
            if (first_[i].row && starts[at] < starts[at + 1])
                __builtin_prefetch(segment.neighbours.rows.data + starts[at]);
        }
    }

  private:
    // Most queries that are stored stand at the first slot of their hash.
    struct First {
        uint64_t hash;
        std::optional<uint32_t> row;  // the code at the first slot
    };

    // Finds the code at each query's first slot, prefetches it and calls f(row).
    template <typename F>
    void prefetch_codes(const std::vector<Asked>& asked, const F& f) {
        const Segment& segment = target_.segment;
        const size_t mask = segment.slots.size - 1;
        first_.resize(asked.size());
        for (size_t i = 0; i < asked.size(); ++i) {
            first_[i].hash = target_.words.hash(asked[i].query);
            __builtin_prefetch(segment.slots.data + (first_[i].hash & mask));
        }
        for (First& one : first_) {
            const uint32_t slot = segment.slots[one.hash & mask];
            one.row.reset();
            if (!slot || slot > segment.n_codes()) continue;
            one.row = slot - 1;
            __builtin_prefetch(segment.code(slot - 1));
            f(slot - 1);
        }
    }

    Target<W> target_;
    std::vector<First> first_;
};

}  // namespace kinhash
