// Sorts ids, and selects the lowest.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/memory.hpp"
#include "search/hits.hpp"

namespace kinhash {

class IdOrder {
  public:
    // Sorts ids in ascending order.
    void sort(int64_t* ids, size_t n) {
        if (n < 64) return std::sort(ids, ids + n);
        Key any = 0, all = ~Key(0);
        for (size_t i = 0; i < n; ++i) any |= key(ids[i]), all &= key(ids[i]);
        const Key differing = any & ~all;
        if (differing == 0) return;
        const uint32_t low = uint32_t(std::countr_zero(differing)),
                       high = uint32_t(std::bit_width(differing));
        by_digits(ids, n, low, high);
    }

    // Moves the n lowest ids to the front, in order.
    void lowest(int64_t* ids, size_t n_ids, size_t n) {
        if (n < n_ids && n_ids >= 256) n_ids = without_highest(ids, n_ids, n);
        sort(ids, n_ids);
    }

  private:
    using Key = uint64_t;
    static constexpr uint32_t MOST_BITS = 11;

    // Maps ids to unsigned numbers of the same order.
    static Key key(int64_t id) { return Key(id) ^ Key(1) << 63; }

    // Radix sort over the bits low .. high - 1.
    void by_digits(int64_t* ids, size_t n, uint32_t low, uint32_t high) {
        // As few digits as possible, of equal length; few ids take short digits, so that counting stays
        // cheap.
        const uint32_t all_bits = high - low, most = n < 1000 ? 8 : MOST_BITS,
                       n_digits = (all_bits + most - 1) / most;
        const uint32_t bits = (all_bits + n_digits - 1) / n_digits, n_values = 1u << bits;
        const auto digit = [&](int64_t id, uint32_t number) {
            return size_t(key(id) >> (low + number * bits)) & (n_values - 1);
        };
        scratch_.clear();
        int64_t *from = ids, *to = scratch_.room(n);
        // Each pass also counts the next digit.
        uint32_t counts[2][1 << MOST_BITS];
        std::fill_n(counts[0], n_values, 0);
        for (size_t i = 0; i < n; ++i) ++counts[0][digit(from[i], 0)];
        for (uint32_t d = 0; d < n_digits; ++d) {
            uint32_t *const next = counts[d % 2], *const after = counts[(d + 1) % 2];
            uint32_t total = 0;
            for (size_t v = 0; v < n_values; ++v) total += std::exchange(next[v], total);
            if (d + 1 == n_digits) {
                for (size_t i = 0; i < n; ++i) to[next[digit(from[i], d)]++] = from[i];
            } else {
                std::fill_n(after, n_values, 0);
                for (size_t i = 0; i < n; ++i) {
                    ++after[digit(from[i], d + 1)];
                    to[next[digit(from[i], d)]++] = from[i];
                }
            }
            std::swap(from, to);
        }
        if (from != ids) std::copy_n(from, n, ids);
    }

    // Drops most ids that are not among the n lowest, by a threshold from a sample; returns the number left.
    size_t without_highest(int64_t* ids, size_t n_ids, size_t n) {
        int64_t sample[256];
        const size_t size = n_ids < 2048 ? 64 : 256;
        // Three standard deviations above the expected rank, so that the threshold is rarely too low.
        const double share = double(n) / double(n_ids);
        const size_t rank =
            size_t(double(size) * share + 3 * std::sqrt(double(size) * share * (1 - share))) + 1;
        if (rank >= size) return n_ids;
        for (size_t i = 0; i < size; ++i) sample[i] = ids[i * n_ids / size];
        std::nth_element(sample, sample + rank, sample + size);
        const int64_t last = sample[rank];
        scratch_.clear();
        int64_t* const kept = scratch_.room(n_ids);
        size_t n_kept = 0;
        for (size_t i = 0; i < n_ids; ++i) {
            kept[n_kept] = ids[i];
            n_kept += ids[i] <= last;
        }
        if (n_kept < n) return n_ids;  // rare: the threshold was too low
        std::copy_n(kept, n_kept, ids);
        return n_kept;
    }

    Growing<int64_t> scratch_;
};

}  // namespace kinhash
