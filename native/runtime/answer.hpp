// The memory of answers, from a pool.
#pragma once

#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/kernels.hpp"
#include "runtime/memory.hpp"

namespace kinhash {

struct Buffer {
    std::unique_ptr<char, Free> data;
    size_t size = 0;
};

// A pool: fresh memory costs more than writing an answer into it, so a released buffer is kept for the next
// answer of about its size.
class Buffers {
  public:
    static constexpr size_t LEAST = 1 << 10, LARGE = 1 << 22, MOST = size_t(1) << 29;
    Buffer take(size_t size) {
        if (size < LEAST) return allocated(size);
        {
            // The buffer released last is still in the cache. A much larger one is left for larger answers.
            std::lock_guard guard(mutex_);
            for (size_t i = free_.size(); i-- > 0;) {
                if (free_[i].size < size || free_[i].size / 4 > size) continue;
                Buffer found = std::move(free_[i]);
                free_.erase(free_.begin() + std::ptrdiff_t(i));
                held_ -= found.size;
                return found;
            }
        }
        return allocated(size >= LARGE ? size + size / 8
                                       : std::bit_ceil(size));  // the next answer may be a little larger
    }
    void give_back(Buffer buffer) {
        if (!buffer.data || buffer.size < LEAST || buffer.size > MOST) return;
        std::lock_guard guard(mutex_);
        while (!free_.empty() && (held_ + buffer.size > MOST || free_.size() >= MOST_BUFFERS)) {
            held_ -= free_.front().size;  // the oldest
            free_.erase(free_.begin());
        }
        held_ += buffer.size;
        free_.push_back(std::move(buffer));
    }
    static Buffers& instance() {
        static Buffers* buffers = new Buffers;  // outlives every array
        return *buffers;
    }

  private:
    static Buffer allocated(size_t size) {
        return {std::unique_ptr<char, Free>(static_cast<char*>(allocate(size))), size};
    }
    static constexpr size_t MOST_BUFFERS = 32;
    std::mutex mutex_;
    std::vector<Buffer> free_;
    size_t held_ = 0;
};

// The arrays of an answer in one buffer, which returns to the pool.
class Answer {
  public:
    const size_t n_offsets, n;
    int64_t *offsets, *ids;
    int32_t *distances, *rank_distances;  // the latter null if they are not computed

    Answer(size_t n_queries, size_t n_matches, bool ranked = false) : n_offsets(n_queries + 1), n(n_matches) {
        if (n > MOST_MATCHES) throw std::bad_alloc();
        const size_t distances_at = round_up(8 * n, CACHE_LINE),
                     ranks_at = round_up(distances_at + 4 * n, CACHE_LINE),
                     offsets_at = ranked ? round_up(ranks_at + 4 * n, CACHE_LINE) : ranks_at;
        buffer_ = Buffers::instance().take(offsets_at + 8 * n_offsets);
        char* const data = buffer_.data.get();
        ids = reinterpret_cast<int64_t*>(data);
        distances = reinterpret_cast<int32_t*>(data + distances_at);
        rank_distances = ranked ? reinterpret_cast<int32_t*>(data + ranks_at) : nullptr;
        offsets = reinterpret_cast<int64_t*>(data + offsets_at);
    }
    Answer(Answer&&) = default;
    ~Answer() { Buffers::instance().give_back(std::move(buffer_)); }

  private:
    static constexpr size_t MOST_MATCHES = size_t(1) << 56;  // a larger answer's bytes could overflow
    Buffer buffer_;
};

}  // namespace kinhash
