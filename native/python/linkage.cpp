#include "python/linkage.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "linkage/pairs.hpp"
#include "linkage/star.hpp"
#include "python/arrays.hpp"
#include "python/stop.hpp"
#include "runtime/dispatch.hpp"

using namespace nb::literals;
using namespace kinhash;

namespace {

void star_of(In<int64_t, 1> left, In<int64_t, 1> right, In<int64_t, 1> order,
             Out<int64_t, 1> representatives) {
    expect(left.shape(0) == right.shape(0), "left and right differ in length");
    expect(order.shape(0) == representatives.shape(0), "order and representatives differ in length");
    nb::gil_scoped_release nogil;
    star({left.data(), right.data(), left.shape(0)}, order.data(), order.shape(0), representatives.data());
}

using Column = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

template <typename F>
Column column(size_t n, const F& value) {
    auto data = std::make_unique<int64_t[]>(n);
    for (size_t i = 0; i < n; ++i) data[i] = value(i);
    nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    return Column(data.release(), {n}, owner);
}

// Queries and rows of codes, ordered by query, then row.
nb::tuple near_pairs(In<uint64_t, 2> codes, In<uint64_t, 2> queries, int64_t first, uint32_t word_radius,
                     uint32_t radius, size_t n_threads) {
    const CodeRows all{codes.data(), codes.shape(0), codes.shape(1)},
        asked{queries.data(), queries.shape(0), queries.shape(1)};
    expect(all.n_words == asked.n_words && all.n_words > 0, "codes and queries differ in words");
    expect(all.n <= UINT32_MAX && asked.n <= UINT32_MAX, "too many codes");
    expect(first < 0 || uint64_t(first) + asked.n <= all.n, "the queries are not among the codes");
    // Rows that any of the queries is compared with.
    const size_t n = first < 0 ? all.n : size_t(first) + asked.n;
    std::vector<Pair> pairs;
    {
        PythonStop stop;
        nb::gil_scoped_release nogil;
        std::mutex mutex;
        parallel_for(n, n_threads, PairFinder::BLOCK, stop, [&](size_t begin, size_t end) {
            PairFinder finder(all, asked, word_radius, radius, *active_kernels());
            Polling polling(&stop);
            std::vector<Pair> found;
            finder.find(begin, end, first, found, polling);
            std::lock_guard guard(mutex);
            pairs.insert(pairs.end(), found.begin(), found.end());
        });
        std::sort(pairs.begin(), pairs.end());
    }
    return nb::make_tuple(column(pairs.size(), [&](size_t i) { return int64_t(pairs[i].query); }),
                          column(pairs.size(), [&](size_t i) { return int64_t(pairs[i].row); }));
}

}  // namespace

void bind_linkage(nb::module_& module) {
    module.def("star", &star_of, "left"_a, "right"_a, "order"_a, "representatives"_a);
    module.def("near_pairs", &near_pairs, "codes"_a, "queries"_a, "first"_a, "word_radius"_a, "radius"_a,
               "n_threads"_a);
}
