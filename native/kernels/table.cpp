// The table of the kernels of one instruction set.
#include "kernels/functions.hpp"

#define KINHASH_JOIN2(a, b) a##b
#define KINHASH_JOIN(a, b) KINHASH_JOIN2(a, b)
#define KINHASH_TEXT2(a) #a
#define KINHASH_TEXT(a) KINHASH_TEXT2(a)

namespace kinhash {

const Kernels& KINHASH_JOIN(kernels_, KINHASH_ISA)() {
    using namespace KINHASH_ISA;
    static const Kernels table{KINHASH_TEXT(KINHASH_ISA),
                               encode,
                               standardise,
                               squared_distances,
                               scan,
                               scan_many,
                               scan_narrow,
                               narrow_distances,
                               least_limit,
                               positions_at_most,
                               tile,
                               scan_tiles,
                               scan_buckets,
                               scan_totals,
                               scan_planes,
                               runs,
                               write_ids,
                               fill,
                               stream_ids,
                               stream_fill,
                               finish,
                               pair_loss,
                               similarities};
    return table;
}

}  // namespace kinhash
