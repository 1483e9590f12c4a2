// Symmetric deletion. Two codes x and q are within r bits exactly if x & q, which is x without some
// of its active bits and q without some of its own, is reached with at most r removals in total. So x
// is filed under each rest when one or two of its bits are removed, and q is looked up the same way:
// a few dozen look-ups for a sparse code, whatever its length.
#pragma once

#include <algorithm>

#include "structures/words.hpp"

namespace kinhash {

// Calls f(key, n_removed) for `code` and for each way to remove 1 .. `most` (at most 3) of its active bits.
template <size_t W, typename F>
void for_each_deletion(const Words<W>& words, const uint64_t* code, uint32_t most, const F& f) {
    uint64_t key[W ? W : MAX_WORDS];
    std::copy_n(code, words.count(), key);
    f(key, 0u);
    if (most == 0) return;
    uint16_t bits[64 * (W ? W : MAX_WORDS)];
    size_t k = 0;
    for (size_t w = 0; w < words.count(); ++w)
        for (uint64_t rest = code[w]; rest; rest &= rest - 1)
            bits[k++] = uint16_t(64 * w + size_t(std::countr_zero(rest)));
    const auto flip = [&](size_t i) { key[bits[i] / 64] ^= uint64_t(1) << (bits[i] % 64); };
    for (size_t a = 0; a < k; ++a) {
        flip(a);
        f(key, 1u);
        if (most >= 2)
            for (size_t b = a + 1; b < k; ++b) {
                flip(b);
                f(key, 2u);
                if (most >= 3)
                    for (size_t c = b + 1; c < k; ++c) {
                        flip(c);
                        f(key, 3u);
                        flip(c);
                    }
                flip(b);
            }
        flip(a);
    }
}

// The number of ways to remove at most `most` of k bits.
inline size_t n_deletions(size_t k, uint32_t most) {
    size_t n = 1;
    if (most >= 1) n += k;
    if (most >= 2) n += k * (k - 1) / 2;
    if (most >= 3) n += k * (k - 1) * (k - 2) / 6;
    return n;
}

inline size_t key_bucket(uint64_t hash, size_t n_buckets) {
    return size_t((__uint128_t(hash) * n_buckets) >> 64);
}

// The number of ways to remove exactly `level` of k bits.
inline size_t n_deletions_at(size_t k, uint32_t level) {
    return level == 0 ? 1 : n_deletions(k, level) - n_deletions(k, level - 1);
}

}  // namespace kinhash
