// The kernels of one instruction set (KINHASH_ISA): each .cpp file here defines one or a few of them, and
// table.cpp makes a table of all. Every file is compiled once per instruction set.
#pragma once

#include <type_traits>

#include "kernels/kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Declares a kernel with the type that the table gives it.
#define KINHASH_KERNEL(name) std::remove_pointer_t<decltype(Kernels::name)> name

namespace kinhash::KINHASH_ISA {

KINHASH_KERNEL(encode);
KINHASH_KERNEL(standardise);
KINHASH_KERNEL(squared_distances);
KINHASH_KERNEL(scan);
KINHASH_KERNEL(scan_many);
KINHASH_KERNEL(scan_narrow);
KINHASH_KERNEL(narrow_distances);
KINHASH_KERNEL(least_limit);
KINHASH_KERNEL(positions_at_most);
KINHASH_KERNEL(tile);
KINHASH_KERNEL(scan_tiles);
KINHASH_KERNEL(scan_buckets);
KINHASH_KERNEL(scan_totals);
KINHASH_KERNEL(scan_planes);
KINHASH_KERNEL(runs);
KINHASH_KERNEL(write_ids);
KINHASH_KERNEL(fill);
KINHASH_KERNEL(stream_ids);
KINHASH_KERNEL(stream_fill);
KINHASH_KERNEL(finish);
KINHASH_KERNEL(pair_loss);
KINHASH_KERNEL(similarities);

}  // namespace kinhash::KINHASH_ISA
