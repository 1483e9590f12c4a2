// Reads the ids of buckets.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

// The range of ids of a hit's buckets, clamped to n_ids.
inline std::pair<size_t, size_t> bucket(const uint32_t* offsets, size_t n_ids, const Hit& hit) {
    const size_t from = std::min<size_t>(offsets[hit.row], n_ids);
    return {from, std::max(from, std::min<size_t>(offsets[hit.row + hit.more + 1], n_ids))};
}

constexpr size_t BUCKETS_AHEAD = 6;  // buckets that are being prefetched

// Copies n ids in vectors. The first and the last vector overlap the aligned ones between them. Fewer ids
// than a vector are copied as a whole vector if there is room.
inline void copy_ids(const uint32_t* in, size_t n, size_t n_readable, int64_t* out, size_t room) {
    constexpr size_t TOGETHER = 8;
    const auto copy = [&](size_t i) {
#if defined(__AVX2__)
#pragma GCC unroll 2
        for (size_t j = i; j < i + TOGETHER; j += 4)
            _mm256_storeu_si256(
                reinterpret_cast<__m256i*>(out + j),
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

}  // namespace
}  // namespace kinhash::KINHASH_ISA
