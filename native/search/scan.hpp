// Compares the query with every code, or with a range of them.
#pragma once

#include "search/costs.hpp"
#include "search/plan.hpp"
#include "structures/planes.hpp"

namespace kinhash {

// Codes that stay in the first-level cache over a batch of queries.
inline constexpr size_t SCAN_BLOCK = 1024;

template <size_t W>
class ScanPlan {
  public:
    // Without planes, only plain scans are possible.
    ScanPlan(const Target<W>& target, SegmentPlanes* planes) : target_(target), planes_(planes) {}

    // ns per code.
    double cost_per_code(const uint64_t* query, uint32_t radius) const {
        return has_planes(query, radius) ? costs::COMPARE_PLANES
                                         : costs::COMPARE_WORD * double(target_.segment.n_words);
    }
    // Whether scan_planes() may be used for this query.
    bool has_planes(const uint64_t* query, uint32_t radius) const {
        const Segment& segment = target_.segment;
        return (segment.levels > 0 || segment.n_codes() <= costs::LEAN_PLANES) && suits_planes(query, radius);
    }
    bool suits_planes(const uint64_t* query, uint32_t radius) const {
        return planes_ && radius <= costs::MOST_PLANES_RADIUS && target_.words.active(query) <= MOST_PLANES;
    }

    // Rows [begin, end).
    void scan(const uint64_t* query, uint32_t radius, size_t begin, size_t end, Hits& out, Work& work) const {
        const size_t n_words = target_.words.count();
        for (size_t first = begin; first < end; first += SCAN_BLOCK) {
            const size_t n = std::min(SCAN_BLOCK, end - first);
            const Hit start{uint32_t(first), target_.number, 0, 0};
            out.add(target_.kernels.scan(target_.segment.code(first), n, n_words, query, radius, start,
                                         out.room(n + SPARE_HITS)));
            work.compare(n);
        }
    }
    // The same by planes; `begin` is the first row of a block of planes.
    void scan_planes(const uint64_t* query, uint32_t radius, size_t begin, size_t end, Hits& out,
                     Work& work) const {
        const Segment& segment = target_.segment;
        const size_t n_words = target_.words.count();
        const auto [planes, most_active] = planes_->codes.of(segment.codes.data, segment.n_codes(), n_words);
        const uint64_t* const block = planes + begin / PLANE_CODES * words_per_block(n_words);
        const Hit start{uint32_t(begin), target_.number, 0, 0};
        out.add(target_.kernels.scan_planes(block, segment.code(begin), end - begin, n_words, most_active,
                                            query, radius, start, out.room(end - begin + SPARE_HITS)));
        work.compare(end - begin);
    }

    // Leaders [begin, end) within `reach`, by number; `begin` is the first of a block of planes.
    void scan_leaders(const uint64_t* query, uint32_t reach, size_t begin, size_t end, Hits& out,
                      Work& work) const {
        const Segment& segment = target_.segment;
        const size_t n = end - begin, n_words = target_.words.count();
        const uint64_t* const leaders = segment.leaders.data + begin * n_words;
        const Hit start{uint32_t(begin), 0, 0, 0};
        Hit* const room = out.room(n + SPARE_HITS);
        if (suits_planes(query, reach)) {
            const auto [planes, most_active] =
                planes_->leaders.of(segment.leaders.data, segment.n_leaders(), n_words);
            const uint64_t* const block = planes + begin / PLANE_CODES * words_per_block(n_words);
            out.add(target_.kernels.scan_planes(block, leaders, n, n_words, most_active, query, reach, start,
                                                room));
        } else {
            out.add(target_.kernels.scan(leaders, n, n_words, query, reach, start, room));
        }
        work.compare(n);
    }

    // All queries over one block of codes before the next block comes in from memory.
    void find_all(const std::vector<Asked>& asked, Work& work) {
        plain_.clear();
        by_planes_.clear();
        for (const Asked& one : asked)
            (has_planes(one.query, one.radius) ? by_planes_ : plain_).push_back(one);
        in_blocks(plain_, SCAN_BLOCK, &ScanPlan::scan, work);
        in_blocks(by_planes_, PLANES_BLOCK, &ScanPlan::scan_planes, work);
    }

  private:
    template <typename Scan>
    void in_blocks(const std::vector<Asked>& asked, size_t size, Scan scan, Work& work) const {
        const size_t n = target_.segment.n_codes();
        for (size_t block = 0; block < n && !asked.empty(); block += size)
            for (const Asked& one : asked)
                (this->*scan)(one.query, one.radius, block, std::min(block + size, n), *one.out, work);
    }

    Target<W> target_;
    SegmentPlanes* planes_;
    std::vector<Asked> plain_, by_planes_;
};

}  // namespace kinhash
