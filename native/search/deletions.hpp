// Symmetric deletion: looks up the query without some of its active bits among the deletion keys of the
// codes, and, where the tables end one level too early, without them but with one bit more.
#pragma once

#include "search/costs.hpp"
#include "search/plan.hpp"
#include "structures/deletions.hpp"

namespace kinhash {

template <size_t W>
class DeletionsPlan {
  public:
    explicit DeletionsPlan(const Target<W>& target) : target_(target) {}

    // ns, if deletions can answer. Without tables, the hash table alone answers radius 0 and 1.
    std::optional<double> cost(const uint64_t* query, uint32_t radius, size_t n_used) const {
        const Segment& segment = target_.segment;
        if (!segment.slots.size || radius > segment.levels + 1 || radius > costs::MOST_DELETIONS) return {};
        const size_t k = target_.words.active(query);
        double touches = double(n_deletions(k, radius));
        for (uint32_t level = 1; level <= std::min(segment.levels, radius); ++level)
            touches += costs::TOUCHES_PER_KEY * double(n_deletions(k, radius - level));
        if (radius > segment.levels)
            touches += double(n_deletions(k, radius - segment.levels - 1)) * double(n_used);
        return costs::touch(segment.n_codes()) * touches;
    }

    // First all keys, then their buckets, then the rows of these, so that the waits for memory overlap.
    void find(const uint64_t* query, uint32_t radius, Hits& out, Work& work) {
        if (target_.segment.levels == 0) return find_flipped(query, radius, out, work);
        make_keys(query, radius);
        find_buckets();
        candidates_.clear();
        for (uint32_t k = 0; k < keys_.size(); ++k) {
            keys_[k].level == 0 ? look_up(keys_[k], out) : add_candidates(k);
            // Only damaged tables have so many candidates; they could take any amount of memory.
            if (candidates_.size() > MANY_CANDIDATES) check_candidates(query, out, work);
        }
        check_candidates(query, out, work);
        work.compare(keys_.size());
    }

  private:
    static constexpr size_t MANY_CANDIDATES = 1 << 20;

    struct Key {
        CodeBuffer<W> words;
        uint64_t hash;
        uint32_t removed;  // bits of the query
        uint32_t level;    // the table: 0 for the hash table of whole codes
        std::optional<uint16_t> added;
        uint32_t from, to;  // the rows of its bucket
    };
    // A row that is filed under the hash of a key.
    struct Candidate {
        uint32_t row, key;
    };

    void make_keys(const uint64_t* query, uint32_t radius) {
        const Segment& segment = target_.segment;
        const Words<W>& words = target_.words;
        keys_.clear();
        for_each_deletion(words, query, radius, [&](const uint64_t* key, uint32_t removed) {
            const uint64_t hash = words.hash(key);
            const uint32_t most = std::min(segment.levels, radius - removed);
            for (uint32_t level = 0; level <= most; ++level) add_key(key, hash, removed, level, {});
            // Codes with one bit more than the tables remove are filed under the key and one of their bits.
            if (removed + segment.levels < radius) add_longer_keys(query, key, removed);
        });
    }
    void add_longer_keys(const uint64_t* query, const uint64_t* key, uint32_t removed) {
        const Words<W>& words = target_.words;
        CodeBuffer<W> longer;
        std::copy_n(key, words.count(), longer);
        for (size_t w = 0; w < words.count(); ++w)
            for (uint64_t rest = target_.segment.used[w] & ~query[w]; rest; rest &= rest - 1) {
                longer[w] = key[w] | (rest & -rest);
                add_key(longer, words.hash(longer), removed, target_.segment.levels,
                        uint16_t(64 * w + size_t(std::countr_zero(rest))));
                longer[w] = key[w];
            }
    }
    void add_key(const uint64_t* words, uint64_t hash, uint32_t removed, uint32_t level,
                 std::optional<uint16_t> added) {
        Key& key = *keys_.room(1);
        keys_.add(1);
        std::copy_n(words, target_.words.count(), key.words);
        key.hash = hash;
        key.removed = removed;
        key.level = level;
        key.added = added;
        const Segment& segment = target_.segment;
        if (level == 0) {
            __builtin_prefetch(segment.slots.data + (hash & (segment.slots.size - 1)));
        } else {
            const Span<uint32_t>& starts = segment.keys[level - 1].starts;
            __builtin_prefetch(starts.data + key_bucket(hash, starts.size - 1));
        }
    }

    void find_buckets() {
        const Segment& segment = target_.segment;
        for (Key& key : keys_) {
            if (key.level == 0) {
                const uint32_t slot = segment.slots[key.hash & (segment.slots.size - 1)];
                if (slot && slot <= segment.n_codes()) __builtin_prefetch(segment.code(slot - 1));
                continue;
            }
            const auto& table = segment.keys[key.level - 1];
            const size_t bucket = key_bucket(key.hash, table.starts.size - 1);
            key.from = table.starts[bucket];
            key.to = uint32_t(std::min<size_t>(table.starts[bucket + 1], table.rows.size));
            if (key.from < key.to) __builtin_prefetch(table.rows.data + key.from);
        }
    }

    void look_up(const Key& key, Hits& out) const {
        if (const auto row = target_.segment.find(target_.words, key.words, key.hash))
            out.push_back(target_.hit(*row, key.removed));
    }
    void add_candidates(uint32_t k) {
        const Segment& segment = target_.segment;
        const Key& key = keys_[k];
        const Span<uint32_t>& rows = segment.keys[key.level - 1].rows;
        for (size_t at = key.from; at < key.to; ++at) {
            // A row with two keys in one bucket stands there twice in a row.
            const uint32_t row = rows[at];
            if ((at > key.from && row == rows[at - 1]) || row >= segment.n_codes()) continue;
            candidates_.push_back({row, k});
            __builtin_prefetch(segment.code(row));
        }
    }
    void check_candidates(const uint64_t* query, Hits& out, Work& work) {
        const Words<W>& words = target_.words;
        work.compare(candidates_.size());
        for (const Candidate& candidate : candidates_) {
            const Key& key = keys_[candidate.key];
            const uint64_t* code = target_.segment.code(candidate.row);
            const uint32_t extra = words.active(code) - words.shared(code, query);
            const uint32_t expected = key.level + key.added.has_value();
            // Each code is found once: exactly one key equals code & query, and exactly one added bit is the
            // lowest.
            const bool lowest = !key.added || lowest_extra(code, query) == key.added;
            if (extra == expected && lowest && is_shared(code, query, key))
                out.push_back(target_.hit(candidate.row, extra + key.removed));
        }
        candidates_.clear();
    }
    // Whether code & query is the key, without its added bit.
    bool is_shared(const uint64_t* code, const uint64_t* query, const Key& key) const {
        for (size_t w = 0; w < target_.words.count(); ++w)
            if ((code[w] & query[w]) != (key.words[w] & query[w])) return false;
        return true;
    }
    std::optional<uint16_t> lowest_extra(const uint64_t* code, const uint64_t* query) const {
        for (size_t w = 0; w < target_.words.count(); ++w)
            if (const uint64_t extra = code[w] & ~query[w])
                return uint16_t(64 * w + size_t(std::countr_zero(extra)));
        return {};
    }

    // Radius 0 and 1 without tables: looks up the query, and the query with each bit flipped.
    void find_flipped(const uint64_t* query, uint32_t radius, Hits& out, Work& work) const {
        const auto look_up = [&](const uint64_t* code, uint32_t distance) {
            if (const auto row = target_.find(code)) out.push_back(target_.hit(*row, distance));
            work.compare(1);
        };
        look_up(query, 0);
        if (radius == 0) return;
        CodeBuffer<W> flipped;
        std::copy_n(query, target_.words.count(), flipped);
        for (size_t w = 0; w < target_.words.count(); ++w)
            for (uint64_t rest = target_.segment.used[w] | query[w]; rest; rest &= rest - 1) {
                flipped[w] ^= rest & -rest;
                look_up(flipped, 1);
                flipped[w] ^= rest & -rest;
            }
    }

    Target<W> target_;
    Growing<Key> keys_;
    Growing<Candidate> candidates_;
};

}  // namespace kinhash
