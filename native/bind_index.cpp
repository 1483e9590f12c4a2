#include "bind_index.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>

#include "build.hpp"
#include "dispatch.hpp"
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

const std::string PLAN_NAMES[N_PLANS] = {"lookup", "deletions", "chunks", "groups", "scan"};

// Large outputs cost more to get from the system than to fill: a buffer that nobody uses any more
// waits here for the next answer of about its size.
class Pool {
  public:
    static constexpr size_t LARGE = 1 << 16, MOST = size_t(1) << 28;
    struct Buffer {
        std::unique_ptr<char[]> data;
        size_t size;
    };
    Buffer take(size_t size) {
        if (size >= LARGE) {
            std::lock_guard guard(mutex_);
            for (size_t i = 0; i < free_.size(); ++i)
                if (free_[i].size >= size && free_[i].size <= 4 * size) {
                    Buffer found = std::move(free_[i]);
                    free_.erase(free_.begin() + std::ptrdiff_t(i));
                    held_ -= found.size;
                    return found;
                }
            size += size / 8;  // the next answer may be a little larger
        }
        return {std::unique_ptr<char[]>(new char[std::max<size_t>(size, 1)]), size};
    }
    void give_back(Buffer buffer) {
        std::lock_guard guard(mutex_);
        if (buffer.size < LARGE || buffer.size > MOST) return;
        while (!free_.empty() && (held_ + buffer.size > MOST || free_.size() >= 8)) {
            held_ -= free_.front().size;  // the one that has waited longest
            free_.erase(free_.begin());
        }
        held_ += buffer.size;
        free_.push_back(std::move(buffer));
    }
    static Pool& instance() {
        static Pool* pool = new Pool;  // outlives every array
        return *pool;
    }

  private:
    std::mutex mutex_;
    std::vector<Buffer> free_;
    size_t held_ = 0;
};

template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> empty_array(size_t n) {
    auto* buffer = new Pool::Buffer(Pool::instance().take(n * sizeof(T)));
    nb::capsule owner(buffer, [](void* p) noexcept {
        auto* held = static_cast<Pool::Buffer*>(p);
        Pool::instance().give_back(std::move(*held));
        delete held;
    });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(buffer->data.get(), {n}, owner);
}

template <typename T>
nb::object to_numpy(std::vector<T>&& vector) {
    auto* held = new std::vector<T>(std::move(vector));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

// A segment over NumPy arrays, which it keeps alive.
struct HeldSegment {
    Segment segment;
    std::vector<nb::object> owners;

    template <typename T>
    void attach(Span<T>& span, nb::dict arrays, const char* name) {
        const auto array = nb::cast<In<T, 1>>(arrays[name]);
        span = {array.data(), array.shape(0)};
        owners.push_back(arrays[name]);
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
        attach(segment.used, arrays, "used");
        segment.n_alive = segment.n_items();
        segment.n_words = nb::cast<size_t>(numbers["n_words"]);
        segment.group_radius = nb::cast<uint32_t>(numbers["group_radius"]);
        segment.levels = nb::cast<uint32_t>(numbers["levels"]);
        segment.n_chunks = nb::cast<uint32_t>(numbers["n_chunks"]);
        segment.chunk_candidates = nb::cast<double>(numbers["chunk_candidates"]);
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

using Segments = std::vector<std::shared_ptr<HeldSegment>>;

std::vector<const Segment*> plain(const Segments& segments) {
    std::vector<const Segment*> out;
    for (const auto& held : segments) out.push_back(&held->segment);
    return out;
}

nb::tuple build_segment(In<uint64_t, 2> words, In<int64_t, 1> ids, uint32_t levels, uint32_t n_chunks, bool groups,
                        double budget) {
    const size_t n = words.shape(0), n_words = words.shape(1);
    expect(n < 0xffffffff, "a segment holds less than 2^32 items");
    expect(ids.shape(0) == n && n_words >= 1 && n_words <= MAX_WORDS, "words and ids do not fit");
    Built built;
    {
        nb::gil_scoped_release nogil;
        built = with_words(n_words, [&](auto w) {
            return build<decltype(w)::value>(words.data(), ids.data(), n, n_words, {levels, n_chunks, groups, budget});
        });
    }
    nb::dict arrays, numbers;
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

// What a search found, before the items are written out.
struct HeldFound {
    Segments segments;
    Found found;

    nb::object offsets() const {
        auto out = empty_array<int64_t>(found.offsets.size());
        std::copy(found.offsets.begin(), found.offsets.end(), out.data());
        return nb::cast(out);
    }
    void write(Out<int64_t, 1> ids, Out<int32_t, 1> distances, bool sort, size_t n_threads) const {
        const size_t n = size_t(found.offsets.back());
        expect(ids.shape(0) >= n && distances.shape(0) >= n, "the outputs are too small");
        nb::gil_scoped_release nogil;
        expand(plain(segments), found, sort, n_threads, ids.data(), distances.data());
    }
    void count(Out<int64_t, 2> counts, size_t n_threads) const {
        expect(counts.shape(0) == found.n_hits.size() && counts.shape(1) >= 1, "counts do not fit");
        nb::gil_scoped_release nogil;
        count_distances(plain(segments), found, uint32_t(counts.shape(1) - 1), n_threads, counts.data());
    }
};

nb::dict work_done(const Work& work) {
    nb::dict out;
    for (size_t p = 0; p < N_PLANS; ++p) out[PLAN_NAMES[p].c_str()] = work.queries[p];
    out["compared"] = work.compared;
    return out;
}

void check_queries(const Segments& segments, size_t n_words) {
    for (const auto& held : segments) expect(held->segment.n_words == n_words, "queries and segments differ in words");
    expect(segments.size() < 0xffff, "too many segments");
}

std::shared_ptr<HeldFound> search_radius_of(Segments segments, In<uint64_t, 2> queries, uint32_t radius, size_t n_threads,
                                            const std::string& structure) {
    check_queries(segments, queries.shape(1));
    const auto* name = std::find(std::begin(PLAN_NAMES), std::end(PLAN_NAMES), structure);
    const int asked = name == std::end(PLAN_NAMES) ? -1 : int(name - PLAN_NAMES);
    auto out = std::make_shared<HeldFound>();
    {
        nb::gil_scoped_release nogil;
        const auto list = plain(segments);
        out->found = with_words(queries.shape(1), [&](auto w) {
            return search_radius<decltype(w)::value>(list, queries.data(), queries.shape(0), queries.shape(1), radius,
                                                     n_threads, *active_kernels(), asked);
        });
    }
    out->segments = std::move(segments);
    return out;
}

// Every query gets k matches, which must not be more than there are items.
nb::dict search_top_k_of(Segments segments, In<uint64_t, 2> queries, size_t k, Out<int64_t, 1> ids,
                         Out<int32_t, 1> distances, size_t n_threads) {
    const size_t n = queries.shape(0), n_words = queries.shape(1);
    check_queries(segments, n_words);
    expect(ids.shape(0) >= n * k && distances.shape(0) >= n * k, "the outputs are too small");
    size_t n_items = 0;
    for (const auto& held : segments) n_items += held->segment.n_alive;
    expect(k <= n_items, "there are fewer items than k");
    Work total;
    {
        nb::gil_scoped_release nogil;
        const auto list = plain(segments);
        std::mutex mutex;
        with_words(n_words, [&](auto w) {
            share(n, n_threads, 16, [&](size_t begin, size_t end) {
                Work work;
                TopK<decltype(w)::value> searcher(list, n_words, *active_kernels());
                for (size_t i = begin; i < end; ++i)
                    searcher.search(queries.data() + i * n_words, k, ids.data() + i * k, distances.data() + i * k, work);
                std::lock_guard guard(mutex);
                total.add(work);
            });
            return 0;
        });
    }
    return work_done(total);
}

}  // namespace

void bind_index(nb::module_& module) {
    nb::class_<HeldSegment>(module, "Segment")
        .def(nb::init<nb::dict, nb::dict>(), "arrays"_a, "numbers"_a)
        .def("n_alive", [](const HeldSegment& self) { return self.segment.n_alive; })
        .def("with_alive", [](const HeldSegment& self, nb::object bits) {
            return self.with_alive(nb::cast<In<uint8_t, 1>>(bits), bits);
        }, "bits"_a);
    nb::class_<HeldFound>(module, "Found")
        .def("offsets", &HeldFound::offsets)
        .def("n_items", [](const HeldFound& self) { return self.found.offsets.back(); })
        .def("write", &HeldFound::write, "ids"_a, "distances"_a, "sort"_a, "n_threads"_a)
        .def("count", &HeldFound::count, "counts"_a, "n_threads"_a)
        .def("work", [](const HeldFound& self) { return work_done(self.found.work); });
    module.def("build_segment", &build_segment, "words"_a, "ids"_a, "levels"_a, "n_chunks"_a, "groups"_a,
               "budget"_a);
    module.def("search_radius", &search_radius_of, "segments"_a, "queries"_a, "radius"_a, "n_threads"_a,
               "structure"_a = "");
    module.def("search_top_k", &search_top_k_of, "segments"_a, "queries"_a, "k"_a, "ids"_a, "distances"_a,
               "n_threads"_a);
    module.def("empty_ids", &empty_array<int64_t>, "n"_a);
    module.def("empty_distances", &empty_array<int32_t>, "n"_a);
}
