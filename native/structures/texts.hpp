// Strings by number, and the hash table that finds their numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

#include "runtime/memory.hpp"
#include "structures/words.hpp"

namespace kinhash {

inline constexpr size_t MOST_TEXTS = std::numeric_limits<uint32_t>::max();  // 0 is an empty slot
inline constexpr size_t LONGEST_TEXT = 65535;                               // bytes

// String i is the bytes from starts[i] to before starts[i + 1]. The arrays may come from a damaged file:
// a string that does not fit is empty.
struct Texts {
    const char* bytes;
    size_t n_bytes;
    const uint64_t* starts;
    size_t n;
    std::string_view operator[](size_t i) const {
        if (i >= n) return {};
        const uint64_t first = starts[i], last = starts[i + 1];
        if (first > last || last > n_bytes || last - first > LONGEST_TEXT) return {};
        return {bytes + first, size_t(last - first)};
    }
};

// Differs between processes: nobody can write a file whose strings all fall into one slot.
inline uint64_t text_seed() {
    static const uint64_t seed = [] {
        std::random_device device;
        return uint64_t(device()) << 32 | device();
    }();
    return seed;
}

inline uint64_t hash_of(std::string_view text) {
    uint64_t h = text_seed() + text.size();
    for (size_t at = 0; at < text.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
        h = Words<1>::mix(h ^ word) + text_seed();
    }
    return Words<1>::mix(h);
}

// Two rows with the same string; `second` is the first row whose string stands before it, too.
struct TextTwice {
    int64_t first = -1, second = -1;
};

// A hash table from strings to numbers: number + 1, or 0 where empty; a power of two, probed linearly.
// Of equal strings the last one counts.
inline Vector<uint32_t> text_slots(const Texts& texts, TextTwice& twice) {
    Vector<uint32_t> slots(std::bit_ceil(2 * texts.n + 1), 0);
    const size_t mask = slots.size() - 1;
    for (size_t i = 0; i < texts.n; ++i) {
        const std::string_view text = texts[i];
        size_t at = hash_of(text) & mask;
        while (slots[at] && texts[slots[at] - 1] != text) at = (at + 1) & mask;
        if (slots[at] && twice.first < 0) twice = {int64_t(slots[at]) - 1, int64_t(i)};
        slots[at] = uint32_t(i + 1);
    }
    return slots;
}

// The number of a string, -1 if there is none. The table is one that `text_slots` made.
inline int64_t find_text(const Texts& texts, const uint32_t* slots, size_t n_slots, std::string_view text) {
    const size_t mask = n_slots - 1;
    for (size_t at = hash_of(text) & mask; slots[at]; at = (at + 1) & mask)
        if (texts[slots[at] - 1] == text) return int64_t(slots[at]) - 1;
    return -1;
}

}  // namespace kinhash
