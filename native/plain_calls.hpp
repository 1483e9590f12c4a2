// HammingIndex.search_radius for plain calls, without a frame of Python: that takes as long as the search
// for a single query. All other calls, and all mistakes, are for the method as it is written in Python.
#pragma once

#include <structmember.h>

#include "answer_object.hpp"

// Searches with checked arguments; null where they do not fit after all.
using Search = PyObject* (*)(PyObject* searcher, PyObject* words, uint32_t radius, bool sort, size_t n_threads, PyObject* matches);

// plain_calls(codes, state, matches, n_threads) around a method of a class: the types of what it gets, of what
// its object has as `_state`, and of what it returns; and how many threads there are unless some are asked for.
struct PlainCalls {
    PyObject_HEAD
    vectorcallfunc call;
    Search search;
    size_t n_threads;
    PyObject *method, *codes, *state, *matches;
    PyObject* index;  // the class
    // Where their objects have slots: to read these by their names takes several times as long.
    Py_ssize_t words_at, n_bits_at, signed_at, searcher_at, index_state_at, index_n_bits_at, index_signed_at;

    static nb::object make(Search search, nb::object method, nb::object codes, nb::object state, nb::object matches, size_t n_threads) {
        const Py_ssize_t words_at = place_of(codes, "_words"), n_bits_at = place_of(codes, "_n_bits");
        const Py_ssize_t signed_at = place_of(codes, "_signed"), searcher_at = place_of(state, "searcher");
        auto* const made = PyObject_New(PlainCalls, type());
        if (!made) throw nb::python_error();
        PyObject head = made->ob_base;
        *made = {head, &answer, search, n_threads, method.release().ptr(), codes.release().ptr(), state.release().ptr(),
                 matches.release().ptr(), nullptr, words_at, n_bits_at, signed_at, searcher_at, 0, 0, 0};
        return nb::steal(reinterpret_cast<PyObject*>(made));
    }

  private:
    static PlainCalls& from(PyObject* self) { return *reinterpret_cast<PlainCalls*>(self); }

    static PyObject* answer(PyObject* self, PyObject* const* args, size_t n_and_flag, PyObject* names) {
        if (PyVectorcall_NARGS(n_and_flag) == 3)
            if (PyObject* const found = from(self).plain(args, names)) return found;
        return PyObject_Vectorcall(from(self).method, args, n_and_flag, names);
    }

    // What (index, queries, radius) and options give; null where that is for Python to say.
    PyObject* plain(PyObject* const* args, PyObject* names) const {
        static PyObject *const THREADS = PyUnicode_InternFromString("n_threads"), *const SORT = PyUnicode_InternFromString("sort"),
                        *const ALLOWED = PyUnicode_InternFromString("allowed"), *const OUT = PyUnicode_InternFromString("out");
        PyObject *const asked = args[0], *const queries = args[1];
        size_t radius = 0, threads = n_threads, n_bits = 0, expected = 0;
        if (!is(asked, index) || !is(queries, codes) || !whole(args[2], 0, radius)) return nullptr;
        PyObject* out = Py_None;
        bool sort = false;
        // Names in calls are interned: those that are not the same object are left to Python.
        for (Py_ssize_t i = 0, n = names ? PyTuple_GET_SIZE(names) : 0; i < n; ++i) {
            PyObject *const name = PyTuple_GET_ITEM(names, i), *const value = args[3 + i];
            if (name == SORT && PyBool_Check(value)) sort = value == Py_True;
            else if (name == THREADS && whole(value, 1, threads)) continue;
            else if (name == OUT && is(value, matches)) out = value;
            else if ((name != THREADS && name != ALLOWED && name != OUT) || value != Py_None) return nullptr;
        }
        PyObject *const now = slot(asked, index_state_at), *const words = slot(queries, words_at);
        if (!is(now, state) || !words || !whole(slot(queries, n_bits_at), 1, n_bits) || !whole(slot(asked, index_n_bits_at), 1, expected))
            return nullptr;
        PyObject* const searcher = slot(now, searcher_at);
        if (!searcher || n_bits != expected || slot(queries, signed_at) != slot(asked, index_signed_at)) return nullptr;
        if (out != Py_None) AnswerObject::release(out);
        return search(searcher, words, uint32_t(radius), sort, threads, matches);
    }

    static bool is(PyObject* object, PyObject* kind) { return object && reinterpret_cast<PyObject*>(Py_TYPE(object)) == kind; }
    // Whether that is a plain int, of at least `low` and not too large.
    static bool whole(PyObject* object, long low, size_t& out) {
        if (!object || !PyLong_CheckExact(object)) return false;
        int overflow = 0;
        const long value = PyLong_AsLongAndOverflow(object, &overflow);
        if (overflow || value < low || value > 0x7fffffff) return false;
        out = size_t(value);
        return true;
    }
    static PyObject* slot(PyObject* object, Py_ssize_t at) {
        return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + at);
    }
    static Py_ssize_t place_of(nb::handle kind, const char* name) {
        const nb::object found = nb::getattr(kind, name);
        expect(Py_TYPE(found.ptr()) == &PyMemberDescr_Type, "the class has no such slot");
        const PyMemberDef* const member = reinterpret_cast<PyMemberDescrObject*>(found.ptr())->d_member;
        expect(member->type == T_OBJECT_EX, "the class has no such slot");
        return member->offset;
    }

    // Python calls this as the class is made.
    static PyObject* set_name(PyObject* self, PyObject* args) {
        PyObject *owner = nullptr, *name = nullptr;
        if (!PyArg_ParseTuple(args, "O!U", &PyType_Type, &owner, &name)) return nullptr;
        try {
            PlainCalls& calls = from(self);
            calls.index_state_at = place_of(owner, "_state");
            calls.index_n_bits_at = place_of(owner, "_n_bits");
            calls.index_signed_at = place_of(owner, "_signed");
            calls.index = owner;  // which has this object, and so outlives it
        } catch (const std::exception& error) {
            PyErr_SetString(PyExc_TypeError, error.what());
            return nullptr;
        }
        Py_RETURN_NONE;
    }
    static PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
        return object ? PyMethod_New(self, object) : Py_NewRef(self);
    }
    // Its name, its documentation and its like are the method's.
    static PyObject* attribute(PyObject* self, PyObject* name) {
        if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(from(self).method);
        if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) return PyObject_GenericGetAttr(self, name);
        return PyObject_GetAttr(from(self).method, name);
    }
    static void dealloc(PyObject* self) {
        const PlainCalls& calls = from(self);
        for (PyObject* const held : {calls.method, calls.codes, calls.state, calls.matches}) Py_DECREF(held);
        PyTypeObject* const type = Py_TYPE(self);
        PyObject_Free(self);
        Py_DECREF(type);
    }

    static PyTypeObject* type() {
        static PyMethodDef methods[] = {{"__set_name__", &set_name, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
        static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PlainCalls, call), READONLY, nullptr},
                                        {nullptr, 0, 0, 0, nullptr}};
        static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                                      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                      {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
                                      {Py_tp_getattro, reinterpret_cast<void*>(&attribute)},
                                      {Py_tp_methods, methods},
                                      {Py_tp_members, members},
                                      {0, nullptr}};
        constexpr unsigned FLAGS = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
        static PyType_Spec spec{"kinhash._native.PlainCalls", sizeof(PlainCalls), 0, FLAGS, slots};
        static auto* const made = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        if (!made) throw nb::python_error();
        return made;
    }
};
