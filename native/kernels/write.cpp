// Writes the ids of buckets, and equal distances, through the cache.
#include "kernels/buckets.hpp"

namespace kinhash::KINHASH_ISA {

size_t write_ids(const uint32_t* ids, size_t n_ids, const uint32_t* offsets, const Hit* hits, size_t n_hits,
                 size_t n_after, int64_t* out, size_t room) {
    size_t written = 0;
    for (size_t h = 0; h < n_hits; ++h) {
        if (h + BUCKETS_AHEAD < n_hits + n_after)
            __builtin_prefetch(ids + offsets[hits[h + BUCKETS_AHEAD].row]);
        const auto [from, to] = bucket(offsets, n_ids, hits[h]);
        const size_t n = std::min(to - from, room - written);
        copy_ids(ids + from, n, n_ids - from, out + written, room - written);
        written += n;
    }
    return written;
}

// The last values overlap those before: a loop over what is left would cost more than it writes.
void fill(int32_t* out, size_t n, int32_t value) {
    constexpr size_t TOGETHER = 8;
    const auto put = [&](size_t i) {
#pragma GCC unroll 8
        for (size_t j = i; j < i + TOGETHER; ++j) out[j] = value;
    };
    if (n < TOGETHER) return static_cast<void>(std::fill_n(out, n, value));
    for (size_t i = 0; i + TOGETHER < n; i += TOGETHER) put(i);
    put(n - TOGETHER);
}
}  // namespace kinhash::KINHASH_ISA
