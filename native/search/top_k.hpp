// The k nearest items.
#pragma once

#include "search/costs.hpp"
#include "search/ranking.hpp"

namespace kinhash {

// The ids of several buckets.
class Pool {
  public:
    void clear() { ids_.clear(); }
    size_t size() const { return ids_.size(); }

    // Adds the ids of the buckets `row` .. `row + more`, at most n of each: they ascend, so no more can be
    // among the n lowest.
    void add(const Segment& segment, size_t row, size_t more, size_t n) {
        if (more && segment.size(row, more) > n) {
            for (size_t one = row; one <= row + more; ++one) add(segment, one, 0, n);
            return;
        }
        const size_t from = segment.begin(row), to = segment.end(row, more);
        n = std::min(n, to - from);
        int64_t* const place = ids_.room(n + AT_ONCE);
        if (segment.alive.size) {
            size_t added = 0;
            for (size_t item = from; item < to && added < n; ++item)
                if (segment.is_alive(item)) place[added++] = segment.id(item);
            return ids_.add(added);
        }
        if (segment.wide_ids.size) std::copy_n(segment.wide_ids.data + from, n, place);
        // Most buckets are small: copies AT_ONCE ids branch-free; those past the last are overwritten.
        else if (n <= AT_ONCE && from + AT_ONCE <= segment.narrow_ids.size)
            std::copy_n(segment.narrow_ids.data + from, AT_ONCE, place);
        else
            std::copy_n(segment.narrow_ids.data + from, n, place);
        ids_.add(n);
    }

    // Writes the n lowest in order, or all if there are fewer; returns their number.
    size_t take_lowest(size_t n, int64_t* out) {
        n = std::min(n, ids_.size());
        order_.lowest(ids_.begin(), ids_.size(), n);
        std::copy_n(ids_.begin(), n, out);
        return n;
    }

  private:
    static constexpr size_t AT_ONCE = 8;
    Growing<int64_t> ids_;
    IdOrder order_;
};

// Where the items of one query are written.
struct RankedRow {
    int64_t* ids;
    int32_t *distances, *rank_distances;
    size_t written = 0;
    void put(const Ranked& item) {
        ids[written] = item.id;
        distances[written] = item.distance;
        rank_distances[written++] = item.rank;
    }
    // Writes -1 in place of what a damaged file does not lead to.
    void fill(size_t k) {
        for (; written < k; ++written) ids[written] = distances[written] = rank_distances[written] = -1;
    }
};

// The rows of several queries, one after the other.
struct RankedRows {
    int64_t* ids;
    int32_t *distances, *rank_distances;
    RankedRow row(size_t i, size_t k) const {
        return {ids + i * k, distances + i * k, rank_distances + i * k};
    }
};

// The k nearest items of a few queries at a time; at equal distance the lowest ids.
template <size_t W>
class TopK {
  public:
    TopK(const Segments& segments, size_t n_words, Finders<W>& finders, const Kernels& kernels)
        : segments_(segments), n_words_(n_words), finders_(finders), kernels_(kernels),
          ranking_(segments, kernels) {
        for (const Segment* segment : segments) n_items_ += segment->n_alive;
    }

    // Writes min(k, items) ids and distances in order, k per query; -1 if a damaged file leads to fewer.
    // Radii grow until they hold k items: first radii that are look-ups, then from the radius that a sample
    // of the codes suggests. But if all codes of several words are compared anyway, it is done once, and the
    // radius shrinks while items are counted.
    void search(const uint64_t* queries, size_t n, size_t k, int64_t* ids, int32_t* distances, Work& work) {
        const size_t wanted = std::min(k, n_items_);
        if (wanted == 0) return;
        find(queries, n, wanted, work);
        for (size_t i = 0; i < n; ++i) {
            choose(hits_[i], wanted, ids + i * k, distances + i * k);
            work.wrote(wanted);
        }
    }

    // The same in the order of rank bits, of which each query has n_rank_words.
    void search_ranked(const uint64_t* queries, const uint64_t* ranks, size_t n, size_t k, bool total,
                       RankedRows out, Work& work) {
        const size_t wanted = std::min(k, n_items_), n_rank_words = (segments_[0]->rank_bytes + 7) / 8;
        if (wanted == 0) return;
        find(queries, n, wanted, work);
        const auto query = [&](size_t i) { return RankQuery{ranks + i * n_rank_words, total}; };
        if (total)
            choose_by_total(queries, n, wanted, query, [&](size_t i) { return out.row(i, k); }, work);
        else
            for (size_t i = 0; i < n; ++i) choose_nested(hits_[i], wanted, query(i), out.row(i, k), work);
    }

  private:
    static constexpr size_t AHEAD = 24;  // buckets whose offsets are being prefetched
    static constexpr uint32_t NEAR = 3;  // bits: the items within hardly ever leave the limit of totals high

    // Finds the codes around each query that hold the nearest items.
    void find(const uint64_t* queries, size_t n, size_t wanted, Work& work) {
        if (hits_.size() < n) hits_.resize(n);
        radii_.resize(hits_.size());
        const uint32_t farthest = uint32_t(64 * n_words_);
        pending_.clear();
        counting_.clear();
        if (nearest_.size() < n) nearest_.resize(n);
        look_up(queries, n, wanted, work);
        if (!counting_.empty()) {
            finders_.nearest(counting_, work);
            for (Nearest* const one : counting_) {
                one->drop_far();
                radii_[size_t(&one->hits() - hits_.data())] = one->radius();
            }
        }
        while (!pending_.empty()) {
            const std::vector<size_t>& items = collect(pending_, work);
            size_t left = 0;
            for (size_t p = 0; p < pending_.size(); ++p) {
                if (items[p] >= wanted || pending_[p].radius >= farthest) continue;
                pending_[left] = pending_[p];
                // Half-way to the radius that the sample suggests: too large a radius costs more than another
                // step.
                uint32_t& radius = pending_[left++].radius;
                radius = (radius + 1 + likely_radius(pending_[p].query, wanted, radius + 1, items[p])) / 2;
            }
            pending_.resize(left);
        }
    }

    // Answers queries by radii that are look-ups; all others become pending, or are answered by counting.
    void look_up(const uint64_t* queries, size_t n, size_t wanted, Work& work) {
        const auto give_up = [&](const Asked& one) {
            const bool by_counting = finders_.only_by_tiles(one.query);
            const uint32_t radius = by_counting ? 0 : likely_radius(one.query, wanted);
            if (!by_counting && !finders_.all_by_tiles(one.query, radius)) {
                pending_.push_back({one.query, radius, one.out});
                return;
            }
            Nearest& nearest = nearest_[counting_.size()];
            nearest.start(one.query, wanted, uint32_t(64 * n_words_), one.out);
            counting_.push_back(&nearest);
        };
        trying_.clear();
        for (size_t i = 0; i < n; ++i) trying_.push_back({queries + i * n_words_, 0, &hits_[i]});
        const uint32_t most = wanted < costs::RARE_ITEMS ? costs::MOST_LOOKUP_RADIUS : 0;
        for (uint32_t radius = 0; radius <= most && !trying_.empty(); ++radius) {
            std::erase_if(trying_, [&](Asked& one) {
                one.radius = radius;
                if (finders_.all_by_lookup(one.query, radius)) return false;
                give_up(one);
                return true;
            });
            const std::vector<size_t>& items = collect(trying_, work);
            size_t left = 0;
            for (size_t t = 0; t < trying_.size(); ++t)
                if (items[t] < wanted) trying_[left++] = trying_[t];
            trying_.resize(left);
        }
        for (const Asked& one : trying_) give_up(one);
    }

    // Gathers all rows within each radius; returns the number of their items.
    const std::vector<size_t>& collect(const std::vector<Asked>& asked, Work& work) {
        for (const Asked& one : asked) {
            one.out->clear();
            radii_[size_t(one.out - hits_.data())] = one.radius;
        }
        finders_.within(asked, {}, work);
        counts_.clear();
        for (const Asked& one : asked) {
            const Hits& hits = *one.out;
            size_t items = 0;
            for (size_t at = 0; at < hits.size(); ++at) {
                if (at + AHEAD < hits.size())
                    __builtin_prefetch(segments_[hits[at + AHEAD].segment]->offsets.data +
                                       hits[at + AHEAD].row);
                items += segments_[hits[at].segment]->count(hits[at].row, hits[at].more);
            }
            counts_.push_back(items);
        }
        return counts_;
    }

    // The smallest radius, at least `first`, that holds k items if all codes are like the sample. `below`
    // items are known to be nearer than `first`.
    uint32_t likely_radius(const uint64_t* query, size_t k, uint32_t first = 0, size_t below = 0) {
        if (sample_.empty()) draw_sample();
        by_distance_.assign(64 * n_words_ + 1, 0);
        const Words<W>& words = finders_.words();
        for (size_t i = 0; i < sample_.size(); ++i)
            by_distance_[words.distance(sample_codes_.data() + i * n_words_, query)] += sample_[i];
        double total = double(below);
        uint32_t radius = first;
        for (; radius + 1 < by_distance_.size(); ++radius)
            if ((total += by_distance_[radius]) >= double(k)) break;
        return radius;
    }

    // Samples codes, and the number of items that each stands for: the heaviest leaders, which hold most
    // items if codes cluster, or else blocks of codes at regular intervals.
    void draw_sample() {
        constexpr size_t BLOCK = 64, MOST_BLOCKS = 32, MOST_LEADERS = 1024;
        for (const Segment* segment : segments_) {
            const size_t n = segment->n_codes(), n_leaders = std::min(segment->n_leaders(), MOST_LEADERS);
            const size_t n_blocks = n_leaders ? 0 : std::clamp<size_t>(n / BLOCK, 1, MOST_BLOCKS),
                         before = sample_.size();
            size_t all = 0;
            const auto see = [&](size_t row) {
                sample_.push_back(double(segment->count(row)));
                sample_codes_.insert(sample_codes_.end(), segment->code(row), segment->code(row) + n_words_);
                all += segment->count(row);
            };
            for (size_t g = 0; g < n_leaders; ++g)
                if (segment->group_starts[g] < n) see(segment->group_starts[g]);
            for (size_t b = 0; b < n_blocks; ++b)
                for (size_t row = b * n / n_blocks; row < std::min(b * n / n_blocks + BLOCK, n); ++row)
                    see(row);
            for (size_t i = before; i < sample_.size() && all; ++i)
                sample_[i] *= double(segment->n_alive) / double(all);
        }
    }

    void choose(const Hits& hits, size_t k, int64_t* ids, int32_t* distances) {
        put_in_order(hits);
        size_t written = 0;
        const Hit *hit = ordered_.begin(), *const end = ordered_.end();
        while (hit < end && written < k) {
            const Hit* const first = hit;
            while (hit < end && hit->distance == first->distance) ++hit;
            const size_t n = lowest_of(first, size_t(hit - first), k - written, ids + written);
            std::fill_n(distances + written, n, int32_t(first->distance));
            written += n;
        }
        std::fill(ids + written, ids + k, -1);
        std::fill(distances + written, distances + k, -1);
    }

    // The hits of one query by distance, in ordered_.
    void put_in_order(const Hits& hits) {
        uint32_t farthest = 0;
        for (const Hit& hit : hits) farthest = std::max<uint32_t>(farthest, hit.distance);
        ordered_.clear();
        append_by_distance(segments_, hits, farthest, ordered_);
    }

    void choose_nested(const Hits& hits, size_t k, const RankQuery& query, RankedRow out, Work& work) {
        put_in_order(hits);
        const Hit *hit = ordered_.begin(), *const end = ordered_.end();
        while (hit < end && out.written < k) {
            const Hit* const first = hit;
            while (hit < end && hit->distance == first->distance) ++hit;
            const size_t need = k - out.written, n_hits = size_t(hit - first);
            const auto put = [&](const Ranked& item) { out.put(item); };
            if (const auto compared = ranking_.take_nearest(query, need, first, n_hits, put)) {
                work.wrote(*compared);
                continue;
            }
            ranking_.start(query, need, ranking_.largest_key(false));
            work.wrote(ranking_.add(first, n_hits));
            ranking_.take(put);
        }
        out.fill(k);
    }

    // An item's total is at least its distance. So the total that k items reach limits the distance of all
    // others that can be among the first: first from the nearest codes, then a lower limit from some more;
    // then all codes within it are compared.
    template <typename Query, typename Row>
    void choose_by_total(const uint64_t* queries, size_t n, size_t k, const Query& query, const Row& row,
                         Work& work) {
        const uint32_t farthest = uint32_t(64 * n_words_);
        while (rankings_.size() < n) rankings_.emplace_back(segments_, kernels_);
        limits_.assign(n, ranking_.largest_key(true));
        pending_.clear();
        for (size_t i = 0; i < n; ++i) pending_.push_back({queries + i * n_words_, radii_[i], &hits_[i]});
        rank_all(pending_, k, query, work);
        trying_.clear();
        for (const Asked& one : pending_) {
            const size_t i = size_t(one.out - hits_.data());
            const uint32_t radius = std::min({std::max(NEAR, limits_[i] / 3), limits_[i], farthest});
            if (radius > radii_[i]) trying_.push_back({one.query, radius, one.out});
        }
        collect(trying_, work);
        rank_all(trying_, k, query, work);
        std::erase_if(pending_, [&](const Asked& one) {
            const size_t i = size_t(one.out - hits_.data());
            return radii_[i] >= std::min(limits_[i], farthest);
        });
        scan_all(pending_, k, query, work);
        for (size_t i = 0; i < n; ++i) {
            RankedRow out = row(i);
            rankings_[i].take([&](const Ranked& item) { out.put(item); });
            out.fill(k);
        }
    }

    // Ranks the items of each query's hits.
    template <typename Query>
    void rank_all(const std::vector<Asked>& asked, size_t k, const Query& query, Work& work) {
        for (const Asked& one : asked) {
            const size_t i = size_t(one.out - hits_.data());
            put_in_order(*one.out);
            rankings_[i].start(query(i), k, limits_[i]);
            work.wrote(rankings_[i].add(ordered_.begin(), ordered_.size()));
            limits_[i] = rankings_[i].limit();
        }
    }

    // Ranks the items of all codes within each query's limit, which sinks meanwhile. All queries over one
    // block of codes before the next block comes in from memory.
    template <typename Query>
    void scan_all(const std::vector<Asked>& asked, size_t k, const Query& query, Work& work) {
        for (const Asked& one : asked) {
            const size_t i = size_t(one.out - hits_.data());
            rankings_[i].start(query(i), k, limits_[i]);
            work.answered(Plan::scan);
        }
        for (size_t s = 0; s < segments_.size() && !asked.empty(); ++s) {
            const Segment& segment = *segments_[s];
            for (size_t first = 0; first < segment.n_codes(); first += SCAN_BLOCK) {
                const size_t n = std::min(SCAN_BLOCK, segment.n_codes() - first);
                for (const Asked& one : asked) {
                    Ranking& ranking = rankings_[size_t(one.out - hits_.data())];
                    work.compare(n);
                    const Hit start{uint32_t(first), uint8_t(s), 0, 0};
                    if (n_words_ == 1 && ranking.add_codes(segment, one.query, n, start)) continue;
                    ordered_.clear();
                    Hit* const room = ordered_.room(n + SPARE_MANY);
                    const size_t found = kernels_.scan_many(segment.code(first), n, n_words_, one.query,
                                                            ranking.limit(), start, room);
                    work.wrote(ranking.add(room, found));
                }
            }
        }
    }

    // Writes the lowest ids of the buckets of some hits at one distance, at most `need`; returns their
    // number.
    size_t lowest_of(const Hit* hits, size_t n_hits, size_t need, int64_t* out) {
        if (n_hits == 1 && !hits->more)
            return write_ids(*segments_[hits->segment], hits, 1, 0, kernels_, out,
                             need);  // a bucket's ids ascend
        pool_.clear();
        for (size_t h = 0; h < n_hits; ++h) {
            if (h + AHEAD < n_hits) segments_[hits[h + AHEAD].segment]->prefetch_ids(hits[h + AHEAD].row);
            // The buckets of a damaged file may overlap: never collect more ids than there are items.
            pool_.add(*segments_[hits[h].segment], hits[h].row, hits[h].more,
                      std::min(need, n_items_ - pool_.size()));
        }
        return pool_.take_lowest(need, out);
    }

    const Segments& segments_;
    size_t n_words_, n_items_ = 0;
    Finders<W>& finders_;
    const Kernels& kernels_;
    Ranking ranking_;
    std::deque<Ranking> rankings_;  // one for each query
    std::vector<Hits> hits_;
    std::vector<uint32_t> radii_, limits_;  // of each query: the radius of its hits; the limit of its totals
    std::vector<Asked> pending_, trying_;
    std::vector<Nearest> nearest_;
    std::vector<Nearest*> counting_;
    std::vector<size_t> counts_;
    Hits ordered_;
    Pool pool_;
    std::vector<double> sample_, by_distance_;
    std::vector<uint64_t> sample_codes_;
};

}  // namespace kinhash
