// The answer to a batch of queries: first as hits, then, once their number is known, as ids and distances.
#pragma once

#include "runtime/answer.hpp"
#include "runtime/threads.hpp"
#include "search/finders.hpp"
#include "search/ids.hpp"

namespace kinhash {

// Per query its hits by distance and the number of their items.
struct Found {
    static constexpr size_t PIECE = 64;
    std::vector<Hits> pieces;      // of PIECE queries each
    std::vector<uint32_t> n_hits;  // per query
    std::vector<int64_t> offsets;  // of items: n_queries + 1

    void start(size_t n_queries) {
        pieces.resize((n_queries + PIECE - 1) / PIECE);
        for (Hits& piece : pieces) piece.clear();
        n_hits.resize(n_queries);
        offsets.resize(n_queries + 1);
        offsets[0] = 0;
    }
    // Frees the memory if it is more than `most` bytes.
    void forget(size_t most) {
        size_t total = 0;
        for (const Hits& piece : pieces) total += piece.capacity() * sizeof(Hit);
        if (total > most) *this = {};
    }
};

// Writes the hits in order of distance, none of which is beyond `radius`, from `to` on. One hit past the last
// may be overwritten.
inline void write_by_distance(const Hits& hits, uint32_t radius, Hit* to) {
    constexpr uint32_t FEW = 3;
    if (radius <= FEW) {
        // Branch-free: each pass writes every hit, and overwrites those at another distance.
        for (uint32_t d = 0; d <= radius; ++d)
            for (const Hit& hit : hits) {
                *to = hit;
                to += hit.distance == d;
            }
    } else {
        uint32_t next[64 * MAX_WORDS + 2];
        std::fill_n(next, radius + 2, 0);
        for (const Hit& hit : hits) ++next[hit.distance + 1];
        for (uint32_t d = 0; d <= radius; ++d) next[d + 1] += next[d];
        for (const Hit& hit : hits) to[next[hit.distance]++] = hit;
    }
}

// Appends hits in order of distance, none of which is beyond `radius`; returns the number of their items.
inline size_t append_by_distance(const Segments& segments, const Hits& hits, uint32_t radius, Hits& out) {
    constexpr size_t MANY = 1 << 15;  // codes whose offsets do not stay in the cache
    const Segment& only = *segments[0];
    if (segments.size() > 1 || only.n_codes() >= MANY)
        for (const Hit& hit : hits) __builtin_prefetch(segments[hit.segment]->offsets.data + hit.row);
    Hit* const to = out.room(hits.size() + 1);
    // Most hits are in order already: copies and counts them in one pass, and sorts only if necessary.
    bool in_order = true;
    size_t items = 0;
    uint16_t before = 0;
    const auto copy = [&](const auto& count) {
        for (size_t i = 0; i < hits.size(); ++i) {
            const Hit hit = hits[i];
            in_order &= before <= hit.distance;
            before = hit.distance;
            items += count(hit);
            to[i] = hit;
        }
    };
    if (segments.size() == 1 && !only.alive.size)
        copy([&](const Hit& hit) { return only.size(hit.row, hit.more); });
    else
        copy([&](const Hit& hit) { return segments[hit.segment]->count(hit.row, hit.more); });
    if (!in_order) write_by_distance(hits, radius, to);
    out.add(hits.size());
    return items;
}

// Adds the hits of query i; `most` is the number of stored items.
inline void keep(const Segments& segments, size_t i, const Hits& hits, uint32_t radius, size_t most,
                 Found& found) {
    Hits& piece = found.pieces[i / Found::PIECE];
    const size_t before = piece.size();
    size_t items = append_by_distance(segments, hits, radius, piece);
    if (items > most) {
        // The buckets of a damaged file may overlap: never return more items than are stored.
        items = 0;
        for (size_t at = before; at < piece.size(); ++at) {
            const size_t n = segments[piece[at].segment]->count(piece[at].row, piece[at].more);
            if (n > most - items)
                piece.cut(at);
            else
                items += n;
        }
    }
    found.n_hits[i] = uint32_t(piece.size() - before);
    found.offsets[i + 1] = int64_t(items);
}

// Writes the ids of some hits of one segment, at most `room`, and returns how many. May overwrite the rest of
// the room. The `n_after` hits that follow are written next: their ids are prefetched.
inline size_t write_ids(const Segment& segment, const Hit* hits, size_t n_hits, size_t n_after,
                        const Kernels& kernels, int64_t* out, size_t room) {
    if (segment.has_plain_ids())
        return kernels.write_ids(segment.narrow_ids.data, segment.narrow_ids.size, segment.offsets.data, hits,
                                 n_hits, n_after, out, room);
    size_t written = 0;
    for (const Hit* hit = hits; hit < hits + n_hits; ++hit)
        for (size_t item = segment.begin(hit->row), end = segment.end(hit->row, hit->more);
             item < end && written < room; ++item)
            if (segment.is_alive(item)) out[written++] = segment.id(item);
    return written;
}

// Bytes of ids from which an answer does not fit the cache anyway.
inline constexpr size_t STREAMED = size_t(1) << 24;

// Writes the ids and distances of one piece of queries.
class ItemWriter {
  public:
    ItemWriter(const Segments& segments, const Found& found, bool sort, bool streamed, const Kernels& kernels,
               size_t first_query, int64_t* ids, int32_t* distances, Stop& stop)
        : segments_(segments), found_(found), sort_(sort), streamed_(streamed), kernels_(kernels), ids_(ids),
          distances_(distances), stream_(ids + found.offsets[first_query]), polling_(&stop) {}

    // Queries first .. last - 1, which are the piece.
    void write(size_t first, size_t last) {
        const Hits& hits = found_.pieces[first / Found::PIECE];
        const Hit* hit = hits.begin();
        hits_end_ = hits.end();
        stop_ = size_t(found_.offsets[last]);
        filled_ = size_t(found_.offsets[first]);
        for (size_t i = first; i < last; ++i) {
            const Hit* const end = hit + found_.n_hits[i];
            for (size_t at = size_t(found_.offsets[i]); hit < end;) at = write_distance(hit, end, at);
            polling_.add(size_t(found_.offsets[i + 1] - found_.offsets[i]));
        }
        fill_distances(stop_);
        if (streamed_) kernels_.finish(stream_);
    }

  private:
    // Writes the ids of all hits at the distance of the first; returns where the next ones belong.
    size_t write_distance(const Hit*& hit, const Hit* end, size_t at) {
        const size_t start = at;
        const uint16_t distance = hit->distance;
        if (distance != waiting_) fill_distances(start);
        waiting_ = distance;
        while (hit < end && hit->distance == distance) {
            const size_t n = length_of_run(hit, end);
            at += write_run(hit, n, at);
            hit += n;
        }
        if (sort_) order_.sort(ids_ + start, at - start);
        return at;
    }
    // Writes the ids of n hits of one segment at one distance.
    size_t write_run(const Hit* hit, size_t n, size_t at) {
        const Segment& segment = *segments_[hit->segment];
        const size_t n_after = segments_.size() == 1 ? size_t(hits_end_ - (hit + n)) : 0;
        if (!streamed_) return write_ids(segment, hit, n, n_after, kernels_, ids_ + at, stop_ - at);
        // Also counts the ids that the stream still holds: a file that changes meanwhile must not lead beyond
        // the end.
        const size_t room = std::min(stop_ - at, size_t(ids_ + stop_ - (stream_.out + stream_.used)));
        return kernels_.stream_ids(segment.narrow_ids.data, segment.narrow_ids.size, segment.offsets.data,
                                   hit, n, n_after, stream_, room);
    }
    // Equal distances are written together, when the next one is known.
    void fill_distances(size_t to) {
        if (to > filled_)
            (streamed_ ? kernels_.stream_fill : kernels_.fill)(distances_ + filled_, to - filled_, waiting_);
        filled_ = to;
    }
    static size_t length_of_run(const Hit* hit, const Hit* end) {
        const Hit first = *hit;
        size_t n = 1;
        while (hit + n < end && hit[n].distance == first.distance && hit[n].segment == first.segment) ++n;
        return n;
    }

    const Segments& segments_;
    const Found& found_;
    const bool sort_, streamed_;
    const Kernels& kernels_;
    int64_t* const ids_;
    int32_t* const distances_;
    Stream stream_;
    Polling polling_;
    IdOrder order_;
    const Hit* hits_end_ = nullptr;
    size_t stop_ = 0;      // end of the piece's items
    size_t filled_ = 0;    // distances before this are written
    int32_t waiting_ = 0;  // the distance of those from there on
};

// Writes all items; `sort` orders equal distances by id.
inline void expand(const Segments& segments, const Found& found, bool sort, const Kernels& kernels,
                   size_t n_threads, int64_t* ids, int32_t* distances, Stop& stop) {
    const size_t n_queries = found.n_hits.size();
    const bool plain =
        std::all_of(segments.begin(), segments.end(), [](const Segment* s) { return s->has_plain_ids(); });
    const bool streamed = plain && !sort && size_t(found.offsets[n_queries]) * sizeof(int64_t) >= STREAMED;
    parallel_for(n_queries, n_threads, Found::PIECE, stop, [&](size_t begin, size_t end) {
        ItemWriter(segments, found, sort, streamed, kernels, begin, ids, distances, stop).write(begin, end);
    });
}

}  // namespace kinhash
