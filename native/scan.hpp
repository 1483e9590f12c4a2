// What a scan over codes gives back; the loops are in kernels.cpp, per instruction set.
#pragma once

#include <cstdint>

namespace kinhash {

struct Near {
    uint32_t row;
    uint32_t distance;
};

}  // namespace kinhash
