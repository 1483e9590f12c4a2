// The Python interface of the native core: arrays in, arrays out, without the GIL while it works.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

#include "kernels/pack.hpp"
#include "python/arrays.hpp"
#include "python/index.hpp"
#include "python/linkage.hpp"
#include "python/similarity.hpp"
#include "python/stop.hpp"
#include "python/texts.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/threads.hpp"
#include "structures/words.hpp"

using namespace nb::literals;

namespace {

// A network whose weights are padded and laid out in panels, ready to encode.
class NetworkEncoder {
  public:
    NetworkEncoder(In<float, 1> mean, In<float, 1> scale, In<float, 2> W, In<float, 1> bias, In<float, 2> S,
                   In<float, 1> tau, float cut, size_t n_steps, bool unit_length, bool two_sided,
                   bool coordinate_descent) {
        const size_t n_bits = W.shape(0), n_in = W.shape(1);
        const size_t n_out = kinhash::round_up(n_bits, kinhash::PANEL);
        expect(mean.shape(0) == n_in && scale.shape(0) == n_in, "mean and scale need one entry per input");
        expect(bias.shape(0) == n_bits && tau.shape(0) == n_bits, "bias and tau need one entry per bit");
        expect(n_steps == 0 || (S.shape(0) == n_bits && S.shape(1) == n_bits), "S must be bits x bits");
        mean_.assign(mean.data(), mean.data() + n_in);
        scale_.assign(scale.data(), scale.data() + n_in);
        W_ = panels(W.data(), n_bits, n_in, n_in, n_out);
        bias_.assign(n_out, 0.0f);
        tau_.assign(n_out, std::numeric_limits<float>::infinity());
        std::copy_n(bias.data(), n_bits, bias_.data());
        std::copy_n(tau.data(), n_bits, tau_.data());
        if (n_steps > 0) {
            S_ = panels(S.data(), n_bits, n_bits, n_out, n_out);
            S_columns_.assign(n_out * n_out, 0.0f);
            for (size_t j = 0; j < n_bits; ++j)
                for (size_t k = 0; k < n_bits; ++k) S_columns_[k * n_out + j] = S.data()[j * n_bits + k];
        }
        net_ = {n_in,
                n_bits,
                n_out,
                mean_.data(),
                scale_.data(),
                unit_length,
                W_.data(),
                bias_.data(),
                S_.data(),
                S_columns_.data(),
                tau_.data(),
                cut,
                n_steps,
                two_sided,
                coordinate_descent ? kinhash::Pursuit::coordinate_descent : kinhash::Pursuit::ista};
    }
    NetworkEncoder(const NetworkEncoder&) = delete;  // net_ points into this object

    // Returns the first row that is not finite, or the number of rows.
    size_t encode(In<float, 2> X, Out<uint64_t, 2> words, size_t n_threads) const {
        const size_t n = X.shape(0), per_row = words.shape(1);
        expect(X.shape(1) == net_.n_in, "X has the wrong number of columns");
        expect(words.shape(0) == n, "X and words differ in rows");
        expect(per_row == (net_.n_bits + 63) / 64 * (net_.two_sided ? 2 : 1),
               "words has the wrong number of columns");
        const float* x = X.data();
        uint64_t* out = words.data();
        PythonStop stop;
        nb::gil_scoped_release nogil;
        const kinhash::Kernels& kernels = *kinhash::active_kernels();
        std::atomic<size_t> bad = n;
        kinhash::parallel_for(n, n_threads, 960, stop, [&](size_t begin, size_t end) {
            const size_t row = kernels.encode(net_, x, begin, end, out, per_row);
            if (row == end) return;
            for (size_t seen = bad; row < seen && !bad.compare_exchange_weak(seen, row);) {
            }
        });
        return bad;
    }

  private:
    static std::vector<float> panels(const float* M, size_t rows, size_t columns, size_t n_in, size_t n_out) {
        std::vector<float> out(n_in * n_out, 0.0f);
        for (size_t j = 0; j < rows; ++j)
            for (size_t k = 0; k < columns; ++k)
                out[(j / kinhash::PANEL * n_in + k) * kinhash::PANEL + j % kinhash::PANEL] =
                    M[j * columns + k];
        return out;
    }

    std::vector<float> mean_, scale_, W_, bias_, S_, S_columns_, tau_;
    kinhash::Network net_;
};

void squared_distances(In<float, 1> own, In<float, 1> other, Out<float, 2> products) {
    const size_t n = products.shape(0), m = products.shape(1);
    expect(own.shape(0) == n && other.shape(0) == m, "products need a row of own and a column of other each");
    nb::gil_scoped_release nogil;
    kinhash::active_kernels()->squared_distances(own.data(), other.data(), n, m, products.data());
}

// Returns the first row that is not finite, or the number of rows.
size_t standardise(In<float, 2> X, In<float, 1> mean, In<float, 1> scale, Out<float, 2> out) {
    const size_t n = X.shape(0), n_in = X.shape(1);
    expect(mean.shape(0) == n_in && scale.shape(0) == n_in, "mean and scale need one entry per input");
    expect(out.shape(0) == n && out.shape(1) == n_in, "X and out differ in shape");
    nb::gil_scoped_release nogil;
    return kinhash::active_kernels()->standardise(mean.data(), scale.data(), n_in, X.data(), n, out.data());
}

void pack(In<int8_t, 2> dense, Out<uint64_t, 2> words, bool is_signed) {
    expect(words.shape(0) == dense.shape(0), "dense and words differ in rows");
    expect(words.shape(1) == (dense.shape(1) + 63) / 64 * (is_signed ? 2 : 1),
           "words has the wrong number of columns");
    nb::gil_scoped_release nogil;
    kinhash::pack(dense.data(), dense.shape(0), dense.shape(1), is_signed, words.data());
}

void unpack(In<uint64_t, 2> words, Out<int8_t, 2> dense, bool is_signed) {
    expect(words.shape(0) == dense.shape(0), "dense and words differ in rows");
    expect(words.shape(1) == (dense.shape(1) + 63) / 64 * (is_signed ? 2 : 1),
           "words has the wrong number of columns");
    nb::gil_scoped_release nogil;
    kinhash::unpack(words.data(), words.shape(0), dense.shape(1), is_signed, dense.data());
}

// Of one part of a code, so that its distances, and keys of pairs of them, fit into their types.
constexpr size_t MAX_PLANE_WORDS = 512;

// Adds the items at each distance of the query to counts; code i has weights[i] items.
template <size_t W>
void count_row(const kinhash::Words<W>& words, const uint64_t* query, const uint64_t* codes,
               const uint32_t* weights, size_t n, int64_t* counts, size_t n_distances) {
    // Four tables: adding to the same cell twice in a row would wait for the first addition.
    constexpr size_t TABLES = 4;
    std::vector<int64_t> tables(TABLES * n_distances);
    const auto add = [&](size_t i, size_t table) {
        tables[table * n_distances + words.distance(codes + i * words.count(), query)] += weights[i];
    };
    size_t i = 0;
    for (; i + TABLES <= n; i += TABLES)
        for (size_t table = 0; table < TABLES; ++table) add(i + table, table);
    for (; i < n; ++i) add(i, 0);
    for (size_t at = 0; at < tables.size(); ++at) counts[at % n_distances] += tables[at];
}

// The number of items at each distance of each query.
void count_distances(In<uint64_t, 2> queries, In<uint64_t, 2> codes, In<uint32_t, 1> weights,
                     Out<int64_t, 2> counts, size_t n_threads) {
    const size_t n = codes.shape(0), n_words = codes.shape(1), n_distances = counts.shape(1);
    expect(queries.shape(1) == n_words && n_words >= 1, "queries and codes differ in words");
    expect(weights.shape(0) == n && counts.shape(0) == queries.shape(0), "weights or counts do not fit");
    expect(n_distances == 64 * n_words + 1, "counts need a column per distance");
    PythonStop stop;
    nb::gil_scoped_release nogil;
    kinhash::parallel_for(queries.shape(0), n_threads, 4, stop, [&](size_t begin, size_t end) {
        kinhash::Polling polling(&stop);
        for (size_t q = begin; q < end; ++q) {
            int64_t* const out = counts.data() + q * n_distances;
            std::fill_n(out, n_distances, 0);
            kinhash::with_words(n_words, [&](auto w) {
                count_row(kinhash::Words<decltype(w)::value>(n_words), queries.data() + q * n_words,
                          codes.data(), weights.data(), n, out, n_distances);
            });
            polling.add(n);
        }
    });
}

// The distances of a code to a query.
struct Apart {
    uint16_t bucket, rank;
    uint32_t row;
};

// Sorts by one of the distances and keeps the order of equal ones: by rank, then by bucket gives the order of
// pairs, in time linear in the codes and without a table of all pairs.
void sort_by(uint16_t Apart::* distance, const std::vector<Apart>& from, std::vector<Apart>& to,
             std::vector<uint32_t>& starts) {
    std::fill(starts.begin(), starts.end(), 0);
    for (const Apart& code : from) ++starts[code.*distance + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (const Apart& code : from) to[starts[code.*distance]++] = code;
}

// The number of items, and of relevant items, at each pair of bucket and rank distance that occurs, for each
// query in ascending order; keys are bucket distance * (64 * rank words + 1) + rank distance. Columns that a
// query does not need have the largest key and no items. Returns how many columns are needed at most.
size_t count_pairs(In<uint64_t, 2> queries, In<uint64_t, 2> query_ranks, In<uint64_t, 2> codes,
                   In<uint64_t, 2> ranks, In<uint32_t, 1> weights, In<uint32_t, 1> relevant,
                   Out<int32_t, 2> keys, Out<int64_t, 2> n_all, Out<int64_t, 2> n_relevant,
                   size_t n_threads) {
    const size_t n = codes.shape(0), n_queries = queries.shape(0), n_columns = keys.shape(1);
    const size_t n_words = codes.shape(1), n_rank_words = ranks.shape(1), n_ranks = 64 * n_rank_words + 1;
    expect(queries.shape(1) == n_words && query_ranks.shape(1) == n_rank_words,
           "queries and codes differ in words");
    expect(n_words <= MAX_PLANE_WORDS && n_rank_words <= MAX_PLANE_WORDS && n <= UINT32_MAX,
           "codes are too long or too many");
    expect(ranks.shape(0) == n && weights.shape(0) == n && relevant.shape(0) == n,
           "codes, ranks and weights differ in rows");
    expect(query_ranks.shape(0) == n_queries && keys.shape(0) == n_queries,
           "queries and keys differ in rows");
    expect(n_all.shape(0) == n_queries && n_relevant.shape(0) == n_queries && n_all.shape(1) == n_columns &&
               n_relevant.shape(1) == n_columns,
           "keys and counts differ in shape");
    expect(n_columns >= std::min(n, (64 * n_words + 1) * n_ranks), "there are too few columns");
    PythonStop stop;
    nb::gil_scoped_release nogil;
    std::atomic<size_t> most = 0;
    kinhash::parallel_for(n_queries, n_threads, 4, stop, [&](size_t begin, size_t end) {
        kinhash::Polling polling(&stop);
        const kinhash::Words<0> bucket_words(n_words), rank_words(n_rank_words);
        std::vector<Apart> found(n), sorted(n);
        std::vector<uint32_t> starts(64 * std::max(n_words, n_rank_words) + 2);
        for (size_t q = begin; q < end; ++q) {
            const uint64_t* const query = queries.data() + q * n_words;
            const uint64_t* const query_rank = query_ranks.data() + q * n_rank_words;
            for (size_t i = 0; i < n; ++i)
                found[i] = {uint16_t(bucket_words.distance(codes.data() + i * n_words, query)),
                            uint16_t(rank_words.distance(ranks.data() + i * n_rank_words, query_rank)),
                            uint32_t(i)};
            sort_by(&Apart::rank, found, sorted, starts);
            sort_by(&Apart::bucket, sorted, found, starts);
            int32_t* const key = keys.data() + q * n_columns;
            int64_t* const all = n_all.data() + q * n_columns;
            int64_t* const hits = n_relevant.data() + q * n_columns;
            std::fill_n(key, n_columns, INT32_MAX);
            std::fill_n(all, n_columns, 0);
            std::fill_n(hits, n_columns, 0);
            size_t n_used = 0;
            for (const Apart& code : found) {
                const int32_t pair = int32_t(code.bucket * n_ranks + code.rank);
                if (n_used == 0 || key[n_used - 1] != pair) key[n_used++] = pair;
                all[n_used - 1] += weights.data()[code.row];
                hits[n_used - 1] += relevant.data()[code.row];
            }
            for (size_t seen = most; n_used > seen && !most.compare_exchange_weak(seen, n_used);) {
            }
            polling.add(n);
        }
    });
    return most;
}

std::array<double, 5> pair_loss(In<float, 2> A, In<float, 2> B, In<float, 2> similar, In<bool, 2> known,
                                Out<float, 2> gA, Out<float, 2> gB, bool symmetric, double similar_share,
                                double margin, double lambda, double alpha) {
    const size_t n = A.shape(0), k = B.shape(0), m = A.shape(1);
    const auto fits = [&](const auto& array, size_t rows, size_t columns) {
        return array.shape(0) == rows && array.shape(1) == columns;
    };
    expect(fits(B, k, m) && fits(similar, n, k) && fits(known, n, k), "A, B and their relation do not fit");
    expect(fits(gA, n, m) && (symmetric || fits(gB, k, m)), "the gradients do not fit A and B");
    expect(!symmetric || A.data() == B.data(), "symmetric needs B to be A");
    nb::gil_scoped_release nogil;
    const kinhash::PairTerms t = kinhash::active_kernels()->pair_loss(
        {similar_share, margin, lambda, alpha}, A.data(), n, B.data(), k, m, symmetric, similar.data(),
        known.data(), gA.data(), gB.data());
    return {t.pull, t.push, t.sparsity, t.similar_distance, t.dissimilar_distance};
}

}  // namespace

NB_MODULE(_native, module) {
    module.doc() = "The compiled core of kinhash; arrays are C-contiguous.";
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const kinhash::Kernels* kernels : kinhash::available_kernels()) names.push_back(kernels->name);
        return names;
    });
    module.def("instruction_set", [] { return std::string(kinhash::active_kernels()->name); });
    module.def("use_instruction_set", &kinhash::use_kernels, "name"_a);
    module.def("squared_distances", &squared_distances, "own"_a, "other"_a, "products"_a);
    module.def("standardise", &standardise, "X"_a, "mean"_a, "scale"_a, "out"_a);
    module.def("pack", &pack, "dense"_a, "words"_a, "signed"_a);
    module.def("unpack", &unpack, "words"_a, "dense"_a, "signed"_a);
    module.def("count_distances", &count_distances, "queries"_a, "codes"_a, "weights"_a, "counts"_a,
               "n_threads"_a);
    module.def("count_pairs", &count_pairs, "queries"_a, "query_ranks"_a, "codes"_a, "ranks"_a, "weights"_a,
               "relevant"_a, "keys"_a, "n_all"_a, "n_relevant"_a, "n_threads"_a);
    module.def("pair_loss", &pair_loss, nb::kw_only(), "A"_a, "B"_a, "similar"_a, "known"_a, "gA"_a, "gB"_a,
               "symmetric"_a, "similar_share"_a, "margin"_a, "lam"_a, "alpha"_a);
    nb::class_<NetworkEncoder>(module, "NetworkEncoder")
        .def(nb::init<In<float, 1>, In<float, 1>, In<float, 2>, In<float, 1>, In<float, 2>, In<float, 1>,
                      float, size_t, bool, bool, bool>(),
             nb::kw_only(), "mean"_a, "scale"_a, "W"_a, "bias"_a, "S"_a, "tau"_a, "cut"_a, "n_steps"_a,
             "unit_length"_a, "two_sided"_a, "coordinate_descent"_a)
        .def("encode", &NetworkEncoder::encode, "X"_a, "words"_a, "n_threads"_a);
    bind_index(module);
    bind_linkage(module);
    bind_similarity(module);
    bind_texts(module);
    if (const char* asked = std::getenv("KINHASH_ISA")) kinhash::use_kernels(asked);
}
