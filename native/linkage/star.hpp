// Groups around representatives, from links between items.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace kinhash {

struct Links {
    const int64_t *left, *right;
    size_t n;
};

// Visits items in `order`. Each that has no group yet becomes a representative and takes its linked items
// that have none. Writes the representative of each of n items to `out`; `order` holds each item once.
inline void star(const Links& links, const int64_t* order, size_t n, int64_t* out) {
    const auto checked = [n](int64_t item) {
        if (item < 0 || uint64_t(item) >= n) throw std::invalid_argument("there is no such item");
        return size_t(item);
    };
    // Read once: another thread might change the arrays.
    std::vector<uint32_t> ends(2 * links.n);
    std::vector<size_t> starts(n + 1);
    if (n > UINT32_MAX) throw std::invalid_argument("too many items");
    for (size_t i = 0; i < links.n; ++i) {
        ends[2 * i] = uint32_t(checked(links.left[i]));
        ends[2 * i + 1] = uint32_t(checked(links.right[i]));
        ++starts[ends[2 * i]];
        ++starts[ends[2 * i + 1]];
    }
    for (size_t item = 0, total = 0; item <= n; ++item) total += starts[item], starts[item] = total;
    std::vector<uint32_t> linked(2 * links.n);
    for (size_t i = 0; i < links.n; ++i) {
        linked[--starts[ends[2 * i]]] = ends[2 * i + 1];
        linked[--starts[ends[2 * i + 1]]] = ends[2 * i];
    }
    for (size_t item = 0; item < n; ++item) out[item] = -1;
    for (size_t at = 0; at < n; ++at) {
        const size_t item = checked(order[at]);
        if (out[item] >= 0) continue;
        out[item] = int64_t(item);
        for (size_t i = starts[item]; i < starts[item + 1]; ++i)
            if (out[linked[i]] < 0) out[linked[i]] = int64_t(item);
    }
    for (size_t item = 0; item < n; ++item)
        if (out[item] < 0) throw std::invalid_argument("an item is missing in the order");
}

}  // namespace kinhash
