// Groups of codes around leaders.
#pragma once

#include <array>

#include "build/heaviest.hpp"
#include "kernels/kernels.hpp"
#include "runtime/threads.hpp"
#include "search/hits.hpp"
#include "structures/deletions.hpp"
#include "structures/segment.hpp"

namespace kinhash {

// Assigns each code to a leader, greedily and heaviest codes first: a code within two bits of a leader joins
// it, any other becomes a leader. Makes no groups if more than a third of the codes would be leaders, or if
// codes are so dense that finding their leaders would cost more than it saves.
template <size_t W>
class Grouping {
  public:
    Grouping(const Words<W>& words, const Vector<uint64_t>& codes, size_t n, const Kernels& kernels,
             Stop& stop)
        : words_(words), codes_(codes), n_(n), kernels_(kernels), stop_(stop) {}

    static constexpr uint32_t RADIUS = 2;

    bool run(const Vector<uint32_t>& weights, size_t n_threads, Vector<uint32_t>& leader_of,
             Vector<uint32_t>& leaders) {
        leader_of.assign(n_, NO_LEADER);
        if (too_dense()) return false;
        const Vector<uint32_t> order = heaviest_first(weights);
        Tables tables;
        std::vector<Filed> filed;
        const size_t size = words_.count() <= 2 ? ROUND : ROUND / 4;  // long codes take longer to compare
        for (size_t begin = 0; begin < n_; begin += size) {
            const size_t end = std::min(begin + size, n_), n_earlier = leaders.size();
            follow_earlier(order, begin, end, n_threads, tables, leaders, leader_of);
            if (!follow_recent(order, begin, end, leaders, leader_of)) return false;
            file_recent(n_earlier, n_threads, leaders, filed, tables);
        }
        return true;
    }

  private:
    static constexpr uint32_t NO_LEADER = 0xffffffff;
    static constexpr size_t MOST_KEYS = 600;  // per code, on average: 34 active bits
    static constexpr size_t ROUND = 1 << 13, PIECE = 1 << 9, FILED = 1 << 7;
    static constexpr size_t PARTS = 4;  // of a table, filled in parallel
    static size_t part_of(uint64_t hash) { return hash % PARTS; }
    using Entries = std::vector<std::pair<uint64_t, uint32_t>>;  // hashes and leaders
    using Filed =
        std::array<std::array<Entries, PARTS>, 3>;  // keys of some leaders, by the number of bits removed

    // A hash table from deletion keys to leaders.
    class Part {
      public:
        Part() : slots_(1 << 10, 0) {}
        void prefetch(uint64_t hash) const { __builtin_prefetch(slots_.data() + first(hash)); }
        // Calls f(leader) for all filed under the hash, or under one with the same upper half.
        template <typename F>
        void each(uint64_t hash, const F& f) const {
            for (size_t at = first(hash); slots_[at]; at = (at + 1) & (slots_.size() - 1))
                if (!((slots_[at] ^ hash) >> 32)) f(uint32_t(slots_[at]) - 1);
        }
        void put(uint64_t hash, uint32_t leader) {
            if (2 * ++n_entries_ > slots_.size()) {
                // Entries keep only the upper half of their hash, which places them at every size.
                std::vector<uint64_t> old(2 * slots_.size(), 0);
                old.swap(slots_);
                for (const uint64_t entry : old)
                    if (entry) place(entry);
            }
            place((hash >> 32 << 32) | (leader + 1));
        }
        void move_here(Entries& entries) {
            constexpr size_t AHEAD = 16;  // entries whose slots are being prefetched
            for (size_t i = 0; i < entries.size(); ++i) {
                if (i + AHEAD < entries.size()) prefetch(entries[i + AHEAD].first);
                put(entries[i].first, entries[i].second);
            }
            entries.clear();
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

    struct Table {
        std::array<Part, PARTS> parts;
        const Part& part(uint64_t hash) const { return parts[part_of(hash)]; }
        void prefetch(uint64_t hash) const { part(hash).prefetch(hash); }
    };
    using Tables = std::array<Table, 3>;  // by the number of bits removed

    // Finds the leader of one code after the other.
    class Seeker {
      public:
        Seeker(const Grouping& grouping, const Tables& tables, const Vector<uint32_t>& leaders)
            : of_(grouping), tables_(tables), leaders_(leaders) {}

        // Prefetches the slots under which a leader one bit away is filed.
        void fetch(uint32_t row) {
            next_row_ = row;
            next_.clear();
            for_each_deletion(of_.words_, of_.code(row), 1, [&](const uint64_t* key, uint32_t removed) {
                next_.push_back(of_.words_.hash(key));
                tables_[1 - removed].prefetch(next_.back());
            });
        }
        // The nearest leader within two bits of the code fetched last, the heaviest of several, or NO_LEADER.
        // Prefetches for the next code, if there is one.
        uint32_t nearest(const uint32_t* next_row) {
            const uint64_t* const code = of_.code(next_row_);
            std::swap(hashes_, next_);
            if (next_row) fetch(*next_row);
            uint32_t best = NO_LEADER;
            const auto look = [&](uint32_t table, uint64_t hash, uint32_t distance) {
                tables_[table].part(hash).each(hash, [&](uint32_t leader) {
                    if (leader < best && of_.words_.distance(of_.code(leaders_[leader]), code) == distance)
                        best = leader;
                });
            };
            // The leader without one bit is the code, or the code without one bit is the leader.
            look(1, hashes_[0], 1);
            for (size_t i = 1; i < hashes_.size(); ++i) look(0, hashes_[i], 1);
            if (best != NO_LEADER) return best;
            const size_t n_near = hashes_.size();
            tables_[2].prefetch(hashes_[0]);
            for (size_t i = 1; i < n_near; ++i) tables_[1].prefetch(hashes_[i]);
            for_each_deletion(of_.words_, code, 2, [&](const uint64_t* key, uint32_t removed) {
                if (removed < 2) return;
                hashes_.push_back(of_.words_.hash(key));
                tables_[0].prefetch(hashes_.back());
            });
            look(2, hashes_[0], 2);
            for (size_t i = 1; i < hashes_.size(); ++i) look(i < n_near ? 1 : 0, hashes_[i], 2);
            return best;
        }

      private:
        const Grouping& of_;
        const Tables& tables_;
        const Vector<uint32_t>& leaders_;
        uint32_t next_row_ = 0;
        std::vector<uint64_t> hashes_, next_;  // of this code, and of the one after it
    };

    // Dense codes have thousands of keys each, and hardly a neighbour that shares one.
    bool too_dense() const {
        size_t n_keys = 0;
        for (uint32_t row = 0; row < n_; ++row) n_keys += n_deletions(words_.active(code(row)), RADIUS);
        return n_keys > MOST_KEYS * n_;
    }

    // The codes of one round look for a leader of the rounds before, in parallel.
    void follow_earlier(const Vector<uint32_t>& order, size_t begin, size_t end, size_t n_threads,
                        const Tables& tables, const Vector<uint32_t>& leaders,
                        Vector<uint32_t>& leader_of) const {
        parallel_for(end - begin, n_threads, PIECE, stop_, [&](size_t first, size_t past) {
            Seeker seeker(*this, tables, leaders);
            seeker.fetch(order[begin + first]);
            for (size_t i = begin + first; i < begin + past; ++i)
                leader_of[order[i]] = seeker.nearest(i + 1 < begin + past ? &order[i + 1] : nullptr);
        });
    }

    // The others follow a new leader of this round or become one, one after the other. False if leaders are
    // too many.
    bool follow_recent(const Vector<uint32_t>& order, size_t begin, size_t end, Vector<uint32_t>& leaders,
                       Vector<uint32_t>& leader_of) {
        const size_t n_earlier = leaders.size();
        Vector<uint64_t> recent;  // codes of the new leaders
        for (size_t i = begin; i < end; ++i) {
            uint32_t& leader = leader_of[order[i]];
            if (leader == NO_LEADER) leader = nearest_of(recent, n_earlier, code(order[i]));
            if (leader != NO_LEADER) continue;
            leader = uint32_t(leaders.size());
            leaders.push_back(order[i]);
            recent.insert(recent.end(), code(order[i]), code(order[i]) + words_.count());
            if (leaders.size() * 3 > n_ + 3) return false;
        }
        return true;
    }

    void file_recent(size_t n_earlier, size_t n_threads, const Vector<uint32_t>& leaders,
                     std::vector<Filed>& filed, Tables& tables) const {
        const size_t n_recent = leaders.size() - n_earlier;
        filed.resize((n_recent + FILED - 1) / FILED);
        parallel_for(n_recent, n_threads, FILED, stop_, [&](size_t first, size_t past) {
            for (size_t i = first; i < past; ++i) file(leaders, uint32_t(n_earlier + i), filed[i / FILED]);
        });
        // The table with most bits removed is the largest: it comes first, so that the others fill the time
        // left.
        parallel_for(3 * PARTS, n_threads, 1, stop_, [&](size_t i, size_t) {
            for (Filed& some : filed)
                tables[2 - i / PARTS].parts[i % PARTS].move_here(some[2 - i / PARTS][i % PARTS]);
        });
    }

    const uint64_t* code(uint32_t row) const { return codes_.data() + size_t(row) * words_.count(); }

    // The nearest of some leaders, numbered from `first` on, within two bits of a code, the heaviest of
    // several, or NO_LEADER.
    uint32_t nearest_of(const Vector<uint64_t>& leaders, size_t first, const uint64_t* code) {
        const size_t n = leaders.size() / words_.count();
        near_.clear();
        near_.add(kernels_.scan(leaders.data(), n, words_.count(), code, 2, {uint32_t(first), 0, 0, 0},
                                near_.room(n + SPARE_HITS)));
        const Hit* const best = std::min_element(
            near_.begin(), near_.end(), [](const Hit& a, const Hit& b) { return a.distance < b.distance; });
        return best == near_.end() ? NO_LEADER : best->row;
    }

    // Files a leader under its code with up to two bits less.
    void file(const Vector<uint32_t>& leaders, uint32_t leader, Filed& filed) const {
        for_each_deletion(words_, code(leaders[leader]), 2, [&](const uint64_t* key, uint32_t removed) {
            const uint64_t hash = words_.hash(key);
            filed[removed][part_of(hash)].emplace_back(hash, leader);
        });
    }

    const Words<W>& words_;
    const Vector<uint64_t>& codes_;
    size_t n_;
    const Kernels& kernels_;
    Stop& stop_;
    Hits near_;
};

}  // namespace kinhash
