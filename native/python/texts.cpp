#include "python/texts.hpp"

#include "python/arrays.hpp"
#include "structures/texts.hpp"

using namespace nb::literals;
using namespace kinhash;

namespace {

using Raw = In<uint8_t, 1>;
using Starts = In<uint64_t, 1>;

Texts texts_of(const Raw& raw, const Starts& starts) {
    expect(starts.shape(0) >= 1 && starts.shape(0) <= MOST_TEXTS, "starts do not fit");
    return {reinterpret_cast<const char*>(raw.data()), raw.shape(0), starts.data(), starts.shape(0) - 1};
}

// The strings of a list in UTF-8, up to the first that is no string or has no UTF-8.
nb::tuple encode_texts(nb::list values) {
    Vector<uint8_t> bytes;
    Vector<uint64_t> starts;
    const size_t n = values.size();
    starts.reserve(n + 1);
    starts.push_back(0);
    for (size_t i = 0; i < n; ++i) {
        // Nothing here runs Python code, so the list keeps what is in it.
        PyObject* const value = PyList_GET_ITEM(values.ptr(), Py_ssize_t(i));
        if (!PyUnicode_Check(value)) break;
        Py_ssize_t size = 0;
        const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
        if (!text) {
            PyErr_Clear();  // half of a surrogate pair
            break;
        }
        bytes.insert(bytes.end(), text, text + size);
        starts.push_back(bytes.size());
    }
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(starts)));
}

// The strings at these numbers; empty where there is none, and with replacements where it is no UTF-8.
nb::list decode_texts(Raw raw, Starts starts, In<int64_t, 1> numbers) {
    const Texts texts = texts_of(raw, starts);
    const size_t n = numbers.shape(0);
    nb::list out = nb::steal<nb::list>(PyList_New(Py_ssize_t(n)));
    if (!out.is_valid()) throw nb::python_error();
    for (size_t i = 0; i < n; ++i) {
        const std::string_view text = texts[size_t(numbers.data()[i])];
        PyObject* const value = PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
        if (!value) throw nb::python_error();
        PyList_SET_ITEM(out.ptr(), Py_ssize_t(i), value);
    }
    return out;
}

// The strings at these numbers as a table of their own.
nb::tuple take_texts(Raw raw, Starts starts, In<int64_t, 1> numbers) {
    const Texts texts = texts_of(raw, starts);
    const size_t n = numbers.shape(0);
    Vector<uint8_t> bytes;
    Vector<uint64_t> taken(n + 1, 0);
    {
        nb::gil_scoped_release nogil;
        for (size_t i = 0; i < n; ++i) taken[i + 1] = taken[i] + texts[size_t(numbers.data()[i])].size();
        bytes.resize(taken[n]);
        for (size_t i = 0; i < n; ++i) {
            const std::string_view text = texts[size_t(numbers.data()[i])];
            if (!text.empty()) std::memcpy(bytes.data() + taken[i], text.data(), text.size());
        }
    }
    return nb::make_tuple(to_numpy(std::move(bytes)), to_numpy(std::move(taken)));
}

// The hash table, and two rows with the same string or -1 and -1.
nb::tuple slots_of(Raw raw, Starts starts) {
    const Texts texts = texts_of(raw, starts);
    Vector<uint32_t> slots;
    TextTwice twice;
    {
        nb::gil_scoped_release nogil;
        slots = text_slots(texts, twice);
    }
    return nb::make_tuple(to_numpy(std::move(slots)), twice.first, twice.second);
}

// The number of each string of another table, -1 where there is none.
void find_texts(Raw raw, Starts starts, In<uint32_t, 1> slots, Raw asked_raw, Starts asked_starts,
                Out<int64_t, 1> numbers) {
    const Texts texts = texts_of(raw, starts), asked = texts_of(asked_raw, asked_starts);
    expect(std::has_single_bit(slots.shape(0)) && slots.shape(0) > texts.n, "slots do not fit");
    expect(numbers.shape(0) == asked.n, "numbers do not fit");
    nb::gil_scoped_release nogil;
    for (size_t i = 0; i < asked.n; ++i)
        numbers.data()[i] = find_text(texts, slots.data(), slots.shape(0), asked[i]);
}

}  // namespace

void bind_texts(nb::module_& module) {
    module.attr("LONGEST_TEXT") = LONGEST_TEXT;
    module.attr("MOST_TEXTS") = MOST_TEXTS - 1;
    module.def("encode_texts", &encode_texts, "values"_a);
    module.def("decode_texts", &decode_texts, "texts"_a, "starts"_a, "numbers"_a);
    module.def("take_texts", &take_texts, "texts"_a, "starts"_a, "numbers"_a);
    module.def("text_slots", &slots_of, "texts"_a, "starts"_a);
    module.def("find_texts", &find_texts, "texts"_a, "starts"_a, "slots"_a, "asked_texts"_a, "asked_starts"_a,
               "numbers"_a);
}
