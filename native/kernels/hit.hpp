// What a search finds: codes near a query.
#pragma once

#include <cstdint>

namespace kinhash {

// Rows `row` .. `row + more` of one segment, all at one distance.
struct Hit {
    uint32_t row;
    uint8_t segment, more;
    uint16_t distance;
};

}  // namespace kinhash
