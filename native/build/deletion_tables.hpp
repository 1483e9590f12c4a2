// Builds the tables of deletion keys.
#pragma once

#include <memory>

#include "runtime/threads.hpp"
#include "structures/deletions.hpp"
#include "structures/segment.hpp"

namespace kinhash {

// Files every code under the rest when exactly `level` of its bits are removed. Keys are first dealt to the
// parts of the table they belong to, then each part is filled in the cache: filling the whole table in the
// order of the codes would wait for memory at every key.
template <size_t W>
class DeletionTable {
  public:
    // The codes have `n_keys` keys of that level in all.
    DeletionTable(const Words<W>& words, const Vector<uint64_t>& codes, size_t n_codes, uint32_t level,
                  size_t n_keys, size_t n_threads, Stop& stop)
        : words_(words), codes_(codes), n_codes_(n_codes), level_(level), n_threads_(n_threads), stop_(stop),
          n_shares_(std::clamp<size_t>(n_codes / LEAST_SHARE, 1, n_threads)),
          share_size_((n_codes + n_shares_ - 1) / n_shares_), n_keys_(n_keys),
          n_buckets_(std::max<size_t>(1, n_keys)), n_parts_((n_buckets_ + PART - 1) / PART) {}

    void build(Built::Lists& out) {
        count_parts();
        deal();
        fill(out);
    }

  private:
    static constexpr size_t PART = 1 << 15;      // buckets whose starts and rows stay in the cache together
    static constexpr size_t LEAST_SHARE = 4096;  // codes
    struct Dealt {
        uint32_t bucket, row;
    };

    // Finds where each share of the codes puts its keys of each part, so that the rows of a bucket stay in
    // order.
    void count_parts() {
        next_.assign(n_shares_ * n_parts_, 0);
        for_each_key([&](size_t s, uint32_t, uint32_t bucket) { ++next_[s * n_parts_ + bucket / PART]; });
        part_starts_.assign(n_parts_ + 1, 0);
        for (size_t p = 0, at = 0; p < n_parts_; ++p) {
            for (size_t s = 0; s < n_shares_; ++s) at += std::exchange(next_[s * n_parts_ + p], uint32_t(at));
            part_starts_[p + 1] = uint32_t(at);
        }
    }

    void deal() {
        dealt_ = std::make_unique_for_overwrite<Dealt[]>(n_keys_);
        for_each_key([&](size_t s, uint32_t row, uint32_t bucket) {
            dealt_[next_[s * n_parts_ + bucket / PART]++] = {bucket, row};
        });
    }

    void fill(Built::Lists& out) const {
        out.starts.resize(n_buckets_ + 1);
        out.rows.resize(n_keys_);
        parallel_for(n_parts_, n_threads_, 1, stop_, [&](size_t p, size_t) { fill_part(p, out); });
        out.starts[n_buckets_] = uint32_t(n_keys_);
    }
    void fill_part(size_t p, Built::Lists& out) const {
        const size_t low = p * PART, size = std::min(PART, n_buckets_ - low);
        Vector<uint32_t> place(size + 1, 0);
        const Dealt *from = dealt_.get() + part_starts_[p], *to = dealt_.get() + part_starts_[p + 1];
        for (const Dealt* one = from; one < to; ++one) ++place[one->bucket - low + 1];
        for (size_t b = 0; b < size; ++b) place[b + 1] += place[b];
        for (size_t b = 0; b < size; ++b) out.starts[low + b] = place[b] += part_starts_[p];
        for (const Dealt* one = from; one < to; ++one) out.rows[place[one->bucket - low]++] = one->row;
    }

    // Calls f(share, row, bucket) for every key; shares run in parallel.
    template <typename F>
    void for_each_key(const F& f) const {
        parallel_for(n_shares_, n_threads_, 1, stop_, [&](size_t s, size_t) {
            Polling polling(&stop_);
            for (size_t row = s * share_size_; row < std::min((s + 1) * share_size_, n_codes_); ++row) {
                for_each_deletion(words_, code(row), level_, [&](const uint64_t* key, uint32_t removed) {
                    if (removed == level_)
                        f(s, uint32_t(row), uint32_t(key_bucket(words_.hash(key), n_buckets_)));
                });
                polling.add(n_deletions(words_.active(code(row)), level_));
            }
        });
    }
    const uint64_t* code(size_t row) const { return codes_.data() + row * words_.count(); }

    const Words<W>& words_;
    const Vector<uint64_t>& codes_;
    const size_t n_codes_;
    const uint32_t level_;
    const size_t n_threads_;
    Stop& stop_;
    const size_t n_shares_, share_size_, n_keys_, n_buckets_, n_parts_;
    Vector<uint32_t> next_, part_starts_;
    std::unique_ptr<Dealt[]> dealt_;
};

}  // namespace kinhash
