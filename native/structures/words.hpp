// Codes as arrays of 64-bit words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kinhash {

inline constexpr size_t MAX_WORDS = 64;  // 4,096 stored bits

// Operations on codes of W words, or of n words if W is 0.
template <size_t W>
struct Words {
    size_t n;  // words per code
    explicit Words(size_t n_words) : n(W ? W : n_words) {}
    size_t count() const { return W ? W : n; }
    bool equal(const uint64_t* a, const uint64_t* b) const {
        for (size_t i = 0; i < count(); ++i)
            if (a[i] != b[i]) return false;
        return true;
    }
    uint32_t active(const uint64_t* a) const {
        uint32_t total = 0;
        for (size_t i = 0; i < count(); ++i) total += uint32_t(std::popcount(a[i]));
        return total;
    }
    uint32_t distance(const uint64_t* a, const uint64_t* b) const {
        uint32_t total = 0;
        for (size_t i = 0; i < count(); ++i) total += uint32_t(std::popcount(a[i] ^ b[i]));
        return total;
    }
    uint32_t shared(const uint64_t* a, const uint64_t* b) const {
        uint32_t total = 0;
        for (size_t i = 0; i < count(); ++i) total += uint32_t(std::popcount(a[i] & b[i]));
        return total;
    }
    uint64_t hash(const uint64_t* a) const {
        uint64_t h = 0;
        for (size_t i = 0; i < count(); ++i) h = mix(h ^ a[i]) + i;
        return h;
    }
    // Invertible, so different single words never share a hash.
    static uint64_t mix(uint64_t x) {
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93ULL;
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93ULL;
        x ^= x >> 32;
        return x;
    }
};

// Calls f with the number of words as a constant if it is small, otherwise with 0.
template <typename F>
auto with_words(size_t n_words, const F& f) {
    switch (n_words) {
        case 1: return f(std::integral_constant<size_t, 1>());
        case 2: return f(std::integral_constant<size_t, 2>());
        default: return f(std::integral_constant<size_t, 0>());
    }
}

}  // namespace kinhash
