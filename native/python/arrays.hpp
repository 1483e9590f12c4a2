// NumPy arrays as arguments: C-contiguous, of one type, on the CPU.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "runtime/memory.hpp"

namespace nb = nanobind;

template <typename T, size_t D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <typename T, size_t D>
using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

inline void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// An array over a vector, which it keeps.
template <typename T>
nb::object to_numpy(kinhash::Vector<T>&& vector) {
    auto* held = new kinhash::Vector<T>(std::move(vector));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<kinhash::Vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}
