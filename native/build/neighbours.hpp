// Lists of neighbours: a query whose own code is listed finds all codes within two or three bits by one
// look-up.
#pragma once

#include <array>

#include "build/heaviest.hpp"
#include "runtime/threads.hpp"
#include "search/finder.hpp"

namespace kinhash {

// Lists the neighbours of the codes with most items, which are the likeliest queries, as long as the budget
// lasts: within three bits for the first ones, within two for the rest. All other codes have empty lists.
template <size_t W>
class NeighbourLists {
  public:
    // At most `n_far` lists to three bits and `n_listed` in all, of at most `budget` bytes together.
    NeighbourLists(const Segment& segment, const Kernels& kernels, size_t n_far, size_t n_listed,
                   double budget, Stop& stop)
        : segment_(segment), kernels_(kernels), n_far_(n_far), most_(std::min(n_listed, segment.n_codes())),
          budget_(budget - 4.0 * double(BITS * segment.n_codes() + 1)), stop_(stop) {}

    void build(size_t n_threads, Built::Lists& out) {
        if (budget_ <= 0 || !order_heaviest()) return;
        pieces_.resize((most_ + PIECE - 1) / PIECE);
        for (size_t begin = 0; begin < most_; begin += ROUND) {
            const size_t end = std::min(begin + ROUND, most_);
            find(begin, end, n_threads);
            if (!accept(end)) break;
        }
        if (n_rows_) write(out);
    }

  private:
    static constexpr size_t BITS = Segment::LISTED_BITS;
    static constexpr size_t ROUND = 1 << 14;  // codes after which the budget is checked
    static constexpr size_t PIECE = 1 << 8;   // codes that one thread takes at a time
    // Share of the items that listed codes must have; with less, hardly a query has its code listed.
    static constexpr double LEAST_HELD = 0.25;
    // Share of the budget for codes with lists to three bits: most rows are that far, and fewer searches are.
    static constexpr double FAR_SHARE = 0.5;

    // The lists of PIECE codes.
    struct Piece {
        Hits near;                   // by code, then by distance
        std::vector<uint32_t> ends;  // three per code
    };

    // Orders the codes with most items, the heaviest first. False if they have too few of all items.
    bool order_heaviest() {
        Vector<uint32_t> weights(segment_.n_codes());
        for (size_t row = 0; row < weights.size(); ++row) weights[row] = uint32_t(segment_.size(row));
        order_ = heaviest_first(weights);
        size_t n_held = 0;
        for (size_t at = 0; at < most_; ++at) n_held += weights[order_[at]];
        return double(n_held) >= LEAST_HELD * double(segment_.n_items());
    }

    void find(size_t begin, size_t end, size_t n_threads) {
        parallel_for(end - begin, n_threads, PIECE, stop_, [&](size_t first, size_t last) {
            Finder<W> finder(segment_, kernels_);
            Hits near;
            std::vector<Asked> asked(1);
            Work work(&stop_);
            for (size_t at = begin + first; at < begin + last; ++at) {
                near.clear();
                asked[0] = {segment_.code(order_[at]), at < n_far_ ? 3u : 2u, &near};
                finder.within(asked, {}, work);
                keep(order_[at], near, pieces_[at / PIECE]);
            }
        });
    }
    static void keep(uint32_t row, const Hits& near, Piece& piece) {
        piece.near.push_back({row, 0, 0, 0});
        for (uint32_t distance = 1; distance <= BITS; ++distance) {
            const size_t before = piece.near.size();
            for (const Hit& some : near)
                for (uint32_t i = 0; i <= some.more && some.distance == distance; ++i)
                    piece.near.push_back({some.row + i, 0, 0, some.distance});
            // Consecutive codes are read and written together.
            std::sort(piece.near.begin() + before, piece.near.end(),
                      [](const Hit& a, const Hit& b) { return a.row < b.row; });
            piece.ends.push_back(uint32_t(piece.near.size()));
        }
    }

    // Accepts the lists of codes up to `end` while the budget lasts; false if it does not.
    bool accept(size_t end) {
        for (; n_accepted_ < end; ++n_accepted_) {
            const auto bounds = bounds_of(n_accepted_);
            // Lists that were found too far are cut when they are written.
            const bool far = n_accepted_ < n_far_;
            if (far && 4.0 * double(n_rows_ + bounds[3] - bounds[0]) > FAR_SHARE * budget_)
                n_far_ = n_accepted_;
            const size_t size = bounds[n_accepted_ < n_far_ ? 3 : 2] - bounds[0];
            if (4.0 * double(n_rows_ + size) > budget_ || n_rows_ + size >= MOST_ITEMS) return false;
            n_rows_ += size;
        }
        return true;
    }

    // Where the lists of the code begin and end in its piece.
    std::array<uint32_t, BITS + 1> bounds_of(size_t at) const {
        const std::vector<uint32_t>& ends = pieces_[at / PIECE].ends;
        const size_t i = BITS * (at % PIECE);
        return {i ? ends[i - 1] : 0, ends[i], ends[i + 1], ends[i + 2]};
    }

    void write(Built::Lists& out) const {
        const auto each = [&](const auto& f) {
            for (size_t at = 0; at < n_accepted_; ++at) {
                auto bounds = bounds_of(at);
                if (at >= n_far_) bounds[3] = bounds[2];
                f(BITS * size_t(order_[at]), bounds, pieces_[at / PIECE].near.begin());
            }
        };
        out.starts.assign(BITS * segment_.n_codes() + 1, 0);
        each([&](size_t first, const auto& bounds, const Hit*) {
            for (size_t d = 1; d <= BITS; ++d) out.starts[first + d] = bounds[d] - bounds[d - 1];
        });
        std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
        out.rows.resize(n_rows_);
        each([&](size_t first, const auto& bounds, const Hit* near) {
            std::transform(near + bounds[0], near + bounds[BITS], out.rows.begin() + out.starts[first],
                           [](const Hit& hit) { return hit.row; });
        });
    }

    const Segment& segment_;
    const Kernels& kernels_;
    size_t n_far_;
    const size_t most_;
    const double budget_;
    Stop& stop_;
    Vector<uint32_t> order_;
    std::vector<Piece> pieces_;
    size_t n_accepted_ = 0, n_rows_ = 0;
};

}  // namespace kinhash
