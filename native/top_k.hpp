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
        const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
        const uint64_t first = uint64_t(*low), range = uint64_t(*high) - first;
        if (ids.size() >= 256 && range / 64 <= 4 * ids.size()) return by_bits(ids, n, first, range, out);
        if (n < ids.size()) keep(ids, n, first, range);
        sort_ids(ids.begin(), n, scratch_);
        std::copy_n(ids.begin(), n, out);
        return n;
    }

  private:
    // One bit per possible id: setting and reading them is choosing and sorting at once.
    size_t by_bits(const Growing<int64_t>& ids, size_t n, uint64_t first, uint64_t range, int64_t* out) {
        bits_.assign(range / 64 + 1, 0);
        for (const int64_t id : ids) {
            const uint64_t at = uint64_t(id) - first;
            bits_[at / 64] |= uint64_t(1) << (at % 64);
        }
        size_t written = 0;
        for (size_t word = 0; word < bits_.size(); ++word)
            for (uint64_t rest = bits_[word]; rest; rest &= rest - 1) {
                if (written == n) return n;
                out[written++] = int64_t(first + 64 * word + size_t(std::countr_zero(rest)));
            }
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
    std::vector<uint64_t> bits_;
};

// The k nearest items of one query at a time; at equal distance the lowest ids.
template <size_t W>
class TopK {
  public:
    TopK(const Segments& segments, size_t n_words, std::vector<Finder<W>>& finders, const Kernels& kernels)
        : segments_(segments), n_words_(n_words), finders_(finders), kernels_(kernels) {
        for (const Segment* segment : segments) n_items_ += segment->n_alive;
    }

    // Writes min(k, items) ids and distances in order; -1 where a damaged file does not lead to as
    // many. Radii grow until they hold k items: first as long as they are look-ups, then from where
    // a sample of the codes says that k items lie.
    void search(const uint64_t* query, size_t k, int64_t* ids, int32_t* distances, Work& work) {
        k = std::min(k, n_items_);
        if (k == 0) return;
        const uint32_t farthest = uint32_t(64 * n_words_);
        bool enough = false;
        const uint32_t most = k < RARE ? 3 : 0;  // what is rare, a sample does not show
        for (uint32_t radius = 0; radius <= most && !enough && all_by_lookup(query, radius); ++radius)
            enough = collect(query, radius, work) >= k;
        if (!enough)
            for (uint32_t radius = likely_radius(query, k); collect(query, radius, work) < k && radius < farthest;) ++radius;
        choose(k, ids, distances);
    }

  private:
    static constexpr size_t RARE = 500;

    bool all_by_lookup(const uint64_t* query, uint32_t radius) const {
        for (const Finder<W>& finder : finders_) {
            const Plan plan = finder.plan(query, radius);
            if (plan == Plan::scan || plan == Plan::groups) return false;
        }
        return true;
    }

    // Gathers all rows within `radius`; returns how many items that is.
    size_t collect(const uint64_t* query, uint32_t radius, Work& work) {
        hits_.clear();
        size_t items = 0;
        for (size_t s = 0; s < segments_.size(); ++s) {
            const size_t before = hits_.size();
            finders_[s].within(finders_[s].plan(query, radius), query, radius, hits_, work);
            for (size_t at = before; at < hits_.size(); ++at) items += segments_[s]->count(hits_[at].row);
        }
        return items;
    }

    // The smallest radius that holds k items, if all codes are like a sample of them.
    uint32_t likely_radius(const uint64_t* query, size_t k) {
        std::vector<double>& items = sample_;
        items.assign(64 * n_words_ + 1, 0);
        for (size_t s = 0; s < segments_.size(); ++s) {
            const size_t n = segments_[s]->n_codes(), blocks = std::clamp<size_t>(n / 64, 1, 32);
            const double share = double(n) / double(std::min(n, blocks * 64));
            for (size_t b = 0; b < blocks; ++b)
                for (size_t row = b * n / blocks; row < std::min(b * n / blocks + 64, n); ++row)
                    items[finders_[s].words().distance(segments_[s]->code(row), query)] += share * double(segments_[s]->count(row));
        }
        double total = 0;
        uint32_t radius = 0;
        for (; radius + 1 < items.size(); ++radius)
            if ((total += items[radius]) >= double(k)) break;
        return radius;
    }

    void choose(size_t k, int64_t* ids, int32_t* distances) {
        uint32_t farthest = 0;
        for (const Hit& hit : hits_) farthest = std::max<uint32_t>(farthest, hit.distance);
        ordered_.clear();
        append_by_distance(segments_, hits_, farthest, ordered_);
        size_t written = 0;
        for (size_t first = 0; first < ordered_.size() && written < k;) {
            const uint32_t distance = ordered_[first].distance;
            const size_t need = k - written;
            pool_.clear();
            for (; first < ordered_.size() && ordered_[first].distance == distance; ++first) {
                // A bucket's ids ascend, so no more than its first `need` can be among the lowest.
                const Segment& segment = *segments_[ordered_[first].segment];
                const size_t most = std::min(need, n_items_ - std::min(n_items_, pool_.size()));
                const size_t room = std::min(most, segment.end(ordered_[first].row) - segment.begin(ordered_[first].row));
                pool_.add(write_ids(segment, &ordered_[first], 1, kernels_, pool_.room(room), room));
            }
            const size_t n = lowest_.take(pool_, need, ids + written);
            std::fill_n(distances + written, n, int32_t(distance));
            written += n;
        }
        std::fill(ids + written, ids + k, -1);
        std::fill(distances + written, distances + k, -1);
    }

    const Segments& segments_;
    size_t n_words_, n_items_ = 0;
    std::vector<Finder<W>>& finders_;
    const Kernels& kernels_;
    Hits hits_, ordered_;
    Growing<int64_t> pool_;
    std::vector<double> sample_;
    Lowest lowest_;
};

}  // namespace kinhash
