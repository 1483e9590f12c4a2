// Builds the arrays of a segment from codes and ids.
#pragma once

#include "build/chunk_tables.hpp"
#include "build/deletion_tables.hpp"
#include "build/grouping.hpp"
#include "build/neighbours.hpp"
#include "build/numbering.hpp"

namespace kinhash {

struct BuildOptions {
    uint32_t levels;    // most levels of deletion keys, 0 to 2
    uint32_t n_chunks;  // most parts of the bits, for codes too dense for deletion keys; 0 for none
    bool groups;
    size_t n_far, n_listed;  // most codes with listed neighbours within three bits, and within two
    double budget;           // bytes per item for deletion keys, extra slots, chunks and neighbours together
    size_t n_threads;
};

// The rank bits of all items, `n_bytes` each; none if that is 0.
struct RankInput {
    const uint8_t* data = nullptr;
    uint32_t n_bytes = 0;
};

template <size_t W>
class Builder {
  public:
    // Without ids, the id of an item is its number.
    Builder(const uint64_t* input, const int64_t* ids, size_t n, size_t n_words, const BuildOptions& options,
            const Kernels& kernels, Stop& stop, RankInput ranks = {})
        : input_(input), ids_(ids), ranks_(ranks), n_(n), options_(options), kernels_(kernels), stop_(stop),
          words_(n_words), shares_(n, options.n_threads, stop), numbering_(n_words),
          left_(options.budget * double(n)) {
        out_.n_words = n_words;
        out_.rank_bytes = ranks.n_bytes;
    }

    Built run() {
        number_codes();
        order_by_group();
        place_codes();
        const auto fits = [](int64_t id) { return id >= 0 && id <= int64_t(0xffffffff); };
        !ids_ || std::all_of(ids_, ids_ + n_, fits) ? place_ids(out_.narrow_ids) : place_ids(out_.wide_ids);
        build_levels();
        build_slots();
        build_chunk_tables();
        list_neighbours();
        return std::move(out_);
    }

  private:
    static constexpr size_t AHEAD = 16;  // items whose places are being prefetched
    // Share of the items: with more codes than this, codes hardly share a neighbourhood.
    static constexpr double MOST_CODES_TO_GROUP = 0.8;
    // Share of the budget that is left: extra slots may take so much.
    static constexpr double SLOTS_SHARE = 0.1;

    void number_codes() {
        row_of_.resize(n_);
        of_share_ = number_items(input_, words_.count(), shares_, numbering_, row_of_);
        n_codes_ = numbering_.size();
        weights_.assign(n_codes_, 0);
        for (const auto& counts : of_share_)
            for (size_t row = 0; row < n_codes_; ++row) weights_[row] += counts[row];
        position_.resize(n_codes_);
        std::iota(position_.begin(), position_.end(), 0);
    }

    // Codes of one group become neighbours in the order of their leaders, near ones first, so that the codes
    // that a leader finds are consecutive.
    void order_by_group() {
        if (!options_.groups || double(n_codes_) > MOST_CODES_TO_GROUP * double(n_)) return;
        Vector<uint32_t> leader_of, leaders;
        Grouping<W> grouping(words_, numbering_.codes, n_codes_, kernels_, stop_);
        if (!grouping.run(weights_, options_.n_threads, leader_of, leaders)) return;
        out_.group_radius = Grouping<W>::RADIUS;
        out_.group_starts.assign(leaders.size() + 1, 0);
        for (const uint32_t leader : leader_of) ++out_.group_starts[leader + 1];
        std::partial_sum(out_.group_starts.begin(), out_.group_starts.end(), out_.group_starts.begin());
        constexpr size_t N_DISTANCES = Grouping<W>::RADIUS + 1;
        const auto place_of = [&](size_t row) {
            const uint32_t leader = leader_of[row];
            return N_DISTANCES * size_t(leader) + words_.distance(code(row), code(leaders[leader]));
        };
        std::vector<uint32_t> next(N_DISTANCES * leaders.size() + 1, 0);
        for (size_t row = 0; row < n_codes_; ++row) ++next[place_of(row) + 1];
        std::partial_sum(next.begin(), next.end(), next.begin());
        for (size_t row = 0; row < n_codes_; ++row) position_[row] = next[place_of(row)]++;
        for (const uint32_t row : leaders)
            out_.leaders.insert(out_.leaders.end(), code(row), code(row) + words_.count());
    }

    void place_codes() {
        const size_t n_words = words_.count();
        out_.codes.resize(n_codes_ * n_words);
        out_.offsets.assign(n_codes_ + 1, 0);
        for (size_t row = 0; row < n_codes_; ++row) {
            std::copy_n(code(row), n_words, out_.codes.begin() + position_[row] * n_words);
            out_.offsets[position_[row] + 1] = weights_[row];
        }
        std::partial_sum(out_.offsets.begin(), out_.offsets.end(), out_.offsets.begin());
        out_.used = used_bits(out_.codes.data(), n_codes_, n_words);
    }

    template <typename Id>
    void place_ids(Vector<Id>& out) {
        // Counts of each share become the place of its next item of each row.
        for (size_t row = 0; row < n_codes_; ++row) {
            uint32_t at = out_.offsets[position_[row]];
            for (auto& next : of_share_) at += std::exchange(next[row], at);
        }
        out.resize(n_);
        out_.ranks.resize(n_ * ranks_.n_bytes);
        shares_.each([&](size_t s, size_t begin, size_t end) {
            Polling polling(&stop_);
            uint32_t* const next = of_share_[s].data();
            for (size_t i = begin; i < end; ++i) {
                if (i + 2 * AHEAD < end) __builtin_prefetch(next + row_of_[i + 2 * AHEAD]);
                // The next item of a row goes near the one before.
                if (i + AHEAD < end) __builtin_prefetch(out.data() + next[row_of_[i + AHEAD]], 1);
                const uint32_t at = next[row_of_[i]]++;
                out[at] = Id(ids_ ? ids_[i] : int64_t(i));
                if (ranks_.n_bytes) place_rank(i, at);
                polling.add(1);
            }
        });
        Polling polling(&stop_);
        for (size_t row = 0; ids_ && row < n_codes_; ++row) {
            const size_t first = out_.offsets[row], n = out_.offsets[row + 1] - first;
            Id* const of_row = out.data() + first;
            if (!std::is_sorted(of_row, of_row + n)) {
                if (ranks_.n_bytes)
                    sort_with_ranks(of_row, out_.ranks.data() + first * ranks_.n_bytes, n);
                else
                    std::sort(of_row, of_row + n);
            }
            polling.add(n);
        }
    }
    // The rank bits of item i become those at place `at`.
    void place_rank(size_t i, size_t at) {
        const size_t n = ranks_.n_bytes;
        std::copy_n(ranks_.data + i * n, n, out_.ranks.data() + at * n);
    }
    // Sorts the ids of one row, and their rank bits with them.
    template <typename Id>
    void sort_with_ranks(Id* ids, uint8_t* ranks, size_t n) {
        const size_t n_bytes = ranks_.n_bytes;
        std::vector<std::pair<Id, uint32_t>> order(n);
        for (size_t i = 0; i < n; ++i) order[i] = {ids[i], uint32_t(i)};
        std::sort(order.begin(), order.end());
        const std::vector<uint8_t> before(ranks, ranks + n * n_bytes);
        for (size_t i = 0; i < n; ++i) {
            ids[i] = order[i].first;
            std::copy_n(before.data() + order[i].second * n_bytes, n_bytes, ranks + i * n_bytes);
        }
    }

    void build_levels() {
        for (uint32_t level = 1; level <= options_.levels; ++level) {
            size_t n_keys = 0;
            for (size_t row = 0; row < n_codes_; ++row)
                n_keys += n_deletions_at(words_.active(out_.codes.data() + row * words_.count()), level);
            const double bytes = 8 * double(n_keys);
            if (bytes > left_ || n_keys >= MOST_ITEMS) return;
            DeletionTable<W>(words_, out_.codes, n_codes_, level, n_keys, options_.n_threads, stop_)
                .build(out_.keys[level - 1]);
            left_ -= bytes;
            out_.levels = level;
        }
    }

    // With deletion keys, many codes are looked up that are not stored, and such a look-up ends at the first
    // empty slot. So the number of slots is doubled then, if that takes only a small share of what is left of
    // the budget.
    void build_slots() {
        const bool few = words_.count() > 1 && !out_.levels && out_.leaders.empty() && !options_.n_chunks;
        const size_t n = few ? n_few_slots(n_codes_) : n_slots(n_codes_);
        const bool doubled = out_.levels && double(n) * sizeof(uint32_t) <= SLOTS_SHARE * left_;
        out_.slots.assign(doubled ? 2 * n : n, 0);
        const size_t mask = out_.slots.size() - 1;
        const auto first_slot = [&](size_t row) {
            return words_.hash(out_.codes.data() + row * words_.count()) & mask;
        };
        Polling polling(&stop_);
        for (size_t row = 0; row < n_codes_; ++row) {
            if (row + AHEAD < n_codes_) __builtin_prefetch(out_.slots.data() + first_slot(row + AHEAD), 1);
            size_t at = first_slot(row);
            while (out_.slots[at]) at = (at + 1) & mask;
            out_.slots[at] = uint32_t(row + 1);
            polling.add(1);
        }
    }

    // For codes that are too dense for even one level of deletion keys.
    void build_chunk_tables() {
        const uint32_t n_chunks = std::min(options_.n_chunks, best_n_chunks(out_.used, n_codes_));
        const double bytes = n_chunks * 4.0 * double(n_codes_ + chunk_table_size(n_codes_));
        if (!n_chunks || out_.levels || !n_used(out_.used.data(), words_.count()) || bytes > left_) return;
        out_.n_chunks = n_chunks;
        out_.chunk_candidates =
            build_chunks(words_, out_.codes, n_codes_, out_.used, n_chunks, stop_, out_.chunks);
    }

    // They are found by deletion keys: by anything else it would take too long.
    void list_neighbours() {
        if (!options_.n_listed || out_.levels < 2) return;
        size_t n_spent = out_.slots.size() - n_slots(n_codes_);
        for (const auto& table : out_.keys) n_spent += table.rows.size() + table.starts.size();
        const double budget = options_.budget * double(n_) - 4.0 * double(n_spent);
        const Segment segment = view(out_);
        NeighbourLists<W>(segment, kernels_, options_.n_far, options_.n_listed, budget, stop_)
            .build(options_.n_threads, out_.neighbours);
    }

    const uint64_t* code(size_t row) const { return numbering_.codes.data() + row * words_.count(); }

    const uint64_t* const input_;
    const int64_t* const ids_;
    const RankInput ranks_;
    const size_t n_;
    const BuildOptions& options_;
    const Kernels& kernels_;
    Stop& stop_;
    const Words<W> words_;
    const Shares shares_;
    Numbering<W> numbering_;
    size_t n_codes_ = 0;
    Vector<uint32_t> row_of_;                 // of each item, in order of appearance
    Vector<uint32_t> weights_;                // items per row
    Vector<uint32_t> position_;               // of each row in the segment
    std::vector<Vector<uint32_t>> of_share_;  // items of each row in each share
    double left_;                             // bytes of the budget
    Built out_;
};

}  // namespace kinhash
