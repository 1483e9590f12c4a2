// Compares a query with codes of several words, many codes at a time.
#include "kernels/distance.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

// Words after which codes that are all too far already are given up.
constexpr size_t STAGE = 8;

// The distances of PART codes. add() takes up to STAGE words: those of the codes, TILE apart, and the
// query's.
#if defined(__AVX512VPOPCNTDQ__)
constexpr size_t PART = 32;
struct Distances {
    __m512i lanes[4] = {};

    template <size_t N>
    [[gnu::always_inline]] void add(const uint64_t* codes, const uint64_t* query, size_t n) {
#pragma GCC unroll 8
        for (size_t w = 0; w < (N ? N : n); ++w) {
            const __m512i q = _mm512_set1_epi64(int64_t(query[w]));
            for (size_t i = 0; i < 4; ++i) {
                const __m512i code = _mm512_loadu_si512(codes + w * TILE + 8 * i);
                lanes[i] = _mm512_add_epi64(lanes[i], _mm512_popcnt_epi64(_mm512_xor_si512(code, q)));
            }
        }
    }
    // One bit per code.
    uint32_t at_most(uint32_t radius) const {
        const __m512i most = _mm512_set1_epi64(radius);
        uint32_t mask = 0;
        for (size_t i = 0; i < 4; ++i) mask |= uint32_t(_mm512_cmple_epu64_mask(lanes[i], most)) << (8 * i);
        return mask;
    }
    // A hit is one lane: the row in its lower half, the distance in its upper 16 bits.
    Hit* write(uint32_t mask, Hit first, Hit* out) const {
        const uint64_t start = std::bit_cast<uint64_t>(first);
        for (size_t i = 0; i < 4; ++i) {
            const uint32_t part = mask >> (8 * i) & 255;
            const __m512i rows = _mm512_add_epi64(_mm512_set1_epi64(int64_t(start + 8 * i)),
                                                  _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
            const __m512i hits = _mm512_add_epi64(rows, _mm512_maskz_slli_epi64(255, lanes[i], 48));
            _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(__mmask8(part), hits));
            out += __builtin_popcount(part);
        }
        return out;
    }
};
#elif defined(__AVX2__)
constexpr size_t PART = 16;
struct Distances {
    __m256i lanes[4] = {};

    template <size_t N>
    [[gnu::always_inline]] void add(const uint64_t* codes, const uint64_t* query, size_t n) {
        const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1,
                                               2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
        const __m256i nibble = _mm256_set1_epi8(15);
        __m256i bytes[4] = {};
#pragma GCC unroll 8
        for (size_t w = 0; w < (N ? N : n); ++w) {
            const __m256i q = _mm256_set1_epi64x(int64_t(query[w]));
            for (size_t i = 0; i < 4; ++i) {
                const auto* const code = reinterpret_cast<const __m256i*>(codes + w * TILE + 4 * i);
                const __m256i x = _mm256_xor_si256(_mm256_loadu_si256(code), q);
                const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble)),
                              high = _mm256_shuffle_epi8(table,
                                                         _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
                bytes[i] = _mm256_add_epi8(bytes[i], _mm256_add_epi8(low, high));
            }
        }
        for (size_t i = 0; i < 4; ++i)
            lanes[i] = _mm256_add_epi64(lanes[i], _mm256_sad_epu8(bytes[i], _mm256_setzero_si256()));
    }
    uint32_t at_most(uint32_t radius) const {
        const __m256i more = _mm256_set1_epi64x(int64_t(radius) + 1);
        uint32_t mask = 0;
        for (size_t i = 0; i < 4; ++i)
            mask |= uint32_t(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(more, lanes[i]))))
                    << (4 * i);
        return mask;
    }
    Hit* write(uint32_t mask, Hit first, Hit* out) const {
        alignas(32) uint64_t d[PART];
        for (size_t i = 0; i < 4; ++i) _mm256_store_si256(reinterpret_cast<__m256i*>(d) + i, lanes[i]);
        for (; mask; mask &= mask - 1) {
            const uint32_t at = uint32_t(__builtin_ctz(mask));
            *out++ = {first.row + at, first.segment, 0, uint16_t(d[at])};
        }
        return out;
    }
};
#else
constexpr size_t PART = 8;
// Without a bit count: the counts of bytes are sums of shifted words, which any processor has vectors for.
struct Distances {
    uint64_t lanes[PART] = {};

    template <size_t N>
    void add(const uint64_t* codes, const uint64_t* query, size_t n) {
        uint64_t bytes[PART] = {};
        for (size_t w = 0; w < (N ? N : n); ++w)
            for (size_t i = 0; i < PART; ++i) {
                uint64_t x = codes[w * TILE + i] ^ query[w];
                x -= x >> 1 & 0x5555555555555555;
                x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
                bytes[i] += (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
            }
        for (size_t i = 0; i < PART; ++i) {
            uint64_t x = (bytes[i] & 0x00ff00ff00ff00ff) + (bytes[i] >> 8 & 0x00ff00ff00ff00ff);
            x += x >> 32;
            lanes[i] += (x + (x >> 16)) & 0xffff;
        }
    }
    uint32_t at_most(uint32_t radius) const {
        uint32_t mask = 0;
        for (size_t i = 0; i < PART; ++i) mask |= uint32_t(lanes[i] <= radius) << i;
        return mask;
    }
    Hit* write(uint32_t mask, Hit first, Hit* out) const {
        for (; mask; mask &= mask - 1) {
            const uint32_t at = uint32_t(__builtin_ctz(mask));
            *out++ = {first.row + at, first.segment, 0, uint16_t(lanes[at])};
        }
        return out;
    }
};
#endif
static_assert(TILE % PART == 0);

// Codes of W words; of more than STAGE words, any number of them, if W is 0.
template <size_t W>
size_t scan_words(const uint64_t* tiles, size_t n, size_t n_words, const uint64_t* query, uint32_t radius,
                  Hit first, Hit* out) {
    Hit* end = out;
    if (W) n_words = W;
    for (size_t row = 0; row < n; row += PART) {
        const uint64_t* const codes = tiles + row / TILE * (TILE * n_words) + row % TILE;
        Distances distances;
        if constexpr (W) {
            distances.add<W>(codes, query, W);
        } else {
            size_t w = 0;
            for (; w + STAGE <= n_words; w += STAGE) {
                distances.add<STAGE>(codes + w * TILE, query + w, STAGE);
                if (!distances.at_most(radius)) break;
            }
            if (w + STAGE <= n_words) continue;
            if (w < n_words) distances.add<0>(codes + w * TILE, query + w, n_words - w);
        }
        uint32_t near = distances.at_most(radius);
        if (!near) continue;
        if (n - row < PART) near &= (uint32_t(1) << (n - row)) - 1;
        end = distances.write(near, {uint32_t(first.row + row), first.segment, 0, 0}, end);
    }
    return size_t(end - out);
}

#if defined(__AVX512VPOPCNTDQ__)
// With masks of all lanes, because GCC 12 warns of the intrinsics without.
// The transpose of n <= 8 words of 8 codes, `stride` apart in the input and TILE apart in the output.
inline void transpose(const uint64_t* in, size_t stride, size_t n, uint64_t* out) {
    const __mmask8 read = __mmask8((1u << n) - 1);
    __m512i a[8], b[8];
    for (size_t i = 0; i < 8; ++i) a[i] = _mm512_maskz_loadu_epi64(read, in + i * stride);
    for (size_t i = 0; i < 8; i += 2) {
        b[i] = _mm512_maskz_unpacklo_epi64(255, a[i], a[i + 1]);
        b[i + 1] = _mm512_maskz_unpackhi_epi64(255, a[i], a[i + 1]);
    }
    // b[2j + p]: words p, p + 2, p + 4, p + 6 of codes 2j and 2j + 1.
    for (size_t p = 0; p < 2; ++p) {
        const __m512i low0 = _mm512_maskz_shuffle_i64x2(255, b[p], b[2 + p], 0x88),
                      low1 = _mm512_maskz_shuffle_i64x2(255, b[4 + p], b[6 + p], 0x88),
                      high0 = _mm512_maskz_shuffle_i64x2(255, b[p], b[2 + p], 0xdd),
                      high1 = _mm512_maskz_shuffle_i64x2(255, b[4 + p], b[6 + p], 0xdd);
        const auto put = [&](size_t w, __m512i words) {
            if (w < n) _mm512_storeu_si512(out + w * TILE, words);
        };
        put(p, _mm512_maskz_shuffle_i64x2(255, low0, low1, 0x88));
        put(2 + p, _mm512_maskz_shuffle_i64x2(255, high0, high1, 0x88));
        put(4 + p, _mm512_maskz_shuffle_i64x2(255, low0, low1, 0xdd));
        put(6 + p, _mm512_maskz_shuffle_i64x2(255, high0, high1, 0xdd));
    }
}
// The same of two words, all of a code.
inline void transpose_pairs(const uint64_t* in, uint64_t* out) {
    const __m512i a = _mm512_loadu_si512(in), b = _mm512_loadu_si512(in + 8);
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                  odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(a, even, b));
    _mm512_storeu_si512(out + TILE, _mm512_permutex2var_epi64(a, odd, b));
}
#endif

}  // namespace

void tile(const uint64_t* codes, size_t n, size_t n_words, uint64_t* out) {
    for (size_t first = 0; first < n; first += TILE, out += TILE * n_words) {
        const uint64_t* const in = codes + first * n_words;
        const size_t size = n - first < TILE ? n - first : TILE;
        size_t row = 0;
#if defined(__AVX512VPOPCNTDQ__)
        for (; row + 8 <= size && n_words == 2; row += 8) transpose_pairs(in + row * 2, out + row);
        for (; row + 8 <= size; row += 8) {
            size_t w = 0;
            for (; w + 8 <= n_words; w += 8)
                transpose(in + row * n_words + w, n_words, 8, out + w * TILE + row);
            if (w < n_words) transpose(in + row * n_words + w, n_words, n_words - w, out + w * TILE + row);
        }
#endif
        for (; row < size; ++row)
            for (size_t w = 0; w < n_words; ++w) out[w * TILE + row] = in[row * n_words + w];
        for (; row < TILE; ++row)
            for (size_t w = 0; w < n_words; ++w) out[w * TILE + row] = 0;
    }
}

size_t scan_tiles(const uint64_t* tiles, size_t n, size_t n_words, const uint64_t* query, uint32_t radius,
                  Hit first, Hit* out) {
    const auto scan = [&]() {
        switch (n_words) {
            case 1: return scan_words<1>;
            case 2: return scan_words<2>;
            case 3: return scan_words<3>;
            case 4: return scan_words<4>;
            case 5: return scan_words<5>;
            case 6: return scan_words<6>;
            case 7: return scan_words<7>;
            case 8: return scan_words<8>;
            default: return scan_words<0>;
        }
    }();
    return scan(tiles, n, n_words, query, radius, first, out);
}

}  // namespace kinhash::KINHASH_ISA
