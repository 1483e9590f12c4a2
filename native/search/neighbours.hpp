// Reads the listed neighbours of the query's own code.
#pragma once

#include "search/plan.hpp"

namespace kinhash {

template <size_t W>
class NeighboursPlan {
  public:
    explicit NeighboursPlan(const Target<W>& target) : target_(target) {}

    // The row of the query, if it is a code whose neighbours are listed as far as the radius.
    std::optional<uint32_t> listed_row(const uint64_t* query, uint32_t radius) const {
        const Segment& segment = target_.segment;
        if (radius > Segment::LISTED_BITS || !segment.neighbours.starts.size) return {};
        const std::optional<uint32_t> row = target_.find(query);
        if (!row) return {};
        const size_t at = Segment::LISTED_BITS * size_t(*row) + (radius <= 2 ? 0 : 2);
        if (segment.neighbours.starts[at] >= segment.neighbours.starts[at + 1]) return {};
        return row;
    }

    void find(uint32_t row, uint32_t radius, Hits& out, Work& work) const {
        out.push_back(target_.hit(row, 0));
        const auto& [starts, rows] = target_.segment.neighbours;
        for (uint32_t distance = 1; distance <= radius; ++distance) {
            const size_t at = Segment::LISTED_BITS * size_t(row) + distance - 1;
            const size_t end = std::min<size_t>(starts[at + 1], rows.size);
            const size_t begin =
                std::min<size_t>(starts[at] + size_t(distance == 1), end);  // after the row itself
            out.add(target_.kernels.runs(rows.data + begin, end - begin, target_.segment.n_codes(),
                                         target_.hit(0, distance), out.room(end - begin)));
        }
        work.compare(1);
    }

  private:
    Target<W> target_;
};

}  // namespace kinhash
