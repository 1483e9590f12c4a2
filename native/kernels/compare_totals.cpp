// Compares codes of one word together with the rank bits of their items.
#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {

size_t scan_totals([[maybe_unused]] BucketRanks& in, [[maybe_unused]] const uint64_t* codes,
                   [[maybe_unused]] size_t n, [[maybe_unused]] uint64_t query,
                   [[maybe_unused]] uint32_t rank_query, [[maybe_unused]] uint32_t limit,
                   [[maybe_unused]] Hit first, [[maybe_unused]] Hit* out, [[maybe_unused]] size_t room,
                   bool& done) {
    done = false;
#if defined(__AVX512VPOPCNTDQ__)
    constexpr size_t MOST_CODES = 1024, MOST_ITEMS = 1 << 14, FEW = 3;  // codes, items, one in so many codes
    const uint32_t* const offsets = in.offsets + first.row;
    const size_t base = offsets[0], end = offsets[n];
    if (in.n_bytes != 4 || n > MOST_CODES || end < base || end > in.n_items) return 0;
    const size_t n_items = end - base;
    if (n_items > MOST_ITEMS || n_items > in.left) return 0;
    // The distance of each code, then of each item.
    uint8_t of_code[MOST_CODES + 8], of_item[MOST_ITEMS + 64];
    const __m512i q = _mm512_set1_epi64(int64_t(query)), farthest = _mm512_set1_epi64(int64_t(limit));
    size_t n_near = 0;
    for (size_t row = 0; row < n; row += 8) {
        const auto lanes = __mmask8(n - row >= 8 ? 0xff : (1u << (n - row)) - 1);
        const __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi64(lanes, codes + row), q);
        const __m512i distances = _mm512_popcnt_epi64(x);
        n_near += size_t(__builtin_popcount(_mm512_mask_cmple_epu64_mask(lanes, distances, farthest)));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(of_code + row),
                         _mm512_maskz_cvtepi64_epi8(lanes, distances));
    }
    if (n_near * FEW < n) return 0;  // looking at their items only is faster
    for (size_t row = 0; row < n; ++row) {
        const size_t from = offsets[row] - base, to = offsets[row + 1] - base;
        if (from > n_items || to > n_items) return 0;  // offsets of a damaged file may not ascend
        // Sixteen at a time: what is too much is overwritten by the next code.
        const __m128i distance = _mm_set1_epi8(char(of_code[row]));
        size_t at = from;
        do {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(of_item + at), distance);
            at += 16;
        } while (at < to);
    }
    const __m512i r = _mm512_set1_epi32(int32_t(rank_query)), most = _mm512_set1_epi32(int32_t(limit));
    size_t found = 0;
    for (size_t i = 0; i < n_items; i += 16) {
        const auto lanes = __mmask16(n_items - i >= 16 ? 0xffff : (1u << (n_items - i)) - 1);
        const uint8_t* const ranks = in.ranks + 4 * (base + i);
        const __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, ranks), r);
        const __m512i distances =
            _mm512_maskz_cvtepu8_epi32(lanes, _mm_loadu_si128(reinterpret_cast<const __m128i*>(of_item + i)));
        const __m512i rank_distances = _mm512_popcnt_epi32(x);
        uint32_t near =
            _mm512_mask_cmple_epi32_mask(lanes, _mm512_add_epi32(distances, rank_distances), most);
        if (!near) continue;
        if (found + 16 > room) return 0;
        uint8_t counts[16];
        _mm_storeu_si128(reinterpret_cast<__m128i*>(counts),
                         _mm512_maskz_cvtepi32_epi8(lanes, rank_distances));
        for (; near; near &= near - 1) {
            const size_t j = size_t(__builtin_ctz(near));
            out[found++] = {uint32_t(base + i + j), first.segment, counts[j], of_item[i + j]};
        }
    }
    in.left -= n_items;
    done = true;
    return found;
#else
    return 0;
#endif
}
}  // namespace kinhash::KINHASH_ISA
