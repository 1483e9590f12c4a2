// All items nearer than a radius, and of those at the radius the ones whose rank bits are near.
#pragma once

#include "search/ranking.hpp"

namespace kinhash {

// How far a search goes: any item nearer than `radius`, and at it those whose rank distance is at most
// `rank`.
struct Reach {
    uint32_t radius, rank;
    bool total = false;  // order each row by the sum of both distances, then by id
};

// The items of each query in order. How many there are is known only once rank bits have been compared, so
// they are collected first.
class Within {
  public:
    // Takes the hits within the radius.
    Within(const Segments& segments, const Found& found, const uint64_t* ranks, Reach reach,
           const Kernels& kernels, size_t n_threads, Stop& stop)
        : pieces_(found.pieces.size()), offsets_(found.n_hits.size() + 1) {
        const size_t n_rank_words = (segments[0]->rank_bytes + 7) / 8;
        parallel_for(found.n_hits.size(), n_threads, Found::PIECE, stop, [&](size_t begin, size_t end) {
            Ranking ranking(segments, kernels);
            Polling polling(&stop);
            Growing<Ranked>& piece = pieces_[begin / Found::PIECE];
            const uint32_t every = ranking.largest_key(false);
            const Hit* hit = found.pieces[begin / Found::PIECE].begin();
            for (size_t i = begin; i < end; ++i) {
                const size_t before = piece.size();
                const Hit* const hits_end = hit + found.n_hits[i];
                while (hit < hits_end) {
                    const Hit* const first = hit;
                    while (hit < hits_end && hit->distance == first->distance) ++hit;
                    const uint32_t limit =
                        first->distance < reach.radius ? every : std::min(every, reach.rank);
                    ranking.start({ranks + i * n_rank_words, false}, Ranking::ALL, limit);
                    polling.add(ranking.add(first, size_t(hit - first)));
                    ranking.take([&](const Ranked& item) { piece.push_back(item); });
                }
                if (reach.total) {
                    std::sort(piece.begin() + before, piece.end(), [](const Ranked& a, const Ranked& b) {
                        return std::pair(a.distance + a.rank, a.id) < std::pair(b.distance + b.rank, b.id);
                    });
                }
                offsets_[i + 1] = int64_t(piece.size() - before);
            }
        });
        std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
    }

    Answer answer(size_t n_threads, Stop& stop) const {
        const size_t n_queries = offsets_.size() - 1;
        Answer answer(n_queries, size_t(offsets_.back()), true);
        std::copy(offsets_.begin(), offsets_.end(), answer.offsets);
        parallel_for(n_queries, n_threads, Found::PIECE, stop, [&](size_t begin, size_t) {
            size_t at = size_t(offsets_[begin]);
            for (const Ranked& item : pieces_[begin / Found::PIECE]) {
                answer.ids[at] = item.id;
                answer.distances[at] = item.distance;
                answer.rank_distances[at++] = item.rank;
            }
        });
        return answer;
    }

  private:
    std::vector<Growing<Ranked>> pieces_;  // of Found::PIECE queries each
    std::vector<int64_t> offsets_;
};

}  // namespace kinhash
