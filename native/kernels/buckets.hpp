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

// Copies n ids, TOGETHER at a time; the last ones overlap those before. Fewer are copied as TOGETHER if there
// is room.
inline void copy_ids(const uint32_t* in, size_t n, size_t n_readable, int64_t* out, size_t room) {
    constexpr size_t TOGETHER = 8;
    const auto copy = [&](size_t i) {
#pragma GCC unroll 8
        for (size_t j = i; j < i + TOGETHER; ++j) out[j] = in[j];
    };
    if (n >= TOGETHER) {
        for (size_t i = 0; i + TOGETHER < n; i += TOGETHER) copy(i);
        copy(n - TOGETHER);
    } else if (TOGETHER <= room && TOGETHER <= n_readable) {
        copy(0);
    } else {
        for (size_t i = 0; i < n; ++i) out[i] = in[i];
    }
}

}  // namespace
}  // namespace kinhash::KINHASH_ISA
