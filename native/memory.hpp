// Memory for answers and arrays. Answers are in huge pages where the system has them, and used again and
// again; fresh huge pages may take longer to come than small ones, so what is built has none.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
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

// Vectors that are not filled with zeros before they are written.
template <typename T>
struct Unfilled : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Unfilled<U>;
    };
    template <typename U>
    void construct(U* place) {
        ::new (static_cast<void*>(place)) U;
    }
    template <typename U, typename... Args>
    void construct(U* place, Args&&... args) {
        ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
    }
};

template <typename T>
using Vector = std::vector<T, Unfilled<T>>;

}  // namespace kinhash
