// What a batch of queries found: first as rows of codes, then, once their number is known, as items.
#pragma once

#include "finders.hpp"
#include "ids.hpp"
#include "share.hpp"

namespace kinhash {

// For each query its hits by distance, and how many items these are.
struct Found {
    static constexpr size_t PIECE = 64;
    std::vector<Hits> pieces;      // of PIECE queries each
    std::vector<uint32_t> n_hits;  // per query
    std::vector<int64_t> offsets;  // of items: n_queries + 1
    Work work;

    void start(size_t n_queries) {
        pieces.resize((n_queries + PIECE - 1) / PIECE);
        for (Hits& piece : pieces) piece.clear();
        n_hits.resize(n_queries);
        offsets.resize(n_queries + 1);
        offsets[0] = 0;
        work = {};
    }
    // Lets go of memory beyond so many bytes.
    void forget(size_t most) {
        size_t total = 0;
        for (const Hits& piece : pieces) total += piece.capacity() * sizeof(Hit);
        if (total > most) *this = {};
    }
};

// Appends hits in order of distance, none beyond `radius`; returns how many items they are.
inline size_t append_by_distance(const Segments& segments, const Hits& hits, uint32_t radius, Hits& out) {
    constexpr uint32_t FEW = 3;
    constexpr size_t MANY = 1 << 15;  // codes whose offsets do not stay in the cache
    const size_t n = hits.size();
    const Hit* const from = hits.begin();
    if (segments.size() > 1 || segments[0]->n_codes() >= MANY)
        for (const Hit& hit : hits) __builtin_prefetch(segments[hit.segment]->offsets.data + hit.row);
    Hit* to = out.room(n + 1);
    // Most are in order already; so all is done in one pass, and put in order after, where need be.
    const Segment& only = *segments[0];
    const bool plain = segments.size() == 1 && !only.alive.size;
    bool in_order = true;
    size_t items = 0;
    uint16_t before = 0;
    const auto copy = [&](const auto& count) {
        for (size_t i = 0; i < n; ++i) {
            const Hit hit = from[i];
            in_order &= before <= hit.distance;
            before = hit.distance;
            items += count(hit);
            to[i] = hit;
        }
    };
    if (plain) copy([&](const Hit& hit) { return only.size(hit.row, hit.more); });
    else copy([&](const Hit& hit) { return segments[hit.segment]->count(hit.row, hit.more); });
    if (!in_order && radius <= FEW) {
        // A pass for each distance writes every hit, and the next one over it if it is at another.
        for (uint32_t d = 0; d <= radius; ++d)
            for (const Hit& hit : hits) {
                *to = hit;
                to += hit.distance == d;
            }
    } else if (!in_order) {
        uint32_t next[64 * MAX_WORDS + 2];
        std::fill_n(next, radius + 2, 0);
        for (const Hit& hit : hits) ++next[hit.distance + 1];
        for (uint32_t d = 0; d <= radius; ++d) next[d + 1] += next[d];
        for (const Hit& hit : hits) to[next[hit.distance]++] = hit;
    }
    out.add(n);
    return items;
}

// Adds the hits of query i; `most` is the number of all items.
inline void keep(const Segments& segments, size_t i, const Hits& hits, uint32_t radius, size_t most, Found& found) {
    Hits& piece = found.pieces[i / Found::PIECE];
    const size_t before = piece.size();
    size_t items = append_by_distance(segments, hits, radius, piece);
    if (items > most) {
        // Damaged buckets may overlap; together they never give more than there is.
        items = 0;
        for (size_t at = before; at < piece.size(); ++at) {
            const size_t n = segments[piece[at].segment]->count(piece[at].row, piece[at].more);
            if (n > most - items) piece.cut(at);
            else items += n;
        }
    }
    found.n_hits[i] = uint32_t(piece.size() - before);
    found.offsets[i + 1] = int64_t(items);
}

// Writes the ids of some hits of one segment, at most `room`, and returns how many. What is left of the
// room may be written over. After them stand `n_after` more hits of that segment, to be written next.
inline size_t write_ids(const Segment& segment, const Hit* hits, size_t n_hits, size_t n_after, const Kernels& kernels,
                        int64_t* out, size_t room) {
    if (!segment.alive.size && !segment.wide_ids.size)
        return kernels.write_ids(segment.narrow_ids.data, segment.narrow_ids.size, segment.offsets.data, hits, n_hits, n_after, out, room);
    size_t written = 0;
    for (const Hit* hit = hits; hit < hits + n_hits; ++hit)
        for (size_t item = segment.begin(hit->row), end = segment.end(hit->row, hit->more); item < end && written < room; ++item)
            if (segment.is_alive(item)) out[written++] = segment.id(item);
    return written;
}

// How many of the hits from the first on are of one segment and at one distance.
inline size_t length_of_run(const Hit* hit, const Hit* end) {
    const Hit first = *hit;
    size_t n = 1;
    while (hit + n < end && hit[n].distance == first.distance && hit[n].segment == first.segment) ++n;
    return n;
}

// Bytes of ids from which an answer would not stay in the cache anyway.
inline constexpr size_t STREAMED = size_t(1) << 24;

// Writes out all items; `sort` puts those at equal distance in order of their ids.
inline void expand(const Segments& segments, const Found& found, bool sort, const Kernels& kernels, size_t n_threads,
                   int64_t* ids, int32_t* distances) {
    const size_t n_queries = found.n_hits.size();
    const bool plain = std::all_of(segments.begin(), segments.end(), [](const Segment* s) { return !s->alive.size && !s->wide_ids.size; });
    const bool streamed = plain && !sort && size_t(found.offsets[n_queries]) * sizeof(int64_t) >= STREAMED;
    share(n_queries, n_threads, Found::PIECE, [&](size_t begin, size_t end) {
        IdOrder<int64_t> order;
        Stream stream(ids + found.offsets[begin]);
        for (size_t first = begin; first < end; first += Found::PIECE) {
            const size_t last = std::min(first + Found::PIECE, end), stop = size_t(found.offsets[last]);
            const Hits& hits = found.pieces[first / Found::PIECE];
            const Hit* hit = hits.begin();
            // Distances wait to be written until another one comes.
            int32_t waiting = 0;
            size_t from = size_t(found.offsets[first]);
            const auto write_distances = [&](size_t to) {
                if (to > from) (streamed ? kernels.stream_fill : kernels.fill)(distances + from, to - from, waiting);
                from = to;
            };
            for (size_t i = first; i < last; ++i) {
                const Hit* const end_of_query = hit + found.n_hits[i];
                for (size_t at = size_t(found.offsets[i]); hit < end_of_query;) {
                    const size_t start = at;
                    const uint16_t distance = hit->distance;
                    if (distance != waiting) write_distances(start);
                    waiting = distance;
                    while (hit < end_of_query && hit->distance == distance) {
                        const size_t n = length_of_run(hit, end_of_query);
                        const Segment& segment = *segments[hit->segment];
                        const size_t n_after = segments.size() == 1 ? size_t(hits.end() - (hit + n)) : 0;
                        if (streamed) {
                            // What is held counts too: a file that changes meanwhile must not lead beyond the end.
                            const size_t room = std::min(stop - at, size_t(ids + stop - (stream.out + stream.used)));
                            at += kernels.stream_ids(segment.narrow_ids.data, segment.narrow_ids.size, segment.offsets.data, hit, n, n_after, stream, room);
                        } else {
                            at += write_ids(segment, hit, n, n_after, kernels, ids + at, stop - at);
                        }
                        hit += n;
                    }
                    if (sort) order.sort(ids + start, at - start);
                }
            }
            write_distances(stop);
        }
        if (streamed) kernels.finish(stream);
    });
}

}  // namespace kinhash
