// Symmetric deletion. Two codes x and q are within r bits exactly if x & q, which is x without some
// of its active bits and q without some of its own, is reached with at most r removals in all. So x
// is filed under everything that is left when one or two of its bits are removed, and q is looked up
// the same way: a few dozen look-ups for a sparse code, however long it is.
#pragma once

#include "segment.hpp"

namespace kinhash {

// Calls f(key, n_removed) for `code` and for it without each 1 .. `most` (at most 3) active bits.
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

// How many ways there are to remove just `level` of k bits.
inline size_t n_deletions_at(size_t k, uint32_t level) {
    return level == 0 ? 1 : n_deletions(k, level) - n_deletions(k, level - 1);
}

// Files every code under what is left when just `level` of its bits are removed.
template <size_t W>
void build_keys(const Words<W>& words, const std::vector<uint64_t>& codes, size_t n_codes, uint32_t level,
                std::vector<uint32_t>& starts, std::vector<uint32_t>& rows) {
    size_t n_keys = 0;
    for (size_t row = 0; row < n_codes; ++row)
        n_keys += n_deletions_at(words.active(codes.data() + row * words.count()), level);
    const size_t n_buckets = std::max<size_t>(1, n_keys);
    starts.assign(n_buckets + 1, 0);
    const auto for_all = [&](const auto& f) {
        for (size_t row = 0; row < n_codes; ++row)
            for_each_deletion(words, codes.data() + row * words.count(), level, [&](const uint64_t* key, uint32_t removed) {
                if (removed == level) f(uint32_t(row), key_bucket(words.hash(key), n_buckets));
            });
    };
    for_all([&](uint32_t, size_t bucket) { ++starts[bucket + 1]; });
    for (size_t b = 0; b < n_buckets; ++b) starts[b + 1] += starts[b];
    rows.resize(starts.back());
    std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
    for_all([&](uint32_t row, size_t bucket) { rows[next[bucket]++] = row; });
}

// The used bits dealt into n_chunks parts, as masks: part c is masks[c * n_words ..].
inline std::vector<uint64_t> chunk_masks(const uint64_t* used, size_t n_words, size_t n_chunks) {
    size_t n_used = 0, seen = 0;
    for (size_t w = 0; w < n_words; ++w) n_used += size_t(std::popcount(used[w]));
    std::vector<uint64_t> masks(n_chunks * n_words, 0);
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t rest = used[w]; rest; rest &= rest - 1, ++seen)
            masks[seen * n_chunks / n_used * n_words + w] |= rest & -rest;
    return masks;
}

inline std::vector<uint64_t> used_bits(const uint64_t* codes, size_t n_codes, size_t n_words) {
    std::vector<uint64_t> used(n_words, 0);
    for (size_t at = 0; at < n_codes * n_words; ++at) used[at % n_words] |= codes[at];
    return used;
}

inline size_t chunk_table_size(size_t n_codes) { return std::bit_ceil(std::max<size_t>(16, n_codes)); }

template <size_t W>
uint64_t chunk_hash(const Words<W>& words, const uint64_t* code, const uint64_t* mask) {
    uint64_t part[W ? W : MAX_WORDS];
    for (size_t w = 0; w < words.count(); ++w) part[w] = code[w] & mask[w];
    return words.hash(part);
}

// Returns how many rows a look-up of one part gives, on average over the codes themselves.
template <size_t W>
double build_chunks(const Words<W>& words, const std::vector<uint64_t>& codes, size_t n_codes, uint32_t n_chunks,
                  std::vector<uint32_t>& starts, std::vector<uint32_t>& rows) {
    const size_t n = words.count(), size = chunk_table_size(n_codes);
    const auto masks = chunk_masks(used_bits(codes.data(), n_codes, n).data(), n, n_chunks);
    starts.assign(n_chunks * (size + 1), 0);
    rows.resize(n_chunks * n_codes);
    std::vector<uint32_t> bucket(n_codes);
    double squares = 0;
    for (size_t c = 0; c < n_chunks; ++c) {
        uint32_t* first = starts.data() + c * (size + 1);
        for (size_t row = 0; row < n_codes; ++row) {
            bucket[row] = uint32_t(chunk_hash(words, codes.data() + row * n, masks.data() + c * n) & (size - 1));
            ++first[bucket[row] + 1];
        }
        for (size_t b = 0; b < size; ++b) first[b + 1] += first[b];
        std::vector<uint32_t> next(first, first + size);
        for (size_t row = 0; row < n_codes; ++row) rows[c * n_codes + next[bucket[row]]++] = uint32_t(row);
        for (size_t b = 0; b < size; ++b) squares += double(first[b + 1] - first[b]) * double(first[b + 1] - first[b]);
    }
    return squares / double(n_chunks * n_codes);
}

}  // namespace kinhash
