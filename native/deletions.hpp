// Symmetric deletion. Two codes x and q are within r bits exactly if x & q, which is x without some
// of its active bits and q without some of its own, is reached with at most r removals in all. So x
// is filed under everything that is left when one or two of its bits are removed, and q is looked up
// the same way: a few dozen look-ups for a sparse code, however long it is.
#pragma once

#include "segment.hpp"
#include "share.hpp"

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

// Files every code under what is left when just `level` of its bits are removed. Keys are dealt by the
// part of the table they belong to first, and each part is then filled by itself: in the cache, where
// filling the whole table in the order of the codes would wait for memory at every key.
template <size_t W>
void build_keys(const Words<W>& words, const Vector<uint64_t>& codes, size_t n_codes, uint32_t level, size_t n_threads,
                Vector<uint32_t>& starts, Vector<uint32_t>& rows) {
    constexpr size_t PART = 1 << 15;  // buckets whose starts and rows stay in the cache together
    const size_t n_shares = std::clamp<size_t>(n_codes / 4096, 1, n_threads), share_size = (n_codes + n_shares - 1) / n_shares;
    std::atomic<size_t> n_keys = 0;
    share(n_codes, n_threads, std::max<size_t>(1, share_size), [&](size_t begin, size_t end) {
        size_t n = 0;
        for (size_t row = begin; row < end; ++row) n += n_deletions_at(words.active(codes.data() + row * words.count()), level);
        n_keys += n;
    });
    const size_t n_buckets = std::max<size_t>(1, n_keys), n_parts = (n_buckets + PART - 1) / PART;
    const auto for_all = [&](size_t begin, size_t end, const auto& f) {
        for (size_t row = begin; row < end; ++row)
            for_each_deletion(words, codes.data() + row * words.count(), level, [&](const uint64_t* key, uint32_t removed) {
                if (removed == level) f(uint32_t(row), uint32_t(key_bucket(words.hash(key), n_buckets)));
            });
    };
    // Where each share of the codes puts its keys of each part: rows of a bucket stay in order.
    Vector<uint32_t> next(n_shares * n_parts, 0);
    share(n_shares, n_threads, 1, [&](size_t first, size_t last) {
        for (size_t s = first; s < last; ++s)
            for_all(s * share_size, std::min((s + 1) * share_size, n_codes),
                    [&](uint32_t, uint32_t bucket) { ++next[s * n_parts + bucket / PART]; });
    });
    Vector<uint32_t> part_starts(n_parts + 1, 0);
    for (size_t p = 0, at = 0; p < n_parts; ++p) {
        for (size_t s = 0; s < n_shares; ++s) {
            const uint32_t n = next[s * n_parts + p];
            next[s * n_parts + p] = uint32_t(at);
            at += n;
        }
        part_starts[p + 1] = uint32_t(at);
    }
    struct Dealt {
        uint32_t bucket, row;
    };
    const auto dealt = std::make_unique_for_overwrite<Dealt[]>(n_keys);
    share(n_shares, n_threads, 1, [&](size_t first, size_t last) {
        for (size_t s = first; s < last; ++s)
            for_all(s * share_size, std::min((s + 1) * share_size, n_codes), [&](uint32_t row, uint32_t bucket) {
                dealt[next[s * n_parts + bucket / PART]++] = {bucket, row};
            });
    });
    starts.resize(n_buckets + 1);
    rows.resize(n_keys);
    share(n_parts, n_threads, 1, [&](size_t first, size_t last) {
        Vector<uint32_t> place(PART + 1);
        for (size_t p = first; p < last; ++p) {
            const size_t low = p * PART, size = std::min(PART, n_buckets - low);
            const Dealt *from = dealt.get() + part_starts[p], *to = dealt.get() + part_starts[p + 1];
            std::fill_n(place.begin(), size + 1, 0);
            for (const Dealt* one = from; one < to; ++one) ++place[one->bucket - low + 1];
            for (size_t b = 0; b < size; ++b) place[b + 1] += place[b];
            for (size_t b = 0; b < size; ++b) starts[low + b] = place[b] += part_starts[p];
            for (const Dealt* one = from; one < to; ++one) rows[place[one->bucket - low]++] = one->row;
        }
    });
    starts[n_buckets] = uint32_t(n_keys);
}

// The used bits dealt into n_chunks parts, as masks: part c is masks[c * n_words ..].
inline Vector<uint64_t> chunk_masks(const uint64_t* used, size_t n_words, size_t n_chunks) {
    size_t n_used = 0, seen = 0;
    for (size_t w = 0; w < n_words; ++w) n_used += size_t(std::popcount(used[w]));
    Vector<uint64_t> masks(n_chunks * n_words, 0);
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t rest = used[w]; rest; rest &= rest - 1, ++seen)
            masks[seen * n_chunks / n_used * n_words + w] |= rest & -rest;
    return masks;
}

inline Vector<uint64_t> used_bits(const uint64_t* codes, size_t n_codes, size_t n_words) {
    Vector<uint64_t> used(n_words, 0);
    for (size_t at = 0; at < n_codes * n_words; ++at) used[at % n_words] |= codes[at];
    return used;
}

// Parts that are as long as a row number are about as many as tell codes apart: of shorter ones a
// look-up gives many rows, and longer ones differ sooner.
inline uint32_t best_n_chunks(const Vector<uint64_t>& used, size_t n_codes) {
    size_t n_used = 0;
    for (const uint64_t word : used) n_used += size_t(std::popcount(word));
    const size_t length = std::bit_width(std::max<size_t>(n_codes, 2) - 1);
    return uint32_t(std::max<size_t>(2, (n_used + length / 2) / length));
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
double build_chunks(const Words<W>& words, const Vector<uint64_t>& codes, size_t n_codes, uint32_t n_chunks,
                  Vector<uint32_t>& starts, Vector<uint32_t>& rows) {
    const size_t n = words.count(), size = chunk_table_size(n_codes);
    const auto masks = chunk_masks(used_bits(codes.data(), n_codes, n).data(), n, n_chunks);
    starts.assign(n_chunks * (size + 1), 0);
    rows.resize(n_chunks * n_codes);
    Vector<uint32_t> bucket(n_codes);
    double squares = 0;
    for (size_t c = 0; c < n_chunks; ++c) {
        uint32_t* first = starts.data() + c * (size + 1);
        for (size_t row = 0; row < n_codes; ++row) {
            bucket[row] = uint32_t(chunk_hash(words, codes.data() + row * n, masks.data() + c * n) & (size - 1));
            ++first[bucket[row] + 1];
        }
        for (size_t b = 0; b < size; ++b) first[b + 1] += first[b];
        Vector<uint32_t> next(first, first + size);
        for (size_t row = 0; row < n_codes; ++row) rows[c * n_codes + next[bucket[row]]++] = uint32_t(row);
        for (size_t b = 0; b < size; ++b) squares += double(first[b + 1] - first[b]) * double(first[b + 1] - first[b]);
    }
    return squares / double(n_chunks * n_codes);
}

}  // namespace kinhash
