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

void fill(int32_t* out, size_t n, int32_t value) {
#if defined(__AVX2__)
    constexpr size_t TOGETHER = 8;
    if (n < TOGETHER) return static_cast<void>(std::fill_n(out, n, value));
    const auto put = [&](size_t i) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_set1_epi32(value));
    };
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
}  // namespace kinhash::KINHASH_ISA
