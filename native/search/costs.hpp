// Every constant of the choice between plans. Costs are rough nanoseconds on one core of a recent server;
// only their ratios matter.
#pragma once

#include <cstddef>

namespace kinhash::costs {

// ns: one random access to a table of a segment, in the cache and from memory.
inline constexpr double TOUCH_CACHED = 25, TOUCH_MEMORY = 100;
// Codes: a segment with fewer has its tables in the cache.
inline constexpr size_t CACHED_CODES = 20000;
inline double touch(size_t n_codes) { return n_codes < CACHED_CODES ? TOUCH_CACHED : TOUCH_MEMORY; }

// ns per code: comparing a query with codes laid out bit by bit, whatever their length.
inline constexpr double COMPARE_PLANES = 0.1;
// ns per word of a code: comparing a query with codes stored one after the other.
inline constexpr double COMPARE_WORD = 0.2;
// ns per word of a code: comparing queries with codes of several words in tiles.
inline constexpr double COMPARE_TILES = 0.04;

// Bits: planes are used for radii up to this.
inline constexpr unsigned MOST_PLANES_RADIUS = 64;
// Codes: up to so many have planes in a segment without deletion keys. Planes add half to its size.
inline constexpr size_t LEAN_PLANES = 1 << 16;

// Accesses per bucket of deletion keys: its start and its rows.
inline constexpr double TOUCHES_PER_KEY = 2;
// Share of an access per probe of a chunk, and per candidate it leads to: several are prefetched at a time.
inline constexpr double CHUNK_TOUCHES = 0.5;

// ns: starting on groups; per near group; per word of all codes, for the codes of the groups that are near.
inline constexpr double GROUPS_START = 1500, NEAR_GROUP = 25, GROUP_WORD = 0.03;

// Leaders: after each so many, the number of near groups is estimated anew.
inline constexpr size_t LEADERS_PER_ESTIMATE = 2048;
// Groups are given up for a scan if the estimate from some of the leaders is so many times too high.
inline constexpr double SURELY_TOO_MANY = 2;

// Bits: larger radii than this have no deletion plan, whatever tables there are.
inline constexpr unsigned MOST_DELETIONS = 3;
// Items: top-k for fewer starts with radii that are answered by look-up; a sample does not show what is rare.
inline constexpr size_t RARE_ITEMS = 500;
// Bits: the largest radius that top-k tries by look-up.
inline constexpr unsigned MOST_LOOKUP_RADIUS = 3;

}  // namespace kinhash::costs
