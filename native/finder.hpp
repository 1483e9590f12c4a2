// Finds the codes of one segment that lie near a query: six ways to do so, and the choice between them.
#pragma once

#include "deletions.hpp"
#include "dispatch.hpp"
#include "hits.hpp"
#include "kernels.hpp"
#include "planes.hpp"
#include "segment.hpp"

namespace kinhash {

enum class Plan : int { lookup = 0, deletions = 1, chunks = 2, groups = 3, scan = 4, neighbours = 5 };
inline constexpr size_t N_PLANS = 6;

// How to answer a query; for neighbours also the row whose list it is.
struct Choice {
    Plan plan;
    uint32_t row = NONE;
};

// What structures answered, and how many codes they compared.
struct Work {
    uint64_t queries[N_PLANS] = {};
    uint64_t compared = 0;
    void add(const Work& other) {
        for (size_t p = 0; p < N_PLANS; ++p) queries[p] += other.queries[p];
        compared += other.compared;
    }
};

// One query, and where to put what lies near it.
struct Asked {
    const uint64_t* query;
    uint32_t radius;
    Hits* out;
};

// Codes that stay in the first-level cache over a batch of queries.
inline constexpr size_t SCAN_BLOCK = 1024;
// Leaders after which it is known about how many groups are near.
inline constexpr size_t LEADER_BLOCK = 4 * PLANE_CODES;

// One segment and one query at a time.
template <size_t W>
class Finder {
  public:
    // Hits carry `number`, the segment's own in what is being searched. Without planes, scans are slower.
    Finder(const Segment& segment, const Kernels& kernels, SegmentPlanes* planes = nullptr, uint8_t number = 0)
        : segment_(segment), kernels_(kernels), words_(segment.n_words), planes_(planes), number_(number) {
        for (size_t w = 0; w < segment.used.size; ++w) n_used_ += size_t(std::popcount(segment.used[w]));
        if (segment.n_chunks)
            masks_ = chunk_masks(segment.used.data, segment.n_words, segment.n_chunks);
    }

    // Calls for what the queries' own codes lead to from memory, so that the waits for it overlap.
    void expect(const std::vector<Asked>& asked) {
        if (!segment_.slots.size || asked.size() < 2 || asked[0].radius > 3) return;
        const Span<uint32_t>& starts = segment_.neighbours.starts;
        expect_codes(asked, [&](size_t row) {
            if (starts.size) __builtin_prefetch(starts.data + 3 * row);
        });
        for (size_t i = 0; i < asked.size() && starts.size; ++i)
            if (const size_t row = expected_[i].row; row != NONE && starts[3 * row] < starts[3 * row + 1])
                __builtin_prefetch(segment_.neighbours.rows.data + starts[3 * row]);
    }

    // Radius 0, where there are slots: the rows of the queries' own codes.
    void lookup_all(const std::vector<Asked>& asked, Work& work) {
        expect_codes(asked, [&](size_t row) { __builtin_prefetch(segment_.offsets.data + row); });
        for (size_t i = 0; i < asked.size(); ++i) {
            const auto& [hash, likely] = expected_[i];
            const uint64_t* const query = asked[i].query;
            const uint32_t row = likely != NONE && words_.equal(segment_.code(likely), query) ? likely : segment_.find(words_, query, hash);
            if (row != NONE) asked[i].out->push_back(hit(row, 0));
        }
        work.queries[size_t(Plan::lookup)] += asked.size();
        work.compared += asked.size();
    }

    // The cheapest structure, by rough counts of nanoseconds; or the one asked for, where it can.
    Choice plan(const uint64_t* query, uint32_t radius, int asked = -1) const {
        const size_t n = segment_.n_codes();
        if (radius == 0 && segment_.slots.size && asked < 0) return {Plan::lookup};
        if (radius <= 3 && segment_.neighbours.starts.size && (asked < 0 || asked == int(Plan::neighbours)))
            if (const uint32_t row = listed_row(query, radius); row != NONE) return {Plan::neighbours, row};
        const double touch = n < 20000 ? 25 : 100;
        double best = int(Plan::scan) == asked ? -1 : compare(query, radius) * double(n);
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
            double probes = 0;
            for (size_t c = 0; c < segment_.n_chunks; ++c)
                if (const int flips = flips_of(c, radius); flips >= 0) probes += 1 + flips * double(n_used_) / segment_.n_chunks;
            consider(Plan::chunks, 0.5 * touch * probes * (1 + segment_.chunk_candidates));
        }
        if (segment_.n_leaders()) {
            const double scan_leaders = (suits_planes(query, radius) ? 0.1 : 0.2 * double(segment_.n_words)) * double(segment_.n_leaders());
            consider(Plan::groups, 1500 + scan_leaders + 0.03 * double(segment_.n_words) * double(n));
        }
        return {chosen};
    }

    void within(Choice choice, const uint64_t* query, uint32_t radius, Hits& out, Work& work) {
        switch (choice.plan) {
            case Plan::lookup: lookup(query, 0, out, work); break;
            case Plan::deletions: deletions(query, radius, out, work); break;
            case Plan::chunks:
                start_chunks({query, radius, &out}, work);
                finish_chunks(work);
                break;
            case Plan::groups:
                if (!groups(query, radius, false, out, work)) scan_all(query, radius, out, work);
                break;
            case Plan::neighbours: neighbours(choice.row, radius, out, work); break;
            case Plan::scan: scan_all(query, radius, out, work); break;
        }
        ++work.queries[size_t(choice.plan)];
    }

    // Two codes within r bits are near in one of n_chunks parts at least: see flips_of(). First all
    // probes of some queries, then their buckets, then their rows: so that the waits for memory overlap.
    // What is found is there after finish_chunks().
    void start_chunks(const Asked& asked, Work& work) {
        chunked_.push_back(asked);
        const size_t n_words = words_.count();
        uint64_t part[W ? W : MAX_WORDS];
        for (uint32_t c = 0; c < segment_.n_chunks; ++c) {
            const int flips = flips_of(c, asked.radius);
            if (flips < 0) break;
            const uint64_t* mask = masks_.data() + c * n_words;
            for (size_t w = 0; w < n_words; ++w) part[w] = asked.query[w] & mask[w];
            add_probe(part, c, Probe::NO_FLIP);
            if (flips == 0) continue;
            // No more than one bit, as planned.
            for (size_t w = 0; w < n_words; ++w)
                for (uint64_t rest = mask[w]; rest; rest &= rest - 1) {
                    part[w] ^= rest & -rest;
                    add_probe(part, c, uint32_t(64 * w + size_t(std::countr_zero(rest))));
                    part[w] ^= rest & -rest;
                }
        }
        if (probes_.size() >= MANY_PROBES) finish_chunks(work);
    }
    void finish_chunks(Work& work) {
        if (probes_.empty()) return chunked_.clear();
        const size_t n = segment_.n_codes();
        const uint32_t *starts = segment_.chunk_starts.data, *rows = segment_.chunk_rows.data;
        for (Probe& probe : probes_) {
            const size_t at = probe.from, end = std::min<size_t>(starts[at + 1], n);
            probe.from = std::min<size_t>(starts[at], end);
            probe.to = end;
            if (probe.from < probe.to) __builtin_prefetch(rows + probe.chunk * n + probe.from);
        }
        constexpr size_t AHEAD = 16;  // probes whose codes are on their way from memory
        for (size_t p = 0; p < probes_.size() + AHEAD; ++p) {
            const auto each = [&](const Probe& probe, const auto& f) {
                for (size_t at = probe.from; at < probe.to; ++at)
                    if (const uint32_t row = rows[probe.chunk * n + at]; row < n) f(row);
            };
            if (p < probes_.size()) each(probes_[p], [&](uint32_t row) { __builtin_prefetch(segment_.code(row)); });
            if (p < AHEAD) continue;
            const Probe& probe = probes_[p - AHEAD];
            each(probe, [&](uint32_t row) { check_probed(probe, row); });
            work.compared += probe.to - probe.from;
        }
        probes_.clear();
        chunked_.clear();
    }

    // A code within r of the query has a leader within r + group_radius of it. False, and nothing found,
    // where so many leaders are that comparing all codes is faster, unless just this was asked for.
    bool groups(const uint64_t* query, uint32_t radius, bool asked_for, Hits& out, Work& work) {
        const size_t n = segment_.n_leaders();
        const uint32_t reach = radius + segment_.group_radius;
        near_.clear();
        size_t n_near = 0, at = 0;
        const bool by_planes = suits_planes(query, reach);
        const auto [planes, most_active] = by_planes ? planes_->leaders.of(segment_.leaders.data, n, words_.count()) : std::pair<const uint64_t*, uint32_t>();
        for (size_t first = 0; first < n; first += LEADER_BLOCK) {
            const size_t size = std::min(LEADER_BLOCK, n - first);
            const uint64_t* const leaders = segment_.leaders.data + first * words_.count();
            const Hit start{uint32_t(first), 0, 0, 0};
            if (by_planes)
                near_.add(kernels_.scan_planes(planes + first / PLANE_CODES * words_per_block(words_.count()), leaders, size,
                                               words_.count(), most_active, query, reach, start, near_.room(size + SPARE_HITS)));
            else
                near_.add(kernels_.scan(leaders, size, words_.count(), query, reach, start, near_.room(size + SPARE_HITS)));
            work.compared += size;
            // After some leaders, there must seem to be twice too many.
            for (; at < near_.size(); ++at) n_near += near_[at].more + size_t(1);
            const size_t seen = first + size, seem = n_near * (seen < n ? n / 2 : n) / seen;
            if (!asked_for && A_GROUP * double(seem) > compare(query, radius) * double(segment_.n_codes())) return false;
        }
        size_t left = segment_.n_codes();  // groups share no codes, unless they are damaged
        for (const Hit& leader : near_) {
            const size_t from = group(leader.row).first, to = std::max(from, group(leader.row + leader.more).second);
            const size_t size = std::min(to - from, left);
            scan(query, radius, from, from + size, out, work);
            left -= size;
        }
        return true;
    }

    // Rows [begin, end) by comparing them all.
    void scan(const uint64_t* query, uint32_t radius, size_t begin, size_t end, Hits& out, Work& work) {
        for (size_t first = begin; first < end; first += SCAN_BLOCK) {
            const size_t n = std::min(SCAN_BLOCK, end - first);
            const Hit start{uint32_t(first), number_, 0, 0};
            out.add(kernels_.scan(segment_.code(first), n, words_.count(), query, radius, start, out.room(n + SPARE_HITS)));
        }
        work.compared += end > begin ? end - begin : 0;
    }

    // The same by planes, where has_planes() says so; `begin` is where a block of theirs begins.
    void scan_planes(const uint64_t* query, uint32_t radius, size_t begin, size_t end, Hits& out, Work& work) {
        const auto [planes, most_active] = planes_->codes.of(segment_.codes.data, segment_.n_codes(), words_.count());
        out.add(kernels_.scan_planes(planes + begin / PLANE_CODES * words_per_block(words_.count()), segment_.code(begin), end - begin,
                                     words_.count(), most_active, query, radius, {uint32_t(begin), number_, 0, 0}, out.room(end - begin + SPARE_HITS)));
        work.compared += end - begin;
    }
    void scan_all(const uint64_t* query, uint32_t radius, Hits& out, Work& work) {
        const size_t n = segment_.n_codes();
        if (!has_planes(query, radius)) return scan(query, radius, 0, n, out, work);
        for (size_t first = 0; first < n; first += PLANES_BLOCK)
            scan_planes(query, radius, first, std::min(first + PLANES_BLOCK, n), out, work);
    }
    bool has_planes(const uint64_t* query, uint32_t radius) const {
        return SegmentPlanes::all_codes(segment_) && suits_planes(query, radius);
    }

    // The rows of group g.
    std::pair<size_t, size_t> group(size_t g) const {
        const size_t n = segment_.n_codes(), from = std::min<size_t>(segment_.group_starts[g], n);
        return {from, std::max(from, std::min<size_t>(segment_.group_starts[g + 1], n))};
    }

    const Words<W>& words() const { return words_; }

  private:
    static constexpr double A_GROUP = 25;  // nanoseconds, as all that is compared in plan()
    // A code, in a scan of all.
    double compare(const uint64_t* query, uint32_t radius) const {
        return has_planes(query, radius) ? 0.1 : 0.2 * double(segment_.n_words);
    }
    bool suits_planes(const uint64_t* query, uint32_t radius) const {
        return planes_ && radius <= 64 && words_.active(query) <= MOST_PLANES;
    }
    // Finds what stands at the first slot of each query, which most are, and calls f(row) for it.
    template <typename F>
    void expect_codes(const std::vector<Asked>& asked, const F& f) {
        const size_t mask = segment_.slots.size - 1;
        expected_.resize(asked.size());
        for (size_t i = 0; i < asked.size(); ++i) {
            expected_[i].hash = words_.hash(asked[i].query);
            __builtin_prefetch(segment_.slots.data + (expected_[i].hash & mask));
        }
        for (Expected& one : expected_) {
            const uint32_t slot = segment_.slots[one.hash & mask];
            one.row = slot && slot <= segment_.n_codes() ? slot - 1 : NONE;
            if (one.row == NONE) continue;
            __builtin_prefetch(segment_.code(one.row));
            f(one.row);
        }
    }
    Hit hit(uint32_t row, uint32_t distance) const { return {row, number_, 0, uint16_t(distance)}; }

    void lookup(const uint64_t* key, uint32_t distance, Hits& out, Work& work) const {
        const uint32_t row = segment_.find(words_, key, words_.hash(key));
        if (row != NONE) out.push_back(hit(row, distance));
        ++work.compared;
    }

    void deletions(const uint64_t* query, uint32_t radius, Hits& out, Work& work) {
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
        for (Key& key : keys_) {
            if (key.level == 0) {
                const uint32_t slot = segment_.slots[key.hash & (segment_.slots.size - 1)];
                if (slot && slot <= segment_.n_codes()) __builtin_prefetch(segment_.code(slot - 1));
                continue;
            }
            const Segment::Keys& table = segment_.keys[key.level - 1];
            const size_t bucket = key_bucket(key.hash, table.starts.size - 1);
            key.from = table.starts[bucket];
            key.to = uint32_t(std::min<size_t>(table.starts[bucket + 1], table.rows.size));
            if (key.from < key.to) __builtin_prefetch(table.rows.data + key.from);
        }
        candidates_.clear();
        for (uint32_t k = 0; k < keys_.size(); ++k) {
            const Key& key = keys_[k];
            if (key.level == 0) {
                const uint32_t row = segment_.find(words_, key.words, key.hash);
                if (row != NONE) out.push_back(hit(row, key.removed));
                continue;
            }
            const Span<uint32_t>& rows = segment_.keys[key.level - 1].rows;
            uint32_t before = NONE;
            for (size_t at = key.from; at < key.to; ++at) {
                const uint32_t row = rows[at];
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

    void check_candidates(const uint64_t* query, Hits& out, Work& work) {
        work.compared += candidates_.size();
        for (const Candidate& candidate : candidates_) {
            const Key& key = keys_[candidate.key];
            const uint64_t* code = segment_.code(candidate.row);
            const uint32_t extra = words_.active(code) - words_.shared(code, query);
            // Just one key of the query is what both have in common, and just one bit is the lowest.
            const uint32_t expected = key.level + (key.added != NONE);
            if (extra == expected && meets(code, query, key) && (key.added == NONE || lowest_extra(code, query) == key.added))
                out.push_back(hit(candidate.row, extra + key.removed));
        }
        candidates_.clear();
    }

    // A row that was filed under the hash of a key.
    struct Candidate {
        uint32_t row, key;
    };
    struct Key {
        uint64_t words[W ? W : MAX_WORDS];
        uint64_t hash;
        uint32_t removed, level, added;
        uint32_t from, to;  // the rows of its bucket
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
    void flips(const uint64_t* query, uint32_t radius, Hits& out, Work& work) const {
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

    // The row of the query, if it is a code whose neighbours are listed as far as the radius.
    uint32_t listed_row(const uint64_t* query, uint32_t radius) const {
        const uint32_t row = segment_.find(words_, query, words_.hash(query));
        if (row == NONE) return NONE;
        const size_t at = 3 * size_t(row) + (radius <= 2 ? 0 : 2);
        return segment_.neighbours.starts[at] < segment_.neighbours.starts[at + 1] ? row : NONE;
    }
    void neighbours(uint32_t row, uint32_t radius, Hits& out, Work& work) const {
        out.push_back(hit(row, 0));
        const auto& [starts, rows] = segment_.neighbours;
        for (uint32_t distance = 1; distance <= radius; ++distance) {
            const size_t at = 3 * size_t(row) + distance - 1, end = std::min<size_t>(starts[at + 1], rows.size);
            const size_t begin = std::min<size_t>(starts[at] + size_t(distance == 1), end);  // after the row itself
            out.add(kernels_.runs(rows.data + begin, end - begin, segment_.n_codes(), hit(0, distance), out.room(end - begin)));
        }
        ++work.compared;
    }

    // A part of a query, or the part with one bit flipped.
    struct Probe {
        static constexpr uint32_t NO_FLIP = NONE;
        uint32_t asked, chunk, flipped;
        size_t from, to;  // where its bucket's start is, then the bucket's rows
    };
    static constexpr size_t MANY_PROBES = 1 << 10;

    // How many bits of part c may differ. Were more to differ in each part, by one more than this, then
    // they would be more than r in all; -1 where the parts before are enough.
    int flips_of(size_t c, uint32_t radius) const {
        return int(radius / segment_.n_chunks) - (c > radius % segment_.n_chunks);
    }

    void add_probe(const uint64_t* part, uint32_t chunk, uint32_t flipped) {
        const size_t size = segment_.chunk_starts.size / segment_.n_chunks - 1;
        const size_t at = chunk * (size + 1) + (words_.hash(part) & (size - 1));
        probes_.push_back({uint32_t(chunked_.size() - 1), chunk, flipped, at, 0});
        __builtin_prefetch(segment_.chunk_starts.data + at);
    }

    // Whether a row is within the radius, and this probe the first that finds it.
    void check_probed(const Probe& probe, uint32_t row) const {
        const auto& [query, radius, out] = chunked_[probe.asked];
        const uint64_t* code = segment_.code(row);
        const uint32_t d = words_.distance(code, query);
        if (d > radius) return;
        const size_t n_words = words_.count();
        const auto differing = [&](size_t c, size_t w) { return (code[w] ^ query[w]) & masks_[c * n_words + w]; };
        for (size_t w = 0; w < n_words; ++w) {
            const uint64_t flip = probe.flipped / 64 == w ? uint64_t(1) << (probe.flipped % 64) : 0;
            if (differing(probe.chunk, w) != flip) return;
        }
        for (size_t earlier = 0; earlier < probe.chunk; ++earlier) {
            int total = 0;
            for (size_t w = 0; w < n_words; ++w) total += std::popcount(differing(earlier, w));
            if (total <= flips_of(earlier, radius)) return;
        }
        out->push_back(hit(row, d));
    }

    const Segment& segment_;
    const Kernels& kernels_;
    Words<W> words_;
    SegmentPlanes* planes_;
    uint8_t number_;
    Hits near_;
    std::vector<Candidate> candidates_;
    std::vector<Asked> chunked_;
    std::vector<Probe> probes_;
    std::vector<Key> keys_;
    struct Expected {
        uint64_t hash;
        uint32_t row;  // the code at the first slot, or NONE
    };
    std::vector<Expected> expected_;
    Vector<uint64_t> masks_;
    size_t n_used_ = 0;
};

}  // namespace kinhash
