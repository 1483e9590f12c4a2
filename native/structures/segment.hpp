// A segment: items grouped by code, and the structures that find codes near a query. Everything is a flat
// array, so a segment works the same in memory and in a mapped file.
//
// A mapped file may be damaged where nobody has looked yet. So whatever is read from an array and then
// followed (an offset, a row of another array) is checked against that array's end first: the answer may be
// wrong, but nothing is read out of bounds. Verification finds the damage.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "runtime/memory.hpp"
#include "structures/words.hpp"

namespace kinhash {

template <typename T>
struct Span {
    const T* data = nullptr;
    size_t size = 0;
    const T& operator[](size_t i) const { return data[i]; }
};

// Items, rows and keys are numbered in 32 bits.
inline constexpr size_t MOST_ITEMS = 0xffffffff;

// Slots of the hash table for so many rows. A slot holds row + 1, or 0 if it is empty.
inline size_t n_slots(size_t n_rows) { return std::bit_ceil(std::max<size_t>(4, n_rows + n_rows / 2)); }
// For codes that only radius 0 looks up: a look-up that fails takes longer.
inline size_t n_few_slots(size_t n_rows) {
    return std::bit_ceil(std::max<size_t>(4, n_rows + n_rows / 8 + 1));
}

// The arrays and numbers of a segment: spans of them to search, vectors of them to build. Two tables below
// give their names; everything that attaches, checks, builds, writes or reads a segment goes through these.
template <template <typename> class Array>
struct SegmentArrays {
    // Lists of rows: list i is rows[starts[i]] .. rows[starts[i + 1] - 1].
    struct Lists {
        Array<uint32_t> starts, rows;
    };
    // Bucket u has the code at codes[u * n_words] and the ids [offsets[u], offsets[u + 1]).
    Array<uint64_t> codes;
    Array<uint32_t> offsets;
    // Ascending within a bucket: here if all of them fit into 32 bits, otherwise in wide_ids.
    Array<uint32_t> narrow_ids;
    Array<int64_t> wide_ids;
    // Rank bits of each item, in the order of ids: rank_bytes each, little-endian.
    Array<uint8_t> ranks;
    // Hash table over codes; empty for small segments.
    Array<uint32_t> slots;
    // (n_words) bits that any code has.
    Array<uint64_t> used;
    // Groups: the codes at rows [group_starts[g], group_starts[g + 1]) are within `group_radius` of leader g.
    Array<uint64_t> leaders;
    Array<uint32_t> group_starts;
    // Deletion keys: table j - 1 has the rows of the codes with j of their active bits removed, by the hash
    // of the rest.
    Lists keys[2];
    // Chunks: n_chunks tables of equal size over the hash of that part of the code, and n_chunks permutations
    // of the rows.
    Lists chunks;
    // Neighbours of some codes u, three lists each: u itself and the rows one bit away, two bits away, three
    // bits away.
    Lists neighbours;

    size_t n_words = 1;
    uint32_t rank_bytes = 0;  // 0 without rank bits, 1, 2, 4, or a multiple of 8
    uint32_t group_radius = 0;
    uint32_t levels = 0;  // tables of deletion keys
    uint32_t n_chunks = 0;
    double chunk_candidates = 0;  // rows per look-up of a chunk, on average
};

// Calls f(name, array ...) for every array, in the order of the file, with that array of each argument.
template <typename F, typename... Arrays>
void for_each_array(const F& f, Arrays&... arrays) {
    f("codes", arrays.codes...);
    f("offsets", arrays.offsets...);
    f("narrow_ids", arrays.narrow_ids...);
    f("wide_ids", arrays.wide_ids...);
    f("ranks", arrays.ranks...);
    f("slots", arrays.slots...);
    f("used", arrays.used...);
    f("leaders", arrays.leaders...);
    f("group_starts", arrays.group_starts...);
    f("key1_starts", arrays.keys[0].starts...);
    f("key1_rows", arrays.keys[0].rows...);
    f("key2_starts", arrays.keys[1].starts...);
    f("key2_rows", arrays.keys[1].rows...);
    f("chunk_starts", arrays.chunks.starts...);
    f("chunk_rows", arrays.chunks.rows...);
    f("near_starts", arrays.neighbours.starts...);
    f("near_rows", arrays.neighbours.rows...);
}

// The same for every number that the arrays do not tell.
template <typename F, typename... Arrays>
void for_each_number(const F& f, Arrays&... arrays) {
    f("n_words", arrays.n_words...);
    f("rank_bytes", arrays.rank_bytes...);
    f("group_radius", arrays.group_radius...);
    f("levels", arrays.levels...);
    f("n_chunks", arrays.n_chunks...);
    f("chunk_candidates", arrays.chunk_candidates...);
}

inline constexpr uint32_t MOST_CHUNKS = 64;
inline constexpr uint32_t MOST_RANK_BYTES = 512;
inline size_t chunk_table_size(size_t n_codes) { return std::bit_ceil(std::max<size_t>(16, n_codes)); }
inline size_t n_used(const uint64_t* used, size_t n_words) {
    size_t n = 0;
    for (size_t w = 0; w < n_words; ++w) n += size_t(std::popcount(used[w]));
    return n;
}

struct Segment : SegmentArrays<Span> {
    static constexpr uint32_t LISTED_BITS = 3;  // the largest distance of listed neighbours
    // Which items count: one bit each; empty if all do.
    Span<uint8_t> alive;
    size_t n_alive = 0;

    // Whether ids are 32 bits wide and all count, so that they can be copied as they are.
    bool has_plain_ids() const { return !alive.size && !wide_ids.size; }
    size_t n_leaders() const { return group_starts.size ? group_starts.size - 1 : 0; }
    size_t n_codes() const { return offsets.size ? offsets.size - 1 : 0; }
    size_t n_items() const { return narrow_ids.size + wide_ids.size; }
    const uint64_t* code(size_t row) const { return codes.data + row * n_words; }
    int64_t id(size_t item) const { return wide_ids.size ? wide_ids[item] : int64_t(narrow_ids[item]); }
    // Prefetches the first ids of a bucket.
    void prefetch_ids(size_t row) const {
        if (wide_ids.size)
            __builtin_prefetch(wide_ids.data + offsets[row]);
        else
            __builtin_prefetch(narrow_ids.data + offsets[row]);
    }
    bool is_alive(size_t item) const { return !alive.size || (alive[item >> 3] >> (item & 7) & 1); }

    size_t begin(size_t row) const { return std::min<size_t>(offsets[row], n_items()); }
    size_t end(size_t row, size_t more = 0) const {
        return std::max(begin(row), std::min<size_t>(offsets[row + more + 1], n_items()));
    }
    // Number of items of the rows `row` .. `row + more`: all of them, or those that count.
    size_t size(size_t row, size_t more = 0) const { return end(row, more) - begin(row); }
    size_t count(size_t row, size_t more = 0) const {
        return alive.size ? count_alive(row, more) : size(row, more);
    }
    size_t count_alive(size_t row, size_t more) const {
        size_t total = 0;
        for (size_t item = begin(row), to = end(row, more); item < to; ++item) total += is_alive(item);
        return total;
    }

    // The row of `query`, if it is stored.
    template <size_t W>
    std::optional<uint32_t> find(const Words<W>& words, const uint64_t* query, uint64_t hash) const {
        const size_t mask = slots.size - 1;
        for (size_t at = hash & mask, tries = 0; tries <= mask; at = (at + 1) & mask, ++tries) {
            const uint32_t slot = slots[at];
            if (slot == 0) return {};
            if (slot <= n_codes() && words.equal(code(slot - 1), query)) return slot - 1;
        }
        return {};
    }
};

// Checks what a search follows without another look: the lengths of all arrays and the ranges of the numbers.
// Throws std::invalid_argument.
inline void check(const Segment& segment) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(what);
    };
    const size_t n = segment.n_codes(), w = segment.n_words;
    expect(w >= 1 && w <= MAX_WORDS, "n_words does not fit");
    expect(segment.offsets.size >= 1 && segment.offsets[0] == 0, "offsets do not fit");
    expect(segment.codes.size == n * w && segment.used.size == w, "codes do not fit their offsets");
    expect(!segment.narrow_ids.size || !segment.wide_ids.size, "ids stand in two places");
    expect(segment.offsets[n] == segment.n_items(), "ids do not fit their offsets");
    const uint32_t rank_bytes = segment.rank_bytes;
    expect(rank_bytes <= MOST_RANK_BYTES &&
               (rank_bytes % 8 == 0 || rank_bytes == 1 || rank_bytes == 2 || rank_bytes == 4),
           "rank_bytes does not fit");
    expect(segment.ranks.size == segment.n_items() * rank_bytes, "ranks do not fit the ids");
    expect(!segment.slots.size || std::has_single_bit(segment.slots.size), "slots do not fit");
    expect(segment.leaders.size == segment.n_leaders() * w, "leaders do not fit their groups");
    expect(segment.levels <= 2 && (!segment.levels || segment.slots.size), "levels do not fit");
    for (uint32_t level = 1; level <= segment.levels; ++level)
        expect(segment.keys[level - 1].starts.size >= 2, "keys do not fit their levels");
    expect(segment.n_chunks <= MOST_CHUNKS && segment.chunks.rows.size == segment.n_chunks * n,
           "chunks do not fit");
    expect(!segment.n_chunks || segment.chunks.starts.size == segment.n_chunks * (chunk_table_size(n) + 1),
           "chunks do not fit");
    expect(!segment.n_chunks || n_used(segment.used.data, w) > 0, "chunks do not fit");
    const size_t n_starts = segment.neighbours.starts.size;
    expect(!n_starts || (n_starts == Segment::LISTED_BITS * n + 1 && segment.slots.size),
           "neighbours do not fit");
}

// A segment that is being built.
using Built = SegmentArrays<Vector>;

// What is built so far, to search.
inline Segment view(const Built& built) {
    Segment segment;
    for_each_array([](const char*, auto& span, const auto& vector) { span = {vector.data(), vector.size()}; },
                   segment, built);
    for_each_number([](const char*, auto& to, const auto& from) { to = from; }, segment, built);
    segment.n_alive = segment.n_items();
    return segment;
}

}  // namespace kinhash
