// Memory for large arrays, in huge pages where the system has them: tables are read all over the
// place, and every small page that is not in the processor's list costs a walk to find it.
#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kinhash {

inline constexpr size_t HUGE_PAGE = size_t(1) << 21, CACHE_LINE = 64, SMALL = 1 << 12;

struct Free {
    void operator()(void* data) const { std::free(data); }
};

// Freed by the above.
inline void* allocate(size_t size) {
    // Aligning takes longer than getting a small piece.
    if (size < SMALL) {
        if (void* const data = std::malloc(size ? size : 1)) return data;
        throw std::bad_alloc();
    }
    // Less than two huge pages hardly fill one.
    const size_t alignment = size < 2 * HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    if (rounded < size) throw std::bad_alloc();
    void* const data = std::aligned_alloc(alignment, rounded);
    if (!data) throw std::bad_alloc();
#ifdef __linux__
    if (alignment == HUGE_PAGE) madvise(data, rounded, MADV_HUGEPAGE);  // where refused, small pages do
#endif
    return data;
}

template <typename T>
struct Allocator {
    using value_type = T;
    Allocator() = default;
    template <typename U>
    Allocator(const Allocator<U>&) {}
    T* allocate(size_t n) {
        if (n > size_t(-1) / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T*>(kinhash::allocate(n * sizeof(T)));
    }
    void deallocate(T* data, size_t) { std::free(data); }
    bool operator==(const Allocator&) const = default;
};

template <typename T>
using Vector = std::vector<T, Allocator<T>>;

}  // namespace kinhash
