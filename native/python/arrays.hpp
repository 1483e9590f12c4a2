// NumPy arrays as arguments: C-contiguous, of one type, on the CPU.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace nb = nanobind;

template <typename T, size_t D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <typename T, size_t D>
using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

inline void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}
