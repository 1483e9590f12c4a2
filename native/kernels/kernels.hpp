// The inner loops, as one table of functions per instruction set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/hit.hpp"

namespace kinhash {

// Weights are stored in panels of 16 outputs: panel p holds, for each input k, the 16 weights of
// outputs 16p .. 16p+15, so that the inner loop reads them in order.
inline constexpr size_t PANEL = 16;
inline size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

enum class Pursuit : int { ista = 0, coordinate_descent = 1 };

// A network as plain arrays. All pointers outlive the call. Vectors over outputs have n_out =
// round_up(n_bits, PANEL) entries; the padding has weight 0 and a threshold no value exceeds.
struct Network {
    size_t n_in, n_bits, n_out;
    const float* mean;       // (n_in) subtracted from the input ...
    const float* scale;      // (n_in) ... and multiplied after
    bool unit_length;        // then divide by the length of the vector
    const float* W;          // panels, n_in inputs
    const float* bias;       // (n_out)
    const float* S;          // panels, n_out inputs; ista: h = shrink(v + S h)
    const float* S_columns;  // (n_out, n_out) row k is column k of S; coordinate descent only
    const float* tau;        // (n_out) thresholds of the shrinkage
    float cut;               // a bit is active where the output exceeds this
    size_t n_steps;          // uses of S (ista), or coordinates updated (coordinate descent)
    bool two_sided;          // codes -1, 0, 1 in two planes instead of 0, 1 in one
    Pursuit pursuit;
};

// Per pair: s d + lambda/2 (1 - s) max(0, margin - d)^2 + alpha (|a| + |b|), all norms l1; the
// average gives `similar_share` of its weight to the similar pairs together.
struct PairLoss {
    double similar_share, margin, lambda, alpha;
};
struct PairTerms {
    double pull, push, sparsity;
    double similar_distance, dissimilar_distance;  // means, for the log
};

// Buffers ids and writes whole cache lines past the cache (non-temporal stores). That halves the memory
// traffic of an answer that is larger than the cache.
struct Stream {
    static constexpr size_t LINE = 8, SIZE = 64;
    explicit Stream(int64_t* first)
        : skipped(reinterpret_cast<uintptr_t>(first) / sizeof(int64_t) % LINE), used(skipped),
          out(first - skipped) {}
    size_t skipped, used;  // held[skipped] .. held[used - 1] belong to out[skipped] ...
    int64_t* out;          // the start of a cache line
    alignas(64) int64_t held[SIZE + LINE];
};

// A scan may write so many hits past the last one.
inline constexpr size_t SPARE_HITS = 8;

// Codes that are compared together; a multiple of those that any instruction set compares at a time.
inline constexpr size_t TILE = 32;
// ... and scan_many() so many.
inline constexpr size_t SPARE_MANY = 8;

// Distances of narrow codes, as bytes, are looked at so many at a time.
inline constexpr size_t DISTANCES = 64;
inline constexpr size_t SPARE_POSITIONS = 4;

// The rank bits of items that are grouped by bucket, for scan_buckets().
struct BucketRanks {
    const uint8_t* ranks;
    size_t n_bytes;  // per item: 1, 2 or 4
    size_t n_items;
    const uint32_t* offsets;  // of the first item of each bucket
    size_t left;              // items that may still be compared; it sinks by those that are
};

// Vectors as rows: numbers of one type, each row `stride` bytes after the one before.
enum class Element : int { float32 = 0, float16 = 1, int8 = 2 };
struct VectorRows {
    const char* data;
    size_t n, n_features;
    ptrdiff_t stride;
    Element element;
};
enum class Similarity : int { cosine = 0, dot = 1, l2 = 2 };
// A query of similarities() is filled up with zeros to a multiple of this.
inline constexpr size_t SIMILARITY_LANES = 2 * PANEL;

struct Kernels {
    const char* name;
    // Rows [begin, end) of X (n_in floats each) to words; `words_per_row` covers all planes. Returns
    // the first row with a NaN, an infinity or a length that overflows, or `end`. The check is free here; a
    // separate pass would take a third as long as encoding.
    size_t (*encode)(const Network&, const float* X, size_t begin, size_t end, uint64_t* words,
                     size_t words_per_row);
    // (x - mean) * scale of n rows of X; returns the first row with a NaN, an infinity or a length that
    // overflows, or n.
    size_t (*standardise)(const float* mean, const float* scale, size_t n_in, const float* X, size_t n,
                          float* out);
    // From products x y of n rows and m others to squared distances, |x|^2 + |y|^2 - 2 x y, never negative.
    void (*squared_distances)(const float* own, const float* other, size_t n, size_t m, float* products);
    // The rows of `codes` within `radius` of `query`, in order, numbered from `first` on and with its
    // segment. `out` has room for n + SPARE_HITS hits. Returns their number.
    size_t (*scan)(const uint64_t* codes, size_t n, size_t n_words, const uint64_t* query, uint32_t radius,
                   Hit first, Hit* out);
    // The same, faster where many codes are near and slower where few are. `out` has room for n + SPARE_MANY.
    size_t (*scan_many)(const uint64_t* codes, size_t n, size_t n_words, const uint64_t* query,
                        uint32_t radius, Hit first, Hit* out);
    // The same for codes of 1, 2 or 4 bytes.
    size_t (*scan_narrow)(const uint8_t* codes, size_t n, size_t n_bytes, uint32_t query, uint32_t radius,
                          Hit first, Hit* out);
    // The distances of n such codes as bytes. Those up to the next multiple of DISTANCES become 255.
    void (*narrow_distances)(const uint8_t* codes, size_t n, size_t n_bytes, uint32_t query, uint8_t* out);
    // The smallest limit, or else `largest`, that at least `need` of n distances do not exceed; n is a
    // multiple of DISTANCES.
    uint32_t (*least_limit)(const uint8_t* distances, size_t n, size_t need, uint32_t largest);
    // The positions of those that do not exceed it, in order. `out` has room for SPARE_POSITIONS more than
    // there are. Returns their number.
    size_t (*positions_at_most)(const uint8_t* distances, size_t n, uint32_t limit, uint32_t* out);
    // Codes as tiles of TILE codes, the last filled up with zeros: first all their first words, then all
    // their second words, and so on.
    void (*tile)(const uint64_t* codes, size_t n, size_t n_words, uint64_t* out);
    // Like scan, of n codes in tiles. Many times faster on codes of several words.
    size_t (*scan_tiles)(const uint64_t* tiles, size_t n, size_t n_words, const uint64_t* query,
                         uint32_t radius, Hit first, Hit* out);
    // Compares the rank bits of the items of some hits' buckets: keeps those within `limit`, less the hit's
    // distance if `total`. A kept item is a hit whose row is the item and whose `more` is the distance of
    // the rank bits. Stops at a hit whose items might not fit the room, of which one more may be written;
    // `n_done` hits were looked at. Returns the number of items kept.
    size_t (*scan_buckets)(BucketRanks& in, const Hit* hits, size_t n_hits, uint32_t query, uint32_t limit,
                           bool total, Hit* out, size_t room, size_t& n_done);
    // The same with `total` for n codes of one word, `first.row` being the first, which need not be near; not
    // `done` if something else is faster or if the items might not fit the room.
    size_t (*scan_totals)(BucketRanks& in, const uint64_t* codes, size_t n, uint64_t query,
                          uint32_t rank_query, uint32_t limit, Hit first, Hit* out, size_t room, bool& done);
    // The same as scan() by bit planes, for queries of at most MOST_PLANES active bits and radii of at
    // most 64. Reads only the planes of the query's active bits, so it is many times faster on sparse codes.
    // Hits are in no order, except that for small radii and up to PLANES_BLOCK codes they are ordered by
    // distance. Consecutive codes at one distance may be one hit. No code has more than `most_active` active
    // bits.
    size_t (*scan_planes)(const uint64_t* planes, const uint64_t* codes, size_t n, size_t n_words,
                          uint32_t most_active, const uint64_t* query, uint32_t radius, Hit first, Hit* out);
    // Rows as hits like `first`; consecutive rows become one hit. Skips rows that are not below `n_codes`.
    // `out` has room for n hits. Returns their number.
    size_t (*runs)(const uint32_t* rows, size_t n, size_t n_codes, Hit first, Hit* out);
    // Writes the ids of the buckets of some hits, at most `room`; returns their number. Bucket b is
    // ids[offsets[b]] .. ids[offsets[b + 1] - 1]. May overwrite the rest of the room. Prefetches the ids of
    // the `n_after` hits that follow.
    size_t (*write_ids)(const uint32_t* ids, size_t n_ids, const uint32_t* offsets, const Hit* hits,
                        size_t n_hits, size_t n_after, int64_t* out, size_t room);
    void (*fill)(int32_t* out, size_t n, int32_t value);
    // The same two past the cache. Call finish() to write the last ids.
    size_t (*stream_ids)(const uint32_t* ids, size_t n_ids, const uint32_t* offsets, const Hit* hits,
                         size_t n_hits, size_t n_after, Stream& out, size_t room);
    void (*stream_fill)(int32_t* out, size_t n, int32_t value);
    void (*finish)(Stream&);
    // The paper's loss over all known pairs of rows of A (n x m) and B (k x m), and its gradient
    // (added to gA and gB). `similar` is 0 to 1. With `symmetric`, B is A, the relations are symmetric, gB is
    // unused.
    PairTerms (*pair_loss)(const PairLoss&, const float* A, size_t n, const float* B, size_t k, size_t m,
                           bool symmetric, const float* similar, const bool* known, float* gA, float* gB);
    // The similarities of `n` rows to a query: the cosine (the query has unit length, or is zero), the dot
    // product, or minus the Euclidean distance. NaN where the row is not finite, or the result no float.
    // `rows` are below vectors.n.
    void (*similarities)(const VectorRows& vectors, Similarity similarity, const float* query,
                         const size_t* rows, size_t n, float* out);
};

// Bit planes: blocks of 512 codes. Each block has 8 words (a cache line) per bit of a code, with that bit of
// all 512 codes, then 8 words per bit of their numbers of active bits. PLANES_BLOCK codes stay in the
// second-level cache over a batch of queries.
inline constexpr size_t PLANE_CODES = 512, PLANE_WORDS = PLANE_CODES / 64, MOST_PLANES = 24,
                        PLANES_BLOCK = 32 * PLANE_CODES;
inline size_t count_bits(size_t n_words) { return size_t(std::bit_width(64 * n_words)); }
inline size_t words_per_block(size_t n_words) { return PLANE_WORDS * (64 * n_words + count_bits(n_words)); }

const Kernels& kernels_portable();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

}  // namespace kinhash
