// What is found: codes near a query.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace kinhash {

// Rows `row` .. `row + more` of one segment, all at one distance.
struct Hit {
    uint32_t row;
    uint8_t segment, more;
    uint16_t distance;
};

// A growing array that others may write into, and that is never filled with zeros first.
template <typename T>
class Growing {
  public:
    // Where n more may be written; then add() those that were.
    T* room(size_t n) {
        if (size_ + n > capacity_) grow(size_ + n);
        return data_.get() + size_;
    }
    void add(size_t n) { size_ += n; }
    void push_back(const T& one) {
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

  private:
    void grow(size_t least) {
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
