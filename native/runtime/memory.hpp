// Memory for answers and arrays. Answers use huge pages where the system has them, from a pool. Arrays that
// are built do not: the system may take longer to provide fresh huge pages than small ones.
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

// Aligned memory, to be released by Free.
inline void* allocate(size_t size) {
    // Alignment would cost more than it gains for a small piece.
    if (size < SMALL) {
        if (void* const data = std::malloc(size ? size : 1)) return data;
        throw std::bad_alloc();
    }
    const size_t alignment = size < 2 * HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    if (rounded < size) throw std::bad_alloc();
    void* const data = std::aligned_alloc(alignment, rounded);
    if (!data) throw std::bad_alloc();
#ifdef __linux__
    if (alignment == HUGE_PAGE) madvise(data, rounded, MADV_HUGEPAGE);  // if refused, pages are small
#endif
    return data;
}

// Whether the process may get `size` more bytes of address space now.
inline bool has_memory(size_t size) {
#ifdef __linux__
    void* const place = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return false;
    munmap(place, size);
#else
    static_cast<void>(size);
#endif
    return true;
}

// An allocator that leaves elements uninitialised: a vector is written without being zeroed first.
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
