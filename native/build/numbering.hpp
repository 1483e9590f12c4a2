// Numbers codes: items with equal codes get the same number.
#pragma once

#include "runtime/threads.hpp"
#include "structures/segment.hpp"

namespace kinhash {

// A growing hash table from codes to their number, in order of appearance.
template <size_t W>
class Numbering {
  public:
    explicit Numbering(size_t n_words) : words_(n_words), slots_(1024, 0) {}
    // Numbers n codes.
    void number(const uint64_t* input, size_t n, uint32_t* numbers, Stop& stop) {
        constexpr size_t AHEAD = 16;  // codes whose slots are being prefetched, and half as many stored codes
        Polling polling(&stop);
        uint64_t hashes[AHEAD];
        const size_t n_words = words_.count();
        for (size_t i = 0; i < n + AHEAD; ++i) {
            polling.add(1);
            if (i >= AHEAD) numbers[i - AHEAD] = number(input + (i - AHEAD) * n_words, hashes[i % AHEAD]);
            if (i < n) {
                hashes[i % AHEAD] = words_.hash(input + i * n_words);
                prefetch_slot(hashes[i % AHEAD]);
            }
            if (i >= AHEAD / 2 && i < n + AHEAD / 2) prefetch_code(hashes[(i - AHEAD / 2) % AHEAD]);
        }
    }
    Vector<uint64_t> codes;
    size_t size() const { return n_; }

  private:
    void prefetch_slot(uint64_t hash) const {
        __builtin_prefetch(slots_.data() + (hash & (slots_.size() - 1)));
    }
    void prefetch_code(uint64_t hash) const {
        if (const uint32_t slot = slots_[hash & (slots_.size() - 1)])
            __builtin_prefetch(codes.data() + size_t(slot - 1) * words_.count());
    }
    uint32_t number(const uint64_t* code, uint64_t hash) {
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

// Items in equal shares, one per thread.
struct Shares {
    static constexpr size_t LEAST = 1 << 14,
                            MOST = 4;  // of items; of shares, each of which counts the items of every code
    size_t n_items, n, size;
    Stop& stop;
    Shares(size_t items, size_t n_threads, Stop& stop_by)
        : n_items(items), n(std::clamp<size_t>(items / LEAST, 1, std::min(n_threads, MOST))),
          size((items + n - 1) / n), stop(stop_by) {}
    // Calls f(share, begin, end) for all shares, in parallel.
    template <typename F>
    void each(const F& f) const {
        parallel_for(n, n, 1, stop, [&](size_t s, size_t) {
            f(s, std::min(s * size, n_items), std::min((s + 1) * size, n_items));
        });
    }
};

// Numbers the codes of all items, in order of appearance; returns the number of items of each code in each
// share.
template <size_t W>
std::vector<Vector<uint32_t>> number_items(const uint64_t* input, size_t n_words, const Shares& shares,
                                           Numbering<W>& numbering, Vector<uint32_t>& row_of) {
    // Each share by itself in parallel; then the different codes of each share are numbered together.
    std::vector<Numbering<W>> parts(shares.n, Numbering<W>(n_words));
    shares.each([&](size_t s, size_t begin, size_t end) {
        parts[s].number(input + begin * n_words, end - begin, row_of.data() + begin, shares.stop);
    });
    std::vector<Vector<uint32_t>> renamed(shares.n), counts(shares.n);
    numbering = std::move(parts[0]);
    for (size_t s = 1; s < shares.n; ++s) {
        renamed[s].resize(parts[s].size());
        numbering.number(parts[s].codes.data(), parts[s].size(), renamed[s].data(), shares.stop);
    }
    shares.each([&](size_t s, size_t begin, size_t end) {
        counts[s].assign(numbering.size(), 0);
        Polling polling(&shares.stop);
        for (size_t i = begin; i < end; ++i) {
            if (s) row_of[i] = renamed[s][row_of[i]];
            ++counts[s][row_of[i]];
            polling.add(1);
        }
    });
    return counts;
}

}  // namespace kinhash
