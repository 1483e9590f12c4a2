// Orders the candidates of each query by the similarity of their vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/kernels.hpp"
#include "runtime/threads.hpp"

namespace kinhash {

// Candidates of query q are at offsets[q] .. offsets[q + 1] - 1. Each has a row of the vectors, and an id
// that decides between equal similarities.
struct Candidates {
    const int64_t *offsets, *rows, *ids;
    size_t n_queries, n;
};

// The best of each query, the most similar first: query q writes places of candidates and their similarities
// from offsets[q] on, up to offsets[q + 1].
struct Best {
    const int64_t* offsets;
    int64_t* chosen;
    float* similarities;
    size_t n;
};

class Reranker {
  public:
    Reranker(const VectorRows& vectors, Similarity similarity, const Kernels& kernels)
        : vectors_(vectors), similarity_(similarity), kernels_(kernels),
          query_(round_up(vectors.n_features, SIMILARITY_LANES)) {}

    // Returns the first candidate whose row does not exist or whose similarity is no number, or else
    // candidates.n. `query` has n_features floats, all finite.
    size_t rank(const float* query, const Candidates& candidates, size_t q, const Best& best) {
        const size_t begin = checked(candidates.offsets[q], candidates.n),
                     end = checked(candidates.offsets[q + 1], candidates.n),
                     to = checked(best.offsets[q], best.n), to_end = checked(best.offsets[q + 1], best.n);
        if (begin > end || to > to_end || to_end - to > end - begin)
            throw std::invalid_argument("offsets do not fit the candidates");
        const size_t n = end - begin;
        rows_.resize(n);
        similarities_.resize(n);
        for (size_t i = 0; i < n; ++i) {
            // Read once: another thread might change the array.
            const int64_t row = candidates.rows[begin + i];
            if (row < 0 || uint64_t(row) >= vectors_.n) return begin + i;
            rows_[i] = size_t(row);
        }
        prepare(query);
        kernels_.similarities(vectors_, similarity_, query_.data(), rows_.data(), n, similarities_.data());
        found_.resize(n);
        for (size_t i = 0; i < n; ++i) {
            if (std::isnan(similarities_[i])) return begin + i;
            found_[i] = {similarities_[i], candidates.ids[begin + i], begin + i};
        }
        const auto middle = found_.begin() + std::ptrdiff_t(to_end - to);
        std::partial_sort(found_.begin(), middle, found_.end(), [](const Found& a, const Found& b) {
            if (a.similarity != b.similarity) return a.similarity > b.similarity;
            return a.id != b.id ? a.id < b.id : a.at < b.at;
        });
        for (size_t i = 0; i < to_end - to; ++i) {
            best.chosen[to + i] = int64_t(found_[i].at);
            best.similarities[to + i] = found_[i].similarity;
        }
        return candidates.n;
    }

  private:
    struct Found {
        float similarity;
        int64_t id;
        size_t at;
    };

    static size_t checked(int64_t offset, size_t n) {
        if (offset < 0 || uint64_t(offset) > n) throw std::invalid_argument("offsets leave the candidates");
        return size_t(offset);
    }
    void prepare(const float* query) {
        double squares = 0;
        for (size_t j = 0; j < vectors_.n_features; ++j) squares += double(query[j]) * query[j];
        const double scale = similarity_ == Similarity::cosine && squares > 0 ? 1 / std::sqrt(squares) : 1;
        for (size_t j = 0; j < vectors_.n_features; ++j) query_[j] = float(query[j] * scale);
    }

    const VectorRows vectors_;
    const Similarity similarity_;
    const Kernels& kernels_;
    std::vector<float> query_, similarities_;
    std::vector<size_t> rows_;
    std::vector<Found> found_;
};

}  // namespace kinhash
