// Compares a query with every code.
#include "kernels/distance.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

#if defined(__AVX512VPOPCNTDQ__)
constexpr size_t STEP = 8;  // words at a time
inline __m512i differing(const uint64_t* code, __m512i query) {
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(code), query));
}
inline __m512i fill_words(uint64_t x) { return _mm512_set1_epi64(int64_t(x)); }
inline uint32_t lanes_at_most(__m512i counts, __m512i most) { return _mm512_cmple_epi64_mask(counts, most); }
#elif defined(__AVX2__)
constexpr size_t STEP = 4;
inline __m256i differing(const uint64_t* code, __m256i query) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2,
                                           2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i x = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(code)), query);
    const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
    const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}
inline __m256i fill_words(uint64_t x) { return _mm256_set1_epi64x(int64_t(x)); }
inline uint32_t lanes_at_most(__m256i counts, __m256i most) {
    return 15u & ~uint32_t(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(counts, most))));
}
#endif

}  // namespace

// Codes of one word are compared in vectors of codes, longer ones by the scalar bit count.
size_t scan(const uint64_t* codes, size_t n, size_t n_words, const uint64_t* query, uint32_t radius,
            Hit first, Hit* out) {
    size_t found = 0, row = 0;
    const auto add = [&](size_t at, uint32_t d) {
        out[found++] = {uint32_t(first.row + at), first.segment, 0, uint16_t(d)};
    };
#if defined(__AVX2__)
    if (n_words == 1) {
        const auto q = fill_words(query[0]), most = fill_words(radius);
        // First a bit mask of all hits among 64 codes: the branch on it is mispredicted less often than one
        // per vector.
        const auto block = [&]<size_t SIZE>(std::integral_constant<size_t, SIZE>) {
            for (; row + SIZE <= n; row += SIZE) {
                uint64_t hits = 0;
#pragma GCC unroll 16
                for (size_t at = 0; at < SIZE; at += STEP)
                    hits |= uint64_t(lanes_at_most(differing(codes + row + at, q), most)) << at;
                for (; hits; hits &= hits - 1) {
                    const size_t at = row + size_t(__builtin_ctzll(hits));
                    add(at, uint32_t(__builtin_popcountll(codes[at] ^ query[0])));
                }
            }
        };
        block(std::integral_constant<size_t, 64>());
        block(std::integral_constant<size_t, 8>());
    }
#endif
    for (; row < n; ++row) {
        const uint32_t d = distance(codes + row * n_words, query, n_words);
        if (d <= radius) add(row, d);
    }
    return found;
}
}  // namespace kinhash::KINHASH_ISA
