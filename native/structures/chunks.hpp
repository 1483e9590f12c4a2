// Chunks: the used bits dealt into a few parts of about equal length. Two codes within r bits are equal, or
// nearly so, in at least one part, so a code is filed under the hash of each part.
#pragma once

#include "structures/segment.hpp"

namespace kinhash {

// The used bits dealt into n_chunks parts, as masks: that of part c begins at masks[c * n_words].
inline Vector<uint64_t> chunk_masks(const uint64_t* used, size_t n_words, size_t n_chunks) {
    const size_t n = n_used(used, n_words);
    size_t seen = 0;
    Vector<uint64_t> masks(n_chunks * n_words, 0);
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t rest = used[w]; rest; rest &= rest - 1, ++seen)
            masks[seen * n_chunks / n * n_words + w] |= rest & -rest;
    return masks;
}

// The number of parts that makes each about as long as a row number: a look-up of a shorter part gives many
// rows, and a longer part is less likely to be equal.
inline uint32_t best_n_chunks(const Vector<uint64_t>& used, size_t n_codes) {
    const size_t length = std::bit_width(std::max<size_t>(n_codes, 2) - 1);
    return uint32_t(std::max<size_t>(2, (n_used(used.data(), used.size()) + length / 2) / length));
}

template <size_t W>
uint64_t chunk_hash(const Words<W>& words, const uint64_t* code, const uint64_t* mask) {
    uint64_t part[W ? W : MAX_WORDS];
    for (size_t w = 0; w < words.count(); ++w) part[w] = code[w] & mask[w];
    return words.hash(part);
}

// The bits that any code has.
inline Vector<uint64_t> used_bits(const uint64_t* codes, size_t n_codes, size_t n_words) {
    Vector<uint64_t> used(n_words, 0);
    for (size_t at = 0; at < n_codes * n_words; ++at) used[at % n_words] |= codes[at];
    return used;
}

}  // namespace kinhash
