// Builds the tables of chunks.
#pragma once

#include "runtime/stop.hpp"
#include "structures/chunks.hpp"

namespace kinhash {

// Returns the number of rows that a look-up of one part gives, on average over the stored codes.
template <size_t W>
double build_chunks(const Words<W>& words, const Vector<uint64_t>& codes, size_t n_codes,
                    const Vector<uint64_t>& used, uint32_t n_chunks, Stop& stop, Built::Lists& out) {
    const size_t n = words.count(), size = chunk_table_size(n_codes);
    const auto masks = chunk_masks(used.data(), n, n_chunks);
    out.starts.assign(n_chunks * (size + 1), 0);
    out.rows.resize(n_chunks * n_codes);
    Vector<uint32_t> bucket(n_codes);
    double squares = 0;
    Polling polling(&stop);
    for (size_t c = 0; c < n_chunks; ++c) {
        uint32_t* first = out.starts.data() + c * (size + 1);
        for (size_t row = 0; row < n_codes; ++row) {
            bucket[row] =
                uint32_t(chunk_hash(words, codes.data() + row * n, masks.data() + c * n) & (size - 1));
            ++first[bucket[row] + 1];
            polling.add(1);
        }
        for (size_t b = 0; b < size; ++b) first[b + 1] += first[b];
        Vector<uint32_t> next(first, first + size);
        for (size_t row = 0; row < n_codes; ++row)
            out.rows[c * n_codes + next[bucket[row]]++] = uint32_t(row);
        for (size_t b = 0; b < size; ++b)
            squares += double(first[b + 1] - first[b]) * double(first[b + 1] - first[b]);
    }
    return squares / double(n_chunks * n_codes);
}

}  // namespace kinhash
