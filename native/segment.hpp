// A segment: items grouped by code, and the structures that find codes near a query. Everything is
// a flat array, so a segment can live in memory or in a mapped file alike.
//
// A mapped file may be damaged where nobody has looked yet. So whatever is read from an array and
// then followed (an offset, a row of another array) is checked against that array's end first: the
// answer may be wrong then, but nothing is read out of bounds. Verification finds the damage.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "memory.hpp"

namespace kinhash {

template <typename T>
struct Span {
    const T* data = nullptr;
    size_t size = 0;
    const T& operator[](size_t i) const { return data[i]; }
};

inline constexpr uint32_t NONE = 0xffffffff;
inline constexpr size_t MAX_WORDS = 32;  // 1,024 bits in two planes

// W is the number of words where it is known at compile time, 0 where it is not.
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

// Rows with equal 64-bit hashes are found by a table of slots that hold row + 1, or 0 if empty.
inline size_t n_slots(size_t n_rows) { return std::bit_ceil(std::max<size_t>(4, n_rows + n_rows / 2)); }

struct Segment {
    size_t n_words = 1;
    // Items by code: bucket u has the code at codes[u * n_words] and the ids [offsets[u], offsets[u+1]).
    Span<uint64_t> codes;
    Span<uint32_t> offsets;
    Span<uint32_t> narrow_ids;  // ids, if all of them fit into 32 bits ...
    Span<int64_t> wide_ids;     // ... or else here; ascending within a bucket
    Span<uint32_t> slots;       // hash table over codes; empty for small segments
    // Groups: the codes at rows [group_starts[g], group_starts[g+1]) lie within `group_radius` of
    // leader g.
    Span<uint64_t> leaders;
    Span<uint32_t> group_starts;
    uint32_t group_radius = 0;
    // Deletion keys: table j - 1 has the rows of the codes with j of their active bits removed, by the
    // hash of what is left: rows[starts[b]] .. rows[starts[b+1] - 1] for bucket b.
    struct Keys {
        Span<uint32_t> starts, rows;
    };
    Keys keys[2];
    uint32_t levels = 0;  // how many of the tables there are
    // Chunks: the bits in n_chunks parts; rows of codes by part and hash of that part of the code.
    Span<uint32_t> chunk_starts;  // n_chunks tables of equal size, one after the other
    Span<uint32_t> chunk_rows;    // n_chunks permutations of the rows
    uint32_t n_chunks = 0;
    double chunk_candidates = 0;  // rows that a look-up of one part gives, on average
    // Neighbours of some codes u: u itself and the rows one bit away, those two bits away, and of some
    // also those three bits away: rows[starts[3u+d-1]] .. rows[starts[3u+d] - 1] for distance d.
    Keys neighbours;
    Span<uint64_t> used;          // (n_words) bits that any code has: what additions may add
    // Which items count: one bit each; empty if all do.
    Span<uint8_t> alive;
    size_t n_alive = 0;

    size_t n_leaders() const { return group_starts.size ? group_starts.size - 1 : 0; }
    size_t n_codes() const { return offsets.size ? offsets.size - 1 : 0; }
    size_t n_items() const { return narrow_ids.size + wide_ids.size; }
    const uint64_t* code(size_t row) const { return codes.data + row * n_words; }
    int64_t id(size_t item) const { return wide_ids.size ? wide_ids[item] : int64_t(narrow_ids[item]); }
    // Calls for the first ids of a bucket from memory.
    void expect_ids(size_t row) const {
        if (wide_ids.size) __builtin_prefetch(wide_ids.data + offsets[row]);
        else __builtin_prefetch(narrow_ids.data + offsets[row]);
    }
    bool is_alive(size_t item) const { return !alive.size || (alive[item >> 3] >> (item & 7) & 1); }

    size_t begin(size_t row) const { return std::min<size_t>(offsets[row], n_items()); }
    size_t end(size_t row, size_t more = 0) const {
        return std::max(begin(row), std::min<size_t>(offsets[row + more + 1], n_items()));
    }
    // Items of the rows `row` .. `row + more`; all of them, or those that count.
    size_t size(size_t row, size_t more = 0) const { return end(row, more) - begin(row); }
    size_t count(size_t row, size_t more = 0) const { return alive.size ? count_alive(row, more) : size(row, more); }
    size_t count_alive(size_t row, size_t more) const {
        size_t total = 0;
        for (size_t item = begin(row), to = end(row, more); item < to; ++item) total += is_alive(item);
        return total;
    }

    // The row of `code`, or NONE.
    template <size_t W>
    uint32_t find(const Words<W>& words, const uint64_t* query, uint64_t hash) const {
        const size_t mask = slots.size - 1;
        for (size_t at = hash & mask, tries = 0; tries <= mask; at = (at + 1) & mask, ++tries) {
            const uint32_t slot = slots[at];
            if (slot == 0) return NONE;
            if (slot <= n_codes() && words.equal(code(slot - 1), query)) return slot - 1;
        }
        return NONE;
    }
};

}  // namespace kinhash
