// Vectors of floats of the instruction set's width, by the vector extensions of GCC and Clang.
#pragma once

#include "kernels/functions.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t LANES = 16;
#elif defined(__AVX2__)
constexpr size_t LANES = 8;
#else
constexpr size_t LANES = 4;
#endif
constexpr size_t PARTS = PANEL / LANES;  // registers to a panel

typedef float Vec __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t Mask __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef float VecU __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const VecU*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<VecU*>(p) = v; }
// Subtracts, because adding 0 would turn -0 into 0 at the cost of an instruction.
inline Vec splat(float x) { return x - Vec{}; }
inline Vec positive(Vec v) { return v > Vec{} ? v : Vec{}; }
inline Vec magnitude(Vec v) { return (Vec)((Mask)v & 0x7fffffff); }
inline float sum(Vec v) {
    float total = 0;
    for (size_t i = 0; i < LANES; ++i) total += v[i];
    return total;
}

}  // namespace
}  // namespace kinhash::KINHASH_ISA
