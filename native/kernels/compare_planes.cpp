// Compares a sparse query with codes laid out bit by bit.
#include <algorithm>
#include <cstring>

#include "kernels/distance.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

typedef uint64_t Plane __attribute__((vector_size(32)));
constexpr size_t HALF = 256;  // codes per vector

inline Plane load_plane(const uint64_t* p) {
    Plane plane;
    std::memcpy(&plane, p, sizeof plane);
    return plane;
}

// The distances of 256 codes to a query as bit planes: |x| + |q| - 2 |x & q|. The query has k active bits,
// whose planes start at `at` in the block. |x & q| fits into SUM_BITS, every distance into ALL_BITS.
template <size_t SUM_BITS, size_t ALL_BITS>
inline void distances_of(const uint64_t* block, const uint32_t* at, uint32_t k, size_t n_words,
                         Plane* distance) {
    Plane sum[SUM_BITS];
#pragma GCC unroll 8
    for (size_t b = 0; b < SUM_BITS; ++b) sum[b] = Plane{};
    const auto add = [&](Plane carry, size_t from) {
#pragma GCC unroll 8
        for (size_t b = from; b < SUM_BITS; ++b) {
            const Plane both = sum[b] & carry;
            sum[b] ^= carry;
            carry = both;
        }
    };
    uint32_t i = 0;
    for (; i + 2 <= k; i += 2) {  // two planes share one carry
        const Plane one = load_plane(block + at[i]), two = load_plane(block + at[i + 1]), odd = one ^ two;
        const Plane carry = (one & two) | (sum[0] & odd);
        sum[0] ^= odd;
        add(carry, 1);
    }
    if (i < k) add(load_plane(block + at[i]), 0);
    const size_t n_counts = count_bits(n_words);
    Plane carry{}, borrow{};
#pragma GCC unroll 16
    for (size_t b = 0; b < ALL_BITS; ++b) {
        const Plane active = b < n_counts ? load_plane(block + (64 * n_words + b) * PLANE_WORDS) : Plane{};
        const bool bit = k >> b & 1;
        const Plane all = bit ? ~(active ^ carry) : active ^ carry;
        carry = bit ? active | carry : active & carry;
        if (b >= 1 && b <= SUM_BITS) {
            const Plane less = sum[(b - 1) % SUM_BITS], differ = all ^ less;
            distance[b] = differ ^ borrow;
            borrow = (less & differ) | (borrow & ~differ);
        } else {
            distance[b] = all ^ borrow;
            borrow &= ~all;
        }
    }
}

// Hits at one distance from a bit mask of codes: a run of bits is one hit.
inline Hit* add_runs(uint64_t bits, size_t row, Hit like, Hit* out) {
    if (bits == 0) return out;
    Hit* const end = out + std::popcount(bits & ~(bits << 1));
    // Branch-free, two at a time; hits past the last are overwritten.
    for (; out < end; out += 2)
#pragma GCC unroll 2
        for (size_t j = 0; j < 2; ++j) {
            const uint64_t rest = bits & (bits + (bits & -bits));
            const size_t first = size_t(std::countr_zero(bits)) % 64, n = size_t(std::popcount(bits ^ rest));
            out[j] = {uint32_t(row + first), like.segment, uint8_t(n - 1), like.distance};
            bits = rest;
        }
    return end;
}

// A bit for each of the codes row .. row + 63 below n.
inline uint64_t below(size_t n, size_t row) {
    return row + 64 <= n ? ~uint64_t(0) : row < n ? (uint64_t(1) << (n - row)) - 1 : 0;
}

// Makes a mask of the codes at each distance up to `radius`, which fits into SPLIT_BITS; returns their union.
template <size_t ALL_BITS, size_t SPLIT_BITS>
inline Plane split(const Plane* distance, uint32_t radius, Plane* at_distance) {
    Plane far{}, any{};
#pragma GCC unroll 16
    for (size_t b = SPLIT_BITS; b < ALL_BITS; ++b) far |= distance[b];
#pragma GCC unroll 8
    for (size_t d = 0; d < size_t(1) << SPLIT_BITS; ++d) {
        Plane bits = ~far;
#pragma GCC unroll 3
        for (size_t b = 0; b < SPLIT_BITS; ++b) bits &= d >> b & 1 ? distance[b] : ~distance[b];
        if (d > radius) break;
        at_distance[d] = bits;
        any |= bits;
    }
    return any;
}

// Scans up to PLANES_BLOCK codes. First makes a bit mask per distance, then hits from the masks: so hits are
// ordered by distance, and consecutive codes are joined. The radius fits into SPLIT_BITS.
template <size_t SUM_BITS, size_t ALL_BITS, size_t SPLIT_BITS>
Hit* scan_split(const uint64_t* planes, size_t n, size_t n_words, const uint32_t* at, uint32_t k,
                uint32_t radius, Hit first, Hit* out) {
    constexpr size_t PARTS = HALF / 64;
    struct Near {
        size_t row;
        Plane bits[size_t(1) << SPLIT_BITS];
    };
    alignas(Plane) Near near[PLANES_BLOCK / HALF];
    size_t n_near = 0;
    const size_t stride = words_per_block(n_words);
    for (size_t row = 0; row < n; row += HALF) {
        Plane distance[ALL_BITS];
        distances_of<SUM_BITS, ALL_BITS>(planes + row / PLANE_CODES * stride + row % PLANE_CODES / 64, at, k,
                                         n_words, distance);
        Near& here = near[n_near];
        here.row = row;
        const Plane any = split<ALL_BITS, SPLIT_BITS>(distance, radius, here.bits);
        n_near += (any[0] | any[1] | any[2] | any[3]) != 0;
    }
    for (uint32_t d = 0; d <= radius; ++d) {
        const Hit like{0, first.segment, 0, uint16_t(d)};
        for (size_t i = 0; i < n_near; ++i)
            for (size_t part = 0; part < PARTS; ++part) {
                const size_t row = near[i].row + 64 * part;
                out = add_runs(near[i].bits[d][part] & below(n, row), first.row + row, like, out);
            }
    }
    return out;
}

// The same for radii with too many distances for a mask each: one hit per code, in the order of the codes.
template <size_t SUM_BITS, size_t ALL_BITS>
Hit* scan_mixed(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words, const uint32_t* at,
                uint32_t k, const uint64_t* query, uint32_t radius, Hit first, Hit* out) {
    const size_t stride = words_per_block(n_words);
    for (size_t row = 0; row < n; row += HALF) {
        Plane bits[ALL_BITS], far{};
        distances_of<SUM_BITS, ALL_BITS>(planes + row / PLANE_CODES * stride + row % PLANE_CODES / 64, at, k,
                                         n_words, bits);
        // Compares distance and radius from the lowest bit up: the highest bit that differs decides.
#pragma GCC unroll 16
        for (size_t b = 0; b < ALL_BITS; ++b) far = radius >> b & 1 ? far & bits[b] : far | bits[b];
        for (size_t part = 0; part < HALF / 64; ++part) {
            const size_t start = row + 64 * part;
            uint64_t hits = ~far[part] & below(n, start);
            if (hits == 0) continue;
            // Branch-free, SPARE_HITS at a time; hits past the last are overwritten.
            Hit* const end = out + std::popcount(hits);
            for (; out < end; out += SPARE_HITS)
#pragma GCC unroll 4
                for (size_t j = 0; j < SPARE_HITS; ++j, hits &= hits - 1) {
                    const size_t i = start + size_t(std::countr_zero(hits)) % 64;
                    out[j] = {uint32_t(first.row + i), first.segment, 0,
                              uint16_t(distance(codes + i * n_words, query, n_words))};
                }
            out = end;
        }
    }
    return out;
}

template <size_t SUM_BITS, size_t ALL_BITS>
size_t scan_blocks(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words,
                   const uint64_t* query, uint32_t radius, Hit first, Hit* out) {
    radius = std::min(radius, (uint32_t(1) << ALL_BITS) - 1);  // no distance is larger
    uint32_t at[MOST_PLANES];
    uint32_t k = 0;
    for (size_t w = 0; w < n_words; ++w)
        for (uint64_t rest = query[w]; rest; rest &= rest - 1)
            at[k++] = uint32_t((64 * w + size_t(__builtin_ctzll(rest))) * PLANE_WORDS);
    Hit* end = out;
    for (size_t row = 0; row < n; row += PLANES_BLOCK) {
        const uint64_t* const block = planes + row / PLANE_CODES * words_per_block(n_words);
        const size_t size = std::min(PLANES_BLOCK, n - row);
        const Hit from{uint32_t(first.row + row), first.segment, 0, 0};
        if (radius < 4)
            end = scan_split<SUM_BITS, ALL_BITS, 2>(block, size, n_words, at, k, radius, from, end);
        else if (radius < 8)
            end = scan_split<SUM_BITS, ALL_BITS, 3>(block, size, n_words, at, k, radius, from, end);
        else
            end = scan_mixed<SUM_BITS, ALL_BITS>(block, codes + row * n_words, size, n_words, at, k, query,
                                                 radius, from, end);
    }
    return size_t(end - out);
}

}  // namespace

size_t scan_planes(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words,
                   uint32_t most_active, const uint64_t* query, uint32_t radius, Hit first, Hit* out) {
    uint32_t k = 0;
    for (size_t w = 0; w < n_words; ++w) k += uint32_t(__builtin_popcountll(query[w]));
    const auto with = [&]<size_t SUM_BITS>(std::integral_constant<size_t, SUM_BITS>) {
        // Bits of the largest possible distance.
        const size_t bits = size_t(std::bit_width(k + most_active));
        const auto run = bits <= 5   ? scan_blocks<SUM_BITS, 5>
                         : bits <= 8 ? scan_blocks<SUM_BITS, 8>
                                     : scan_blocks<SUM_BITS, 13>;
        return run(planes, codes, n, n_words, query, radius, first, out);
    };
    if (k < 4) return with(std::integral_constant<size_t, 2>());
    if (k < 8) return with(std::integral_constant<size_t, 3>());
    if (k < 16) return with(std::integral_constant<size_t, 4>());
    return with(std::integral_constant<size_t, 5>());
}
}  // namespace kinhash::KINHASH_ISA
