// The k nearest items.
#pragma once

#include "results.hpp"

namespace kinhash {

// Writes the n lowest of many ids in order; returns how many there were. `ids` is changed.
class Lowest {
  public:
    size_t take(Growing<int64_t>& ids, size_t n, int64_t* out) {
        n = std::min(n, ids.size());
        if (n == 0) return 0;
        if (n == ids.size() && std::is_sorted(ids.begin(), ids.end())) return std::copy_n(ids.begin(), n, out) - out;
        const auto [low, high] = bounds(ids.begin(), ids.size());
        const uint64_t first = uint64_t(low), range = uint64_t(high) - first;
        if (ids.size() >= 256 && range / 64 <= 4 * ids.size()) return by_bits(ids, n, first, range, out);
        if (n < ids.size()) keep(ids, n, first, range);
        sort_ids(ids.begin(), n, scratch_);
        std::copy_n(ids.begin(), n, out);
        return n;
    }

  private:
    static constexpr uint64_t LAST = uint64_t(1) << 63;  // so that there is a bit to find, needed or not

    // One bit per possible id: setting and reading them is choosing and sorting at once.
    size_t by_bits(const Growing<int64_t>& ids, size_t n, uint64_t first, uint64_t range, int64_t* out) {
        bits_.assign(range / 64 + 1, 0);
        for (const int64_t id : ids) {
            const uint64_t at = uint64_t(id) - first;
            bits_[at / 64] |= uint64_t(1) << (at % 64);
        }
        // Two bits of each word with no question between them, as few have more; what is too many is written over.
        size_t written = 0, word = 0;
        const auto at = [&](uint64_t rest) { return int64_t(first + 64 * word + size_t(__builtin_ctzll(rest | LAST))); };
        for (; word < bits_.size() && written + 2 <= n; ++word) {
            uint64_t rest = bits_[word];
            const size_t here = std::min(size_t(std::popcount(rest)), n - written);
            out[written] = at(rest);
            rest &= rest - 1;
            out[written + 1] = at(rest);
            for (size_t i = 2; i < here; ++i) out[written + i] = at(rest &= rest - 1);
            written += here;
        }
        for (; word < bits_.size() && written < n; ++word)
            for (uint64_t rest = bits_[word]; rest && written < n; rest &= rest - 1) out[written++] = at(rest);
        return written;  // less than n where a damaged file has an id twice
    }

    // Brings the n lowest to the front: those below the n-th by a histogram, in two passes, and only
    // the few in its own cell by comparing.
    void keep(Growing<int64_t>& ids, size_t n, uint64_t first, uint64_t range) {
        const int shift = std::max(0, 64 - std::countl_zero(range) - 12);
        uint32_t counts[4096] = {};
        const auto cell = [&](int64_t id) { return (uint64_t(id) - first) >> shift; };
        for (const int64_t id : ids) ++counts[cell(id)];
        size_t below = 0, last = 0;
        while (below + counts[last] < n) below += counts[last++];
        size_t kept = 0;
        scratch_.clear();
        for (const int64_t id : ids) {
            if (cell(id) < last) ids.begin()[kept++] = id;
            if (cell(id) == last) scratch_.push_back(id);
        }
        std::sort(scratch_.begin(), scratch_.end());
        std::copy_n(scratch_.begin(), n - kept, ids.begin() + kept);
    }

    std::vector<int64_t> scratch_;
    Vector<uint64_t> bits_;
};

// The k nearest items of a few queries at a time; at equal distance the lowest ids.
template <size_t W>
class TopK {
  public:
    TopK(const Segments& segments, size_t n_words, Finders<W>& finders, const Kernels& kernels)
        : segments_(segments), n_words_(n_words), finders_(finders), kernels_(kernels) {
        for (const Segment* segment : segments) n_items_ += segment->n_alive;
    }

    // Writes min(k, items) ids and distances in order, k per query; -1 where a damaged file does not
    // lead to as many. Radii grow until they hold k items: first as long as they are look-ups, then
    // from where a sample of the codes says that k items lie.
    void search(const uint64_t* queries, size_t n, size_t k, int64_t* ids, int32_t* distances, Work& work) {
        const size_t wanted = std::min(k, n_items_);
        if (wanted == 0) return;
        if (hits_.size() < n) hits_.resize(n);
        const uint32_t farthest = uint32_t(64 * n_words_);
        pending_.clear();
        for (size_t i = 0; i < n; ++i) {
            const uint64_t* query = queries + i * n_words_;
            bool enough = false;
            const uint32_t most = wanted < RARE ? 3 : 0;  // what is rare, a sample does not show
            for (uint32_t radius = 0; radius <= most && !enough && finders_.all_by_lookup(query, radius); ++radius) {
                one_.assign(1, {query, radius, &hits_[i]});
                enough = collect(one_, work)[0] >= wanted;
            }
            if (!enough) pending_.push_back({query, likely_radius(query, wanted), &hits_[i]});
        }
        while (!pending_.empty()) {
            const std::vector<size_t>& items = collect(pending_, work);
            size_t left = 0;
            for (size_t p = 0; p < pending_.size(); ++p) {
                if (items[p] >= wanted || pending_[p].radius >= farthest) continue;
                pending_[left] = pending_[p];
                ++pending_[left++].radius;
            }
            pending_.resize(left);
        }
        for (size_t i = 0; i < n; ++i) choose(hits_[i], wanted, ids + i * k, distances + i * k);
    }

  private:
    static constexpr size_t RARE = 500;
    static constexpr size_t AHEAD = 8;  // buckets whose ends are on their way from memory

    // Gathers all rows within each radius; returns how many items that is.
    const std::vector<size_t>& collect(const std::vector<Asked>& asked, Work& work) {
        for (const Asked& one : asked) one.out->clear();
        finders_.within(asked, -1, work);
        counts_.clear();
        for (const Asked& one : asked) {
            const Hits& hits = *one.out;
            size_t items = 0;
            for (size_t at = 0; at < hits.size(); ++at) {
                if (at + AHEAD < hits.size())
                    __builtin_prefetch(segments_[hits[at + AHEAD].segment]->offsets.data + hits[at + AHEAD].row);
                items += segments_[hits[at].segment]->count(hits[at].row);
            }
            counts_.push_back(items);
        }
        return counts_;
    }

    // The smallest radius that holds k items, if all codes are like a sample of them.
    uint32_t likely_radius(const uint64_t* query, size_t k) {
        if (sample_.empty()) draw_sample();
        by_distance_.assign(64 * n_words_ + 1, 0);
        const Words<W>& words = finders_[0].words();
        for (size_t i = 0; i < sample_.size(); ++i)
            by_distance_[words.distance(sample_codes_.data() + i * n_words_, query)] += sample_[i];
        double total = 0;
        uint32_t radius = 0;
        for (; radius + 1 < by_distance_.size(); ++radius)
            if ((total += by_distance_[radius]) >= double(k)) break;
        return radius;
    }

    // Some codes, and how many items each stands for: the heaviest leaders, which hold most items where
    // codes cluster, or blocks of codes from everywhere.
    void draw_sample() {
        constexpr size_t BLOCK = 64, MOST_BLOCKS = 32, MOST_LEADERS = 1024;
        for (const Segment* segment : segments_) {
            const size_t n = segment->n_codes(), n_leaders = std::min(segment->n_leaders(), MOST_LEADERS);
            const size_t n_blocks = n_leaders ? 0 : std::clamp<size_t>(n / BLOCK, 1, MOST_BLOCKS), before = sample_.size();
            size_t all = 0;
            const auto see = [&](size_t row) {
                sample_.push_back(double(segment->count(row)));
                sample_codes_.insert(sample_codes_.end(), segment->code(row), segment->code(row) + n_words_);
                all += segment->count(row);
            };
            for (size_t g = 0; g < n_leaders; ++g)
                if (segment->group_starts[g] < n) see(segment->group_starts[g]);
            for (size_t b = 0; b < n_blocks; ++b)
                for (size_t row = b * n / n_blocks; row < std::min(b * n / n_blocks + BLOCK, n); ++row) see(row);
            for (size_t i = before; i < sample_.size() && all; ++i) sample_[i] *= double(segment->n_alive) / double(all);
        }
    }

    void choose(const Hits& hits, size_t k, int64_t* ids, int32_t* distances) {
        uint32_t farthest = 0;
        for (const Hit& hit : hits) farthest = std::max<uint32_t>(farthest, hit.distance);
        ordered_.clear();
        append_by_distance(segments_, hits, farthest, ordered_);
        size_t written = 0;
        for (size_t first = 0, last; first < ordered_.size() && written < k; first = last) {
            const uint32_t distance = ordered_[first].distance;
            for (last = first + 1; last < ordered_.size() && ordered_[last].distance == distance;) ++last;
            const size_t n = lowest_of(first, last, k - written, ids + written);
            std::fill_n(distances + written, n, int32_t(distance));
            written += n;
        }
        std::fill(ids + written, ids + k, -1);
        std::fill(distances + written, distances + k, -1);
    }

    // Writes the lowest ids of the buckets of some hits at one distance, at most `need`; returns how many.
    size_t lowest_of(size_t first, size_t last, size_t need, int64_t* out) {
        // A bucket's ids ascend.
        if (last - first == 1) return write_ids(*segments_[ordered_[first].segment], &ordered_[first], 1, kernels_, out, need);
        pool_.clear();
        for (size_t at = first; at < last;) {
            const Segment& segment = *segments_[ordered_[at].segment];
            // Small buckets together; of a large one no more than its first `need` can be among the lowest.
            size_t n = 0, room = 0;
            while (at + n < last && ordered_[at + n].segment == ordered_[at].segment) {
                const size_t size = segment.size(ordered_[at + n].row);
                if (n && size > need) break;
                ++n;
                room += std::min(size, need);
                if (size > need) break;
            }
            room = std::min(room, n_items_ - std::min(n_items_, pool_.size()));
            pool_.add(write_ids(segment, &ordered_[at], n, kernels_, pool_.room(room), room));
            at += n;
        }
        return lowest_.take(pool_, need, out);
    }

    const Segments& segments_;
    size_t n_words_, n_items_ = 0;
    Finders<W>& finders_;
    const Kernels& kernels_;
    std::vector<Hits> hits_;
    std::vector<Asked> pending_, one_;
    std::vector<size_t> counts_;
    Hits ordered_;
    Growing<int64_t> pool_;
    std::vector<double> sample_, by_distance_;
    std::vector<uint64_t> sample_codes_;
    Lowest lowest_;
};

}  // namespace kinhash
