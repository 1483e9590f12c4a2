#include "bind_index.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "build.hpp"
#include "dispatch.hpp"
#include "neighbours.hpp"
#include "numpy_api.hpp"
#include "search.hpp"

using namespace nb::literals;
using namespace kinhash;

namespace {

// Calls f with the number of words as a constant where that pays.
template <typename F>
auto with_words(size_t n_words, const F& f) {
    switch (n_words) {
        case 1: return f(std::integral_constant<size_t, 1>());
        case 2: return f(std::integral_constant<size_t, 2>());
        default: return f(std::integral_constant<size_t, 0>());
    }
}

const std::string PLAN_NAMES[N_PLANS] = {"lookup", "deletions", "chunks", "groups", "scan", "neighbours"};

template <typename T>
nb::object to_numpy(Vector<T>&& vector) {
    auto* held = new Vector<T>(std::move(vector));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

// A segment over NumPy arrays, which it keeps alive.
struct HeldSegment {
    Segment segment;
    std::vector<nb::object> owners;

    template <typename T>
    void attach(Span<T>& span, nb::dict arrays, const char* name) {
        // Asked for first: looking up what is missing would end the process.
        expect(arrays.contains(name), "an array is missing");
        nb::object array = arrays[name];
        In<T, 1> checked;
        expect(nb::try_cast(array, checked, false), "an array has another type");
        span = {checked.data(), checked.shape(0)};
        owners.push_back(std::move(array));
    }
    template <typename T>
    static T number(nb::dict numbers, const char* name) {
        expect(numbers.contains(name), "a number is missing");
        T value;
        expect(nb::try_cast(nb::object(numbers[name]), value), "a number has another type");
        return value;
    }

    HeldSegment() = default;
    explicit HeldSegment(nb::dict arrays, nb::dict numbers) {
        attach(segment.codes, arrays, "codes");
        attach(segment.offsets, arrays, "offsets");
        attach(segment.narrow_ids, arrays, "narrow_ids");
        attach(segment.wide_ids, arrays, "wide_ids");
        attach(segment.slots, arrays, "slots");
        attach(segment.leaders, arrays, "leaders");
        attach(segment.group_starts, arrays, "group_starts");
        attach(segment.keys[0].starts, arrays, "key1_starts");
        attach(segment.keys[0].rows, arrays, "key1_rows");
        attach(segment.keys[1].starts, arrays, "key2_starts");
        attach(segment.keys[1].rows, arrays, "key2_rows");
        attach(segment.chunk_starts, arrays, "chunk_starts");
        attach(segment.chunk_rows, arrays, "chunk_rows");
        attach(segment.neighbours.starts, arrays, "near_starts");
        attach(segment.neighbours.rows, arrays, "near_rows");
        attach(segment.used, arrays, "used");
        segment.n_alive = segment.n_items();
        segment.n_words = number<size_t>(numbers, "n_words");
        segment.group_radius = number<uint32_t>(numbers, "group_radius");
        segment.levels = number<uint32_t>(numbers, "levels");
        segment.n_chunks = number<uint32_t>(numbers, "n_chunks");
        segment.chunk_candidates = number<double>(numbers, "chunk_candidates");
        const size_t n = segment.n_codes(), w = segment.n_words;
        expect(w >= 1 && w <= MAX_WORDS, "n_words does not fit");
        expect(segment.offsets.size >= 1 && segment.offsets[0] == 0, "offsets do not fit");
        expect(segment.codes.size == n * w && segment.used.size == w, "codes do not fit their offsets");
        expect(!segment.narrow_ids.size || !segment.wide_ids.size, "ids stand in two places");
        expect(segment.offsets[n] == segment.n_items(), "ids do not fit their offsets");
        expect(!segment.slots.size || std::has_single_bit(segment.slots.size), "slots do not fit");
        expect(segment.leaders.size == segment.n_leaders() * w, "leaders do not fit their groups");
        expect(segment.levels <= 2 && (!segment.levels || segment.slots.size), "levels do not fit");
        for (uint32_t level = 1; level <= segment.levels; ++level)
            expect(segment.keys[level - 1].starts.size >= 2, "keys do not fit their levels");
        expect(segment.n_chunks <= 64 && segment.chunk_rows.size == segment.n_chunks * n, "chunks do not fit");
        expect(!segment.n_chunks || segment.chunk_starts.size == segment.n_chunks * (chunk_table_size(n) + 1), "chunks do not fit");
        expect(!segment.neighbours.starts.size || (segment.neighbours.starts.size == 3 * n + 1 && segment.slots.size),
               "neighbours do not fit");
        size_t n_used = 0;
        for (size_t i = 0; i < w; ++i) n_used += size_t(std::popcount(segment.used[i]));
        expect(!segment.n_chunks || n_used > 0, "chunks do not fit");
    }

    std::shared_ptr<HeldSegment> with_alive(In<uint8_t, 1> bits, nb::object owner) const {
        expect(bits.shape(0) >= (segment.n_items() + 7) / 8, "alive does not fit the items");
        auto copy = std::make_shared<HeldSegment>(*this);
        copy->segment.alive = {bits.data(), bits.shape(0)};
        copy->segment.n_alive = 0;
        for (size_t item = 0; item < segment.n_items(); ++item) copy->segment.n_alive += copy->segment.is_alive(item);
        copy->owners.push_back(owner);
        return copy;
    }
};

using HeldSegments = std::vector<std::shared_ptr<HeldSegment>>;

Segments plain(const HeldSegments& segments) {
    Segments out;
    for (const auto& held : segments) out.push_back(&held->segment);
    return out;
}

template <typename T>
Span<T> span(const Vector<T>& v) {
    return {v.data(), v.size()};
}

// A segment over what was just built, to search while more is built.
Segment view(const Built& built) {
    Segment s;
    s.n_words = built.n_words;
    s.codes = span(built.codes);
    s.offsets = span(built.offsets);
    s.narrow_ids = span(built.narrow_ids);
    s.wide_ids = span(built.wide_ids);
    s.slots = span(built.slots);
    for (size_t level = 0; level < 2; ++level) s.keys[level] = {span(built.key_starts[level]), span(built.key_rows[level])};
    s.levels = built.levels;
    s.used = span(built.used);
    return s;
}

nb::tuple build_segment(In<uint64_t, 2> words, std::optional<In<int64_t, 1>> ids, uint32_t levels, uint32_t n_chunks, bool groups,
                        size_t n_far, size_t n_listed, double budget) {
    const size_t n = words.shape(0), n_words = words.shape(1);
    expect(n < 0xffffffff, "a segment holds less than 2^32 items");
    expect((!ids || ids->shape(0) == n) && n_words >= 1 && n_words <= MAX_WORDS, "words and ids do not fit");
    const size_t n_threads = std::max(1u, std::thread::hardware_concurrency());
    Built built;
    Lists lists;
    {
        nb::gil_scoped_release nogil;
        with_words(n_words, [&](auto w) {
            constexpr size_t W = decltype(w)::value;
            built = build<W>(words.data(), ids ? ids->data() : nullptr, n, n_words, {levels, n_chunks, groups, budget, n_threads},
                             *active_kernels());
            if (!n_listed || built.levels < 2) return;
            const size_t n_spent = built.key_rows[0].size() + built.key_starts[0].size() + built.key_rows[1].size() +
                                   built.key_starts[1].size() + built.slots.size() - n_slots(built.offsets.size() - 1);
            const double left = budget * double(n) - 4.0 * double(n_spent);
            lists = list_neighbours<W>(view(built), *active_kernels(), n_far, n_listed, left, n_threads);
        });
    }
    nb::dict arrays, numbers;
    arrays["near_starts"] = to_numpy(std::move(lists.starts));
    arrays["near_rows"] = to_numpy(std::move(lists.rows));
    arrays["codes"] = to_numpy(std::move(built.codes));
    arrays["offsets"] = to_numpy(std::move(built.offsets));
    arrays["narrow_ids"] = to_numpy(std::move(built.narrow_ids));
    arrays["wide_ids"] = to_numpy(std::move(built.wide_ids));
    arrays["slots"] = to_numpy(std::move(built.slots));
    arrays["leaders"] = to_numpy(std::move(built.leaders));
    arrays["group_starts"] = to_numpy(std::move(built.group_starts));
    arrays["key1_starts"] = to_numpy(std::move(built.key_starts[0]));
    arrays["key1_rows"] = to_numpy(std::move(built.key_rows[0]));
    arrays["key2_starts"] = to_numpy(std::move(built.key_starts[1]));
    arrays["key2_rows"] = to_numpy(std::move(built.key_rows[1]));
    arrays["chunk_starts"] = to_numpy(std::move(built.chunk_starts));
    arrays["chunk_rows"] = to_numpy(std::move(built.chunk_rows));
    arrays["used"] = to_numpy(std::move(built.used));
    numbers["n_words"] = n_words;
    numbers["group_radius"] = built.group_radius;
    numbers["levels"] = built.levels;
    numbers["n_chunks"] = built.n_chunks;
    numbers["chunk_candidates"] = built.chunk_candidates;
    return nb::make_tuple(arrays, numbers);
}

nb::dict work_done(const Work& work) {
    nb::dict out;
    for (size_t p = 0; p < N_PLANS; ++p) out[PLAN_NAMES[p].c_str()] = work.queries[p];
    out["compared"] = work.compared;
    return out;
}

// A searcher over segments, which it keeps alive.
class HeldSearcher {
  public:
    explicit HeldSearcher(HeldSegments segments) : held_(std::move(segments)) {
        expect(!held_.empty() && held_.size() <= 0xff, "a searcher needs segments, and not too many");
        n_words_ = held_[0]->segment.n_words;
        for (const auto& held : held_) {
            expect(held->segment.n_words == n_words_, "segments differ in words");
            n_items_ += held->segment.n_alive;
        }
        searcher_ = with_words(n_words_, [&](auto w) -> std::unique_ptr<Searcher> {
            return std::make_unique<SearcherOf<decltype(w)::value>>(plain(held_), n_words_);
        });
    }

    // All items within the radius: offsets, ids and distances.
    nb::tuple radius(nb::handle queries, uint32_t radius, bool sort, size_t n_threads, const char* structure) {
        if (n_threads == 0) throw nb::type_error("n_threads must be at least 1");
        const Rows rows = checked(queries);
        const int asked = plan_named(structure);
        std::optional<Answer> answer;
        {
            nb::gil_scoped_release nogil;
            answer = searcher_->radius(rows.data, rows.n, radius, sort, n_threads, asked);
        }
        return numpy_arrays(std::move(*answer));
    }

    // (n_queries, radius + 1) numbers of items; returns the work done.
    nb::dict count(nb::handle queries, Out<int64_t, 2> counts, size_t n_threads, const char* structure) {
        const Rows rows = checked(queries);
        expect(counts.shape(0) == rows.n && counts.shape(1) >= 1, "counts do not fit");
        const uint32_t radius = uint32_t(counts.shape(1) - 1);
        const int asked = plan_named(structure);
        Work work;
        {
            nb::gil_scoped_release nogil;
            work = searcher_->count(rows.data, rows.n, radius, n_threads, asked, counts.data());
        }
        return work_done(work);
    }

    // The k nearest: offsets, ids and distances, and beside them the work done. There must be at least k items.
    nb::tuple top_k(nb::handle queries, size_t k, size_t n_threads) {
        const Rows rows = checked(queries);
        expect(k <= n_items_, "there are fewer items than k");
        Answer answer(rows.n, rows.n * k);
        Work work;
        {
            nb::gil_scoped_release nogil;
            for (size_t i = 0; i <= rows.n; ++i) answer.offsets[i] = int64_t(i * k);
            work = searcher_->top_k(rows.data, rows.n, k, n_threads, answer.ids, answer.distances);
        }
        return nb::make_tuple(numpy_arrays(std::move(answer)), work_done(work));
    }

    size_t n_items() const { return n_items_; }

  private:
    Rows checked(nb::handle queries) const {
        const Rows rows(queries);
        expect(rows.n_words == n_words_, "queries and segments differ in words");
        return rows;
    }
    static int plan_named(const char* structure) {
        if (!*structure) return -1;
        const auto* name = std::find(std::begin(PLAN_NAMES), std::end(PLAN_NAMES), structure);
        return name == std::end(PLAN_NAMES) ? -1 : int(name - PLAN_NAMES);
    }
    HeldSegments held_;
    std::unique_ptr<Searcher> searcher_;
    size_t n_words_ = 0, n_items_ = 0;
};

}  // namespace

void bind_index(nb::module_& module) {
    use_numpy();
    nb::class_<HeldSegment>(module, "Segment")
        .def(nb::init<nb::dict, nb::dict>(), "arrays"_a, "numbers"_a)
        .def("n_alive", [](const HeldSegment& self) { return self.segment.n_alive; })
        .def("with_alive", [](const HeldSegment& self, nb::object bits) {
            return self.with_alive(nb::cast<In<uint8_t, 1>>(bits), bits);
        }, "bits"_a);
    nb::class_<HeldSearcher>(module, "Searcher")
        .def(nb::init<HeldSegments>(), "segments"_a)
        .def("n_items", &HeldSearcher::n_items)
        .def("radius", &HeldSearcher::radius, "queries"_a, "radius"_a.noconvert(), "sort"_a.noconvert(), "n_threads"_a.noconvert(),
             "structure"_a = "")
        .def("count", &HeldSearcher::count, "queries"_a, "counts"_a, "n_threads"_a, "structure"_a = "")
        .def("top_k", &HeldSearcher::top_k, "queries"_a, "k"_a, "n_threads"_a);
    module.def("build_segment", &build_segment, "words"_a, "ids"_a.none(), "levels"_a, "n_chunks"_a, "groups"_a,
               "n_far"_a, "n_listed"_a, "budget"_a);
}
