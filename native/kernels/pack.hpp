// Converts between one byte and one bit per entry. Bit j of a plane is bit j % 64 of word j / 64;
// a signed code is the plane of its +1 entries, then the plane of its -1 entries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinhash {

inline void pack(const int8_t* dense, size_t n, size_t n_bits, bool is_signed, uint64_t* words) {
    const size_t per_plane = (n_bits + 63) / 64, per_row = per_plane * (is_signed ? 2 : 1);
    for (size_t i = 0; i < n; ++i, dense += n_bits, words += per_row)
        for (size_t w = 0; w < per_plane; ++w) {
            const size_t first = w * 64, last = first + 64 < n_bits ? first + 64 : n_bits;
            uint64_t plus = 0, minus = 0;
            for (size_t j = first; j < last; ++j) {
                plus |= uint64_t(dense[j] > 0) << (j - first);
                minus |= uint64_t(dense[j] < 0) << (j - first);
            }
            words[w] = plus;
            if (is_signed) words[per_plane + w] = minus;
        }
}

inline void unpack(const uint64_t* words, size_t n, size_t n_bits, bool is_signed, int8_t* dense) {
    const size_t per_plane = (n_bits + 63) / 64, per_row = per_plane * (is_signed ? 2 : 1);
    for (size_t i = 0; i < n; ++i, dense += n_bits, words += per_row)
        for (size_t j = 0; j < n_bits; ++j) {
            const int plus = int(words[j / 64] >> (j % 64) & 1);
            const int minus = is_signed ? int(words[per_plane + j / 64] >> (j % 64) & 1) : 0;
            dense[j] = int8_t(plus - minus);
        }
}

}  // namespace kinhash
