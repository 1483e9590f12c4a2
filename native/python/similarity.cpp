#include "python/similarity.hpp"

#include <atomic>

#include "python/arrays.hpp"
#include "python/stop.hpp"
#include "runtime/dispatch.hpp"
#include "search/rerank.hpp"

using namespace nb::literals;
using namespace kinhash;

namespace {

using Vectors = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

VectorRows rows_of(const Vectors& vectors) {
    const auto is = [&](auto type) { return vectors.dtype() == type; };
    const bool is_float = is(nb::dtype<float>()), is_byte = is(nb::dtype<int8_t>());
    const bool is_half = is(nb::dlpack::dtype{uint8_t(nb::dlpack::dtype_code::Float), 16, 1});
    expect(is_float || is_byte || is_half, "vectors must be float32, float16 or int8");
    expect(vectors.size() == 0 || vectors.shape(1) == 1 || vectors.stride(1) == 1,
           "the numbers of a row must be contiguous");
    const Element element = is_float ? Element::float32 : is_half ? Element::float16 : Element::int8;
    return {static_cast<const char*>(vectors.data()), vectors.shape(0), vectors.shape(1),
            ptrdiff_t(vectors.stride(0)) * ptrdiff_t(vectors.itemsize()), element};
}

// Returns the first candidate whose row does not exist or whose similarity is no number, or their number.
size_t rerank(const Vectors& vectors, In<float, 2> queries, In<int64_t, 1> offsets, In<int64_t, 1> rows,
              In<int64_t, 1> ids, int similarity, In<int64_t, 1> best_offsets, Out<int64_t, 1> chosen,
              Out<float, 1> similarities, size_t n_threads) {
    const VectorRows all = rows_of(vectors);
    const size_t n_queries = queries.shape(0), n = rows.shape(0);
    expect(queries.shape(1) == all.n_features, "queries and vectors differ in features");
    expect(offsets.shape(0) == n_queries + 1 && best_offsets.shape(0) == n_queries + 1,
           "offsets do not fit the queries");
    expect(ids.shape(0) == n && similarities.shape(0) == chosen.shape(0), "ids or outputs do not fit");
    expect(similarity >= int(Similarity::cosine) && similarity <= int(Similarity::l2),
           "there is no such similarity");
    const Candidates candidates{offsets.data(), rows.data(), ids.data(), n_queries, n};
    const Best best{best_offsets.data(), chosen.data(), similarities.data(), chosen.shape(0)};
    PythonStop stop;
    nb::gil_scoped_release nogil;
    std::atomic<size_t> bad = n;
    parallel_for(n_queries, n_threads, 4, stop, [&](size_t begin, size_t end) {
        Reranker reranker(all, Similarity(similarity), *active_kernels());
        Polling polling(&stop);
        for (size_t q = begin; q < end; ++q) {
            const size_t first = reranker.rank(queries.data() + q * all.n_features, candidates, q, best);
            for (size_t seen = bad; first < seen && !bad.compare_exchange_weak(seen, first);) {
            }
            polling.add(size_t(offsets.data()[q + 1] - offsets.data()[q]) * all.n_features);
        }
    });
    return bad;
}

}  // namespace

void bind_similarity(nb::module_& module) {
    module.def("rerank", &rerank, "vectors"_a, "queries"_a, "offsets"_a, "rows"_a, "ids"_a, "similarity"_a,
               "best_offsets"_a, "chosen"_a, "similarities"_a, "n_threads"_a);
}
