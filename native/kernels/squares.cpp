// Squared distances from products.
#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {

void squared_distances(const float* own, const float* other, size_t n, size_t m, float* products) {
    for (size_t i = 0; i < n; ++i, products += m)
        for (size_t j = 0; j < m; ++j) {
            // 2 x y is exact, so a fused multiply-add gives the same.
            const float squared = (own[i] + other[j]) - 2 * products[j];
            products[j] = squared < 0 ? 0 : squared;  // NaN stays
        }
}

}  // namespace kinhash::KINHASH_ISA
