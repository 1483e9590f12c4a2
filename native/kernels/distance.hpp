// The Hamming distance of two codes by the processor's bit count.
#pragma once

#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

inline uint32_t distance(const uint64_t* a, const uint64_t* b, size_t n_words) {
    uint32_t total = 0;
    for (size_t w = 0; w < n_words; ++w) total += uint32_t(__builtin_popcountll(a[w] ^ b[w]));
    return total;
}

}  // namespace
}  // namespace kinhash::KINHASH_ISA
