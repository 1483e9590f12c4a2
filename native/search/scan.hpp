// Compares the query with every code, or with a range of them.
#pragma once

#include "search/costs.hpp"
#include "search/nearest.hpp"
#include "search/plan.hpp"
#include "structures/planes.hpp"

namespace kinhash {

// Codes that stay in the first-level cache over a batch of queries.
inline constexpr size_t SCAN_BLOCK = 1024;
// The same for codes in tiles: bytes of all, and codes at least and at most.
inline constexpr size_t TILES_BYTES = 1 << 15, LEAST_TILES = 2 * TILE, MOST_TILES = SCAN_BLOCK;
// Codes in the first block of a search for the nearest: all of them are hits.
inline constexpr size_t FIRST_TILES = 4 * TILE;

template <size_t W>
class ScanPlan {
  public:
    // Without planes, only plain scans are possible.
    ScanPlan(const Target<W>& target, SegmentPlanes* planes) : target_(target), planes_(planes) {}

    // ns per code.
    double cost_per_code(const uint64_t* query, uint32_t radius) const {
        if (has_planes(query, radius)) return costs::COMPARE_PLANES;
        return (in_tiles() ? costs::COMPARE_TILES : costs::COMPARE_WORD) * double(target_.segment.n_words);
    }
    // Whether whole scans without planes compare codes in tiles.
    bool in_tiles() const { return target_.words.count() > 1; }
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
        in_blocks(by_planes_, PLANES_BLOCK, &ScanPlan::scan_planes, work);
        if (!in_tiles()) return in_blocks(plain_, SCAN_BLOCK, &ScanPlan::scan, work);
        if (plain_.empty()) return;
        each_block(block_size(), [&](size_t first, size_t n) {
            for (const Asked& one : plain_) scan_block(one.query, one.radius, first, n, *one.out, work);
        });
    }

    // The rows that may be among the nearest of each query, whose radius shrinks with each block.
    void find_nearest(const std::vector<Nearest*>& asked, Work& work) {
        each_block(FIRST_TILES, [&](size_t first, size_t n) {
            for (Nearest* const one : asked) {
                scan_block(one->query(), one->radius(), first, n, one->hits(), work);
                one->count(target_.segment);
            }
        });
    }

  private:
    size_t block_size() const {
        const size_t n = TILES_BYTES / (sizeof(uint64_t) * target_.words.count());
        return std::clamp(n / TILE * TILE, LEAST_TILES, MOST_TILES);
    }
    // Calls f(first row, number of rows) for all blocks of codes, each in tiles_. Blocks have `size` codes at
    // first and double until they are full.
    template <typename F>
    void each_block(size_t size, const F& f) {
        const size_t n_codes = target_.segment.n_codes(), n_words = target_.words.count(),
                     full = block_size();
        if (!tiles_) tiles_.reset(static_cast<uint64_t*>(allocate(full * n_words * sizeof(uint64_t))));
        for (size_t first = 0; first < n_codes;) {
            const size_t n = std::min({n_codes - first, full, std::max(size, first)});
            target_.kernels.tile(target_.segment.code(first), n, n_words, tiles_.get());
            f(first, n);
            first += n;
        }
    }
    void scan_block(const uint64_t* query, uint32_t radius, size_t first, size_t n, Hits& out,
                    Work& work) const {
        const Hit start{uint32_t(first), target_.number, 0, 0};
        out.add(target_.kernels.scan_tiles(tiles_.get(), n, target_.words.count(), query, radius, start,
                                           out.room(n + SPARE_HITS)));
        work.compare(n);
    }

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
    std::unique_ptr<uint64_t[], Free> tiles_;  // in whole cache lines
};

}  // namespace kinhash
