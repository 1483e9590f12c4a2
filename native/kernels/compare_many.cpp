// Compares a query with every code where many are near.
#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {

size_t scan_many(const uint64_t* codes, size_t n, size_t n_words, const uint64_t* query, uint32_t radius,
                 Hit first, Hit* out) {
    size_t found = 0, row = 0;
#if defined(__AVX512VPOPCNTDQ__)
    if (n_words == 1) {
        // Eight hits at a time as words, without a branch on any of them.
        static_assert(sizeof(Hit) == 8 && SPARE_MANY >= 8);
        const __m512i q = _mm512_set1_epi64(int64_t(query[0])), most = _mm512_set1_epi64(int64_t(radius));
        const uint64_t start = first.row | uint64_t(first.segment) << 32;
        __m512i rows =
            _mm512_add_epi64(_mm512_set1_epi64(int64_t(start)), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        for (; row + 8 <= n; row += 8) {
            const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(codes + row), q);
            const __m512i distances = _mm512_popcnt_epi64(x);
            const __mmask8 near = _mm512_cmple_epu64_mask(distances, most);
            const __m512i hits = _mm512_or_si512(rows, _mm512_maskz_slli_epi64(near, distances, 48));
            _mm512_storeu_si512(out + found, _mm512_maskz_compress_epi64(near, hits));
            found += size_t(__builtin_popcount(near));
            rows = _mm512_add_epi64(rows, _mm512_set1_epi64(8));
        }
    }
#endif
    first.row += uint32_t(row);
    return found + scan(codes + row * n_words, n - row, n_words, query, radius, first, out + found);
}
}  // namespace kinhash::KINHASH_ISA
