// Finds the codes near a query: chooses a structure for each query, and gathers what all segments
// give. What is found are rows of codes; items are written out afterwards, once their number is known.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "deletions.hpp"
#include "dispatch.hpp"
#include "kernels.hpp"
#include "segment.hpp"

namespace kinhash {

enum class Plan : int { lookup = 0, deletions = 1, chunks = 2, groups = 3, scan = 4, neighbours = 5 };
inline constexpr size_t N_PLANS = 6;

// What structures answered, and how many codes they compared.
struct Work {
    uint64_t queries[N_PLANS] = {};
    uint64_t compared = 0;
    void add(const Work& other) {
        for (size_t p = 0; p < N_PLANS; ++p) queries[p] += other.queries[p];
        compared += other.compared;
    }
};

// Runs work(begin, end) over [0, n) in pieces, on up to n_threads threads. Whoever is done takes the
// next piece: with fixed shares, one busy core would hold up all the others.
template <typename Run>
void share(size_t n, size_t n_threads, size_t piece, const Run& work) {
    n_threads = std::clamp<size_t>((n + piece - 1) / piece, 1, std::clamp<size_t>(n_threads, 1, 256));
    if (n_threads == 1) return work(size_t(0), n);
    std::atomic<size_t> next = 0;
    const auto run = [&] {
        for (size_t begin; (begin = next.fetch_add(piece)) < n;) work(begin, std::min(begin + piece, n));
    };
    std::vector<std::thread> threads;
    for (size_t t = 1; t < n_threads; ++t) threads.emplace_back(run);
    run();
    for (auto& thread : threads) thread.join();
}

inline constexpr size_t SCAN_BLOCK = 1024;  // codes that stay in the first-level cache over a batch

// One segment and one query at a time.
template <size_t W>
class Finder {
  public:
    Finder(const Segment& segment, const Kernels& kernels)
        : segment_(segment), kernels_(kernels), words_(segment.n_words), near_(SCAN_BLOCK) {
        for (size_t w = 0; w < segment.used.size; ++w) n_used_ += size_t(std::popcount(segment.used[w]));
        if (segment.n_chunks)
            masks_ = chunk_masks(segment.used.data, segment.n_words, segment.n_chunks);
    }

    // The cheapest structure, by rough counts of nanoseconds; or the one asked for, where it can.
    Plan plan(const uint64_t* query, uint32_t radius, int asked = -1) const {
        const size_t n = segment_.n_codes();
        if (radius == 0 && segment_.slots.size && asked < 0) return Plan::lookup;
        if (radius <= 2 && segment_.neighbours.starts.size && (asked < 0 || asked == int(Plan::neighbours)) &&
            segment_.find(words_, query, words_.hash(query)) != NONE)
            return Plan::neighbours;
        const double compare = 0.2 * double(segment_.n_words), touch = n < 20000 ? 15 : 100;
        double best = int(Plan::scan) == asked ? -1 : compare * double(n);
        Plan chosen = Plan::scan;
        const auto consider = [&](Plan plan, double cost) {
            if (int(plan) == asked) cost = -1;
            if (cost < best) best = cost, chosen = plan;
        };
        if (segment_.slots.size && radius <= segment_.levels + 1 && radius <= 3) {
            const size_t k = words_.active(query);
            double probes = double(n_deletions(k, radius));
            for (uint32_t level = 1; level <= std::min(segment_.levels, radius); ++level)
                probes += 2 * double(n_deletions(k, radius - level));
            if (radius > segment_.levels)
                probes += double(n_deletions(k, radius - segment_.levels - 1)) * double(n_used_);
            consider(Plan::deletions, touch * probes);
        }
        if (segment_.n_chunks && radius < 2 * segment_.n_chunks) {
            const double flips = radius < segment_.n_chunks ? 0 : double(n_used_) / segment_.n_chunks;
            consider(Plan::chunks, segment_.n_chunks * (1 + flips) * touch * (1 + segment_.chunk_candidates));
        }
        if (segment_.n_leaders())
            consider(Plan::groups, compare * (double(segment_.n_leaders()) + 0.3 * double(n)));
        return chosen;
    }

    void within(Plan plan, const uint64_t* query, uint32_t radius, std::vector<Near>& out, Work& work) {
        switch (plan) {
            case Plan::lookup: lookup(query, 0, out, work); break;
            case Plan::deletions: deletions(query, radius, out, work); break;
            case Plan::chunks: chunks(query, radius, out, work); break;
            case Plan::groups: groups(query, radius, out, work); break;
            case Plan::neighbours: neighbours(query, radius, out, work); break;
            case Plan::scan: scan(query, radius, 0, segment_.n_codes(), out, work); break;
        }
        ++work.queries[size_t(plan)];
    }

    // Rows [begin, end) by comparing them all.
    void scan(const uint64_t* query, uint32_t radius, size_t begin, size_t end, std::vector<Near>& out, Work& work) {
        for (size_t first = begin; first < end; first += SCAN_BLOCK) {
            const size_t n = std::min(SCAN_BLOCK, end - first);
            const size_t found = kernels_.scan(segment_.code(first), n, words_.count(), query, radius, near_.data());
            for (size_t i = 0; i < found; ++i)
                out.push_back({near_[i].row + uint32_t(first), near_[i].distance});
        }
        work.compared += end > begin ? end - begin : 0;
    }

    // The rows of group g.
    std::pair<size_t, size_t> group(size_t g) const {
        const size_t n = segment_.n_codes(), from = std::min<size_t>(segment_.group_starts[g], n);
        return {from, std::max(from, std::min<size_t>(segment_.group_starts[g + 1], n))};
    }

    const Words<W>& words() const { return words_; }

  private:
    void lookup(const uint64_t* key, uint32_t distance, std::vector<Near>& out, Work& work) const {
        const uint32_t row = segment_.find(words_, key, words_.hash(key));
        if (row != NONE) out.push_back({row, distance});
        ++work.compared;
    }

    void deletions(const uint64_t* query, uint32_t radius, std::vector<Near>& out, Work& work) {
        if (segment_.levels == 0) return flips(query, radius, out, work);
        // All keys first, then their buckets, then their rows: so that the waits for memory overlap.
        keys_.clear();
        for_each_deletion(words_, query, radius, [&](const uint64_t* key, uint32_t removed) {
            const uint64_t hash = words_.hash(key);
            add_key(key, hash, removed, 0, NONE);
            const uint32_t most = std::min(segment_.levels, radius - removed);
            for (uint32_t level = 1; level <= most; ++level) add_key(key, hash, removed, level, NONE);
            if (removed + segment_.levels + 1 > radius) return;
            // Rows with one bit more than the tables remove: found under key + one of their bits.
            uint64_t longer[W ? W : MAX_WORDS];
            for (size_t w = 0; w < words_.count(); ++w)
                for (uint64_t rest = segment_.used[w] & ~query[w]; rest; rest &= rest - 1) {
                    std::copy_n(key, words_.count(), longer);
                    longer[w] |= rest & -rest;
                    add_key(longer, words_.hash(longer), removed, segment_.levels, uint32_t(64 * w + size_t(std::countr_zero(rest))));
                }
        });
        candidates_.clear();
        for (uint32_t k = 0; k < keys_.size(); ++k) {
            const Key& key = keys_[k];
            if (key.level == 0) {
                const uint32_t row = segment_.find(words_, key.words, key.hash);
                if (row != NONE) out.push_back({row, key.removed});
                continue;
            }
            const Segment::Keys& table = segment_.keys[key.level - 1];
            const size_t bucket = key_bucket(key.hash, table.starts.size - 1);
            const size_t end = std::min<size_t>(table.starts[bucket + 1], table.rows.size);
            uint32_t before = NONE;
            for (size_t at = table.starts[bucket]; at < end; ++at) {
                const uint32_t row = table.rows[at];
                // A row is filed twice where two of its keys share a bucket; then it stands twice running.
                if (row != before && row < segment_.n_codes()) {
                    candidates_.push_back({row, k});
                    __builtin_prefetch(segment_.code(row));
                }
                before = row;
            }
            // Only damaged tables have so many; without this they could take any amount of memory.
            if (candidates_.size() > MANY_CANDIDATES) check_candidates(query, out, work);
        }
        check_candidates(query, out, work);
        work.compared += keys_.size();
    }

    static constexpr size_t MANY_CANDIDATES = 1 << 20;

    void check_candidates(const uint64_t* query, std::vector<Near>& out, Work& work) {
        work.compared += candidates_.size();
        for (const Near& candidate : candidates_) {
            const Key& key = keys_[candidate.distance];
            const uint64_t* code = segment_.code(candidate.row);
            const uint32_t extra = words_.active(code) - words_.shared(code, query);
            // Just one key of the query is what both have in common, and just one bit is the lowest.
            const uint32_t expected = key.level + (key.added != NONE);
            if (extra == expected && meets(code, query, key) && (key.added == NONE || lowest_extra(code, query) == key.added))
                out.push_back({candidate.row, extra + key.removed});
        }
        candidates_.clear();
    }

    struct Key {
        uint64_t words[W ? W : MAX_WORDS];
        uint64_t hash;
        uint32_t removed, level, added;
    };
    void add_key(const uint64_t* key, uint64_t hash, uint32_t removed, uint32_t level, uint32_t added) {
        keys_.emplace_back();
        Key& last = keys_.back();
        std::copy_n(key, words_.count(), last.words);
        last.hash = hash;
        last.removed = removed;
        last.level = level;
        last.added = added;
        if (level == 0)
            __builtin_prefetch(segment_.slots.data + (hash & (segment_.slots.size - 1)));
        else
            __builtin_prefetch(segment_.keys[level - 1].starts.data + key_bucket(hash, segment_.keys[level - 1].starts.size - 1));
    }
    // Whether code & query is the key (less the added bit).
    bool meets(const uint64_t* code, const uint64_t* query, const Key& key) const {
        for (size_t w = 0; w < words_.count(); ++w)
            if ((code[w] & query[w]) != (key.words[w] & query[w])) return false;
        return true;
    }
    uint32_t lowest_extra(const uint64_t* code, const uint64_t* query) const {
        for (size_t w = 0; w < words_.count(); ++w)
            if (const uint64_t extra = code[w] & ~query[w]) return uint32_t(64 * w + size_t(std::countr_zero(extra)));
        return NONE;
    }

    // Radius 0 and 1 by the hash table alone: the query, and the query with each bit flipped.
    void flips(const uint64_t* query, uint32_t radius, std::vector<Near>& out, Work& work) const {
        lookup(query, 0, out, work);
        if (radius == 0) return;
        uint64_t key[W ? W : MAX_WORDS];
        std::copy_n(query, words_.count(), key);
        for (size_t w = 0; w < words_.count(); ++w)
            for (uint64_t rest = segment_.used[w] | query[w]; rest; rest &= rest - 1) {
                key[w] ^= rest & -rest;
                lookup(key, 1, out, work);
                key[w] ^= rest & -rest;
            }
    }

    // A code that is stored has its neighbours listed.
    void neighbours(const uint64_t* query, uint32_t radius, std::vector<Near>& out, Work& work) const {
        const uint32_t row = segment_.find(words_, query, words_.hash(query));
        if (row == NONE) return;
        out.push_back({row, 0});
        const auto& [starts, rows] = segment_.neighbours;
        for (uint32_t distance = 1; distance <= radius; ++distance) {
            const size_t at = 2 * size_t(row) + distance - 1, end = std::min<size_t>(starts[at + 1], rows.size);
            for (size_t i = starts[at]; i < end; ++i)
                if (rows[i] < segment_.n_codes()) out.push_back({rows[i], distance});
        }
        ++work.compared;
    }

    // Two codes within r bits agree but for r / n_chunks bits in one of n_chunks parts at least.
    void chunks(const uint64_t* query, uint32_t radius, std::vector<Near>& out, Work& work) const {
        const size_t n = segment_.n_codes(), n_chunks = segment_.n_chunks, size = segment_.chunk_starts.size / n_chunks - 1;
        const uint32_t most = radius / uint32_t(n_chunks);  // 0 or 1, as planned
        const size_t n_words = words_.count();
        const auto part_distance = [&](const uint64_t* code, size_t c) {
            uint32_t total = 0;
            for (size_t w = 0; w < n_words; ++w)
                total += uint32_t(std::popcount((code[w] ^ query[w]) & masks_[c * n_words + w]));
            return total;
        };
        const auto probe = [&](size_t c, const uint64_t* part) {
            const uint64_t hash = words_.hash(part);
            const uint32_t* starts = segment_.chunk_starts.data + c * (size + 1) + (hash & (size - 1));
            const size_t end = std::min<size_t>(starts[1], n);
            for (size_t at = starts[0]; at < end; ++at) {
                const uint32_t row = segment_.chunk_rows[c * n + at];
                if (row >= n) continue;
                ++work.compared;
                const uint64_t* code = segment_.code(row);
                const uint32_t d = words_.distance(code, query);
                if (d > radius) continue;
                bool first = true;  // counts where its first such part finds it
                for (size_t w = 0; w < n_words && first; ++w) first = (code[w] & masks_[c * n_words + w]) == part[w];
                for (size_t earlier = 0; earlier < c && first; ++earlier) first = part_distance(code, earlier) > most;
                if (first) out.push_back({row, d});
            }
        };
        uint64_t part[W ? W : MAX_WORDS];
        for (size_t c = 0; c < n_chunks; ++c) {
            const uint64_t* mask = masks_.data() + c * n_words;
            for (size_t w = 0; w < n_words; ++w) part[w] = query[w] & mask[w];
            probe(c, part);
            if (most == 0) continue;
            for (size_t w = 0; w < n_words; ++w)
                for (uint64_t rest = mask[w]; rest; rest &= rest - 1) {
                    part[w] ^= rest & -rest;
                    probe(c, part);
                    part[w] ^= rest & -rest;
                }
        }
    }
    // A code within r of the query has a leader within r + group_radius of it.
    void groups(const uint64_t* query, uint32_t radius, std::vector<Near>& out, Work& work) {
        const size_t n = segment_.n_leaders();
        std::vector<Near> near(SCAN_BLOCK);
        size_t left = segment_.n_codes();  // groups share no codes, unless they are damaged
        for (size_t first = 0; first < n; first += SCAN_BLOCK) {
            const size_t found = kernels_.scan(segment_.leaders.data + first * words_.count(), std::min(SCAN_BLOCK, n - first),
                                               words_.count(), query, radius + segment_.group_radius, near.data());
            for (size_t i = 0; i < found; ++i) {
                const auto [from, to] = group(first + near[i].row);
                const size_t size = std::min(to - from, left);
                scan(query, radius, from, from + size, out, work);
                left -= size;
            }
        }
        work.compared += n;
    }

    const Segment& segment_;
    const Kernels& kernels_;
    Words<W> words_;
    std::vector<Near> near_, candidates_;
    std::vector<Key> keys_;
    std::vector<uint64_t> masks_;
    size_t n_used_ = 0;
};

// Lists every code's neighbours within two bits; gives up where they take more than `budget` bytes.
template <size_t W>
bool list_neighbours(const Segment& segment, const Kernels& kernels, double budget, std::vector<uint32_t>& starts,
                     std::vector<uint32_t>& rows) {
    Finder<W> finder(segment, kernels);
    std::vector<Near> near;
    Work work;
    starts.assign(1, 0);
    for (size_t row = 0; row < segment.n_codes(); ++row) {
        near.clear();
        finder.within(finder.plan(segment.code(row), 2), segment.code(row), 2, near, work);
        for (const uint32_t distance : {1u, 2u}) {
            for (const Near& one : near)
                if (one.distance == distance) rows.push_back(one.row);
            starts.push_back(uint32_t(rows.size()));
        }
        if (4.0 * double(starts.size() + rows.size()) > budget || rows.size() > 0xf0000000) {
            starts.clear();
            rows.clear();
            return false;
        }
    }
    return true;
}

// A row of one segment, found for a query.
struct Hit {
    uint32_t row;
    uint16_t segment, distance;
};

// What a batch of queries found: for each its hits by distance, and how many items these are.
struct Found {
    std::vector<std::vector<Hit>> pieces;  // of PIECE queries each
    std::vector<uint32_t> n_hits;          // per query
    std::vector<int64_t> offsets;          // of items: n_queries + 1
    Work work;
    static constexpr size_t PIECE = 64;
};

// Puts hits in order of distance; `out` is appended to.
inline void sort_by_distance(const std::vector<Hit>& hits, std::vector<Hit>& out) {
    if (hits.size() < 2) {
        out.insert(out.end(), hits.begin(), hits.end());
        return;
    }
    uint32_t lowest = NONE, highest = 0;
    for (const Hit& hit : hits) {
        lowest = std::min<uint32_t>(lowest, hit.distance);
        highest = std::max<uint32_t>(highest, hit.distance);
    }
    uint32_t next[64 * MAX_WORDS + 2];
    std::fill(next, next + (highest - lowest + 2), 0);
    for (const Hit& hit : hits) ++next[hit.distance - lowest + 1];
    for (uint32_t d = 0; d <= highest - lowest; ++d) next[d + 1] += next[d];
    const size_t base = out.size();
    out.resize(base + hits.size());
    for (const Hit& hit : hits) out[base + next[hit.distance - lowest]++] = hit;
}

// What one thread works with; kept from one search to the next, because making it takes longer than
// a look-up.
template <size_t W>
struct Scratch {
    std::vector<Finder<W>> finders;
    std::vector<std::vector<Hit>> hits;
    std::vector<Near> near;
    std::vector<size_t> scanning;
    Scratch(const std::vector<const Segment*>& segments, const Kernels& kernels) : hits(Found::PIECE) {
        for (const Segment* segment : segments) finders.emplace_back(*segment, kernels);
    }
};

// Finds the rows within `radius` of the queries [begin, end), at most PIECE of them.
template <size_t W>
void search_piece(const std::vector<const Segment*>& segments, const uint64_t* queries, size_t begin, size_t end,
                  size_t n_words, uint32_t radius, int asked, Scratch<W>& scratch, Found& found, Work& work) {
    auto& [finders, hits, near, scanning] = scratch;
    for (size_t i = begin; i < end; ++i) hits[i - begin].clear();
    for (size_t s = 0; s < segments.size(); ++s) {
        const auto keep = [&](size_t i) {
            for (const Near& one : near) hits[i - begin].push_back({one.row, uint16_t(s), uint16_t(one.distance)});
            near.clear();
        };
        scanning.clear();
        for (size_t i = begin; i < end; ++i) {
            const uint64_t* query = queries + i * n_words;
            const Plan plan = finders[s].plan(query, radius, asked);
            if (plan == Plan::scan) {
                scanning.push_back(i);
                ++work.queries[size_t(plan)];
                continue;
            }
            finders[s].within(plan, query, radius, near, work);
            keep(i);
        }
        // All queries over one block of codes before the next block comes in from memory.
        const size_t n = scanning.empty() ? 0 : segments[s]->n_codes();
        for (size_t block = 0; block < n; block += SCAN_BLOCK)
            for (const size_t i : scanning) {
                finders[s].scan(queries + i * n_words, radius, block, std::min(block + SCAN_BLOCK, n), near, work);
                keep(i);
            }
    }
    std::vector<Hit>& piece = found.pieces[begin / Found::PIECE];
    size_t most = 0;
    for (const Segment* segment : segments) most += segment->n_items();
    for (size_t i = begin; i < end; ++i) {
        const size_t before = piece.size();
        sort_by_distance(hits[i - begin], piece);
        size_t items = 0;
        for (size_t at = before; at < piece.size(); ++at) {
            const size_t n = segments[piece[at].segment]->count(piece[at].row);
            // Damaged buckets may overlap; together they never give more than there is.
            if (n > most - items) piece.resize(at);
            else items += n;
        }
        found.n_hits[i] = uint32_t(piece.size() - before);
        found.offsets[i + 1] = int64_t(items);
    }
}

// Calls f(query, hit) for all hits of the queries [begin, end), which must be whole pieces.
template <typename F>
void for_each_hit(const Found& found, size_t begin, size_t end, const F& f) {
    for (size_t first = begin; first < end; first += Found::PIECE) {
        const Hit* hit = found.pieces[first / Found::PIECE].data();
        for (size_t i = first; i < std::min(first + Found::PIECE, end); ++i)
            for (uint32_t h = 0; h < found.n_hits[i]; ++h) f(i, *hit++);
    }
}

// Puts numbers in ascending order; by their digits where there are many.
inline void sort_ids(int64_t* ids, size_t n, std::vector<int64_t>& scratch) {
    if (n < 256) return std::sort(ids, ids + n);
    const auto [low, high] = std::minmax_element(ids, ids + n);
    const int64_t first = *low;
    const uint64_t range = uint64_t(*high) - uint64_t(first);
    scratch.resize(n);
    int64_t *from = ids, *to = scratch.data();
    for (uint32_t shift = 0; shift < 64 && (range >> shift) > 0; shift += 11) {
        uint32_t next[2049] = {};
        const auto digit = [&](int64_t id) { return (uint64_t(id) - uint64_t(first)) >> shift & 2047; };
        for (size_t i = 0; i < n; ++i) ++next[digit(from[i]) + 1];
        for (size_t d = 0; d < 2048; ++d) next[d + 1] += next[d];
        for (size_t i = 0; i < n; ++i) to[next[digit(from[i])]++] = from[i];
        std::swap(from, to);
    }
    if (from != ids) std::copy_n(from, n, ids);
}

// Writes the ids of a hit that count, and returns how many.
inline size_t write_ids(const Segment& segment, uint32_t row, int64_t* out) {
    const size_t from = segment.begin(row), to = segment.end(row);
    size_t n = 0;
    if (segment.alive.size) {
        for (size_t item = from; item < to; ++item)
            if (segment.is_alive(item)) out[n++] = segment.id(item);
        return n;
    }
    if (segment.wide_ids.size) {
        std::copy(segment.wide_ids.data + from, segment.wide_ids.data + to, out);
    } else {
        const uint32_t* ids = segment.narrow_ids.data;
        for (size_t item = from; item < to; ++item) out[item - from] = ids[item];
    }
    return to - from;
}

inline void expand(const std::vector<const Segment*>& segments, const Found& found, bool sort, size_t n_threads,
                   int64_t* ids, int32_t* distances) {
    const size_t n_queries = found.n_hits.size();
    share(n_queries, n_threads, Found::PIECE, [&](size_t begin, size_t end) {
        size_t query = NONE, at = 0, run = 0;
        int32_t before = -1;
        std::vector<int64_t> scratch;
        const auto close = [&] {
            if (sort) sort_ids(ids + run, at - run, scratch);
        };
        for_each_hit(found, begin, end, [&](size_t i, const Hit& hit) {
            if (i != query || hit.distance != before) {
                close();
                if (i != query) at = size_t(found.offsets[i]);
                query = i, before = hit.distance, run = at;
            }
            const size_t n = write_ids(*segments[hit.segment], hit.row, ids + at);
            std::fill_n(distances + at, n, int32_t(hit.distance));
            at += n;
        });
        close();
    });
}

// How many items lie at each distance 0 .. radius: (n_queries, radius + 1), zeroed before.
inline void count_distances(const std::vector<const Segment*>& segments, const Found& found, uint32_t radius,
                            size_t n_threads, int64_t* counts) {
    share(found.n_hits.size(), n_threads, Found::PIECE, [&](size_t begin, size_t end) {
        for_each_hit(found, begin, end, [&](size_t i, const Hit& hit) {
            counts[i * (radius + 1) + hit.distance] += int64_t(segments[hit.segment]->count(hit.row));
        });
    });
}

// Brings the n lowest numbers to the front: those below the n-th by a histogram, in two passes, and
// only the few in its own cell by comparing.
inline void keep_lowest(std::vector<int64_t>& ids, size_t n) {
    const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
    const uint64_t first = uint64_t(*low), range = uint64_t(*high) - first;
    const int shift = std::max(0, 64 - std::countl_zero(range) - 12);
    uint32_t counts[4096] = {};
    const auto cell = [&](int64_t id) { return (uint64_t(id) - first) >> shift; };
    for (const int64_t id : ids) ++counts[cell(id)];
    size_t below = 0, last = 0;
    while (below + counts[last] < n) below += counts[last++];
    size_t kept = 0;
    std::vector<int64_t> edge;
    for (const int64_t id : ids) {
        if (cell(id) < last) ids[kept++] = id;
        if (cell(id) == last) edge.push_back(id);
    }
    std::sort(edge.begin(), edge.end());
    std::copy_n(edge.begin(), n - kept, ids.begin() + std::ptrdiff_t(kept));
}

// The k nearest items of one query at a time; at equal distance the lowest ids.
template <size_t W>
class TopK {
  public:
    TopK(const std::vector<const Segment*>& segments, size_t n_words, std::vector<Finder<W>>& finders)
        : segments_(segments), n_words_(n_words), finders_(finders) {
        for (const Segment* segment : segments) n_items_ += segment->n_alive;
    }

    // Writes min(k, items) ids and distances in order; -1 where a damaged file does not lead to as
    // many. Radii grow until they hold k items: first as long as they are look-ups, then from where
    // a sample of the codes says that k items lie.
    void search(const uint64_t* query, size_t k, int64_t* ids, int32_t* distances, Work& work) {
        k = std::min(k, n_items_);
        if (k == 0) return;
        const uint32_t farthest = uint32_t(64 * n_words_);
        bool enough = false;
        const uint32_t most = k < RARE ? 3 : 0;  // what is rare, a sample does not show
        for (uint32_t radius = 0; radius <= most && !enough && all_by_lookup(query, radius); ++radius)
            enough = collect(query, radius, work) >= k;
        if (!enough)
            for (uint32_t radius = likely_radius(query, k); collect(query, radius, work) < k && radius < farthest;) ++radius;
        choose(k, ids, distances);
    }

  private:
    static constexpr size_t RARE = 500;

    bool all_by_lookup(const uint64_t* query, uint32_t radius) const {
        for (const Finder<W>& finder : finders_) {
            const Plan plan = finder.plan(query, radius);
            if (plan == Plan::scan || plan == Plan::groups) return false;
        }
        return true;
    }

    // Gathers all rows within `radius`; returns how many items that is.
    size_t collect(const uint64_t* query, uint32_t radius, Work& work) {
        hits_.clear();
        size_t items = 0;
        for (size_t s = 0; s < segments_.size(); ++s) {
            near_.clear();
            finders_[s].within(finders_[s].plan(query, radius), query, radius, near_, work);
            for (const Near& near : near_) {
                hits_.push_back({near.row, uint16_t(s), uint16_t(near.distance)});
                items += segments_[s]->count(near.row);
            }
        }
        return items;
    }

    // The smallest radius that holds k items, if all codes are like a sample of them.
    uint32_t likely_radius(const uint64_t* query, size_t k) {
        std::vector<double> items(64 * n_words_ + 1, 0);
        for (size_t s = 0; s < segments_.size(); ++s) {
            const size_t n = segments_[s]->n_codes(), blocks = std::clamp<size_t>(n / 64, 1, 32);
            const double share = double(n) / double(std::min(n, blocks * 64));
            for (size_t b = 0; b < blocks; ++b)
                for (size_t row = b * n / blocks; row < std::min(b * n / blocks + 64, n); ++row)
                    items[finders_[s].words().distance(segments_[s]->code(row), query)] += share * double(segments_[s]->count(row));
        }
        double total = 0;
        uint32_t radius = 0;
        for (; radius + 1 < items.size(); ++radius)
            if ((total += items[radius]) >= double(k)) break;
        return radius;
    }

    void choose(size_t k, int64_t* ids, int32_t* distances) {
        ordered_.clear();
        sort_by_distance(hits_, ordered_);
        size_t written = 0;
        for (size_t first = 0; first < ordered_.size() && written < k;) {
            const uint32_t distance = ordered_[first].distance;
            const size_t need = k - written;
            pool_.clear();
            for (; first < ordered_.size() && ordered_[first].distance == distance; ++first) {
                // A bucket's ids ascend, so no more than its first `need` can be among the lowest.
                const Segment& segment = *segments_[ordered_[first].segment];
                size_t taken = 0;
                for (size_t item = segment.begin(ordered_[first].row), end = segment.end(ordered_[first].row);
                     item < end && taken < need && pool_.size() < n_items_; ++item)
                    if (segment.is_alive(item)) pool_.push_back(segment.id(item)), ++taken;
            }
            const size_t n = std::min(need, pool_.size());
            if (n < pool_.size()) keep_lowest(pool_, n);
            sort_ids(pool_.data(), n, scratch_);
            std::copy_n(pool_.begin(), n, ids + written);
            std::fill_n(distances + written, n, int32_t(distance));
            written += n;
        }
        std::fill(ids + written, ids + k, -1);
        std::fill(distances + written, distances + k, -1);
    }

    const std::vector<const Segment*>& segments_;
    size_t n_words_, n_items_ = 0;
    std::vector<Finder<W>>& finders_;
    std::vector<Hit> hits_, ordered_;
    std::vector<Near> near_;
    std::vector<int64_t> pool_, scratch_;
};

// Searches over a fixed list of segments, by any number of threads at once.
class Searcher {
  public:
    explicit Searcher(std::vector<const Segment*> segments) : segments_(std::move(segments)) {}
    virtual ~Searcher() = default;
    virtual Found radius(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked) const = 0;
    virtual Work top_k(const uint64_t* queries, size_t n, size_t k, size_t n_threads, int64_t* ids, int32_t* distances) const = 0;
    const std::vector<const Segment*>& segments() const { return segments_; }

  protected:
    std::vector<const Segment*> segments_;
};

template <size_t W>
class SearcherOf final : public Searcher {
  public:
    SearcherOf(std::vector<const Segment*> segments, size_t n_words) : Searcher(std::move(segments)), n_words_(n_words) {}

    Found radius(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked) const override {
        Found found;
        found.n_hits.resize(n);
        found.offsets.assign(n + 1, 0);
        found.pieces.resize((n + Found::PIECE - 1) / Found::PIECE);
        std::mutex mutex;
        share(n, n_threads, Found::PIECE, [&](size_t first, size_t last) {
            Work work;
            auto scratch = take();
            for (size_t begin = first; begin < last; begin += Found::PIECE)
                search_piece(segments_, queries, begin, std::min(begin + Found::PIECE, last), n_words_, radius, asked,
                             *scratch, found, work);
            give_back(std::move(scratch));
            std::lock_guard guard(mutex);
            found.work.add(work);
        });
        for (size_t i = 0; i < n; ++i) found.offsets[i + 1] += found.offsets[i];
        return found;
    }

    Work top_k(const uint64_t* queries, size_t n, size_t k, size_t n_threads, int64_t* ids, int32_t* distances) const override {
        Work total;
        std::mutex mutex;
        share(n, n_threads, 16, [&](size_t begin, size_t end) {
            Work work;
            auto scratch = take();
            TopK<W> searcher(segments_, n_words_, scratch->finders);
            for (size_t i = begin; i < end; ++i)
                searcher.search(queries + i * n_words_, k, ids + i * k, distances + i * k, work);
            give_back(std::move(scratch));
            std::lock_guard guard(mutex);
            total.add(work);
        });
        return total;
    }

  private:
    std::unique_ptr<Scratch<W>> take() const {
        {
            std::lock_guard guard(mutex_);
            // The instruction set may have been changed since, by a test.
            if (kernels_ != active_kernels()) free_.clear(), kernels_ = active_kernels();
            if (!free_.empty()) {
                auto scratch = std::move(free_.back());
                free_.pop_back();
                return scratch;
            }
        }
        return std::make_unique<Scratch<W>>(segments_, *active_kernels());
    }
    void give_back(std::unique_ptr<Scratch<W>> scratch) const {
        std::lock_guard guard(mutex_);
        if (free_.size() < 64) free_.push_back(std::move(scratch));
    }
    size_t n_words_;
    mutable std::mutex mutex_;
    mutable const Kernels* kernels_ = nullptr;
    mutable std::vector<std::unique_ptr<Scratch<W>>> free_;
};

}  // namespace kinhash
