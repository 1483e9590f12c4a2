// Orders items by their rank bits.
#pragma once

#include "search/results.hpp"

namespace kinhash {

// What the rank bits of an item are compared with, and how both distances order items: by the rank distance
// within each distance, or by the sum of both.
struct RankQuery {
    const uint64_t* words;
    bool total;
};

struct Ranked {
    int64_t id;
    uint16_t distance, rank;
};

// The first of some items, by key and then by id. The key is the distance of the rank bits, to which the
// total order adds that of the bucket. Keys are small numbers: counting them gives a limit that the first
// items cannot exceed, which sinks as more items are added.
class Ranking {
  public:
    static constexpr size_t ALL = ~size_t(0);

    Ranking(const Segments& segments, const Kernels& kernels) : segments_(segments), kernels_(kernels) {
        const Segment& one = *segments[0];
        counts_.resize(64 * one.n_words + 8 * one.rank_bytes + 1);
        for (const Segment* segment : segments) n_items_ += segment->n_items();
    }

    // The largest key that there can be.
    uint32_t largest_key(bool total) const {
        const Segment& one = *segments_[0];
        return uint32_t(8 * one.rank_bytes + (total ? 64 * one.n_words : 0));
    }

    // Starts on the first `need` items, at least 1, of those with a key of at most `limit`.
    void start(const RankQuery& query, size_t need, uint32_t limit) {
        query_ = query;
        need_ = need;
        most_kept_ = need < ALL / 8 ? 4 * need + LEAST_KEPT : ALL;
        limit_ = limit;
        within_ = 0;
        left_ = n_items_;
        seen_ = 0;
        std::fill_n(counts_.begin(), limit + 1, 0);
        items_.clear();
    }

    // Adds the items of some hits; returns how many were compared.
    size_t add(const Hit* hits, size_t n_hits) {
        const size_t before = left_;
        for (size_t h = 0; h < n_hits;) {
            size_t n = 1;
            while (h + n < n_hits && n < HITS && hits[h + n].segment == hits[h].segment) ++n;
            const Segment& segment = *segments_[hits[h].segment];
            const size_t n_done =
                segment.rank_bytes < sizeof(uint64_t) ? add_narrow(segment, hits + h, n) : 0;
            if (n_done == 0) add_bucket(segment, hits[h]);
            h += std::max<size_t>(1, n_done);
        }
        return before - left_;
    }

    // Adds the items of n codes of one word, if that is faster than finding the near ones first.
    bool add_codes(const Segment& segment, const uint64_t* query, size_t n, Hit first) {
        BucketRanks in = bucket_ranks(segment);
        bool done;
        const size_t found =
            kernels_.scan_totals(in, segment.code(first.row), n, query[0], uint32_t(query_.words[0]), limit_,
                                 first, near_, BLOCK, done);
        if (!done) return false;
        left_ = in.left;
        keep_narrow(segment, found);
        return true;
    }

    // Calls f with each of the first `need` items of hits at one distance, in order; returns how many were
    // compared, or nothing if start(), add() and take() are faster or take less memory.
    template <typename F>
    std::optional<size_t> take_nearest(const RankQuery& query, size_t need, const Hit* hits, size_t n_hits,
                                       const F& f) {
        if (segments_[0]->rank_bytes >= sizeof(uint64_t)) return {};
        // A file that changes meanwhile must not lead beyond the end: its offsets are read once.
        buckets_.clear();
        size_t room = 0;
        for (size_t h = 0; h < n_hits; ++h) {
            const Segment& segment = *segments_[hits[h].segment];
            const size_t first = segment.begin(hits[h].row),
                         n = segment.end(hits[h].row, hits[h].more) - first;
            buckets_.push_back({&segment, first, n, hits[h].distance});
            room += round_up(n, DISTANCES);
            if (room > MOST_DISTANCES) return {};
        }
        distances_.clear();
        distances_.room(room);
        size_t n_alive = 0;
        for (const Bucket& bucket : buckets_) n_alive += add_distances(uint32_t(query.words[0]), bucket);
        if (n_alive == 0) return 0;
        query_ = query;
        need_ = std::min(need, n_alive);
        const size_t n = distances_.size();
        limit_ = kernels_.least_limit(distances_.begin(), n, need_, largest_key(false));
        positions_.clear();
        uint32_t* const positions = positions_.room(n + SPARE_POSITIONS);
        positions_.add(kernels_.positions_at_most(distances_.begin(), n, limit_, positions));
        std::fill_n(counts_.begin(), limit_ + 1, 0);
        for (const uint32_t at : positions_) ++counts_[distances_[at]];
        start_of_each_key();
        place();
        if (n_hits > 1 || hits[0].more) sort_equal_keys();  // the ids of a bucket ascend
        for (size_t i = 0; i < need_; ++i) f(items_[i]);
        return n;
    }

    // No item with a larger key is among the first.
    uint32_t limit() const { return limit_; }

    // Puts the first items in order and calls f with each of them.
    template <typename F>
    void take(const F& f) {
        drop_beyond_limit();
        if (items_.size() < FEW)
            std::sort(items_.begin(), items_.end(), less());
        else
            sort_by_counting();
        const size_t n = std::min(need_, items_.size());
        for (size_t i = 0; i < n; ++i) f(items_[i]);
    }

  private:
    static constexpr size_t BLOCK = 512;  // items that are compared before the limit is looked at again
    static constexpr size_t FIRST = 64;   // items that are compared first
    static constexpr size_t HITS = 64;    // buckets, likewise
    static constexpr size_t FEW = 128;    // items that are sorted by comparing them
    static constexpr size_t LEAST_KEPT = 4096;
    static constexpr size_t MOST_DISTANCES = size_t(1) << 16;  // bytes, which stay in the cache

    uint32_t key(const Ranked& item) const {
        return uint32_t(item.rank) + (query_.total ? uint32_t(item.distance) : 0);
    }

    // Items of one segment at one distance of the bucket, from the item `first` on.
    struct Bucket {
        const Segment* segment;
        size_t first, n;
        uint16_t distance;
    };
    // Adds the distances of the rank bits of its items; returns the number of items that count.
    size_t add_distances(uint32_t query, const Bucket& bucket) {
        const Segment& segment = *bucket.segment;
        uint8_t* const to = distances_.end();
        kernels_.narrow_distances(segment.ranks.data + bucket.first * segment.rank_bytes, bucket.n,
                                  segment.rank_bytes, query, to);
        distances_.add(round_up(bucket.n, DISTANCES));
        if (!segment.alive.size) return bucket.n;
        size_t n_alive = 0;
        for (size_t i = 0; i < bucket.n; ++i) {
            const bool counts = segment.is_alive(bucket.first + i);
            n_alive += counts;
            if (!counts) to[i] = 255;
        }
        return n_alive;
    }
    // Makes items of positions_, by key, then in the order of buckets_.
    void place() {
        items_.clear();
        Ranked* const to = items_.room(positions_.size());
        items_.add(positions_.size());
        const uint32_t *at = positions_.begin(), *const end = positions_.end();
        size_t from = 0;  // of the distances of a bucket
        for (const Bucket& bucket : buckets_) {
            for (; at < end && *at < from + bucket.n; ++at) {
                const uint8_t distance = distances_[*at];
                to[counts_[distance]++] = {bucket.segment->id(bucket.first + (*at - from)), bucket.distance,
                                           distance};
            }
            from += round_up(bucket.n, DISTANCES);
        }
    }

    // By key, then by id.
    auto less() const {
        return [this](const Ranked& a, const Ranked& b) {
            return std::pair(key(a), a.id) < std::pair(key(b), b.id);
        };
    }

    // Adds the items of small buckets of one segment; returns the number of buckets. The buckets of a damaged
    // file may overlap: never looks at more items than there are.
    size_t add_narrow(const Segment& segment, const Hit* hits, size_t n_hits) {
        BucketRanks in = bucket_ranks(segment);
        size_t n_done = 0;
        const size_t found = kernels_.scan_buckets(in, hits, n_hits, uint32_t(query_.words[0]), limit_,
                                                   query_.total, near_, BLOCK, n_done);
        left_ = in.left;
        keep_narrow(segment, found);
        return n_done;
    }
    BucketRanks bucket_ranks(const Segment& segment) const {
        return {segment.ranks.data, segment.rank_bytes, segment.n_items(), segment.offsets.data, left_};
    }
    void keep_narrow(const Segment& segment, size_t found) {
        keep(segment, found, [](const Hit& one) { return Ranked{0, one.distance, one.more}; });
    }

    // Adds the items of any bucket.
    void add_bucket(const Segment& segment, const Hit& hit) {
        const uint32_t base = query_.total ? hit.distance : 0;
        size_t item = segment.begin(hit.row);
        const size_t end = item + std::min(left_, segment.end(hit.row, hit.more) - item);
        left_ -= end - item;
        // Few items first: all of them are near until there are enough for a limit. As many again as were
        // seen so far then hold about as many near ones each time.
        while (item < end && base <= limit_) {
            const size_t n =
                std::min({std::max({FIRST, 2 * std::min(need_, BLOCK), seen_}), BLOCK, end - item});
            const size_t found = near(segment, item, n, limit_ - base);
            keep(segment, found, [&](const Hit& one) { return Ranked{0, hit.distance, one.distance}; });
            item += n;
            seen_ += n;
        }
    }

    // Keeps the first `found` of near_, whose rows are items, and lowers the limit.
    template <typename F>
    void keep(const Segment& segment, size_t found, const F& distances) {
        Ranked* const place = items_.room(found);
        size_t kept = 0;
        for (size_t i = 0; i < found; ++i) {
            if (!segment.is_alive(near_[i].row)) continue;
            Ranked& one = place[kept++] = distances(near_[i]);
            one.id = segment.id(near_[i].row);
            ++counts_[key(one)];
        }
        items_.add(kept);
        within_ += kept;
        while (within_ - counts_[limit_] >= need_) within_ -= counts_[limit_--];
        if (items_.size() > most_kept_) keep_first();
    }

    // Drops all but the first items, so that many equal keys do not take more and more memory.
    void keep_first() {
        drop_beyond_limit();
        if (items_.size() <= need_) return;
        std::nth_element(items_.begin(), items_.begin() + need_, items_.end(), less());
        items_.cut(need_);
        counts_[limit_] -= uint32_t(within_ - need_);
        within_ = need_;
    }

    // Items first .. first + n - 1 whose rank bits are within `limit`, as hits whose rows are items.
    size_t near(const Segment& segment, size_t first, size_t n, uint32_t limit) {
        const uint8_t* const ranks = segment.ranks.data + first * segment.rank_bytes;
        const Hit start{uint32_t(first), 0, 0, 0};
        if (segment.rank_bytes < sizeof(uint64_t))
            return kernels_.scan_narrow(ranks, n, segment.rank_bytes, uint32_t(query_.words[0]), limit, start,
                                        near_);
        return kernels_.scan(reinterpret_cast<const uint64_t*>(ranks), n,
                             segment.rank_bytes / sizeof(uint64_t), query_.words, limit, start, near_);
    }

    void drop_beyond_limit() {
        size_t kept = 0;
        for (const Ranked& item : items_) {
            items_[kept] = item;
            kept += key(item) <= limit_;
        }
        items_.cut(kept);
    }

    void sort_by_counting() {
        sorted_.clear();
        Ranked* const to = sorted_.room(items_.size());
        start_of_each_key();
        for (const Ranked& item : items_) to[counts_[key(item)]++] = item;
        sorted_.add(items_.size());
        std::swap(items_, sorted_);
        sort_equal_keys();
    }
    // Replaces the counts of keys by the places of the first of each.
    void start_of_each_key() {
        uint32_t next = 0;
        for (uint32_t k = 0; k <= limit_; ++k) next += std::exchange(counts_[k], next);
    }
    // Sorts each run of equal keys by id; now counts are the ends of runs. Of the last run, only the first
    // are needed.
    void sort_equal_keys() {
        for (uint32_t k = 0; k <= limit_; ++k) {
            Ranked *const from = items_.begin() + (k ? counts_[k - 1] : 0), *const end =
                                                                                items_.begin() + counts_[k];
            const size_t left = need_ - std::min(need_, size_t(from - items_.begin()));
            sort_by_id(from, end, std::min(left, size_t(end - from)));
        }
    }
    // Moves the n lowest ids to the front, in order.
    static void sort_by_id(Ranked* from, Ranked* end, size_t n) {
        const auto less = [](const Ranked& a, const Ranked& b) { return a.id < b.id; };
        if (std::is_sorted(from, end, less)) return;
        if (from + n < end) std::nth_element(from, from + n, end, less);
        std::sort(from, from + n, less);
    }

    const Segments& segments_;
    const Kernels& kernels_;
    size_t n_items_ = 0;
    RankQuery query_{};
    size_t need_ = 0, most_kept_ = 0;  // items wanted; items that are kept before most are dropped
    size_t left_ = 0;                  // items that may still be looked at
    size_t seen_ = 0;                  // items of large buckets that were compared
    size_t within_ = 0;                // items that were kept with a key of at most limit_
    uint32_t limit_ = 0;
    std::vector<uint32_t> counts_;  // kept items of each key
    Growing<Ranked> items_, sorted_;
    Growing<uint8_t> distances_;  // of rank bits: those of each hit, up to a multiple of DISTANCES
    Growing<uint32_t> positions_;
    Growing<Bucket> buckets_;
    Hit near_[BLOCK + SPARE_HITS];
};

// Writes all items with their distances, in the order of the rank bits of each query.
inline void expand_ranked(const Segments& segments, const Found& found, const uint64_t* ranks, bool total,
                          const Kernels& kernels, size_t n_threads, Answer& answer, Stop& stop) {
    const size_t n_rank_words = (segments[0]->rank_bytes + 7) / 8;
    parallel_for(found.n_hits.size(), n_threads, Found::PIECE, stop, [&](size_t begin, size_t end) {
        Ranking ranking(segments, kernels);
        Polling polling(&stop);
        const Hit* hit = found.pieces[begin / Found::PIECE].begin();
        for (size_t i = begin; i < end; ++i) {
            const RankQuery query{ranks + i * n_rank_words, total};
            const Hit* const hits_end = hit + found.n_hits[i];
            const size_t stop_at = size_t(found.offsets[i + 1]);
            size_t at = size_t(found.offsets[i]);
            const auto put = [&](const Ranked& item) {
                if (at == stop_at) return;  // a file that changes meanwhile must not lead beyond the end
                answer.ids[at] = item.id;
                answer.distances[at] = item.distance;
                answer.rank_distances[at++] = item.rank;
            };
            while (hit < hits_end) {
                const Hit* const first = hit;
                while (hit < hits_end && (total || hit->distance == first->distance)) ++hit;
                ranking.start(query, Ranking::ALL, ranking.largest_key(total));
                polling.add(ranking.add(first, size_t(hit - first)));
                ranking.take(put);
            }
            while (at < stop_at) put({-1, 0, 0});
        }
    });
}

}  // namespace kinhash
