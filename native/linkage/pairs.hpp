// Pairs of near codes, out of all pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"
#include "runtime/threads.hpp"

namespace kinhash {

struct CodeRows {
    const uint64_t* words;
    size_t n, n_words;
};

struct Pair {
    uint32_t query, row;
    bool operator<(const Pair& other) const {
        return query != other.query ? query < other.query : row < other.row;
    }
};

// Finds codes within `radius` of queries whose first words are within `word_radius`: comparing one word costs
// a fraction of comparing all, and tells nearly all pairs of dense codes apart that are not near.
class PairFinder {
  public:
    PairFinder(const CodeRows& codes, const CodeRows& queries, uint32_t word_radius, uint32_t radius,
               const Kernels& kernels)
        : codes_(codes), queries_(queries), word_radius_(word_radius), radius_(radius), kernels_(kernels),
          first_words_(BLOCK), hits_(BLOCK + SPARE_HITS) {}

    // Codes that stay in the first-level cache, or nearly, while all queries are compared with them.
    static constexpr size_t BLOCK = 4096;

    // Appends the pairs of all queries with codes [begin, end), at most BLOCK. If the queries are codes
    // themselves, from `first` on, each is compared with those before it only.
    void find(size_t begin, size_t end, int64_t first, std::vector<Pair>& out, Polling& polling) {
        for (size_t row = begin; row < end; ++row)
            first_words_[row - begin] = codes_.words[row * codes_.n_words];
        for (size_t q = 0; q < queries_.n; ++q) {
            const size_t until = first < 0 ? end : std::min(end, size_t(first) + q);
            if (until <= begin) continue;
            const uint64_t* const query = queries_.words + q * queries_.n_words;
            const size_t found = kernels_.scan(first_words_.data(), until - begin, 1, query, word_radius_,
                                               {uint32_t(begin), 0, 0, 0}, hits_.data());
            for (size_t i = 0; i < found; ++i) {
                const uint64_t* const code = codes_.words + hits_[i].row * codes_.n_words;
                uint32_t distance = hits_[i].distance;
                for (size_t w = 1; w < codes_.n_words; ++w)
                    distance += uint32_t(__builtin_popcountll(code[w] ^ query[w]));
                if (distance <= radius_) out.push_back({uint32_t(q), hits_[i].row});
            }
            polling.add(until - begin);
        }
    }

  private:
    const CodeRows codes_, queries_;
    const uint32_t word_radius_, radius_;
    const Kernels& kernels_;
    std::vector<uint64_t> first_words_;
    std::vector<Hit> hits_;
};

}  // namespace kinhash
