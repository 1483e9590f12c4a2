// Compares a query with codes of 1, 2 or 4 bytes: with every one, or with those of some buckets.
#include <cstring>

#include "kernels/buckets.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

#if defined(__AVX512VPOPCNTDQ__)
constexpr size_t NARROW_STEP = 16;  // codes of 4 bytes at a time
inline __m512i fill_narrow(uint32_t x) { return _mm512_set1_epi32(int32_t(x)); }
// A bit for each of the codes that differ in at most so many bits.
inline uint32_t narrow_at_most(const uint8_t* codes, __m512i query, __m512i most) {
    const __m512i counts = _mm512_popcnt_epi32(_mm512_xor_si512(_mm512_loadu_si512(codes), query));
    return _mm512_cmple_epi32_mask(counts, most);
}
#elif defined(__AVX2__)
constexpr size_t NARROW_STEP = 8;
inline __m256i fill_narrow(uint32_t x) { return _mm256_set1_epi32(int32_t(x)); }
inline uint32_t narrow_at_most(const uint8_t* codes, __m256i query, __m256i most) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2,
                                           2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i x = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)), query);
    const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
    const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1));
    const __m256i counts = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    return 0xff & ~uint32_t(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(counts, most))));
}
#endif

template <typename T>
inline uint32_t narrow_distance(const uint8_t* codes, size_t row, uint32_t query) {
    T code;
    std::memcpy(&code, codes + row * sizeof(T), sizeof(T));
    return uint32_t(__builtin_popcount(T(code ^ T(query))));
}

}  // namespace

size_t scan_narrow(const uint8_t* codes, size_t n, size_t n_bytes, uint32_t query, uint32_t radius, Hit first,
                   Hit* out) {
    size_t found = 0, row = 0;
    const auto add = [&](size_t at, uint32_t d) {
        out[found++] = {uint32_t(first.row + at), first.segment, 0, uint16_t(d)};
    };
    const auto add_near = [&]<typename T>(T) {
        for (; row < n; ++row) {
            const uint32_t d = narrow_distance<T>(codes, row, query);
            if (d <= radius) add(row, d);
        }
    };
    if (n_bytes == 1) add_near(uint8_t());
    if (n_bytes == 2) add_near(uint16_t());
#if defined(__AVX2__)
    if (radius < 32) {
        const auto q = fill_narrow(query), most = fill_narrow(radius);
        // A bit mask of all hits first, as in scan().
        const auto block = [&]<size_t SIZE>(std::integral_constant<size_t, SIZE>) {
            for (; row + SIZE <= n; row += SIZE) {
                uint64_t hits = 0;
#pragma GCC unroll 8
                for (size_t at = 0; at < SIZE; at += NARROW_STEP)
                    hits |= uint64_t(narrow_at_most(codes + 4 * (row + at), q, most)) << at;
                for (; hits; hits &= hits - 1) {
                    const size_t at = row + size_t(__builtin_ctzll(hits));
                    add(at, narrow_distance<uint32_t>(codes, at, query));
                }
            }
        };
        block(std::integral_constant<size_t, 64>());
        block(std::integral_constant<size_t, 16>());
    }
#endif
    add_near(uint32_t());
    return found;
}

namespace {

template <typename T>
size_t scan_buckets_of(BucketRanks& in, const Hit* hits, size_t n_hits, uint32_t query, uint32_t limit,
                       bool total, Hit* out, size_t room, size_t& n_done) {
    // Copies, which stay in registers while hits are written.
    const uint8_t* const all_ranks = in.ranks;
    const uint32_t* const offsets = in.offsets;
    const size_t n_items = in.n_items;
    size_t found = 0, h = 0, left = in.left;
    for (; h < n_hits; ++h) {
        if (h + BUCKETS_AHEAD < n_hits)
            __builtin_prefetch(all_ranks + sizeof(T) * offsets[hits[h + BUCKETS_AHEAD].row]);
        const Hit hit = hits[h];
        const uint32_t base = total ? hit.distance : 0;
        if (base > limit) continue;
        const auto [from, to] = bucket(offsets, n_items, hit);
        const size_t n = std::min(to - from, left);
        if (found + n > room) break;
        left -= n;
        const uint8_t* const ranks = all_ranks + from * sizeof(T);
        const uint32_t most = limit - base;
        const auto add = [&](size_t i) {
            const uint32_t d = narrow_distance<T>(ranks, i, query);
            out[found] = {uint32_t(from + i), hit.segment, uint8_t(d), hit.distance};
            return d;
        };
        size_t i = 0;
#if defined(__AVX512VPOPCNTDQ__)
        if constexpr (sizeof(T) == 4) {
            const __m512i q = fill_narrow(query), highest = fill_narrow(most);
            for (; i < n; i += NARROW_STEP) {
                const auto lanes = __mmask16(n - i >= NARROW_STEP ? 0xffff : (1u << (n - i)) - 1);
                const __m512i x = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, ranks + 4 * i), q);
                uint32_t near = _mm512_mask_cmple_epi32_mask(lanes, _mm512_popcnt_epi32(x), highest);
                for (; near; near &= near - 1) {
                    add(i + size_t(__builtin_ctz(near)));
                    ++found;
                }
            }
        }
#elif defined(__AVX2__)
        if constexpr (sizeof(T) == 4) {
            const __m256i q = fill_narrow(query), highest = fill_narrow(most);
            for (; i + NARROW_STEP <= n; i += NARROW_STEP)
                for (uint32_t near = narrow_at_most(ranks + 4 * i, q, highest); near; near &= near - 1) {
                    add(i + size_t(__builtin_ctz(near)));
                    ++found;
                }
        }
#endif
        for (; i < n; ++i) found += add(i) <= most;
    }
    in.left = left;
    n_done = h;
    return found;
}

}  // namespace

size_t scan_buckets(BucketRanks& in, const Hit* hits, size_t n_hits, uint32_t query, uint32_t limit,
                    bool total, Hit* out, size_t room, size_t& n_done) {
    switch (in.n_bytes) {
        case 1: return scan_buckets_of<uint8_t>(in, hits, n_hits, query, limit, total, out, room, n_done);
        case 2: return scan_buckets_of<uint16_t>(in, hits, n_hits, query, limit, total, out, room, n_done);
        default: return scan_buckets_of<uint32_t>(in, hits, n_hits, query, limit, total, out, room, n_done);
    }
}
}  // namespace kinhash::KINHASH_ISA
