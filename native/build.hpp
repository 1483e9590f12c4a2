// Builds the arrays of a segment from codes and ids.
#pragma once

#include <numeric>

#include "deletions.hpp"
#include "segment.hpp"

namespace kinhash {

struct BuildOptions {
    uint32_t levels;    // most levels of deletion keys, 0 to 2
    uint32_t n_chunks;  // most parts of the bits, for codes too dense for deletion keys; 0 for none
    bool groups;
    double budget;  // bytes per item that deletion keys or chunks may take
    size_t n_threads;
};

struct Built {
    size_t n_words = 1;
    Vector<uint64_t> codes, leaders, used;
    Vector<uint32_t> offsets, narrow_ids, slots, group_starts, key_starts[2], key_rows[2], chunk_starts,
        chunk_rows;
    Vector<int64_t> wide_ids;
    uint32_t group_radius = 0, levels = 0, n_chunks = 0;
    double chunk_candidates = 0;
};

// A growing hash table from codes to their number, in order of appearance.
template <size_t W>
class Numbering {
  public:
    explicit Numbering(size_t n_words) : words_(n_words), slots_(1024, 0) {}
    uint32_t number(const uint64_t* code) {
        const uint64_t hash = words_.hash(code);
        size_t at = hash & (slots_.size() - 1);
        for (; slots_[at]; at = (at + 1) & (slots_.size() - 1))
            if (words_.equal(codes.data() + size_t(slots_[at] - 1) * words_.count(), code))
                return slots_[at] - 1;
        codes.insert(codes.end(), code, code + words_.count());
        const uint32_t row = n_++;
        slots_[at] = row + 1;
        if (2 * size_t(n_) > slots_.size()) grow();
        return row;
    }
    Vector<uint64_t> codes;
    size_t size() const { return n_; }

  private:
    void grow() {
        slots_.assign(2 * slots_.size(), 0);
        for (uint32_t row = 0; row < n_; ++row) {
            size_t at = words_.hash(codes.data() + size_t(row) * words_.count()) & (slots_.size() - 1);
            while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = row + 1;
        }
    }
    Words<W> words_;
    std::vector<uint32_t> slots_;
    uint32_t n_ = 0;
};

// Which leader each code follows: greedily, heaviest codes first, a code within two bits of a leader
// joins it, any other becomes one. Returns no groups where leaders would be more than a third, or
// where codes are so dense that finding their leaders would cost more than it saves.
template <size_t W>
class Grouping {
  public:
    Grouping(const Words<W>& words, const Vector<uint64_t>& codes, size_t n) : words_(words), codes_(codes), n_(n) {}

    bool run(const Vector<uint32_t>& weights, Vector<uint32_t>& leader_of, Vector<uint32_t>& leaders) {
        // Heaviest first; those of equal weight as they come.
        const uint32_t heaviest = n_ ? *std::max_element(weights.begin(), weights.end()) : 0;
        Vector<uint32_t> starts(size_t(heaviest) + 2, 0), order(n_);
        for (const uint32_t weight : weights) ++starts[heaviest - weight + 1];
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        for (uint32_t row = 0; row < n_; ++row) order[starts[heaviest - weights[row]]++] = row;
        leader_of.assign(n_, NONE);
        // Dense codes have thousands of keys each, and hardly a neighbour that shares one.
        size_t n_keys = 0;
        for (uint32_t row = 0; row < n_; ++row) n_keys += n_deletions(words_.active(code(row)), 2);
        if (n_keys > MOST_KEYS * n_) return false;
        for (size_t i = 0; i < n_; ++i) {
            const uint32_t row = order[i];
            if (i == 0) fetch(row);
            std::swap(hashes_, next_);
            if (i + 1 < n_) fetch(order[i + 1]);  // on its way from memory while this one is compared
            uint32_t found = nearest(row, leaders);
            if (found == NONE) {
                found = uint32_t(leaders.size());
                leaders.push_back(row);
                insert(row, found);
                if (leaders.size() * 3 > n_ + 3) return false;
            }
            leader_of[row] = found;
        }
        return true;
    }

  private:
    static constexpr size_t MOST_KEYS = 600;  // per code, on average: 34 active bits

    // Leaders by what is left of their codes when a number of bits is removed.
    class Table {
      public:
        Table() : slots_(1 << 12, 0) {}
        void prefetch(uint64_t hash) const { __builtin_prefetch(slots_.data() + first(hash)); }
        // Calls f(leader) for those filed under the hash, or one that has the same upper half.
        template <typename F>
        void each(uint64_t hash, const F& f) const {
            for (size_t at = first(hash); slots_[at]; at = (at + 1) & (slots_.size() - 1))
                if (!((slots_[at] ^ hash) >> 32)) f(uint32_t(slots_[at]) - 1);
        }
        void put(uint64_t hash, uint32_t leader) {
            if (2 * ++n_entries_ > slots_.size()) {
                // Entries keep only half of their hash, and are placed by that half at every size.
                std::vector<uint64_t> old(2 * slots_.size(), 0);
                old.swap(slots_);
                for (const uint64_t entry : old)
                    if (entry) place(entry);
            }
            place((hash >> 32 << 32) | (leader + 1));
        }

      private:
        size_t first(uint64_t hash) const { return (hash >> 32) & (slots_.size() - 1); }
        void place(uint64_t entry) {
            size_t at = first(entry);
            while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = entry;
        }
        std::vector<uint64_t> slots_;
        size_t n_entries_ = 0;
    };

    const uint64_t* code(uint32_t row) const { return codes_.data() + size_t(row) * words_.count(); }

    void fetch(uint32_t row) {
        next_.clear();
        for_each_deletion(words_, code(row), 2, [&](const uint64_t* key, uint32_t removed) {
            const uint64_t hash = words_.hash(key);
            next_.push_back({hash, removed});
            for (uint32_t b = 0; b + removed <= 2; ++b) tables_[b].prefetch(hash);
        });
    }
    // A leader within two bits: a removals from the code and b from the leader, a + b <= 2.
    uint32_t nearest(uint32_t row, const Vector<uint32_t>& leaders) const {
        uint32_t best = NONE, best_distance = 3;
        const uint64_t* q = code(row);
        for (const auto& [hash, removed] : hashes_)
            for (uint32_t b = 0; b + removed <= 2; ++b)
                tables_[b].each(hash, [&](uint32_t leader) {
                    const uint32_t d = words_.distance(code(leaders[leader]), q);
                    if (d < best_distance || (d == best_distance && leader < best)) best = leader, best_distance = d;
                });
        return best;
    }
    void insert(uint32_t row, uint32_t leader) {
        for_each_deletion(words_, code(row), 2, [&](const uint64_t* key, uint32_t removed) {
            tables_[removed].put(words_.hash(key), leader);
        });
    }
    const Words<W>& words_;
    const Vector<uint64_t>& codes_;
    size_t n_;
    Table tables_[3];
    std::vector<std::pair<uint64_t, uint32_t>> hashes_, next_;  // of this code and of the one after it
};

template <size_t W>
Built build(const uint64_t* input, const int64_t* ids, size_t n, size_t n_words, const BuildOptions& options) {
    const Words<W> words(n_words);
    Numbering<W> numbering(n_words);
    std::vector<uint32_t> row_of(n);
    for (size_t i = 0; i < n; ++i) row_of[i] = numbering.number(input + i * n_words);
    const size_t n_codes = numbering.size();
    Vector<uint32_t> weights(n_codes, 0);
    for (const uint32_t row : row_of) ++weights[row];

    Built out;
    out.n_words = n_words;
    // Codes of one group come together, in the order of their leaders; near ones first, so that what
    // a leader finds stands side by side.
    Vector<uint32_t> position(n_codes), leader_of, leaders;
    std::iota(position.begin(), position.end(), 0);
    Grouping<W> grouping(words, numbering.codes, n_codes);
    // Where hardly two items share a code, hardly two codes share a neighbourhood.
    const bool clustered = double(n_codes) <= 0.8 * double(n);
    if (options.groups && clustered && grouping.run(weights, leader_of, leaders)) {
        out.group_radius = 2;
        out.group_starts.assign(leaders.size() + 1, 0);
        for (const uint32_t leader : leader_of) ++out.group_starts[leader + 1];
        std::partial_sum(out.group_starts.begin(), out.group_starts.end(), out.group_starts.begin());
        const auto place_of = [&](size_t row) {
            const uint64_t* const codes = numbering.codes.data();
            return 3 * size_t(leader_of[row]) + words.distance(codes + row * n_words, codes + size_t(leaders[leader_of[row]]) * n_words);
        };
        std::vector<uint32_t> next(3 * leaders.size() + 1, 0);
        for (size_t row = 0; row < n_codes; ++row) ++next[place_of(row) + 1];
        std::partial_sum(next.begin(), next.end(), next.begin());
        for (size_t row = 0; row < n_codes; ++row) position[row] = next[place_of(row)]++;
        for (const uint32_t row : leaders)
            out.leaders.insert(out.leaders.end(), numbering.codes.begin() + size_t(row) * n_words,
                               numbering.codes.begin() + size_t(row + 1) * n_words);
    }
    out.codes.resize(n_codes * n_words);
    out.offsets.assign(n_codes + 1, 0);
    for (size_t row = 0; row < n_codes; ++row) {
        std::copy_n(numbering.codes.begin() + row * n_words, n_words, out.codes.begin() + position[row] * n_words);
        out.offsets[position[row] + 1] = weights[row];
    }
    std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
    out.used = used_bits(out.codes.data(), n_codes, n_words);

    const bool narrow = std::all_of(ids, ids + n, [](int64_t id) { return id >= 0 && id <= 0xffffffffLL; });
    Vector<uint32_t> next(out.offsets.begin(), out.offsets.end() - 1);
    const auto place = [&](auto& array) {
        array.resize(n);
        for (size_t i = 0; i < n; ++i) array[next[position[row_of[i]]]++] = ids[i];
        for (size_t row = 0; row < n_codes; ++row) {
            const auto from = array.begin() + out.offsets[row], to = array.begin() + out.offsets[row + 1];
            if (!std::is_sorted(from, to)) std::sort(from, to);
        }
    };
    narrow ? place(out.narrow_ids) : place(out.wide_ids);

    out.slots.assign(n_slots(n_codes), 0);
    for (size_t row = 0; row < n_codes; ++row) {
        size_t at = words.hash(out.codes.data() + row * n_words) & (out.slots.size() - 1);
        while (out.slots[at]) at = (at + 1) & (out.slots.size() - 1);
        out.slots[at] = uint32_t(row + 1);
    }
    double spent = 0;
    for (uint32_t level = 1; level <= options.levels; ++level) {
        const double before = spent;
        for (size_t row = 0; row < n_codes; ++row)
            spent += 8.0 * double(n_deletions_at(words.active(out.codes.data() + row * n_words), level));
        // Starts are 32 bits wide.
        if (spent > options.budget * double(n) || (spent - before) / 8 >= double(NONE)) break;
        build_keys(words, out.codes, n_codes, level, options.n_threads, out.key_starts[level - 1], out.key_rows[level - 1]);
        out.levels = level;
    }
    const bool any_used = std::any_of(out.used.begin(), out.used.end(), [](uint64_t w) { return w != 0; });
    const uint32_t n_chunks = std::min(options.n_chunks, best_n_chunks(out.used, n_codes));
    const double chunk_bytes = n_chunks * 4.0 * double(n_codes + chunk_table_size(n_codes));
    if (n_chunks && !out.levels && any_used && chunk_bytes <= options.budget * double(n)) {
        out.n_chunks = n_chunks;
        out.chunk_candidates = build_chunks(words, out.codes, n_codes, n_chunks, out.chunk_starts, out.chunk_rows);
    }
    return out;
}

}  // namespace kinhash
