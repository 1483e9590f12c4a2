// Bit planes of codes, for fast scans with sparse queries: made when first needed, then kept in memory.
#pragma once

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernels/kernels.hpp"
#include "runtime/memory.hpp"

namespace kinhash {

class Planes {
  public:
    // The planes of n codes, which must be the same at each call, and the largest number of active bits.
    std::pair<const uint64_t*, uint32_t> of(const uint64_t* codes, size_t n, size_t n_words) {
        std::call_once(made_, [&] { make(codes, n, n_words); });
        return {planes_.data(), most_active_};
    }

  private:
    void make(const uint64_t* codes, size_t n, size_t n_words) {
        const size_t stride = words_per_block(n_words), n_planes = 64 * n_words;
        planes_.assign((n + PLANE_CODES - 1) / PLANE_CODES * stride, 0);
        for (size_t i = 0; i < n; ++i) {
            uint64_t* const column = planes_.data() + i / PLANE_CODES * stride + i % PLANE_CODES / 64;
            const uint64_t bit = uint64_t(1) << (i % 64);
            uint32_t active = 0;
            for (size_t w = 0; w < n_words; ++w)
                for (uint64_t rest = codes[i * n_words + w]; rest; rest &= rest - 1, ++active)
                    column[PLANE_WORDS * (64 * w + size_t(std::countr_zero(rest)))] |= bit;
            most_active_ = std::max(most_active_, active);
            for (size_t b = 0; active >> b; ++b)
                if (active >> b & 1) column[PLANE_WORDS * (n_planes + b)] |= bit;
        }
    }
    std::once_flag made_;
    Vector<uint64_t> planes_;
    uint32_t most_active_ = 0;
};

// The planes of one segment.
struct SegmentPlanes {
    Planes leaders, codes;
};

}  // namespace kinhash
