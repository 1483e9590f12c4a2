// Searches a list of segments for batches of queries.
#pragma once

#include "top_k.hpp"

namespace kinhash {

// What one thread works with.
template <size_t W>
struct Scratch {
    const Kernels* kernels;
    Finders<W> finders;
    std::vector<Hits> hits;
    std::vector<Asked> asked;
    TopK<W> top_k;
    Scratch(const Segments& segments, std::vector<SegmentPlanes>& planes, size_t n_words, const Kernels& kernels_used)
        : kernels(&kernels_used),
          finders(segments, planes, kernels_used),
          hits(Found::PIECE),
          top_k(segments, n_words, finders, kernels_used) {}
};

// Searches over a fixed list of segments, by any number of threads at once.
class Searcher {
  public:
    explicit Searcher(Segments segments) : segments_(std::move(segments)), planes_(segments_.size()) {
        for (const Segment* segment : segments_) n_items_ += segment->n_items();
    }
    virtual ~Searcher() = default;

    // All rows within the radius.
    virtual void radius(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked, Found& found) = 0;
    // How many items lie at each distance 0 .. radius: (n, radius + 1), zeroed before.
    virtual Work count(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked, int64_t* counts) = 0;
    // The k nearest items, k of them in all cases.
    virtual Work top_k(const uint64_t* queries, size_t n, size_t k, size_t n_threads, int64_t* ids, int32_t* distances) = 0;

    const Segments& segments() const { return segments_; }

    // Where hits are kept; fresh memory for them would cost as much as finding them.
    std::unique_ptr<Found> take_found() {
        auto found = spare_.take();
        return found ? std::move(found) : std::make_unique<Found>();
    }
    void give_back(std::unique_ptr<Found> found) {
        if (found->n_bytes() <= MOST_SPARE) spare_.give_back(std::move(found));
    }

  protected:
    static constexpr size_t MOST_SPARE = size_t(1) << 26;
    const Segments segments_;
    std::vector<SegmentPlanes> planes_;
    size_t n_items_ = 0;

  private:
    Spares<Found> spare_;
};

template <size_t W>
class SearcherOf final : public Searcher {
  public:
    SearcherOf(Segments segments, size_t n_words) : Searcher(std::move(segments)), n_words_(n_words) {}

    void radius(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked, Found& found) override {
        radius = std::min(radius, uint32_t(64 * n_words_));  // no two codes are farther apart
        found.start(n);
        found.work = in_pieces(queries, n, radius, n_threads, asked, [&](size_t i, const Hits& hits) {
            keep(segments_, i, hits, radius, n_items_, found);
        });
        for (size_t i = 0; i < n; ++i) found.offsets[i + 1] += found.offsets[i];
    }

    Work count(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked, int64_t* counts) override {
        return in_pieces(queries, n, radius, n_threads, asked, [&](size_t i, const Hits& hits) {
            for (const Hit& hit : hits)
                counts[i * (radius + 1) + hit.distance] += int64_t(segments_[hit.segment]->count(hit.row));
        });
    }

    Work top_k(const uint64_t* queries, size_t n, size_t k, size_t n_threads, int64_t* ids, int32_t* distances) override {
        return in_threads(n, n_threads, TOP_K_PIECE, [&](size_t begin, size_t end, Scratch<W>& scratch, Work& work) {
            for (size_t i = begin; i < end; i += TOP_K_PIECE)
                scratch.top_k.search(queries + i * n_words_, std::min(TOP_K_PIECE, end - i), k, ids + i * k, distances + i * k, work);
        });
    }

  private:
    static constexpr size_t TOP_K_PIECE = 16;

    template <typename F>
    Work in_pieces(const uint64_t* queries, size_t n, uint32_t radius, size_t n_threads, int asked, const F& found) {
        return in_threads(n, n_threads, Found::PIECE, [&](size_t first, size_t last, Scratch<W>& scratch, Work& work) {
            for (size_t begin = first; begin < last; begin += Found::PIECE) {
                const size_t end = std::min(begin + Found::PIECE, last);
                scratch.asked.clear();
                for (size_t i = begin; i < end; ++i) {
                    scratch.hits[i - begin].clear();
                    scratch.asked.push_back({queries + i * n_words_, radius, &scratch.hits[i - begin]});
                }
                scratch.finders.within(scratch.asked, asked, work);
                for (size_t i = begin; i < end; ++i) found(i, scratch.hits[i - begin]);
            }
        });
    }

    template <typename F>
    Work in_threads(size_t n, size_t n_threads, size_t piece, const F& work_on) {
        Work total;
        std::mutex mutex;
        share(n, n_threads, piece, [&](size_t begin, size_t end) {
            Work work;
            auto scratch = spare_.take();
            // The instruction set may have been changed since, by a test.
            if (!scratch || scratch->kernels != active_kernels())
                scratch = std::make_unique<Scratch<W>>(segments_, planes_, n_words_, *active_kernels());
            work_on(begin, end, *scratch, work);
            spare_.give_back(std::move(scratch));
            if (end - begin == n) {  // nobody else
                total = work;
                return;
            }
            std::lock_guard guard(mutex);
            total.add(work);
        });
        return total;
    }

    size_t n_words_;
    Spares<Scratch<W>> spare_;
};

}  // namespace kinhash
