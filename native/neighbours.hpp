// Lists of neighbours: a query whose own code is listed finds all within two or three bits by one look-up.
#pragma once

#include <array>

#include "finder.hpp"
#include "share.hpp"

namespace kinhash {

struct Lists {
    Vector<uint32_t> starts, rows;  // as Segment::neighbours has them
};

// Share of the items that listed codes must have. Where they have less, hardly a query finds its code listed.
inline constexpr double LEAST_HELD = 0.25;

// Share of the budget for the codes that have those at three bits listed: these are most of a list, and fewer
// searches go that far.
inline constexpr double FAR_SHARE = 0.5;

// Lists the neighbours of the `most` codes with most items, which are the likeliest to be asked for, as
// long as the lists take no more than `budget` bytes: within three bits for the heaviest `most_far` as far as
// their share goes, within two for the rest. All others have empty lists.
template <size_t W>
Lists list_neighbours(const Segment& segment, const Kernels& kernels, size_t most_far, size_t most, double budget,
                      size_t n_threads) {
    constexpr size_t ROUND = 1 << 14, PIECE = 1 << 8;  // codes after which the budget is looked at; and for one thread
    const size_t n = segment.n_codes();
    budget -= 4.0 * double(3 * n + 1);
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto heavier = [&](uint32_t a, uint32_t b) {
        const size_t of_a = segment.count(a), of_b = segment.count(b);
        return of_a != of_b ? of_a > of_b : a < b;
    };
    most = std::min(most, n);
    std::nth_element(order.begin(), order.begin() + std::ptrdiff_t(most), order.end(), heavier);
    std::sort(order.begin(), order.begin() + std::ptrdiff_t(most), heavier);
    size_t n_held = 0;
    for (size_t at = 0; at < most; ++at) n_held += segment.count(order[at]);
    if (budget <= 0 || LEAST_HELD * double(segment.n_items()) > double(n_held)) return {};

    struct Listed {
        Hits near;  // of PIECE codes, each by distance
        std::vector<uint32_t> ends;  // three per code
    };
    std::vector<Listed> pieces((most + PIECE - 1) / PIECE);
    size_t n_listed = 0, n_rows = 0;
    for (size_t begin = 0; begin < most; begin += ROUND) {
        const size_t round = std::min(ROUND, most - begin);
        share(round, n_threads, PIECE, [&](size_t first, size_t last) {
            Finder<W> finder(segment, kernels);
            Hits near;
            Work work;
            for (size_t at = begin + first; at < begin + last; ++at) {
                Listed& listed = pieces[at / PIECE];
                const uint64_t* code = segment.code(order[at]);
                const uint32_t radius = at < most_far ? 3 : 2;
                near.clear();
                finder.within(finder.plan(code, radius), code, radius, near, work);
                listed.near.push_back({order[at], 0, 0, 0});
                for (const uint32_t distance : {1u, 2u, 3u}) {
                    const size_t before = listed.near.size();
                    for (const Hit& some : near)
                        for (uint32_t i = 0; i <= some.more && some.distance == distance; ++i)
                            listed.near.push_back({some.row + i, 0, 0, some.distance});
                    // Codes side by side are read and written together.
                    std::sort(listed.near.begin() + before, listed.near.end(), [](const Hit& a, const Hit& b) { return a.row < b.row; });
                    listed.ends.push_back(uint32_t(listed.near.size()));
                }
            }
        });
        for (; n_listed < begin + round; ++n_listed) {
            const std::vector<uint32_t>& ends = pieces[n_listed / PIECE].ends;
            const size_t i = 3 * (n_listed % PIECE), start = i ? ends[i - 1] : 0;
            // What was listed too far is cut below.
            if (n_listed < most_far && 4.0 * double(n_rows + ends[i + 2] - start) > FAR_SHARE * budget) most_far = n_listed;
            const size_t size = ends[i + (n_listed < most_far ? 2 : 1)] - start;
            if (4.0 * double(n_rows + size) > budget || n_rows + size >= NONE) break;
            n_rows += size;
        }
        if (n_listed < begin + round) break;
    }
    Lists out;
    if (!n_rows) return out;
    const auto each = [&](const auto& f) {
        for (size_t at = 0; at < n_listed; ++at) {
            const Listed& listed = pieces[at / PIECE];
            const size_t i = 3 * (at % PIECE);
            std::array<uint32_t, 4> bounds{i ? listed.ends[i - 1] : 0, listed.ends[i], listed.ends[i + 1], listed.ends[i + 2]};
            if (at >= most_far) bounds[3] = bounds[2];
            f(order[at], bounds, listed.near.begin());
        }
    };
    out.starts.assign(3 * n + 1, 0);
    each([&](uint32_t row, const auto& bounds, const Hit*) {
        for (size_t d = 1; d <= 3; ++d) out.starts[3 * size_t(row) + d] = bounds[d] - bounds[d - 1];
    });
    std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
    out.rows.resize(n_rows);
    each([&](uint32_t row, const auto& bounds, const Hit* near) {
        std::transform(near + bounds[0], near + bounds[3], out.rows.begin() + out.starts[3 * size_t(row)],
                       [](const Hit& hit) { return hit.row; });
    });
    return out;
}

}  // namespace kinhash
