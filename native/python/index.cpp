#include "python/index.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "build/build.hpp"
#include "python/answers.hpp"
#include "python/stop.hpp"
#include "runtime/dispatch.hpp"
#include "search/searcher.hpp"

using namespace nb::literals;
using namespace kinhash;

namespace {

// The plan of that name.
AskedPlan plan_named(const std::string& name) {
    std::string known;
    for (size_t p = 0; p < PLAN_NAMES.size(); ++p) {
        if (name == PLAN_NAMES[p]) return Plan(p);
        known += (p ? ", " : "") + std::string(PLAN_NAMES[p]);
    }
    throw std::invalid_argument("Unknown structure '" + name + "'. Known: " + known + ".");
}

// A segment over arrays. It holds their buffers, so that nobody can free or resize them.
struct HeldSegment {
    Segment segment;
    std::vector<nb::ndarray<>> owners;

    HeldSegment() = default;
    HeldSegment(nb::dict arrays, nb::dict numbers) {
        for_each_array([&](const char* name, auto& span) { attach(arrays, name, span); }, segment);
        for_each_number([&](const char* name, auto& number) { read(numbers, name, number); }, segment);
        segment.n_alive = segment.n_items();
        check(segment);
    }

    std::shared_ptr<HeldSegment> with_alive(In<uint8_t, 1> bits) const {
        expect(bits.shape(0) >= (segment.n_items() + 7) / 8, "alive does not fit the items");
        auto copy = std::make_shared<HeldSegment>(*this);
        copy->segment.alive = {bits.data(), bits.shape(0)};
        copy->segment.n_alive = 0;
        for (size_t item = 0; item < segment.n_items(); ++item)
            copy->segment.n_alive += copy->segment.is_alive(item);
        copy->owners.emplace_back(bits);
        return copy;
    }

  private:
    template <typename T>
    void attach(nb::dict arrays, const char* name, Span<T>& span) {
        In<T, 1> array;
        expect(nb::try_cast(item(arrays, name, "an array is missing"), array, false),
               "an array has another type");
        span = {array.data(), array.shape(0)};
        owners.emplace_back(array);
    }
    template <typename T>
    static void read(nb::dict numbers, const char* name, T& value) {
        expect(nb::try_cast(item(numbers, name, "a number is missing"), value), "a number has another type");
    }
    static nb::object item(nb::dict dict, const char* name, const char* otherwise) {
        const nb::handle found = PyDict_GetItemString(dict.ptr(), name);
        expect(found.is_valid(), otherwise);
        return nb::borrow(found);
    }
};

using HeldSegments = std::vector<std::shared_ptr<HeldSegment>>;

Segments plain(const HeldSegments& segments) {
    Segments out;
    for (const auto& held : segments) out.push_back(&held->segment);
    return out;
}

nb::tuple build_segment(In<uint64_t, 2> words, std::optional<In<int64_t, 1>> ids, uint32_t levels,
                        uint32_t n_chunks, bool groups, size_t n_far, size_t n_listed, double budget,
                        std::optional<In<uint8_t, 2>> ranks, size_t n_threads) {
    const size_t n = words.shape(0), n_words = words.shape(1);
    expect(n < MOST_ITEMS, "a segment holds less than 2^32 items");
    expect((!ids || ids->shape(0) == n) && n_words >= 1 && n_words <= MAX_WORDS, "words and ids do not fit");
    expect(!ranks || (ranks->shape(0) == n && ranks->shape(1) <= MOST_RANK_BYTES),
           "ranks and words do not fit");
    const RankInput rank_input = ranks ? RankInput{ranks->data(), uint32_t(ranks->shape(1))} : RankInput();
    if (!n_threads) n_threads = std::max(1u, std::thread::hardware_concurrency());
    const BuildOptions options{levels, n_chunks, groups, n_far, n_listed, budget, n_threads};
    PythonStop stop;
    Built built;
    {
        nb::gil_scoped_release nogil;
        built = with_words(n_words, [&](auto w) {
            constexpr size_t W = decltype(w)::value;
            return Builder<W>(words.data(), ids ? ids->data() : nullptr, n, n_words, options,
                              *active_kernels(), stop, rank_input)
                .run();
        });
    }
    nb::dict arrays, numbers;
    for_each_array([&](const char* name, auto& array) { arrays[name] = to_numpy(std::move(array)); }, built);
    for_each_number([&](const char* name, const auto& number) { numbers[name] = number; }, built);
    return nb::make_tuple(arrays, numbers);
}

// The type of each array of a segment as NumPy names it, in the order of the file.
nb::dict segment_arrays() {
    nb::dict out;
    const Segment none;
    for_each_array(
        [&]<typename T>(const char* name, const Span<T>&) {
            const char* const order = sizeof(T) == 1 ? "|" : "<";  // of bytes
            out[name] = order + std::string(std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T));
        },
        none);
    return out;
}

// The Python type of each number of a segment.
nb::dict segment_numbers() {
    nb::dict out;
    const Segment none;
    for_each_number(
        [&]<typename T>(const char* name, const T&) {
            out[name] =
                nb::borrow(reinterpret_cast<PyObject*>(std::is_integral_v<T> ? &PyLong_Type : &PyFloat_Type));
        },
        none);
    return out;
}

nb::dict work_done(const Work& work, nb::dict out = nb::dict()) {
    for (size_t p = 0; p < PLAN_NAMES.size(); ++p) out[PLAN_NAMES[p]] = work.queries[p];
    out["compared"] = work.compared;
    return out;
}

// A searcher over segments, which it keeps alive.
class HeldSearcher {
  public:
    explicit HeldSearcher(HeldSegments segments) : held_(std::move(segments)) {
        expect(!held_.empty() && held_.size() <= 0xff, "a searcher needs segments, and not too many");
        n_words_ = held_[0]->segment.n_words;
        rank_bytes_ = held_[0]->segment.rank_bytes;
        for (const auto& held : held_) {
            expect(held->segment.n_words == n_words_, "segments differ in words");
            expect(held->segment.rank_bytes == rank_bytes_, "segments differ in rank bits");
            n_items_ += held->segment.n_alive;
        }
        searcher_ = with_words(n_words_, [&](auto w) -> std::unique_ptr<Searcher> {
            return std::make_unique<SearcherOf<decltype(w)::value>>(plain(held_), n_words_);
        });
    }

    // All items within the radius.
    nb::object radius(nb::handle queries, uint32_t radius, bool sort, size_t n_threads, const char* structure,
                      std::optional<double> timeout) {
        const Rows rows = checked(queries);
        const AskedPlan asked = *structure ? plan_named(structure) : AskedPlan();
        PythonStop stop(timeout);
        std::optional<Answer> answer;
        {
            nb::gil_scoped_release nogil;
            answer.emplace(searcher_->radius(rows.data, rows.n, radius, sort, n_threads, asked, stop));
        }
        return held_answer(std::move(*answer));
    }

    // The same in the order of rank bits, by their rank distance or by the total.
    nb::object ranked_radius(nb::handle queries, nb::handle ranks, uint32_t radius, bool total,
                             size_t n_threads, std::optional<double> timeout) {
        const Rows rows = checked(queries), rank_rows = checked_ranks(ranks, rows.n);
        PythonStop stop(timeout);
        std::optional<Answer> answer;
        {
            nb::gil_scoped_release nogil;
            answer.emplace(
                searcher_->ranked_radius(rows.data, rank_rows.data, rows.n, radius, total, n_threads, stop));
        }
        return held_answer(std::move(*answer));
    }

    // The same, but at the radius only those whose rank distance is at most `rank`.
    nb::object ranked_within(nb::handle queries, nb::handle ranks, uint32_t radius, uint32_t rank, bool total,
                             size_t n_threads, std::optional<double> timeout) {
        const Rows rows = checked(queries), rank_rows = checked_ranks(ranks, rows.n);
        PythonStop stop(timeout);
        std::optional<Answer> answer;
        {
            nb::gil_scoped_release nogil;
            answer.emplace(searcher_->ranked_within(rows.data, rank_rows.data, rows.n, {radius, rank, total},
                                                    n_threads, stop));
        }
        return held_answer(std::move(*answer));
    }

    // (n_queries, radius + 1) numbers of items; returns the work done.
    nb::dict count(nb::handle queries, Out<int64_t, 2> counts, size_t n_threads, const char* structure,
                   std::optional<double> timeout) {
        const Rows rows = checked(queries);
        expect(counts.shape(0) == rows.n && counts.shape(1) >= 1, "counts do not fit");
        const uint32_t radius = uint32_t(counts.shape(1) - 1);
        const AskedPlan asked = *structure ? plan_named(structure) : AskedPlan();
        PythonStop stop(timeout);
        Work work(nullptr);
        {
            nb::gil_scoped_release nogil;
            work = searcher_->count(rows.data, rows.n, radius, n_threads, asked, counts.data(), stop);
        }
        return work_done(work);
    }

    // The k nearest; what was done goes into a dict, if there is one. There must be at least k items.
    nb::object top_k(nb::handle queries, size_t k, size_t n_threads, std::optional<double> timeout,
                     std::optional<nb::dict> done) {
        const Rows rows = checked(queries);
        Answer answer = answer_to(rows.n, k, false);
        PythonStop stop(timeout);
        Work work(nullptr);
        {
            nb::gil_scoped_release nogil;
            for (size_t i = 0; i <= rows.n; ++i) answer.offsets[i] = int64_t(i * k);
            work = searcher_->top_k(rows.data, rows.n, k, n_threads, answer.ids, answer.distances, stop);
        }
        if (done) work_done(work, *done);
        return held_answer(std::move(answer));
    }
    // The same in the order of rank bits.
    nb::object ranked_top_k(nb::handle queries, nb::handle ranks, size_t k, bool total, size_t n_threads,
                            std::optional<double> timeout, std::optional<nb::dict> done) {
        const Rows rows = checked(queries), rank_rows = checked_ranks(ranks, rows.n);
        Answer answer = answer_to(rows.n, k, true);
        PythonStop stop(timeout);
        Work work(nullptr);
        {
            nb::gil_scoped_release nogil;
            for (size_t i = 0; i <= rows.n; ++i) answer.offsets[i] = int64_t(i * k);
            work =
                searcher_->ranked_top_k(rows.data, rank_rows.data, rows.n, k, total, n_threads, answer, stop);
        }
        if (done) work_done(work, *done);
        return held_answer(std::move(answer));
    }

    size_t n_items() const { return n_items_; }

  private:
    Rows checked(nb::handle queries) const {
        const Rows rows(queries);
        expect(rows.n_words == n_words_, "queries and segments differ in words");
        return rows;
    }
    Rows checked_ranks(nb::handle ranks, size_t n) const {
        const Rows rows(ranks);
        expect(rank_bytes_ && rows.n == n && rows.n_words == (rank_bytes_ + 7) / 8,
               "rank bits of queries and segments differ");
        return rows;
    }
    // Room for k matches of each query.
    Answer answer_to(size_t n_queries, size_t k, bool ranked) const {
        expect(k <= n_items_, "there are fewer items than k");
        size_t n_matches;
        if (__builtin_mul_overflow(n_queries, k, &n_matches)) throw std::bad_alloc();
        return Answer(n_queries, n_matches, ranked);
    }
    HeldSegments held_;
    std::unique_ptr<Searcher> searcher_;
    size_t n_words_ = 0, rank_bytes_ = 0, n_items_ = 0;
};

}  // namespace

void bind_index(nb::module_& module) {
    use_numpy();
    nb::exception<TimedOut>(module, "Timeout");
    module.def("polls", [] { return Stop::n_polls().load(); });
    module.def("segment_arrays", &segment_arrays);
    module.def("segment_numbers", &segment_numbers);
    module.def("answer_arrays", &answer_arrays, "answer"_a);
    nb::class_<HeldSegment>(module, "Segment")
        .def(nb::init<nb::dict, nb::dict>(), "arrays"_a, "numbers"_a)
        .def("n_alive", [](const HeldSegment& self) { return self.segment.n_alive; })
        .def("with_alive", &HeldSegment::with_alive, "bits"_a.noconvert());
    nb::class_<HeldSearcher>(module, "Searcher")
        .def(nb::init<HeldSegments>(), "segments"_a)
        .def("n_items", &HeldSearcher::n_items)
        .def("radius", &HeldSearcher::radius, "queries"_a, "radius"_a.noconvert(), "sort"_a.noconvert(),
             "n_threads"_a.noconvert(), "structure"_a = "", "timeout"_a = nb::none())
        .def("ranked_radius", &HeldSearcher::ranked_radius, "queries"_a, "ranks"_a, "radius"_a, "total"_a,
             "n_threads"_a, "timeout"_a = nb::none())
        .def("ranked_within", &HeldSearcher::ranked_within, "queries"_a, "ranks"_a, "radius"_a, "rank"_a,
             "total"_a, "n_threads"_a, "timeout"_a = nb::none())
        .def("ranked_top_k", &HeldSearcher::ranked_top_k, "queries"_a, "ranks"_a, "k"_a, "total"_a,
             "n_threads"_a, "timeout"_a = nb::none(), "work"_a = nb::none())
        .def("count", &HeldSearcher::count, "queries"_a, "counts"_a, "n_threads"_a, "structure"_a = "",
             "timeout"_a = nb::none())
        .def("top_k", &HeldSearcher::top_k, "queries"_a, "k"_a, "n_threads"_a, "timeout"_a = nb::none(),
             "work"_a = nb::none());
    module.def("build_segment", &build_segment, "words"_a, "ids"_a.none(), "levels"_a, "n_chunks"_a,
               "groups"_a, "n_far"_a, "n_listed"_a, "budget"_a, "ranks"_a = nb::none(), "n_threads"_a = 0);
}
