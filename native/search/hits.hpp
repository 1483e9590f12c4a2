// Growing arrays of hits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/hit.hpp"

namespace kinhash {

// A growing array that kernels write into directly; it is never zeroed.
template <typename T>
class Growing {
  public:
    // Returns room for n more elements; call add() with the number written.
    [[gnu::always_inline]] T* room(size_t n) {
        if (size_ + n > capacity_) grow(size_ + n);
        return data_.get() + size_;
    }
    void add(size_t n) { size_ += n; }
    [[gnu::always_inline]] void push_back(const T& one) {
        *room(1) = one;
        ++size_;
    }
    void clear() { size_ = 0; }
    void cut(size_t size) { size_ = size; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    T* begin() { return data_.get(); }
    T* end() { return data_.get() + size_; }
    const T* begin() const { return data_.get(); }
    const T* end() const { return data_.get() + size_; }
    const T& operator[](size_t i) const { return data_[i]; }
    T& operator[](size_t i) { return data_[i]; }

  private:
    [[gnu::noinline]] void grow(size_t least) {
        capacity_ = std::max(least, 2 * capacity_);
        auto larger = std::make_unique_for_overwrite<T[]>(capacity_);
        std::copy_n(data_.get(), size_, larger.get());
        data_ = std::move(larger);
    }
    std::unique_ptr<T[]> data_;
    size_t size_ = 0, capacity_ = 0;
};

using Hits = Growing<Hit>;

}  // namespace kinhash
