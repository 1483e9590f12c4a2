// The kernels of every instruction set that this machine has, against naive loops.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "runtime/dispatch.hpp"
#include "structures/planes.hpp"
#include "tests/check.hpp"

using namespace kinhash;

namespace {

std::mt19937_64 rng(7);

size_t below(size_t n) { return size_t(rng() % n); }

// Few of the first bits, so that many codes are near each other.
uint64_t sparse_word() { return uint64_t(1) << below(9) | uint64_t(1) << below(9); }

std::vector<float> floats(size_t n, float scale) {
    std::normal_distribution<float> normal;
    std::vector<float> out(n);
    for (float& x : out) x = scale * normal(rng);
    return out;
}

uint32_t naive_distance(const uint64_t* a, const uint64_t* b, size_t n_words) {
    uint32_t total = 0;
    for (size_t bit = 0; bit < 64 * n_words; ++bit) total += (a[bit / 64] ^ b[bit / 64]) >> (bit % 64) & 1;
    return total;
}

// Rows and distances, one per code.
std::vector<std::pair<uint32_t, uint32_t>> apart(const Hit* hits, size_t n) {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (size_t i = 0; i < n; ++i)
        for (uint32_t j = 0; j <= hits[i].more; ++j) out.push_back({hits[i].row + j, hits[i].distance});
    std::sort(out.begin(), out.end());
    return out;
}

void check_scans(const Kernels& kernels, size_t n, size_t n_words, bool dense) {
    std::vector<uint64_t> codes(n * n_words), query(n_words);
    for (uint64_t& word : codes) word = dense ? rng() : sparse_word();
    for (uint64_t& word : query) word = dense ? codes[0] : sparse_word();
    Planes planes;
    const auto [in_planes, most_active] = planes.of(codes.data(), n, n_words);
    for (const uint32_t radius : {0u, 1u, 3u, 4u, 7u, 8u, 30u, 64u}) {
        std::vector<std::pair<uint32_t, uint32_t>> expected;
        for (size_t row = 0; row < n; ++row)
            if (const uint32_t d = naive_distance(codes.data() + row * n_words, query.data(), n_words);
                d <= radius)
                expected.push_back({uint32_t(100 + row), d});
        std::vector<Hit> hits(n + SPARE_MANY);
        const Hit first{100, 3, 0, 0};
        size_t found = kernels.scan(codes.data(), n, n_words, query.data(), radius, first, hits.data());
        CHECK(apart(hits.data(), found) == expected);
        CHECK(std::all_of(hits.begin(), hits.begin() + std::ptrdiff_t(found),
                          [](const Hit& h) { return h.segment == 3; }));
        found = kernels.scan_many(codes.data(), n, n_words, query.data(), radius, first, hits.data());
        CHECK(apart(hits.data(), found) == expected);
        if (dense) continue;  // planes are for sparse queries
        found = kernels.scan_planes(in_planes, codes.data(), n, n_words, most_active, query.data(), radius,
                                    first, hits.data());
        CHECK(apart(hits.data(), found) == expected);
    }
}

}  // namespace

TEST(scans_find_what_a_naive_loop_finds) {
    for (const Kernels* kernels : available_kernels())
        for (const size_t n : {1, 7, 63, 64, 65, 511, 512, 513, 2000})
            for (const size_t n_words : {1, 2, 3, 5})
                for (const bool dense : {false, true}) check_scans(*kernels, n, n_words, dense);
}

TEST(scans_of_narrow_codes_find_what_a_naive_loop_finds) {
    for (const Kernels* kernels : available_kernels())
        for (const size_t n : {1, 15, 16, 63, 64, 65, 513})
            for (const size_t n_bytes : {1, 2, 4}) {
                std::vector<uint8_t> codes(n * n_bytes);
                for (uint8_t& byte : codes) byte = uint8_t(rng());
                const uint32_t query = uint32_t(rng());
                for (const uint32_t radius : {0u, 1u, 5u, 13u, 31u, 32u, 40u}) {
                    std::vector<std::pair<uint32_t, uint32_t>> expected;
                    for (size_t row = 0; row < n; ++row) {
                        uint32_t d = 0;
                        for (size_t bit = 0; bit < 8 * n_bytes; ++bit)
                            d += (codes[row * n_bytes + bit / 8] >> (bit % 8) & 1) != (query >> bit & 1);
                        if (d <= radius) expected.push_back({uint32_t(100 + row), d});
                    }
                    std::vector<Hit> hits(n + SPARE_HITS);
                    const size_t found = kernels->scan_narrow(codes.data(), n, n_bytes, query, radius,
                                                              {100, 3, 0, 0}, hits.data());
                    CHECK(apart(hits.data(), found) == expected);
                }
            }
}

TEST(the_nearest_narrow_codes_are_those_of_a_naive_loop) {
    for (const Kernels* kernels : available_kernels())
        for (const size_t n : {1, 15, 31, 32, 33, 64, 65, 513, 20000})
            for (const size_t n_bytes : {1, 2, 4}) {
                std::vector<uint8_t> codes(n * n_bytes), distances(round_up(n, DISTANCES) + 1, 77);
                for (uint8_t& byte : codes) byte = uint8_t(n % 2 ? rng() : rng() & rng());
                const uint32_t query = uint32_t(rng()), largest = uint32_t(8 * n_bytes);
                kernels->narrow_distances(codes.data(), n, n_bytes, query, distances.data());
                CHECK(distances.back() == 77);
                distances.pop_back();
                std::vector<uint8_t> expected(distances.size(), 255);
                for (size_t i = 0; i < n; ++i) {
                    expected[i] = 0;
                    for (size_t bit = 0; bit < 8 * n_bytes; ++bit)
                        expected[i] += (codes[i * n_bytes + bit / 8] >> (bit % 8) & 1) != (query >> bit & 1);
                }
                CHECK(distances == expected);
                std::vector<uint8_t> sorted = expected;
                std::sort(sorted.begin(), sorted.end());
                for (const size_t need : {size_t(1), n / 3, n - 1, n}) {
                    const uint32_t limit =
                        kernels->least_limit(distances.data(), distances.size(), need, largest);
                    CHECK(limit == (need ? sorted[need - 1] : 0));
                    std::vector<uint32_t> near, found;
                    for (size_t i = 0; i < n; ++i)
                        if (expected[i] <= limit) near.push_back(uint32_t(i));
                    found.resize(near.size() + SPARE_POSITIONS + 1);
                    found.back() = 99;
                    const size_t n_found =
                        kernels->positions_at_most(distances.data(), distances.size(), limit, found.data());
                    CHECK(found.back() == 99);
                    found.resize(n_found);
                    CHECK(found == near);
                }
            }
}

TEST(scans_of_tiles_find_what_scans_find) {
    for (const size_t n : {1, 7, 8, 31, 32, 33, 64, 100, 257})
        for (const size_t n_words : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 48, 64}) {
            std::vector<uint64_t> codes(n * n_words), query(n_words);
            std::vector<uint64_t> tiles(round_up(n, TILE) * n_words + 1, 99);
            for (uint64_t& word : query) word = rng();
            // From the query itself to codes that share nothing with it.
            for (size_t row = 0; row < n; ++row)
                for (size_t w = 0; w < n_words; ++w) {
                    const size_t kind = row % 5;
                    const uint64_t flips = kind < 2    ? uint64_t(kind) << below(64)
                                           : kind == 2 ? rng() & rng() & rng()
                                           : kind == 3 ? rng()
                                                       : ~uint64_t(0);
                    codes[row * n_words + w] = query[w] ^ flips;
                }
            const uint32_t all = uint32_t(64 * n_words);
            for (const uint32_t radius : {0u, 1u, all / 8, all / 5, all / 2, all - 1, all, all + 100})
                for (const Kernels* kernels : available_kernels()) {
                    std::vector<std::pair<uint32_t, uint32_t>> expected;
                    for (size_t row = 0; row < n; ++row) {
                        const uint32_t d =
                            naive_distance(codes.data() + row * n_words, query.data(), n_words);
                        if (d <= radius) expected.push_back({uint32_t(100 + row), d});
                    }
                    kernels->tile(codes.data(), n, n_words, tiles.data());
                    CHECK(tiles.back() == 99);
                    std::vector<Hit> hits(n + SPARE_HITS);
                    const size_t found = kernels->scan_tiles(tiles.data(), n, n_words, query.data(), radius,
                                                             {100, 3, 0, 0}, hits.data());
                    CHECK(apart(hits.data(), found) == expected);
                    CHECK(std::all_of(hits.begin(), hits.begin() + std::ptrdiff_t(found),
                                      [](const Hit& h) { return h.segment == 3 && h.more == 0; }));
                }
        }
}

TEST(runs_join_consecutive_rows) {
    const std::vector<uint32_t> rows{4, 5, 6, 9, 11, 12, 40};
    for (const Kernels* kernels : available_kernels()) {
        std::vector<Hit> hits(rows.size());
        CHECK(kernels->runs(rows.data(), rows.size(), 40, {0, 2, 0, 5}, hits.data()) ==
              3);  // row 40 is not stored
        CHECK(hits[0].row == 4 && hits[0].more == 2 && hits[0].segment == 2 && hits[0].distance == 5);
        CHECK(hits[1].row == 9 && hits[1].more == 0);
        CHECK(hits[2].row == 11 && hits[2].more == 1);
    }
}

TEST(runs_of_many_rows_are_those_of_a_naive_loop) {
    for (size_t round = 0; round < 60; ++round) {
        std::vector<uint32_t> rows;
        for (uint32_t row = 0; rows.size() < 5 * round; rows.push_back(row))
            row += below(4) ? 1 : 1 + uint32_t(below(5));
        const size_t n_codes = below(2) ? 2000 : 1 + below(400);
        // A run ends after 64 rows, and counts only if all of its rows are stored.
        std::vector<std::pair<uint32_t, uint32_t>> expected;
        for (size_t from = 0, to; from < rows.size(); from = to) {
            for (to = from + 1; to < rows.size() && to % 64 && rows[to] == rows[to - 1] + 1;) ++to;
            for (size_t i = from; i < to && rows[to - 1] < n_codes; ++i) expected.push_back({rows[i], 5});
        }
        for (const Kernels* kernels : available_kernels()) {
            std::vector<Hit> hits(rows.size());
            const size_t n = kernels->runs(rows.data(), rows.size(), n_codes, {0, 3, 0, 5}, hits.data());
            CHECK(apart(hits.data(), n) == expected);
        }
    }
}

TEST(ids_of_buckets_are_written_in_order_and_never_past_the_room) {
    std::vector<uint32_t> ids(5000), offsets{0};
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = uint32_t(3 * i);
    while (offsets.back() < ids.size())
        offsets.push_back(std::min(uint32_t(ids.size()), offsets.back() + uint32_t(below(40))));
    std::vector<Hit> hits;
    std::vector<int64_t> expected;
    for (uint32_t row = 0; row + 3 < offsets.size(); row += 1 + uint32_t(below(4))) {
        const uint8_t more = uint8_t(below(2));
        hits.push_back({row, 0, more, 0});
        for (uint32_t i = offsets[row]; i < offsets[row + more + 1]; ++i) expected.push_back(ids[i]);
    }
    for (const Kernels* kernels : available_kernels())
        for (const size_t room : {size_t(0), size_t(5), expected.size() / 2, expected.size()}) {
            const std::vector<int64_t> wanted(expected.begin(), expected.begin() + std::ptrdiff_t(room));
            std::vector<int64_t> out(room + 1, -9);
            CHECK(kernels->write_ids(ids.data(), ids.size(), offsets.data(), hits.data(), hits.size(), 0,
                                     out.data(), room) == room);
            CHECK(out.back() == -9);
            out.pop_back();
            CHECK(out == wanted);
            // A stream in two calls, from any place in a cache line.
            for (const size_t start : {0, 1, 5}) {
                std::vector<int64_t> streamed(start + room + 1, -9);
                Stream stream(streamed.data() + start);
                const size_t half = hits.size() / 2;
                size_t n = kernels->stream_ids(ids.data(), ids.size(), offsets.data(), hits.data(), half,
                                               hits.size() - half, stream, room);
                n += kernels->stream_ids(ids.data(), ids.size(), offsets.data(), hits.data() + half,
                                         hits.size() - half, 0, stream, room - n);
                kernels->finish(stream);
                CHECK(n == room && streamed.back() == -9 && (start == 0 || streamed[start - 1] == -9));
                CHECK(std::equal(wanted.begin(), wanted.end(), streamed.begin() + std::ptrdiff_t(start)));
            }
        }
}

TEST(equal_distances_are_filled_at_any_alignment) {
    for (const Kernels* kernels : available_kernels())
        for (size_t start = 0; start < 5; ++start)
            for (const size_t n : {0, 1, 7, 8, 33, 100}) {
                std::vector<int32_t> expected(start + n + 2, 1), filled = expected, streamed = expected;
                std::fill_n(expected.begin() + std::ptrdiff_t(start), n, -4);
                kernels->fill(filled.data() + start, n, -4);
                kernels->stream_fill(streamed.data() + start, n, -4);
                CHECK(filled == expected && streamed == expected);
            }
}

// One input, x; 16 outputs with weights 0.1 j; no recurrence: bit j is set if 0.1 j x - 0.25 > 0.1.
TEST(a_small_network_gives_the_bits_of_hand_arithmetic) {
    std::vector<float> W(PANEL), bias(PANEL, 0.0f), tau(PANEL, 0.25f);
    for (size_t j = 0; j < PANEL; ++j) W[j] = 0.1f * float(j);
    const float mean = 1, scale = 2;
    const Network net{1,       PANEL,   PANEL,      &mean, &scale, false, W.data(),     bias.data(),
                      nullptr, nullptr, tau.data(), 0.1f,  0,      false, Pursuit::ista};
    const float X[] = {1.5f, 3.0f};  // standardised: 1 and 4
    for (const Kernels* kernels : available_kernels()) {
        uint64_t words[2] = {};
        CHECK(kernels->encode(net, X, 0, 2, words, 1) == 2);
        CHECK(words[0] == 0xfff0);  // 0.1 j > 0.35: j >= 4
        CHECK(words[1] == 0xfffe);  // 0.4 j > 0.35: j >= 1
        const float bad[] = {0.0f, NAN};
        CHECK(kernels->encode(net, bad, 0, 2, words, 1) == 1);
    }
}

TEST(squared_distances_are_those_of_a_naive_loop) {
    for (const size_t m : {1, 3, 16, 33}) {
        const auto own = floats(5, 1), other = floats(m, 1), given = floats(5 * m, 1);
        for (const Kernels* kernels : available_kernels()) {
            std::vector<float> out = given;
            out[m] = NAN;
            out.push_back(99);
            kernels->squared_distances(own.data(), other.data(), 5, m, out.data());
            CHECK(out.back() == 99);
            CHECK(std::isnan(out[m]));
            for (size_t i = 0; i < given.size(); ++i)
                CHECK(i == m || out[i] == std::max(0.0f, own[i / m] + other[i % m] - 2 * given[i]));
        }
    }
}

TEST(rows_are_standardised_as_by_a_naive_loop) {
    for (const size_t n_in : {1, 3, 15, 16, 17, 100}) {
        const auto mean = floats(n_in, 1), scale = floats(n_in, 1);
        auto X = floats(7 * n_in, 1);
        std::vector<float> expected(X.size());
        for (size_t i = 0; i < X.size(); ++i) expected[i] = (X[i] - mean[i % n_in]) * scale[i % n_in];
        for (const Kernels* kernels : available_kernels()) {
            std::vector<float> out(X.size() + 1, 99);
            CHECK(kernels->standardise(mean.data(), scale.data(), n_in, X.data(), 7, out.data()) == 7);
            CHECK(out.back() == 99);
            out.pop_back();
            CHECK(out == expected);
            for (const float wrong : {NAN, INFINITY, 3e38f}) {
                auto bad = X;
                bad[5 * n_in - 1] = bad[6 * n_in] = wrong;
                CHECK(kernels->standardise(mean.data(), scale.data(), n_in, bad.data(), 7, out.data()) == 4);
            }
        }
    }
}

// The portable kernels may order the sums differently, so they are left out.
TEST(every_vector_width_encodes_to_the_same_bits) {
    for (size_t round = 0; round < 60; ++round) {
        const size_t n_in = 1 + below(70), n_out = PANEL * (1 + below(5)), n_rows = 1 + below(130);
        const auto mean = floats(n_in, 1), scale = floats(n_in, 1), W = floats(n_in * n_out, 0.3f),
                   X = floats(n_rows * n_in, 1), bias = floats(n_out, 0.1f), S = floats(n_out * n_out, 0.05f);
        auto tau = floats(n_out, 0.1f);
        for (float& t : tau) t = std::fabs(t);
        const bool two_sided = round % 2;
        const Network net{
            n_in,        n_out,        n_out,
            mean.data(), scale.data(), round % 3 == 0,
            W.data(),    bias.data(),  S.data(),
            S.data(),    tau.data(),   0.05f,
            round % 4,   two_sided,    round % 5 == 4 ? Pursuit::coordinate_descent : Pursuit::ista};
        const size_t n_words = (n_out + 63) / 64 * (two_sided ? 2 : 1);
        std::vector<uint64_t> expected, found(n_rows * n_words);
        for (const Kernels* kernels : available_kernels()) {
            if (kernels == &kernels_portable()) continue;
            CHECK(kernels->encode(net, X.data(), 0, n_rows, found.data(), n_words) == n_rows);
            if (expected.empty()) expected = found;
            CHECK(found == expected);
        }
    }
}

// Rows (0, 2) and (1, 0), similar: d = 3. With all weight on similar pairs, pull is 3 and its gradient the
// signs.
TEST(the_loss_of_one_pair_is_that_of_hand_arithmetic) {
    const float A[] = {0, 2}, B[] = {1, 0};
    const float alike = 1, unlike = 0, half = 0.5f;
    const bool yes = true;
    for (const Kernels* kernels : available_kernels()) {
        float gA[2] = {}, gB[2] = {};
        PairTerms terms =
            kernels->pair_loss({1.0, 5.0, 1.0, 0.5}, A, 1, B, 1, 2, false, &alike, &yes, gA, gB);
        CHECK(terms.pull == 3 && terms.push == 0 && terms.sparsity == 1.5);  // alpha (2 + 1)
        CHECK(gA[0] == -1 && gA[1] == 1.5f && gB[0] == 1.5f && gB[1] == -1);
        // Dissimilar: the gap to the margin of 5 is 2, so push is 2 * 2 / 2.
        terms = kernels->pair_loss({0.0, 5.0, 1.0, 0.0}, A, 1, B, 1, 2, false, &unlike, &yes, gA, gB);
        CHECK(terms.pull == 0 && terms.push == 2);
        // Half similar: the only pair is all of both kinds, so each has its own share of the weight.
        terms = kernels->pair_loss({0.25, 5.0, 1.0, 0.0}, A, 1, B, 1, 2, false, &half, &yes, gA, gB);
        CHECK(terms.pull == 0.75 && terms.push == 1.5);
        CHECK(terms.similar_distance == 3 && terms.dissimilar_distance == 3);
    }
}

TEST(every_instruction_set_gives_the_same_loss) {
    const auto close = [](double x, double y) { return std::fabs(x - y) < 1e-4 * (1 + std::fabs(x)); };
    for (size_t round = 0; round < 60; ++round) {
        const size_t m = 1 + below(80), n = 2 + below(12);
        const auto A = floats(n * m, 1);
        const auto similar = std::make_unique<float[]>(n * n);
        const auto known = std::make_unique<bool[]>(n * n);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < i; ++j) {
                similar[i * n + j] = similar[j * n + i] = float(below(5)) / 4;
                known[i * n + j] = known[j * n + i] = below(5) > 0;
            }
        const auto run = [&](const Kernels& by, std::vector<float>& gradient) {
            std::vector<float> unused(n * m);
            return by.pair_loss({0.5, 30, 0.1, 0.01}, A.data(), n, A.data(), n, m, true, similar.get(),
                                known.get(), gradient.data(), unused.data());
        };
        std::vector<float> expected(n * m);
        const PairTerms a = run(kernels_portable(), expected);
        for (const Kernels* kernels : available_kernels()) {
            std::vector<float> found(n * m);
            const PairTerms b = run(*kernels, found);
            CHECK(close(a.pull, b.pull) && close(a.push, b.push) && close(a.sparsity, b.sparsity));
            CHECK(std::equal(expected.begin(), expected.end(), found.begin(), close));
        }
    }
}

TEST(similarities_are_those_of_a_naive_loop) {
    for (const Kernels* kernels : available_kernels())
        for (const size_t d : {1, 31, 32, 33, 64, 100}) {
            const size_t n = 20;
            std::vector<int8_t> vectors(n * d);
            for (int8_t& x : vectors) x = int8_t(rng());
            std::vector<float> query(round_up(d, SIMILARITY_LANES));
            for (size_t j = 0; j < d; ++j) query[j] = float(int8_t(rng()));
            std::vector<size_t> rows{3, 19, 0, 3, 7, 11, 12, 13, 14, 15};
            // The same numbers as floats and as halves, of which small integers have all bits at the top.
            std::vector<float> floats(vectors.begin(), vectors.end());
            std::vector<uint16_t> halves;
            for (const int8_t x : vectors) {
                const int size = std::abs(int(x)), exponent = size ? std::ilogb(size) : 0;
                const int fraction = size ? (size << (10 - exponent)) & 1023 : 0;
                halves.push_back(uint16_t((x < 0) << 15 | (size ? (exponent + 15) << 10 : 0) | fraction));
            }
            const VectorRows all[] = {
                {reinterpret_cast<const char*>(floats.data()), n, d, ptrdiff_t(4 * d), Element::float32},
                {reinterpret_cast<const char*>(halves.data()), n, d, ptrdiff_t(2 * d), Element::float16},
                {reinterpret_cast<const char*>(vectors.data()), n, d, ptrdiff_t(d), Element::int8}};
            for (const VectorRows& in : all)
                for (const Similarity kind : {Similarity::cosine, Similarity::dot, Similarity::l2}) {
                    std::vector<float> found(rows.size() + 1, 77);
                    kernels->similarities(in, kind, query.data(), rows.data(), rows.size(), found.data());
                    CHECK(found.back() == 77);
                    for (size_t i = 0; i < rows.size(); ++i) {
                        double products = 0, squares = 0, apart = 0;
                        for (size_t j = 0; j < d; ++j) {
                            const double x = vectors[rows[i] * d + j], y = query[j];
                            products += x * y, squares += x * x, apart += (x - y) * (x - y);
                        }
                        const double cosine = squares > 0 ? products / std::sqrt(squares) : 0;
                        const double expected = kind == Similarity::dot  ? products
                                                : kind == Similarity::l2 ? -std::sqrt(apart)
                                                                         : std::clamp(cosine, -1.0, 1.0);
                        CHECK(std::abs(found[i] - expected) <= 1e-5 * (1 + std::abs(expected)));
                    }
                }
        }
}
