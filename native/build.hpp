// Builds the arrays of a segment from codes and ids.
#pragma once

#include "grouping.hpp"
#include "numbering.hpp"

namespace kinhash {

struct BuildOptions {
    uint32_t levels;    // most levels of deletion keys, 0 to 2
    uint32_t n_chunks;  // most parts of the bits, for codes too dense for deletion keys; 0 for none
    bool groups;
    double budget;  // bytes per item that deletion keys, the slots they add or chunks may take
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

// Without ids, items are called by their numbers.
template <size_t W>
Built build(const uint64_t* input, const int64_t* ids, size_t n, size_t n_words, const BuildOptions& options, const Kernels& kernels) {
    constexpr size_t AHEAD = 16;  // items whose places are on their way from memory
    const Words<W> words(n_words);
    const Shares shares(n, options.n_threads);
    Numbering<W> numbering(n_words);
    Vector<uint32_t> row_of(n);
    // Items of each row in each share: later where the share puts its next one.
    std::vector<Vector<uint32_t>> of_share = number_items(input, n_words, shares, numbering, row_of);
    const size_t n_codes = numbering.size();
    Vector<uint32_t> weights(n_codes, 0);
    for (const auto& counts : of_share)
        for (size_t row = 0; row < n_codes; ++row) weights[row] += counts[row];

    Built out;
    out.n_words = n_words;
    // Codes of one group come together, in the order of their leaders; near ones first, so that what
    // a leader finds stands side by side.
    Vector<uint32_t> position(n_codes), leader_of, leaders;
    std::iota(position.begin(), position.end(), 0);
    Grouping<W> grouping(words, numbering.codes, n_codes, kernels);
    // Where hardly two items share a code, hardly two codes share a neighbourhood.
    const bool clustered = double(n_codes) <= 0.8 * double(n);
    if (options.groups && clustered && grouping.run(weights, options.n_threads, leader_of, leaders)) {
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

    const bool narrow = !ids || std::all_of(ids, ids + n, [](int64_t id) { return id >= 0 && id <= 0xffffffffLL; });
    for (size_t row = 0; row < n_codes; ++row) {
        uint32_t at = out.offsets[position[row]];
        for (auto& next : of_share) at += std::exchange(next[row], at);
    }
    const auto place = [&](auto& array) {
        array.resize(n);
        shares.each([&](size_t s, size_t begin, size_t end) {
            uint32_t* const next = of_share[s].data();
            for (size_t i = begin; i < end; ++i) {
                // A row's place is near where the next item of that row will be put, too.
                if (i + 2 * AHEAD < end) __builtin_prefetch(next + row_of[i + 2 * AHEAD]);
                if (i + AHEAD < end) __builtin_prefetch(array.data() + next[row_of[i + AHEAD]], 1);
                array[next[row_of[i]]++] = ids ? ids[i] : int64_t(i);
            }
        });
        for (size_t row = 0; ids && row < n_codes; ++row) {
            const auto from = array.begin() + out.offsets[row], to = array.begin() + out.offsets[row + 1];
            if (!std::is_sorted(from, to)) std::sort(from, to);
        }
    };
    narrow ? place(out.narrow_ids) : place(out.wide_ids);

    double spent = 0;
    for (uint32_t level = 1; level <= options.levels; ++level) {
        double n_keys = 0;
        for (size_t row = 0; row < n_codes; ++row)
            n_keys += double(n_deletions_at(words.active(out.codes.data() + row * n_words), level));
        // Starts are 32 bits wide.
        if (spent + 8 * n_keys > options.budget * double(n) || n_keys >= double(NONE)) break;
        spent += 8 * n_keys;
        build_keys(words, out.codes, n_codes, level, options.n_threads, out.key_starts[level - 1], out.key_rows[level - 1]);
        out.levels = level;
    }
    // Deletion keys mean many look-ups of codes that there are not, which end at the first empty slot: twice
    // the slots, where these take but little of what is left for lists of neighbours.
    const double more = 4.0 * double(n_slots(n_codes)), left = options.budget * double(n) - spent;
    out.slots.assign((out.levels && more <= left / 10 ? 2 : 1) * n_slots(n_codes), 0);
    const auto first_slot = [&](size_t row) { return words.hash(out.codes.data() + row * n_words) & (out.slots.size() - 1); };
    for (size_t row = 0; row < n_codes; ++row) {
        if (row + AHEAD < n_codes) __builtin_prefetch(out.slots.data() + first_slot(row + AHEAD), 1);
        size_t at = first_slot(row);
        while (out.slots[at]) at = (at + 1) & (out.slots.size() - 1);
        out.slots[at] = uint32_t(row + 1);
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
