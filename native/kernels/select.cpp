// Selects the nearest of some codes of 1, 2 or 4 bytes: first all distances as bytes, then the limit that
// enough of them do not exceed, then the codes within it. Nothing is sorted and no branch depends on a code.
#include <bit>
#include <cstring>

#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(DISTANCES)));

// One bit per byte that is at most `limit`.
inline uint64_t bytes_at_most(const uint8_t* values, uint32_t limit) {
#if defined(__AVX512BW__)
    return _mm512_cmple_epu8_mask(_mm512_loadu_si512(values), _mm512_set1_epi8(int8_t(limit)));
#elif defined(__AVX2__)
    const __m256i most = _mm256_set1_epi8(int8_t(limit));
    const auto half = [&](size_t at) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + at));
        return uint64_t(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v, most), v))));
    };
    return half(0) | half(32) << 32;
#else
    uint64_t bits = 0;
    for (size_t i = 0; i < DISTANCES; ++i) bits |= uint64_t(values[i] <= limit) << i;
    return bits;
#endif
}

size_t count_at_most(const uint8_t* values, size_t n, uint32_t limit) {
#if defined(__AVX512BW__)
    size_t count = 0;
    for (size_t i = 0; i < n; i += DISTANCES)
        count += size_t(__builtin_popcountll(bytes_at_most(values + i, limit)));
    return count;
#else
    // Counts in bytes, as long as they do not overflow.
    size_t count = 0;
    const Bytes most = Bytes{} + uint8_t(limit);
    for (size_t i = 0; i < n;) {
        const size_t end = n - i > 255 * DISTANCES ? i + 255 * DISTANCES : n;
        Bytes counts{};
        for (; i < end; i += DISTANCES) {
            Bytes some;
            std::memcpy(&some, values + i, DISTANCES);
            counts -= (Bytes)(some <= most);
        }
        for (size_t j = 0; j < DISTANCES; ++j) count += counts[j];
    }
    return count;
#endif
}

template <typename T>
void narrow_distances_of(const uint8_t* codes, size_t n, uint32_t query, uint8_t* out) {
    size_t i = 0;
#if defined(__AVX512VPOPCNTDQ__)
    if constexpr (sizeof(T) == 4) {
        const __m512i q = _mm512_set1_epi32(int32_t(query));
        for (; i < n; i += 16) {
            const auto lanes = __mmask16(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
            const __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, codes + 4 * i), q);
            _mm_mask_storeu_epi8(out + i, lanes, _mm512_maskz_cvtepi32_epi8(lanes, _mm512_popcnt_epi32(x)));
        }
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        const __m256i q = _mm256_set1_epi32(int32_t(query)), nibble = _mm256_set1_epi8(15);
        const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1,
                                               2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
        // Counts of pairs of bytes of eight codes.
        const auto pairs = [&](size_t at) {
            const __m256i x =
                _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 4 * at)), q);
            const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
            const __m256i high =
                _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
            const __m256i counts = _mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1));
            return _mm256_madd_epi16(counts, _mm256_set1_epi16(1));
        };
        for (; i + 32 <= n; i += 32) {
            const __m256i a = _mm256_packs_epi32(pairs(i), pairs(i + 8)),
                          b = _mm256_packs_epi32(pairs(i + 16), pairs(i + 24));
            // Packing works within halves: puts the groups of four in order.
            const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b),
                                                            _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), all);
        }
    }
#endif
    for (; i < n; ++i) {
        T code;
        std::memcpy(&code, codes + i * sizeof(T), sizeof(T));
        out[i] = uint8_t(__builtin_popcount(T(code ^ T(query))));
    }
}

}  // namespace

void narrow_distances(const uint8_t* codes, size_t n, size_t n_bytes, uint32_t query, uint8_t* out) {
    if (n == 0) return;
    std::memset(out + (n - 1) / DISTANCES * DISTANCES, 255, DISTANCES);
    switch (n_bytes) {
        case 1: return narrow_distances_of<uint8_t>(codes, n, query, out);
        case 2: return narrow_distances_of<uint16_t>(codes, n, query, out);
        default: return narrow_distances_of<uint32_t>(codes, n, query, out);
    }
}

uint32_t least_limit(const uint8_t* distances, size_t n, size_t need, uint32_t largest) {
    uint32_t low = 0;
    while (low < largest) {
        const uint32_t middle = (low + largest) / 2;
        if (count_at_most(distances, n, middle) >= need)
            largest = middle;
        else
            low = middle + 1;
    }
    return largest;
}

size_t positions_at_most(const uint8_t* distances, size_t n, uint32_t limit, uint32_t* out) {
    constexpr size_t AT_ONCE = SPARE_POSITIONS;
    size_t found = 0;
    for (size_t i = 0; i < n; i += DISTANCES) {
        uint64_t near = bytes_at_most(distances + i, limit);
        const size_t end = found + size_t(__builtin_popcountll(near));
        // Few at a time, of which the last may be none: there is hardly ever a second time.
        size_t at = found;
        do {
#pragma GCC unroll 4
            for (size_t j = 0; j < AT_ONCE; ++j) {
                out[at + j] = uint32_t(i) + uint32_t(std::countr_zero(near));
                near &= near - 1;
            }
            at += AT_ONCE;
        } while (at < end);
        found = end;
    }
    return found;
}
}  // namespace kinhash::KINHASH_ISA
