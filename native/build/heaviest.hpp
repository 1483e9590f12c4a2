// Orders rows by weight.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "runtime/memory.hpp"

namespace kinhash {

// The heaviest row first; rows of equal weight keep their order. A counting sort.
inline Vector<uint32_t> heaviest_first(const Vector<uint32_t>& weights) {
    const uint32_t heaviest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
    Vector<uint32_t> starts(size_t(heaviest) + 2, 0), order(weights.size());
    for (const uint32_t weight : weights) ++starts[heaviest - weight + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (uint32_t row = 0; row < weights.size(); ++row) order[starts[heaviest - weights[row]]++] = row;
    return order;
}

}  // namespace kinhash
