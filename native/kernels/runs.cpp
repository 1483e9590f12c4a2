// Joins consecutive rows into hits.
#include <algorithm>

#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

// A bit for each of n <= 64 rows that starts a run: it is not one more than the row before.
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

}  // namespace

size_t runs(const uint32_t* rows, size_t n, size_t n_codes, Hit first, Hit* out) {
    size_t found = 0;
    for (size_t block = 0; block < n; block += 64) {
        const size_t size = std::min<size_t>(64, n - block);
        uint64_t starts = starts_of_runs(rows + block, size);
        while (starts) {
            const size_t at = size_t(std::countr_zero(starts));
            starts &= starts - 1;
            const size_t next = starts ? size_t(std::countr_zero(starts)) : size, row = rows[block + at],
                         more = next - at - 1;
            out[found] = {uint32_t(row), first.segment, uint8_t(more), first.distance};
            found += row + more < n_codes;
        }
    }
    return found;
}
}  // namespace kinhash::KINHASH_ISA
