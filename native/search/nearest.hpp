// The rows that may be among the k nearest items of a query, by counting.
#pragma once

#include <vector>

#include "search/hits.hpp"
#include "structures/segment.hpp"

namespace kinhash {

// Counts the items of hits by distance. The radius is the smallest that holds enough items among those seen
// so far: what is farther is no longer looked for, and what ties with the last is kept.
class Nearest {
  public:
    // Hits go to `out`; `wanted` is at least 1, and no code is farther than `farthest`.
    void start(const uint64_t* query, size_t wanted, uint32_t farthest, Hits* out) {
        query_ = query;
        wanted_ = wanted;
        radius_ = farthest;
        out_ = out;
        out_->clear();
        n_items_.assign(size_t(farthest) + 1, 0);
        within_ = n_counted_ = 0;
        most_hits_ = LEAST;
    }
    const uint64_t* query() const { return query_; }
    uint32_t radius() const { return radius_; }
    Hits& hits() { return *out_; }

    // Counts the hits added since the last call, which are of one segment, and shrinks the radius.
    void count(const Segment& segment) {
        if (n_counted_ == out_->size()) return;
        for (; n_counted_ < out_->size(); ++n_counted_) {
            const Hit& hit = (*out_)[n_counted_];
            const size_t n = segment.count(hit.row);
            n_items_[hit.distance] += n;
            within_ += n;
        }
        while (radius_ > 0 && within_ - n_items_[radius_] >= wanted_) within_ -= n_items_[radius_--];
        if (out_->size() > most_hits_) drop_far();
    }
    // Drops the hits that the radius has left behind.
    void drop_far() {
        size_t left = 0;
        for (const Hit hit : *out_) {
            (*out_)[left] = hit;
            left += hit.distance <= radius_;
        }
        out_->cut(left);
        n_counted_ = left;
        most_hits_ = std::max(LEAST, 2 * left);
    }

  private:
    static constexpr size_t LEAST = 4096;  // hits up to which none are dropped
    const uint64_t* query_ = nullptr;
    size_t wanted_ = 0, within_ = 0, n_counted_ = 0, most_hits_ = 0;
    uint32_t radius_ = 0;
    Hits* out_ = nullptr;
    std::vector<size_t> n_items_;  // by distance
};

}  // namespace kinhash
