// Searches a list of segments for batches of queries.
#pragma once

#include <numeric>

#include "runtime/answer.hpp"
#include "runtime/dispatch.hpp"
#include "search/top_k.hpp"
#include "search/within.hpp"

namespace kinhash {

// The memory that one thread works in.
template <size_t W>
struct Scratch {
    const Kernels* kernels;
    Finders<W> finders;
    std::vector<Hits> hits;
    std::vector<Asked> asked;
    TopK<W> top_k;
    Scratch(const Segments& segments, std::vector<SegmentPlanes>& planes, size_t n_words,
            const Kernels& kernels_used)
        : kernels(&kernels_used), finders(segments, planes, kernels_used), hits(Found::PIECE),
          top_k(segments, n_words, finders, kernels_used) {}
};

// Searches a fixed list of segments. Any number of threads may call it at the same time.
class Searcher {
  public:
    explicit Searcher(Segments segments) : segments_(std::move(segments)), planes_(segments_.size()) {
        for (const Segment* segment : segments_) n_items_ += segment->n_items();
    }
    virtual ~Searcher() = default;

    // All items within the radius, by distance; `sort` orders equal distances by id.
    virtual Answer radius(const uint64_t* queries, size_t n, uint32_t radius, bool sort, size_t n_threads,
                          AskedPlan asked, Stop& stop) = 0;
    // The number of items at each distance 0 .. radius: (n, radius + 1), zeroed before.
    virtual Work count(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, AskedPlan asked,
                       int64_t* counts, Stop& stop) = 0;
    // The same in the order of rank bits.
    virtual Answer ranked_radius(const uint64_t* queries, const uint64_t* ranks, size_t n, uint32_t radius,
                                 bool total, size_t n_threads, Stop& stop) = 0;
    // The same, but at the radius only those whose rank bits are near, too.
    virtual Answer ranked_within(const uint64_t* queries, const uint64_t* ranks, size_t n, Reach reach,
                                 size_t n_threads, Stop& stop) = 0;
    // The k nearest items; there are at least k.
    virtual Work top_k(const uint64_t* queries, size_t n, size_t k, size_t n_threads, int64_t* ids,
                       int32_t* distances, Stop& stop) = 0;
    // The same in the order of rank bits.
    virtual Work ranked_top_k(const uint64_t* queries, const uint64_t* ranks, size_t n, size_t k, bool total,
                              size_t n_threads, Answer& answer, Stop& stop) = 0;

  protected:
    const Segments segments_;
    std::vector<SegmentPlanes> planes_;
    size_t n_items_ = 0;
};

template <size_t W>
class SearcherOf final : public Searcher {
  public:
    SearcherOf(Segments segments, size_t n_words) : Searcher(std::move(segments)), n_words_(n_words) {}

    Answer radius(const uint64_t* queries, size_t n, uint32_t radius, bool sort, size_t n_threads,
                  AskedPlan asked, Stop& stop) override {
        return expanded(
            queries, n, radius, false, n_threads, asked, stop, [&](const Found& found, Answer& to) {
                expand(segments_, found, sort, *active_kernels(), n_threads, to.ids, to.distances, stop);
            });
    }

    Answer ranked_radius(const uint64_t* queries, const uint64_t* ranks, size_t n, uint32_t radius,
                         bool total, size_t n_threads, Stop& stop) override {
        return expanded(queries, n, radius, true, n_threads, {}, stop, [&](const Found& found, Answer& to) {
            expand_ranked(segments_, found, ranks, total, *active_kernels(), n_threads, to, stop);
        });
    }

    Answer ranked_within(const uint64_t* queries, const uint64_t* ranks, size_t n, Reach reach,
                         size_t n_threads, Stop& stop) override {
        std::unique_ptr<Found> found = hits_within(queries, n, reach.radius, n_threads, {}, stop);
        const Within within(segments_, *found, ranks, reach, *active_kernels(), n_threads, stop);
        give_back(std::move(found));
        return within.answer(n_threads, stop);
    }

    Work count(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, AskedPlan asked,
               int64_t* counts, Stop& stop) override {
        return in_pieces(queries, n, radius, n_threads, asked, stop, [&](size_t i, const Hits& hits) {
            for (const Hit& hit : hits)
                counts[i * (radius + 1) + hit.distance] +=
                    int64_t(segments_[hit.segment]->count(hit.row, hit.more));
        });
    }

    Work top_k(const uint64_t* queries, size_t n, size_t k, size_t n_threads, int64_t* ids,
               int32_t* distances, Stop& stop) override {
        return in_threads(n, n_threads, top_k_piece(n, n_threads), stop,
                          [&](size_t begin, size_t end, Scratch<W>& scratch, Work& work) {
                              scratch.top_k.search(queries + begin * n_words_, end - begin, k,
                                                   ids + begin * k, distances + begin * k, work);
                          });
    }

    Work ranked_top_k(const uint64_t* queries, const uint64_t* ranks, size_t n, size_t k, bool total,
                      size_t n_threads, Answer& answer, Stop& stop) override {
        const size_t n_rank_words = (segments_[0]->rank_bytes + 7) / 8;
        return in_threads(
            n, n_threads, TOP_K_PIECE, stop, [&](size_t begin, size_t end, Scratch<W>& scratch, Work& work) {
                const RankedRows rows{answer.ids + begin * k, answer.distances + begin * k,
                                      answer.rank_distances + begin * k};
                scratch.top_k.search_ranked(queries + begin * n_words_, ranks + begin * n_rank_words,
                                            end - begin, k, total, rows, work);
            });
    }

  private:
    static constexpr size_t TOP_K_PIECE = 16;
    // Codes of several words are often all compared: the more queries at a time, the less is read. Two pieces
    // per thread, because another program may delay one of the threads.
    size_t top_k_piece(size_t n, size_t n_threads) const {
        if (n_words_ == 1) return TOP_K_PIECE;
        const size_t n_pieces = n_threads <= 1 ? 1 : 2 * n_threads;
        return std::clamp((n + n_pieces - 1) / n_pieces, TOP_K_PIECE, Found::PIECE);
    }
    static constexpr size_t MOST_SPARE = size_t(1) << 26;  // bytes that are kept for the next search

    // Finds the codes within the radius.
    std::unique_ptr<Found> hits_within(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads,
                                       AskedPlan asked, Stop& stop) {
        radius = std::min(radius, uint32_t(64 * n_words_));  // no two codes are farther apart
        std::unique_ptr<Found> found = spare_found_.take();
        if (!found) found = std::make_unique<Found>();
        found->start(n);
        in_pieces(queries, n, radius, n_threads, asked, stop,
                  [&](size_t i, const Hits& hits) { keep(segments_, i, hits, radius, n_items_, *found); });
        return found;
    }
    void give_back(std::unique_ptr<Found> found) {
        found->forget(MOST_SPARE);
        spare_found_.give_back(std::move(found));
    }

    // The same, and makes an answer that expand(found, answer) writes.
    template <typename F>
    Answer expanded(const uint64_t* queries, size_t n, uint32_t radius, bool ranked, size_t n_threads,
                    AskedPlan asked, Stop& stop, const F& expand) {
        std::unique_ptr<Found> found = hits_within(queries, n, radius, n_threads, asked, stop);
        std::partial_sum(found->offsets.begin(), found->offsets.end(), found->offsets.begin());
        Answer answer(n, size_t(found->offsets[n]), ranked);
        std::copy_n(found->offsets.begin(), n + 1, answer.offsets);
        expand(*found, answer);
        give_back(std::move(found));
        return answer;
    }

    // Finds the codes near the queries, piece by piece, and calls found(i, hits) for each query.
    template <typename F>
    Work in_pieces(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, AskedPlan asked,
                   Stop& stop, const F& found) {
        return in_threads(n, n_threads, Found::PIECE, stop,
                          [&](size_t begin, size_t end, Scratch<W>& scratch, Work& work) {
                              scratch.asked.resize(end - begin);
                              for (size_t i = begin; i < end; ++i) {
                                  Hits& hits = scratch.hits[i - begin];
                                  hits.clear();
                                  scratch.asked[i - begin] = {queries + i * n_words_, radius, &hits};
                              }
                              scratch.finders.within(scratch.asked, asked, work);
                              for (size_t i = begin; i < end; ++i) found(i, scratch.hits[i - begin]);
                          });
    }

    // Calls work_on(begin, end, scratch, work) for all pieces of [0, n); returns the work of all.
    template <typename F>
    Work in_threads(size_t n, size_t n_threads, size_t piece, Stop& stop, const F& work_on) {
        Work total(nullptr);
        std::mutex mutex;
        parallel_for(n, n_threads, piece, stop, [&](size_t begin, size_t end) {
            // Scratch memory is kept between calls: fresh memory would cost as much as a search.
            auto scratch = spare_.take();
            // The instruction set may have been changed since, by a test.
            if (!scratch || scratch->kernels != active_kernels())
                scratch = std::make_unique<Scratch<W>>(segments_, planes_, n_words_, *active_kernels());
            Work work(&stop);
            // If that throws, the scratch memory is in no known state and is dropped.
            work_on(begin, end, *scratch, work);
            spare_.give_back(std::move(scratch));
            std::lock_guard guard(mutex);
            total.add(work);
        });
        return total;
    }

    size_t n_words_;
    Spares<Scratch<W>> spare_;
    Spares<Found> spare_found_;
};

}  // namespace kinhash
