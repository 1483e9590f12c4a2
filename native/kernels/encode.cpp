// Encodes rows with a network.
//
// Every output is summed over its inputs in order, one fused multiply-add each, whatever the batch,
// the tile or the vector width. So a row's code does not depend on the rows around it, and AVX2 and
// AVX-512 give the same bits.
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/vectors.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

// Rows per tile: as many accumulators as registers allow.
#if defined(__AVX512F__)
constexpr size_t TILE = 12;  // 12 of 32 registers
#elif defined(__AVX2__)
constexpr size_t TILE = 6;  // 12 of 16 registers
#else
constexpr size_t TILE = 2;  // 8 of 16 registers
#endif
constexpr size_t BLOCK = 96;  // rows whose inputs stay in the second-level cache

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
            const Vec a = splat(A[r * a_stride + k]);
#pragma GCC unroll 4
            for (size_t q = 0; q < PARTS; ++q) acc[r][q] += a * b[q];
        }
    }
    for (size_t r = 0; r < ROWS; ++r)
        for (size_t q = 0; q < PARTS; ++q) store(C + r * c_stride + q * LANES, acc[r][q]);
}

// C = start + A B for `rows` rows and all panels; start_stride 0 repeats one row.
void multiply(const float* A, size_t a_stride, size_t rows, const float* B, size_t n_in, const float* start,
              size_t start_stride, float* C, size_t n_out) {
    for (size_t p = 0; p < n_out / PANEL; ++p) {
        const float* panel = B + p * n_in * PANEL;
        size_t r = 0;
        for (; r + TILE <= rows; r += TILE)
            multiply_tile<TILE>(A + r * a_stride, a_stride, panel, n_in, start + r * start_stride + p * PANEL,
                                start_stride, C + r * n_out + p * PANEL, n_out);
        for (; r < rows; ++r)
            multiply_tile<1>(A + r * a_stride, a_stride, panel, n_in, start + r * start_stride + p * PANEL,
                             start_stride, C + r * n_out + p * PANEL, n_out);
    }
}

// x -> (x - mean) * scale into `out`; returns the squared length. Sums in sixteen lanes on every
// instruction set, so that the length is the same everywhere.
float standardise_row(const float* mean, const float* scale, size_t n_in, const float* x, float* out) {
    Vec squares[PARTS] = {};
    size_t k = 0;
    for (; k + PANEL <= n_in; k += PANEL)
        for (size_t q = 0; q < PARTS; ++q) {
            const size_t at = k + q * LANES;
            const Vec v = (load(x + at) - load(mean + at)) * load(scale + at);
            store(out + at, v);
            squares[q] += v * v;
        }
    float lanes[PANEL];
    for (size_t q = 0; q < PARTS; ++q) store(lanes + q * LANES, squares[q]);
    float total = 0;
    for (size_t i = 0; i < PANEL; ++i) total += lanes[i];
    for (; k < n_in; ++k) {
        out[k] = (x[k] - mean[k]) * scale[k];
        total += out[k] * out[k];
    }
    return total;
}

bool all_finite(const float* values, size_t n_out) {
    Vec sum{};
    for (size_t j = 0; j < n_out; j += LANES) sum += load(values + j) * Vec{};  // inf * 0 is NaN
    float total = 0;
    for (size_t i = 0; i < LANES; ++i) total += sum[i];
    return total == 0;
}

inline Vec shrink(Vec v, Vec tau, bool two_sided) {
    if (!two_sided) return positive(v - tau);
    const Vec size = positive(magnitude(v) - tau);
    return v < Vec{} ? -size : size;
}

// Sets the bits whose output exceeds the cut; `z` is before the last shrinkage.
void write_code(const Network& net, const float* z, uint64_t* words, size_t words_per_plane) {
    std::memset(words, 0, (net.two_sided ? 2 : 1) * words_per_plane * sizeof(uint64_t));
    const Vec cut = splat(net.cut);
    for (size_t j = 0; j < net.n_out; j += LANES) {
        const Vec v = load(z + j), tau = load(net.tau + j);
        const size_t word = j / 64, shift = j % 64;
        words[word] |= uint64_t(lanes_above(v - tau, cut)) << shift;
        if (net.two_sided) words[words_per_plane + word] |= uint64_t(lanes_above(-v - tau, cut)) << shift;
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
        const Vec delta = splat(target - z[best]);
        z[best] = target;
        const float* column = net.S_columns + best * net.n_out;
        for (size_t j = 0; j < net.n_out; j += LANES) store(b + j, load(b + j) + delta * load(column + j));
    }
}

// `z` holds outputs of the last shrinkage here, so there is no threshold left to subtract.
void write_shrunk_code(const Network& net, const float* z, uint64_t* words, size_t words_per_plane) {
    std::memset(words, 0, (net.two_sided ? 2 : 1) * words_per_plane * sizeof(uint64_t));
    for (size_t j = 0; j < net.n_bits; ++j) {
        if (z[j] > net.cut) words[j / 64] |= uint64_t(1) << (j % 64);
        if (net.two_sided && z[j] < -net.cut) words[words_per_plane + j / 64] |= uint64_t(1) << (j % 64);
    }
}

// The arrays of one block of rows.
struct Block {
    size_t stride, n_out;
    std::unique_ptr<float[]> inputs, projected, active, sums, zero;
    bool bad[BLOCK];  // rows that are not finite, or whose outputs are not
    explicit Block(const Network& net)
        : stride(round_up(net.n_in, PANEL)), n_out(net.n_out), inputs(new float[BLOCK * stride]),
          projected(new float[BLOCK * n_out]), active(new float[BLOCK * n_out]),
          sums(new float[BLOCK * n_out]), zero(new float[n_out]()) {}
    void check(const float* outputs, size_t n) {
        for (size_t r = 0; r < n; ++r) bad[r] |= !all_finite(outputs + r * n_out, n_out);
    }
};

// v = W x / |x| + bias for `n` rows.
void project(const Network& net, const float* X, size_t n, Block& block) {
    float inverse_length[BLOCK];
    for (size_t r = 0; r < n; ++r) {
        const float squared = standardise_row(net.mean, net.scale, net.n_in, X + r * net.n_in,
                                              block.inputs.get() + r * block.stride);
        block.bad[r] = !std::isfinite(squared);
        inverse_length[r] = !net.unit_length ? 1.0f : squared > 0 ? 1.0f / std::sqrt(squared) : 0.0f;
    }
    multiply(block.inputs.get(), block.stride, n, net.W, net.n_in, block.zero.get(), 0, block.projected.get(),
             block.n_out);
    for (size_t r = 0; r < n; ++r) {
        float* v = block.projected.get() + r * block.n_out;
        const Vec inverse = splat(inverse_length[r]);
        for (size_t j = 0; j < block.n_out; j += LANES)
            store(v + j, load(v + j) * inverse + load(net.bias + j));
    }
}

// z = v + S shrink(z), n_steps times; returns z.
const float* iterate(const Network& net, size_t n, Block& block) {
    const size_t n_out = block.n_out;
    const float* z = block.projected.get();
    for (size_t step = 0; step < net.n_steps; ++step) {
        for (size_t r = 0; r < n; ++r)
            for (size_t j = 0; j < n_out; j += LANES)
                store(block.active.get() + r * n_out + j,
                      shrink(load(z + r * n_out + j), load(net.tau + j), net.two_sided));
        multiply(block.active.get(), n_out, n, net.S, n_out, block.projected.get(), n_out, block.sums.get(),
                 n_out);
        z = block.sums.get();
        block.check(z, n);  // after each step: the shrinkage makes 0 of a NaN, so the next would hide it
    }
    if (net.n_steps == 0) block.check(z, n);
    return z;
}

}  // namespace

size_t standardise(const float* mean, const float* scale, size_t n_in, const float* X, size_t n, float* out) {
    size_t first_bad = n;
    for (size_t r = 0; r < n; ++r) {
        const float squared = standardise_row(mean, scale, n_in, X + r * n_in, out + r * n_in);
        if (first_bad == n && !std::isfinite(squared)) first_bad = r;
    }
    return first_bad;
}

size_t encode(const Network& net, const float* X, size_t begin, size_t end, uint64_t* words,
              size_t words_per_row) {
    const size_t words_per_plane = words_per_row / (net.two_sided ? 2 : 1);
    Block block(net);
    size_t first_bad = end;
    for (size_t first = begin; first < end; first += BLOCK) {
        const size_t n = end - first < BLOCK ? end - first : BLOCK;
        project(net, X + first * net.n_in, n, block);
        if (net.pursuit == Pursuit::coordinate_descent) {
            for (size_t r = 0; r < n; ++r) {
                float* z = block.active.get() + r * net.n_out;
                descend(net, block.projected.get() + r * net.n_out, z);
                write_shrunk_code(net, z, words + (first + r) * words_per_row, words_per_plane);
            }
            block.check(block.projected.get(), n);
        } else {
            const float* z = iterate(net, n, block);
            for (size_t r = 0; r < n; ++r)
                write_code(net, z + r * net.n_out, words + (first + r) * words_per_row, words_per_plane);
        }
        for (size_t r = 0; r < n && first_bad == end; ++r)
            if (block.bad[r]) first_bad = first + r;
    }
    return first_bad;
}

}  // namespace kinhash::KINHASH_ISA
