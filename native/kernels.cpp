// Compiled once per instruction set (KINHASH_ISA): GCC and Clang vectors of that set's width.
//
// Every output is summed over its inputs in order, one fused multiply-add each, whatever the batch,
// the tile or the vector width. So a row's code does not depend on the rows around it, and AVX2 and
// AVX-512 give the same bits.
#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define KINHASH_JOIN2(a, b) a##b
#define KINHASH_JOIN(a, b) KINHASH_JOIN2(a, b)
#define KINHASH_TEXT2(a) #a
#define KINHASH_TEXT(a) KINHASH_TEXT2(a)

namespace kinhash {
namespace {

#if defined(__AVX512F__)
constexpr size_t LANES = 16, TILE = 12;  // 12 accumulators of one register
#elif defined(__AVX2__)
constexpr size_t LANES = 8, TILE = 6;  // 12 accumulators of 16 registers
#else
constexpr size_t LANES = 4, TILE = 2;  // 8 accumulators of 16 registers
#endif
constexpr size_t PARTS = PANEL / LANES;  // registers to a panel
constexpr size_t BLOCK = 96;             // rows whose inputs stay in the second-level cache

typedef float Vec __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t Mask __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef float VecU __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const VecU*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<VecU*>(p) = v; }
inline Vec fill(float x) { return x - Vec{}; }  // not +: that would turn -0 into 0, at a cost
inline Vec positive(Vec v) { return v > Vec{} ? v : Vec{}; }
inline Vec magnitude(Vec v) { return (Vec)((Mask)v & 0x7fffffff); }
inline float sum(Vec v) {
    float total = 0;
    for (size_t i = 0; i < LANES; ++i) total += v[i];
    return total;
}

// One bit per lane: the lanes of `v` above `cut`.
inline uint32_t lanes_above(Vec v, Vec cut) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)v, (__m512)cut, _CMP_GT_OQ);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_ps((__m256)(v > cut)));
#elif defined(__SSE2__)
    return uint32_t(_mm_movemask_ps((__m128)(v > cut)));
#else
    uint32_t bits = 0;
    for (size_t i = 0; i < LANES; ++i) bits |= uint32_t(v[i] > cut[i]) << i;
    return bits;
#endif
}

// C[r, 0..15] = start[r, 0..15] + sum_k A[r, k] B[k, 0..15] for `ROWS` rows and one panel.
template <size_t ROWS>
inline void multiply_tile(const float* A, size_t a_stride, const float* panel, size_t n_in,
                          const float* start, size_t start_stride, float* C, size_t c_stride) {
    Vec acc[ROWS][PARTS];
    for (size_t r = 0; r < ROWS; ++r)
        for (size_t q = 0; q < PARTS; ++q) acc[r][q] = load(start + r * start_stride + q * LANES);
    for (size_t k = 0; k < n_in; ++k) {
        Vec b[PARTS];
#pragma GCC unroll 4
        for (size_t q = 0; q < PARTS; ++q) b[q] = load(panel + k * PANEL + q * LANES);
#pragma GCC unroll 12
        for (size_t r = 0; r < ROWS; ++r) {
            const Vec a = fill(A[r * a_stride + k]);
#pragma GCC unroll 4
            for (size_t q = 0; q < PARTS; ++q) acc[r][q] += a * b[q];
        }
    }
    for (size_t r = 0; r < ROWS; ++r)
        for (size_t q = 0; q < PARTS; ++q) store(C + r * c_stride + q * LANES, acc[r][q]);
}

// C = start + A B for `rows` rows and all panels; start_stride 0 repeats one row.
void multiply(const float* A, size_t a_stride, size_t rows, const float* B, size_t n_in,
              const float* start, size_t start_stride, float* C, size_t n_out) {
    for (size_t p = 0; p < n_out / PANEL; ++p) {
        const float* panel = B + p * n_in * PANEL;
        size_t r = 0;
        for (; r + TILE <= rows; r += TILE)
            multiply_tile<TILE>(A + r * a_stride, a_stride, panel, n_in,
                                start + r * start_stride + p * PANEL, start_stride,
                                C + r * n_out + p * PANEL, n_out);
        for (; r < rows; ++r)
            multiply_tile<1>(A + r * a_stride, a_stride, panel, n_in,
                             start + r * start_stride + p * PANEL, start_stride,
                             C + r * n_out + p * PANEL, n_out);
    }
}

// x -> (x - mean) * scale into `out`; returns the squared length. Sixteen running sums on every
// instruction set, so that the length, too, is the same everywhere.
float standardise(const Network& net, const float* x, float* out) {
    Vec squares[PARTS] = {};
    size_t k = 0;
    for (; k + PANEL <= net.n_in; k += PANEL)
        for (size_t q = 0; q < PARTS; ++q) {
            const size_t at = k + q * LANES;
            const Vec v = (load(x + at) - load(net.mean + at)) * load(net.scale + at);
            store(out + at, v);
            squares[q] += v * v;
        }
    float lanes[PANEL];
    for (size_t q = 0; q < PARTS; ++q) store(lanes + q * LANES, squares[q]);
    float total = 0;
    for (size_t i = 0; i < PANEL; ++i) total += lanes[i];
    for (; k < net.n_in; ++k) {
        out[k] = (x[k] - net.mean[k]) * net.scale[k];
        total += out[k] * out[k];
    }
    return total;
}

inline Vec shrink(Vec v, Vec tau, bool two_sided) {
    if (!two_sided) return positive(v - tau);
    const Vec size = positive(magnitude(v) - tau);
    return v < Vec{} ? -size : size;
}

// Sets the bits whose output exceeds the cut; `z` is before the last shrinkage.
void write_code(const Network& net, const float* z, uint64_t* words, size_t words_per_plane) {
    std::memset(words, 0, (net.two_sided ? 2 : 1) * words_per_plane * sizeof(uint64_t));
    const Vec cut = fill(net.cut);
    for (size_t j = 0; j < net.n_out; j += LANES) {
        const Vec v = load(z + j), tau = load(net.tau + j);
        const size_t word = j / 64, shift = j % 64;
        words[word] |= uint64_t(lanes_above(v - tau, cut)) << shift;
        if (net.two_sided)
            words[words_per_plane + word] |= uint64_t(lanes_above(-v - tau, cut)) << shift;
    }
}

// The footnote's coordinate descent: each step moves the one coordinate that would change most, so
// at most n_steps of them are non-zero. Leaves the answer in `z`.
void descend(const Network& net, float* b, float* z) {
    std::memset(z, 0, net.n_out * sizeof(float));
    for (size_t step = 0; step < net.n_steps; ++step) {
        size_t best = 0;
        float most = -1, target = 0;
        for (size_t j = 0; j < net.n_bits; ++j) {
            const float size = (net.two_sided ? std::fabs(b[j]) : b[j]) - net.tau[j];
            const float h = size > 0 ? (net.two_sided && b[j] < 0 ? -size : size) : 0.0f;
            const float change = std::fabs(h - z[j]);
            if (change > most) most = change, best = j, target = h;
        }
        if (most <= 0) return;  // converged
        const Vec delta = fill(target - z[best]);
        z[best] = target;
        const float* column = net.S_columns + best * net.n_out;
        for (size_t j = 0; j < net.n_out; j += LANES)
            store(b + j, load(b + j) + delta * load(column + j));
    }
}

// `z` holds outputs of the last shrinkage here, so there is no threshold left to subtract.
void write_shrunk_code(const Network& net, const float* z, uint64_t* words, size_t words_per_plane) {
    std::memset(words, 0, (net.two_sided ? 2 : 1) * words_per_plane * sizeof(uint64_t));
    for (size_t j = 0; j < net.n_bits; ++j) {
        if (z[j] > net.cut) words[j / 64] |= uint64_t(1) << (j % 64);
        if (net.two_sided && z[j] < -net.cut)
            words[words_per_plane + j / 64] |= uint64_t(1) << (j % 64);
    }
}

size_t encode(const Network& net, const float* X, size_t begin, size_t end, uint64_t* words,
              size_t words_per_row) {
    const size_t n_out = net.n_out, words_per_plane = words_per_row / (net.two_sided ? 2 : 1);
    const size_t stride = round_up(net.n_in, PANEL);
    std::unique_ptr<float[]> inputs(new float[BLOCK * stride]);
    std::unique_ptr<float[]> projected(new float[BLOCK * n_out]);  // v = W x
    std::unique_ptr<float[]> active(new float[BLOCK * n_out]);     // h = shrink(z)
    std::unique_ptr<float[]> sums(new float[BLOCK * n_out]);       // z = v + S h
    std::unique_ptr<float[]> zero(new float[n_out]());
    float inverse_length[BLOCK];
    size_t first_bad = end;

    for (size_t first = begin; first < end; first += BLOCK) {
        const size_t rows = end - first < BLOCK ? end - first : BLOCK;
        for (size_t r = 0; r < rows; ++r) {
            const float squared =
                standardise(net, X + (first + r) * net.n_in, inputs.get() + r * stride);
            if (!std::isfinite(squared) && first_bad == end) first_bad = first + r;
            inverse_length[r] = !net.unit_length ? 1.0f : squared > 0 ? 1.0f / std::sqrt(squared) : 0.0f;
        }
        multiply(inputs.get(), stride, rows, net.W, net.n_in, zero.get(), 0, projected.get(), n_out);
        for (size_t r = 0; r < rows; ++r) {
            float* v = projected.get() + r * n_out;
            const Vec inverse = fill(inverse_length[r]);
            for (size_t j = 0; j < n_out; j += LANES)
                store(v + j, load(v + j) * inverse + load(net.bias + j));
        }
        if (net.pursuit == Pursuit::coordinate_descent) {
            for (size_t r = 0; r < rows; ++r) {
                float* z = active.get() + r * n_out;
                descend(net, projected.get() + r * n_out, z);
                write_shrunk_code(net, z, words + (first + r) * words_per_row, words_per_plane);
            }
            continue;
        }
        const float* z = projected.get();
        for (size_t step = 0; step < net.n_steps; ++step) {
            for (size_t r = 0; r < rows; ++r)
                for (size_t j = 0; j < n_out; j += LANES)
                    store(active.get() + r * n_out + j,
                          shrink(load(z + r * n_out + j), load(net.tau + j), net.two_sided));
            multiply(active.get(), n_out, rows, net.S, n_out, projected.get(), n_out, sums.get(),
                     n_out);
            z = sums.get();
        }
        for (size_t r = 0; r < rows; ++r)
            write_code(net, z + r * n_out, words + (first + r) * words_per_row, words_per_plane);
    }
    return first_bad;
}

float l1(const float* a, const float* b, size_t m) {
    Vec total{};
    size_t j = 0;
    for (; j + LANES <= m; j += LANES) total += magnitude(load(a + j) - load(b + j));
    float rest = sum(total);
    for (; j < m; ++j) rest += std::fabs(a[j] - b[j]);
    return rest;
}

// up += g sign(a - b), down -= g sign(a - b)
void add_signs(const float* a, const float* b, size_t m, float g, float* up, float* down) {
    const Vec weight = fill(g);
    size_t j = 0;
    for (; j + LANES <= m; j += LANES) {
        const Vec x = load(a + j), y = load(b + j);
        const Vec s = (Vec)((Mask)weight & (x > y)) - (Vec)((Mask)weight & (x < y));
        store(up + j, load(up + j) + s);
        store(down + j, load(down + j) - s);
    }
    for (; j < m; ++j) {
        const float s = g * (float(a[j] > b[j]) - float(a[j] < b[j]));
        up[j] += s;
        down[j] -= s;
    }
}

PairTerms pair_loss(const PairLoss& loss, const float* A, size_t n, const float* B, size_t k, size_t m,
                    bool symmetric, const bool* similar, const bool* known, float* gA, float* gB) {
    size_t n_similar = 0, n_dissimilar = 0;
    std::unique_ptr<double[]> weight_a(new double[n]()), weight_b(new double[k]());
    for (size_t at = 0; at < n * k; ++at) {
        n_similar += known[at] && similar[at];
        n_dissimilar += known[at] && !similar[at];
    }
    const double w_similar = n_similar ? loss.similar_share / double(n_similar) : 0;
    const double w_dissimilar = n_dissimilar ? (1 - loss.similar_share) / double(n_dissimilar) : 0;
    PairTerms terms{};
    for (size_t i = 0; i < n; ++i)
        for (size_t j = symmetric ? i + 1 : 0; j < k; ++j) {
            if (!known[i * k + j]) continue;
            const float *a = A + i * m, *b = B + j * m;
            const double d = l1(a, b, m), both = symmetric ? 2 : 1;  // (i, j) and (j, i)
            const bool alike = similar[i * k + j];
            const double w = both * (alike ? w_similar : w_dissimilar);
            weight_a[i] += w;
            (symmetric ? weight_a : weight_b)[j] += w;
            double slope = 0;
            if (alike) {
                terms.pull += w * d;
                terms.similar_distance += both * d / double(n_similar);
                slope = w;
            } else {
                terms.dissimilar_distance += both * d / double(n_dissimilar);
                const double gap = loss.margin - d;
                if (gap > 0) {
                    terms.push += w * loss.lambda / 2 * gap * gap;
                    slope = -w * loss.lambda * gap;
                }
            }
            // Most pairs that are far enough apart have no gradient at all.
            if (slope != 0)
                add_signs(a, b, m, float(slope), gA + i * m, (symmetric ? gA : gB) + j * m);
        }
    const auto shrink_all = [&](const float* X, const double* weights, size_t rows, float* g) {
        for (size_t i = 0; i < rows; ++i) {
            const float slope = float(loss.alpha * weights[i]);
            float size = 0;
            for (size_t j = 0; j < m; ++j) {
                const float x = X[i * m + j];
                size += std::fabs(x);
                g[i * m + j] += slope * (float(x > 0) - float(x < 0));
            }
            terms.sparsity += loss.alpha * weights[i] * size;
        }
    };
    shrink_all(A, weight_a.get(), n, gA);
    if (!symmetric) shrink_all(B, weight_b.get(), k, gB);
    return terms;
}

uint32_t distance(const uint64_t* a, const uint64_t* b, size_t n_words) {
    uint32_t total = 0;
    for (size_t w = 0; w < n_words; ++w) total += uint32_t(__builtin_popcountll(a[w] ^ b[w]));
    return total;
}

#if defined(__AVX512VPOPCNTDQ__)
constexpr size_t STEP = 8;  // words at a time
inline __m512i differing(const uint64_t* code, __m512i query) {
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(code), query));
}
inline __m512i fill_words(uint64_t x) { return _mm512_set1_epi64(int64_t(x)); }
inline uint32_t lanes_at_most(__m512i counts, __m512i most) {
    return _mm512_cmple_epi64_mask(counts, most);
}
#elif defined(__AVX2__)
constexpr size_t STEP = 4;
inline __m256i differing(const uint64_t* code, __m256i query) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                           1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i x =
        _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(code)), query);
    const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
    const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}
inline __m256i fill_words(uint64_t x) { return _mm256_set1_epi64x(int64_t(x)); }
inline uint32_t lanes_at_most(__m256i counts, __m256i most) {
    return 15u & ~uint32_t(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(counts, most))));
}
#endif

// Codes of one word take vectors of codes; longer ones take the processor's own bit count.
size_t scan(const uint64_t* codes, size_t n, size_t n_words, const uint64_t* query, uint32_t radius,
            Hit first, Hit* out) {
    size_t found = 0, row = 0;
    const auto add = [&](size_t at, uint32_t d) {
        out[found++] = {uint32_t(first.row + at), first.segment, 0, uint16_t(d)};
    };
#if defined(__AVX2__)
    if (n_words == 1) {
        const auto q = fill_words(query[0]), most = fill_words(radius);
        // One bit per code before any is looked at: whether there is a hit is hard to foresee, and a
        // wrong guess per 64 codes costs less than one per 16.
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

typedef uint64_t Plane __attribute__((vector_size(32)));
constexpr size_t HALF = 256;  // codes to a vector

inline Plane load_plane(const uint64_t* p) {
    Plane plane;
    std::memcpy(&plane, p, sizeof plane);
    return plane;
}

// The distances of 256 codes to a query, bit by bit: |x| + |q| - 2 |x & q|, where |q| is k and the planes of
// its bits are `at` those places of a block. |x & q| takes SUM_BITS, and no distance more than ALL_BITS.
template <size_t SUM_BITS, size_t ALL_BITS>
inline void distances_of(const uint64_t* block, const uint32_t* at, uint32_t k, size_t n_words, Plane* distance) {
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
    for (; i + 2 <= k; i += 2) {  // two at a time have one carry
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

// Hits at one distance from bits that are set where a code is: a run of bits is one hit.
inline Hit* add_runs(uint64_t bits, size_t row, Hit like, Hit* out) {
    if (bits == 0) return out;
    Hit* const end = out + std::popcount(bits & ~(bits << 1));
    // Two at a time with no question between them; what is beyond the last is written over.
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

// Up to PLANES_BLOCK codes. First the bits of near codes by distance, then hits from these: so they come out
// in order of their distances, and side by side where the codes are. SPLIT_BITS hold the radius.
template <size_t SUM_BITS, size_t ALL_BITS, size_t SPLIT_BITS>
Hit* scan_split(const uint64_t* planes, size_t n, size_t n_words, const uint32_t* at, uint32_t k, uint32_t radius, Hit first, Hit* out) {
    constexpr size_t N_SPLIT = size_t(1) << SPLIT_BITS, PARTS = HALF / 64;
    struct Near {
        size_t row;
        Plane bits[N_SPLIT];
    };
    alignas(Plane) Near near[PLANES_BLOCK / HALF];
    size_t n_near = 0;
    const size_t stride = words_per_block(n_words);
    for (size_t row = 0; row < n; row += HALF) {
        Plane distance[ALL_BITS];
        distances_of<SUM_BITS, ALL_BITS>(planes + row / PLANE_CODES * stride + row % PLANE_CODES / 64, at, k, n_words, distance);
        Plane far{};
#pragma GCC unroll 16
        for (size_t b = SPLIT_BITS; b < ALL_BITS; ++b) far |= distance[b];
        Near& here = near[n_near];
        here.row = row;
        Plane any{};
#pragma GCC unroll 8
        for (size_t d = 0; d < N_SPLIT; ++d) {
            Plane bits = ~far;
#pragma GCC unroll 3
            for (size_t b = 0; b < SPLIT_BITS; ++b) bits &= d >> b & 1 ? distance[b] : ~distance[b];
            if (d > radius) break;
            here.bits[d] = bits;
            any |= bits;
        }
        if (row + HALF > n)
            for (size_t d = 0; d <= radius; ++d)
                for (size_t part = 0; part < PARTS; ++part) {
                    const size_t start = row + 64 * part;
                    if (start + 64 > n) here.bits[d][part] &= start < n ? (uint64_t(1) << (n - start)) - 1 : 0;
                }
        n_near += (any[0] | any[1] | any[2] | any[3]) != 0;
    }
    for (uint32_t d = 0; d <= radius; ++d) {
        const Hit like{0, first.segment, 0, uint16_t(d)};
        for (size_t i = 0; i < n_near; ++i)
            for (size_t part = 0; part < PARTS; ++part)
                out = add_runs(near[i].bits[d][part], first.row + near[i].row + 64 * part, like, out);
    }
    return out;
}

// The same for radii that would be too many distances to keep apart: one hit for each code, in their order.
template <size_t SUM_BITS, size_t ALL_BITS>
Hit* scan_mixed(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words, const uint32_t* at, uint32_t k,
                const uint64_t* query, uint32_t radius, Hit first, Hit* out) {
    const size_t stride = words_per_block(n_words);
    for (size_t row = 0; row < n; row += HALF) {
        Plane bits[ALL_BITS], far{};
        distances_of<SUM_BITS, ALL_BITS>(planes + row / PLANE_CODES * stride + row % PLANE_CODES / 64, at, k, n_words, bits);
        // Farther than the radius, by the highest bit that differs.
#pragma GCC unroll 16
        for (size_t b = 0; b < ALL_BITS; ++b) far = radius >> b & 1 ? far & bits[b] : far | bits[b];
        for (size_t part = 0; part < HALF / 64; ++part) {
            const size_t start = row + 64 * part;
            uint64_t hits = ~far[part];
            if (start + 64 > n) hits &= start < n ? (uint64_t(1) << (n - start)) - 1 : 0;
            if (hits == 0) continue;
            // Some at a time with no question between them; what is beyond the last is written over.
            Hit* const end = out + std::popcount(hits);
            for (; out < end; out += SPARE_HITS)
#pragma GCC unroll 4
                for (size_t j = 0; j < SPARE_HITS; ++j, hits &= hits - 1) {
                    const size_t i = start + size_t(std::countr_zero(hits)) % 64;
                    out[j] = {uint32_t(first.row + i), first.segment, 0, uint16_t(distance(codes + i * n_words, query, n_words))};
                }
            out = end;
        }
    }
    return out;
}

template <size_t SUM_BITS, size_t ALL_BITS>
size_t scan_blocks(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words, const uint64_t* query,
                   uint32_t radius, Hit first, Hit* out) {
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
        if (radius < 4) end = scan_split<SUM_BITS, ALL_BITS, 2>(block, size, n_words, at, k, radius, from, end);
        else if (radius < 8) end = scan_split<SUM_BITS, ALL_BITS, 3>(block, size, n_words, at, k, radius, from, end);
        else end = scan_mixed<SUM_BITS, ALL_BITS>(block, codes + row * n_words, size, n_words, at, k, query, radius, from, end);
    }
    return size_t(end - out);
}

size_t scan_planes(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words, uint32_t most_active,
                   const uint64_t* query, uint32_t radius, Hit first, Hit* out) {
    uint32_t k = 0;
    for (size_t w = 0; w < n_words; ++w) k += uint32_t(__builtin_popcountll(query[w]));
    const auto with = [&]<size_t SUM_BITS>(std::integral_constant<size_t, SUM_BITS>) {
        // The largest distance; a sum is never larger than the query's number of bits, which is less.
        const size_t bits = size_t(std::bit_width(k + most_active));
        const auto run = bits <= 5 ? scan_blocks<SUM_BITS, 5> : bits <= 8 ? scan_blocks<SUM_BITS, 8> : scan_blocks<SUM_BITS, 13>;
        return run(planes, codes, n, n_words, query, radius, first, out);
    };
    if (k < 4) return with(std::integral_constant<size_t, 2>());
    if (k < 8) return with(std::integral_constant<size_t, 3>());
    if (k < 16) return with(std::integral_constant<size_t, 4>());
    return with(std::integral_constant<size_t, 5>());
}

// Which of n <= 64 rows are not one more than the row before, as bits; the first is not.
inline uint64_t starts_of_runs(const uint32_t* rows, size_t n) {
    uint64_t starts = 1;
    size_t i = 1;
#if defined(__AVX2__)
    for (; i + 8 <= n; i += 8) {
        const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i - 1));
        const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
        const __m256i goes_on = _mm256_cmpeq_epi32(here, _mm256_sub_epi32(before, _mm256_set1_epi32(-1)));
        starts |= uint64_t(~_mm256_movemask_ps(_mm256_castsi256_ps(goes_on)) & 0xff) << i;
    }
#endif
    for (; i < n; ++i) starts |= uint64_t(rows[i] != rows[i - 1] + 1) << i;
    return starts;
}

size_t runs(const uint32_t* rows, size_t n, size_t n_codes, Hit first, Hit* out) {
    size_t found = 0;
    for (size_t block = 0; block < n; block += 64) {
        const size_t size = std::min<size_t>(64, n - block);
        uint64_t starts = starts_of_runs(rows + block, size);
        while (starts) {
            const size_t at = size_t(std::countr_zero(starts));
            starts &= starts - 1;
            const size_t next = starts ? size_t(std::countr_zero(starts)) : size, row = rows[block + at], more = next - at - 1;
            out[found] = {uint32_t(row), first.segment, uint8_t(more), first.distance};
            found += row + more < n_codes;
        }
    }
    return found;
}

// The ids of a hit's buckets, within those there are.
inline std::pair<size_t, size_t> bucket(const uint32_t* offsets, size_t n_ids, const Hit& hit) {
    const size_t from = std::min<size_t>(offsets[hit.row], n_ids);
    return {from, std::max(from, std::min<size_t>(offsets[hit.row + hit.more + 1], n_ids))};
}

constexpr size_t BUCKETS_AHEAD = 6;  // that are on their way from memory

// Copies n ids, some at a time: the first ones and the last ones overlap the rest, which is aligned. Few are
// copied as if they were more, where there is room to do so.
inline void copy_ids(const uint32_t* in, size_t n, size_t n_readable, int64_t* out, size_t room) {
    constexpr size_t TOGETHER = 8;
    const auto copy = [&](size_t i) {
#if defined(__AVX2__)
#pragma GCC unroll 2
        for (size_t j = i; j < i + TOGETHER; j += 4)
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j),
                                _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j))));
#else
#pragma GCC unroll 8
        for (size_t j = i; j < i + TOGETHER; ++j) out[j] = in[j];
#endif
    };
    if (n >= TOGETHER) {
        copy(0);
        size_t i = TOGETHER - reinterpret_cast<uintptr_t>(out) / sizeof(int64_t) % 4;
        for (; i + 4 * TOGETHER <= n; i += 4 * TOGETHER)
#pragma GCC unroll 4
            for (size_t j = 0; j < 4; ++j) copy(i + j * TOGETHER);
        for (; i + TOGETHER < n; i += TOGETHER) copy(i);
        copy(n - TOGETHER);
    } else if (TOGETHER <= room && TOGETHER <= n_readable) {
        copy(0);
    } else {
        for (size_t i = 0; i < n; ++i) out[i] = in[i];
    }
}

size_t write_ids(const uint32_t* ids, size_t n_ids, const uint32_t* offsets, const Hit* hits, size_t n_hits,
                 size_t n_after, int64_t* out, size_t room) {
    size_t written = 0;
    for (size_t h = 0; h < n_hits; ++h) {
        if (h + BUCKETS_AHEAD < n_hits + n_after) __builtin_prefetch(ids + offsets[hits[h + BUCKETS_AHEAD].row]);
        const auto [from, to] = bucket(offsets, n_ids, hits[h]);
        const size_t n = std::min(to - from, room - written);
        copy_ids(ids + from, n, n_ids - from, out + written, room - written);
        written += n;
    }
    return written;
}

void fill(int32_t* out, size_t n, int32_t value) {
#if defined(__AVX2__)
    constexpr size_t TOGETHER = 8;
    if (n < TOGETHER) return static_cast<void>(std::fill_n(out, n, value));
    const auto put = [&](size_t i) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_set1_epi32(value)); };
    put(0);
    size_t i = TOGETHER - reinterpret_cast<uintptr_t>(out) / sizeof(int32_t) % TOGETHER;
    for (; i + 4 * TOGETHER <= n; i += 4 * TOGETHER)
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; ++j) put(i + j * TOGETHER);
    for (; i + TOGETHER < n; i += TOGETHER) put(i);
    put(n - TOGETHER);
#else
    std::fill_n(out, n, value);
#endif
}

typedef int64_t Line __attribute__((vector_size(64)));

// A line of the cache straight to memory.
inline void stream_line(void* to, Line line) {
#if defined(__AVX512F__)
    _mm512_stream_si512(static_cast<__m512i*>(to), (__m512i)line);
#elif defined(__AVX2__)
    __m256i halves[2];
    std::memcpy(halves, &line, sizeof line);
    for (size_t i = 0; i < 2; ++i) _mm256_stream_si256(static_cast<__m256i*>(to) + i, halves[i]);
#elif defined(__SSE2__)
    __m128i quarters[4];
    std::memcpy(quarters, &line, sizeof line);
    for (size_t i = 0; i < 4; ++i) _mm_stream_si128(static_cast<__m128i*>(to) + i, quarters[i]);
#else
    std::memcpy(to, &line, sizeof line);
#endif
}
// Others may read after this.
inline void end_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// Writes what whole lines are held.
inline void flush(Stream& stream) {
    size_t line = 0, n_lines = stream.used / Stream::LINE;
    if (stream.skipped && n_lines) {
        std::copy(stream.held + stream.skipped, stream.held + Stream::LINE, stream.out + stream.skipped);
        stream.skipped = 0;
        line = 1;
    }
    for (; line < n_lines; ++line) {
        Line whole;
        std::memcpy(&whole, stream.held + line * Stream::LINE, sizeof whole);
        stream_line(stream.out + line * Stream::LINE, whole);
    }
    std::copy_n(stream.held + n_lines * Stream::LINE, stream.used % Stream::LINE, stream.held);
    stream.out += n_lines * Stream::LINE;
    stream.used %= Stream::LINE;
}

size_t stream_ids(const uint32_t* ids, size_t n_ids, const uint32_t* offsets, const Hit* hits, size_t n_hits,
                  size_t n_after, Stream& stream, size_t room) {
    size_t written = 0;
    for (size_t h = 0; h < n_hits; ++h) {
        if (h + BUCKETS_AHEAD < n_hits + n_after) __builtin_prefetch(ids + offsets[hits[h + BUCKETS_AHEAD].row]);
        const auto [from, to] = bucket(offsets, n_ids, hits[h]);
        size_t n = std::min(to - from, room - written);
        const uint32_t* in = ids + from;
        written += n;
        while (n) {
            const size_t part = std::min(n, Stream::SIZE - stream.used);
            copy_ids(in, part, size_t(ids + n_ids - in), stream.held + stream.used, Stream::SIZE + Stream::LINE - stream.used);
            stream.used += part;
            in += part;
            n -= part;
            if (stream.used == Stream::SIZE) flush(stream);
        }
    }
    return written;
}

void finish(Stream& stream) {
    flush(stream);
    std::copy(stream.held + stream.skipped, stream.held + stream.used, stream.out + stream.skipped);
    end_streams();
}

void stream_fill(int32_t* out, size_t n, int32_t value) {
    constexpr size_t IN_LINE = sizeof(Line) / sizeof(int32_t);
    const size_t misaligned = reinterpret_cast<uintptr_t>(out) / sizeof(int32_t) % IN_LINE;
    const size_t head = std::min(n, (IN_LINE - misaligned) % IN_LINE), n_lines = (n - head) / IN_LINE;
    const Line line = (uint64_t(uint32_t(value)) << 32 | uint32_t(value)) - Line{};
    std::fill_n(out, head, value);
    for (size_t i = 0; i < n_lines; ++i) stream_line(out + head + i * IN_LINE, line);
    std::fill(out + head + n_lines * IN_LINE, out + n, value);
}

}  // namespace

const Kernels& KINHASH_JOIN(kernels_, KINHASH_ISA)() {
    static const Kernels table{KINHASH_TEXT(KINHASH_ISA), encode, scan, scan_planes, runs, write_ids, fill, stream_ids, stream_fill, finish, pair_loss};
    return table;
}

}  // namespace kinhash
