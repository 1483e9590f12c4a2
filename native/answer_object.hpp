// What Python sees of an answer: the base of kinhash.Matches.
#pragma once

#include <array>
#include <new>

#include "answer.hpp"
#include "numpy_api.hpp"

// An object that keeps a buffer as long as arrays lie in it.
struct BufferOwner {
    PyObject_HEAD
    kinhash::Buffer buffer;

    static PyTypeObject* type() {
        static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)}, {0, nullptr}};
        static PyType_Spec spec{"kinhash._native.BufferOwner", sizeof(BufferOwner), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
        static auto* const made = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        return made;
    }
    static nb::object make(kinhash::Answer& answer) {
        auto* const owner = type() ? PyObject_New(BufferOwner, type()) : nullptr;
        if (!owner) throw nb::python_error();
        new (&owner->buffer) kinhash::Buffer(answer.take_buffer());
        return nb::steal(reinterpret_cast<PyObject*>(owner));
    }

  private:
    static void dealloc(PyObject* self) {
        auto* const owner = reinterpret_cast<BufferOwner*>(self);
        kinhash::Buffers::instance().give_back(std::move(owner->buffer));
        owner->buffer.~Buffer();
        PyTypeObject* const type = Py_TYPE(self);
        PyObject_Free(self);
        Py_DECREF(type);
    }
};

// The base of kinhash.Matches: three read-only arrays, each made when it is first asked for. For a single
// query, to make all of them would take as long as the search.
struct AnswerObject {
    PyObject_HEAD
    kinhash::Answer answer;
    std::array<nb::object, 3> arrays;  // offsets, ids, distances
    nb::object owner;                  // of the memory, once there is an array

    // An object of a class derived from this one, with an answer in it.
    static nb::object make(nb::handle kind, kinhash::Answer answer) {
        auto* const type = reinterpret_cast<PyTypeObject*>(kind.ptr());
        if (!PyType_Check(kind.ptr()) || !PyType_IsSubtype(type, base())) throw nb::type_error("not a class of answers");
        nb::object made = nb::steal(create(type, nullptr, nullptr));
        if (!made.is_valid()) throw nb::python_error();
        from(made.ptr()).answer = std::move(answer);
        return made;
    }

    static void release(PyObject* self) {
        // Taken out first: what their going away leads to must not find them here.
        const std::array<nb::object, 3> arrays = std::move(from(self).arrays);
        const nb::object owner = std::move(from(self).owner);
        from(self).answer = {};
    }

    static PyTypeObject* base() {
        static PyGetSetDef fields[] = {
            {"offsets", &array<int64_t, 0>, nullptr, "Where each row starts: int64, `(n_queries + 1,)`.", nullptr},
            {"ids", &array<int64_t, 1>, nullptr, "The ids of all rows, one after the other: int64.", nullptr},
            {"distances", &array<int32_t, 2>, nullptr, "The distances that go with `ids`: int32.", nullptr},
            {nullptr, nullptr, nullptr, nullptr, nullptr}};
        static PyMethodDef methods[] = {
            {"_hold", &hold, METH_VARARGS, "Take three read-only arrays for those of the answer."},
            {"_release", [](PyObject* self, PyObject*) { return release(self), Py_NewRef(Py_None); }, METH_NOARGS, "Let go of the arrays; where nobody else has them, the next answer gets their memory."},
            {nullptr, nullptr, 0, nullptr}};
        static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                                      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                                      {Py_tp_getset, fields},
                                      {Py_tp_methods, methods},
                                      {0, nullptr}};
        static PyType_Spec spec{"kinhash._native.Answer", sizeof(AnswerObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
        static auto* const made = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        if (!made) throw nb::python_error();
        return made;
    }

  private:
    static AnswerObject& from(PyObject* self) { return *reinterpret_cast<AnswerObject*>(self); }

    static PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
        PyObject* const made = type->tp_alloc(type, 0);
        if (!made) return nullptr;
        new (&from(made).answer) kinhash::Answer;
        new (&from(made).arrays) std::array<nb::object, 3>;
        new (&from(made).owner) nb::object;
        return made;
    }
    static void dealloc(PyObject* self) {
        from(self).owner.~object();
        from(self).arrays.~array();
        from(self).answer.~Answer();
        PyTypeObject* const type = Py_TYPE(self);
        type->tp_free(self);
        Py_DECREF(type);
    }

    template <typename T, size_t WHICH>
    static PyObject* array(PyObject* self, void*) {
        AnswerObject& object = from(self);
        nb::object& made = object.arrays[WHICH];
        if (!made.is_valid()) {
            kinhash::Answer& answer = object.answer;
            try {
                if (!object.owner.is_valid()) object.owner = BufferOwner::make(answer);
                if constexpr (WHICH == 0) made = numpy_array(answer.offsets, answer.n_offsets, object.owner);
                if constexpr (WHICH == 1) made = numpy_array(answer.ids, answer.n, object.owner);
                if constexpr (WHICH == 2) made = numpy_array(answer.distances, answer.n, object.owner);
            } catch (nb::python_error& error) {
                error.restore();
                return nullptr;
            } catch (const std::bad_alloc&) {
                return PyErr_NoMemory();
            }
        }
        return nb::object(made).release().ptr();
    }
    static PyObject* hold(PyObject* self, PyObject* args) {
        PyObject* given[3];
        if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, given, &PyArray_Type, given + 1, &PyArray_Type, given + 2)) return nullptr;
        for (size_t i = 0; i < 3; ++i) from(self).arrays[i] = nb::borrow(given[i]);
        Py_RETURN_NONE;
    }
};
