// Queries in and answers out by NumPy's C interface: it reads and makes arrays several times faster than the
// general exchange of arrays (arrays.hpp), which matters for a single query.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <memory>

#include "python/arrays.hpp"
#include "runtime/answer.hpp"

// Call once, before anything else here.
inline void use_numpy() {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

template <typename T>
constexpr int NUMPY_TYPE = std::is_same_v<T, int64_t>   ? NPY_INT64
                           : std::is_same_v<T, int32_t> ? NPY_INT32
                                                        : NPY_UINT64;

// A 2-dimensional array of words; copied if it is not contiguous.
struct Rows {
    const uint64_t* data;
    size_t n, n_words;
    explicit Rows(nb::handle object) : array_(nb::borrow(object)) {
        // Two C types have 64 bits, with two type numbers.
        expect(PyArray_Check(object.ptr()) && PyTypeNum_ISUNSIGNED(PyArray_TYPE(array())) &&
                   PyArray_ITEMSIZE(array()) == 8 && PyArray_NDIM(array()) == 2,
               "queries must be uint64 words in two dimensions");
        if (!PyArray_CHKFLAGS(array(), NPY_ARRAY_CARRAY_RO)) {
            PyObject* copy = PyArray_NewCopy(array(), NPY_CORDER);
            if (!copy) throw nb::python_error();
            array_ = nb::steal(copy);
        }
        data = static_cast<const uint64_t*>(PyArray_DATA(array()));
        n = size_t(PyArray_DIM(array(), 0));
        n_words = size_t(PyArray_DIM(array(), 1));
    }

  private:
    PyArrayObject* array() const { return reinterpret_cast<PyArrayObject*>(array_.ptr()); }
    nb::object array_;
};

// A read-only array over `data`, which `owner` keeps alive.
template <typename T>
nb::object numpy_array(T* data, size_t n, nb::object owner) {
    npy_intp shape = npy_intp(n);
    PyArray_Descr* const type = PyArray_DescrFromType(NUMPY_TYPE<T>);  // the array takes this reference
    PyObject* array =
        PyArray_NewFromDescr(&PyArray_Type, type, 1, &shape, nullptr, data, NPY_ARRAY_CARRAY_RO, nullptr);
    if (!array) throw nb::python_error();
    nb::object result = nb::steal(array);
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner.release().ptr()) < 0)
        throw nb::python_error();
    return result;
}

// An answer as Python holds it: a capsule, because most answers that lend their memory to the next one are
// never read. The memory returns to the pool when the capsule and the last of its arrays are gone.
inline constexpr const char* ANSWER = "kinhash.Answer";

inline nb::object held_answer(kinhash::Answer answer) {
    auto held = std::make_unique<kinhash::Answer>(std::move(answer));
    nb::capsule capsule(held.get(), ANSWER,
                        [](void* p) noexcept { delete static_cast<kinhash::Answer*>(p); });
    static_cast<void>(held.release());  // the capsule has it now
    return capsule;
}

// Offsets, ids, distances and distances of rank bits of an answer; None for the last if not computed.
inline nb::tuple answer_arrays(nb::handle held) {
    const auto* const answer = static_cast<const kinhash::Answer*>(PyCapsule_GetPointer(held.ptr(), ANSWER));
    if (!answer) throw nb::python_error();
    const nb::object owner = nb::borrow(held);
    return nb::make_tuple(numpy_array(answer->offsets, answer->n_offsets, owner),
                          numpy_array(answer->ids, answer->n, owner),
                          numpy_array(answer->distances, answer->n, owner),
                          answer->rank_distances ? numpy_array(answer->rank_distances, answer->n, owner)
                                                 : nb::object(nb::none()));
}
