// Building blocks of an index, and every plan against a naive loop.
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "build/build.hpp"
#include "runtime/dispatch.hpp"
#include "search/searcher.hpp"
#include "tests/check.hpp"

using namespace kinhash;

namespace {

std::mt19937_64 rng(11);

std::vector<uint64_t> sparse_codes(size_t n, size_t n_bits, size_t n_active) {
    std::vector<uint64_t> codes(n, 0);
    for (uint64_t& code : codes)
        while (size_t(std::popcount(code)) < n_active) code |= uint64_t(1) << (rng() % n_bits);
    return codes;
}

Built built(const std::vector<uint64_t>& codes, BuildOptions options) {
    Stop stop;
    options.n_threads = 2;
    return Builder<1>(codes.data(), nullptr, codes.size(), 1, options, *active_kernels(), stop).run();
}

// Ids and distances within the radius, by a loop.
std::map<int64_t, int32_t> naive(const std::vector<uint64_t>& codes, uint64_t query, uint32_t radius) {
    std::map<int64_t, int32_t> out;
    for (size_t i = 0; i < codes.size(); ++i)
        if (const int d = std::popcount(codes[i] ^ query); uint32_t(d) <= radius) out[int64_t(i)] = d;
    return out;
}

void check_plan(const std::vector<uint64_t>& codes, const BuildOptions& options, Plan plan, uint32_t radius) {
    const Built arrays = built(codes, options);
    const Segment segment = view(arrays);
    check(segment);
    SearcherOf<1> searcher({&segment}, 1);
    Stop stop;
    std::vector<uint64_t> queries(codes.begin(), codes.begin() + 20);
    for (size_t i = 0; i < 10; ++i) queries[i] ^= 1;
    std::vector<int64_t> counts(queries.size() * (radius + 1), 0);
    const Work work = searcher.count(queries.data(), queries.size(), radius, 1, plan, counts.data(), stop);
    if (plan != Plan::neighbours) CHECK(work.queries[size_t(plan)] == queries.size());
    CHECK(work.queries[size_t(plan)] > 0);
    const Answer answer = searcher.radius(queries.data(), queries.size(), radius, false, 1, plan, stop);
    for (size_t q = 0; q < queries.size(); ++q) {
        std::map<int64_t, int32_t> found;
        for (int64_t at = answer.offsets[q]; at < answer.offsets[q + 1]; ++at)
            found[answer.ids[at]] = answer.distances[at];
        CHECK(found == naive(codes, queries[q], radius));
        CHECK(int64_t(found.size()) == answer.offsets[q + 1] - answer.offsets[q]);
    }
}

constexpr double PLENTY = 1e9;

}  // namespace

TEST(deletions_remove_each_set_of_bits_once) {
    const uint64_t code = 0b1011'0001;  // four bits
    std::set<uint64_t> seen;
    uint32_t n = 0, removed_in_all = 0;
    for_each_deletion(Words<1>(1), &code, 3, [&](const uint64_t* key, uint32_t removed) {
        CHECK((*key & ~code) == 0 && uint32_t(std::popcount(code ^ *key)) == removed);
        seen.insert(*key);
        removed_in_all += removed;
        ++n;
    });
    CHECK(n == 1 + 4 + 6 + 4 && seen.size() == n && n_deletions(4, 3) == n);
    CHECK(removed_in_all == 4 + 2 * 6 + 3 * 4);
    CHECK(n_deletions_at(4, 2) == 6 && n_deletions_at(4, 0) == 1);
}

TEST(chunks_deal_every_used_bit_to_one_part) {
    const uint64_t used[] = {0xffff'0000'ffff'0000, 0x7};
    const Vector<uint64_t> masks = chunk_masks(used, 2, 5);
    for (size_t w = 0; w < 2; ++w) {
        uint64_t any = 0, total = 0;
        for (size_t c = 0; c < 5; ++c)
            any |= masks[c * 2 + w], total += uint64_t(std::popcount(masks[c * 2 + w]));
        CHECK(any == used[w] && total == uint64_t(std::popcount(used[w])));
    }
}

TEST(planes_hold_the_bits_of_the_codes_transposed) {
    const std::vector<uint64_t> codes = sparse_codes(700, 64, 6);
    Planes planes;
    const auto [data, most_active] = planes.of(codes.data(), codes.size(), 1);
    CHECK(most_active == 6);
    const auto bit_at = [&, block = data](size_t plane, size_t i) {
        return block[i / PLANE_CODES * words_per_block(1) + plane * PLANE_WORDS + i % PLANE_CODES / 64] >>
                   (i % 64) &
               1;
    };
    for (size_t i = 0; i < codes.size(); ++i) {
        for (size_t b = 0; b < 64; ++b) CHECK(bit_at(b, i) == (codes[i] >> b & 1));
        CHECK((bit_at(64, i) | bit_at(65, i) << 1 | bit_at(66, i) << 2) == 6);
    }
}

TEST(a_segment_finds_its_codes_and_no_others) {
    const std::vector<uint64_t> codes = sparse_codes(3000, 40, 5);
    const Built arrays = built(codes, {0, 0, false, 0, 0, 0.0, 1});
    const Segment segment = view(arrays);
    const Words<1> words(1);
    std::set<uint64_t> stored(codes.begin(), codes.end());
    CHECK(segment.n_codes() == stored.size() && segment.n_items() == codes.size());
    for (const uint64_t code : codes) {
        const std::optional<uint32_t> row = segment.find(words, &code, words.hash(&code));
        CHECK(row && *segment.code(*row) == code);
        const uint64_t other = code ^ uint64_t(1) << 50;
        CHECK(!segment.find(words, &other, words.hash(&other)));
    }
}

TEST(arrays_of_a_wrong_length_are_refused) {
    const std::vector<uint64_t> codes = sparse_codes(500, 40, 5);
    Built arrays = built(codes, {2, 4, true, 100, 500, PLENTY, 1});
    arrays.rank_bytes = 4;
    arrays.ranks.assign(4 * codes.size(), 0);
    size_t n_refused = 0, n_arrays = 0;
    for_each_array(
        [&](const char* name, const auto& array) {
            Segment segment = view(arrays);
            if (array.size() == 0) return;
            ++n_arrays;
            // Rows of keys and of neighbours are checked against their ends whenever they are read.
            const std::string_view what = name;
            if (what == "key1_rows" || what == "key2_rows" || what == "near_rows") return;
            for_each_array(
                [&](const char* other, auto& span) {
                    if (other == what) span.size = what.starts_with("key") ? 1 : span.size - 1;
                },
                segment);
            try {
                check(segment);
                std::printf("%s was not refused\n", name);
            } catch (const std::invalid_argument&) {
                ++n_refused;
            }
        },
        arrays);
    CHECK(n_refused + 3 == n_arrays);
}

TEST(every_plan_finds_what_a_naive_loop_finds) {
    // Four and three active bits, so that there are odd distances too.
    std::vector<uint64_t> sparse = sparse_codes(1500, 24, 4);
    for (const uint64_t code : sparse_codes(500, 24, 3)) sparse.push_back(code);
    const std::vector<uint64_t> dense = sparse_codes(2000, 64, 30);
    check_plan(sparse, {0, 0, false, 0, 0, 0.0, 1}, Plan::lookup, 0);
    for (const uint32_t radius : {0u, 1u, 2u, 3u}) {
        check_plan(sparse, {2, 0, false, 0, 0, PLENTY, 1}, Plan::deletions, radius);
        check_plan(sparse, {2, 0, false, 5000, 5000, PLENTY, 1}, Plan::neighbours, radius);
    }
    check_plan(sparse, {0, 0, false, 0, 0, 0.0, 1}, Plan::deletions, 1);
    check_plan(sparse, {1, 0, false, 0, 0, PLENTY, 1}, Plan::deletions, 2);
    for (const uint32_t radius : {0u, 3u, 4u, 7u})
        check_plan(dense, {0, 4, false, 0, 0, PLENTY, 1}, Plan::chunks, radius);
    for (const uint32_t radius : {0u, 2u, 9u, 64u})
        check_plan(sparse, {0, 0, false, 0, 0, 0.0, 1}, Plan::scan, radius);
    std::vector<uint64_t> clustered;
    for (const uint64_t centre : sparse_codes(40, 60, 8))
        for (size_t i = 0; i < 100; ++i) clustered.push_back(centre ^ uint64_t(1) << (i % 20));
    for (const uint32_t radius : {1u, 2u, 5u})
        check_plan(clustered, {0, 0, true, 0, 0, PLENTY, 1}, Plan::groups, radius);
}

TEST(every_piece_of_work_is_done_once_and_the_first_exception_is_thrown) {
    for (const size_t n_threads : {1, 2, 7, 300}) {
        std::vector<std::atomic<int>> done(1001);
        Stop stop;
        parallel_for(done.size(), n_threads, 3, stop, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) ++done[i];
        });
        CHECK(std::all_of(done.begin(), done.end(), [](const auto& n) { return n == 1; }));
        bool thrown = false;
        try {
            Stop other;
            parallel_for(1000, n_threads, 1, other, [](size_t begin, size_t end) {
                if (begin <= 500 && 500 < end) throw std::bad_alloc();
            });
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        CHECK(thrown);
        thrown = false;
        try {
            Stop late(1e-9);
            parallel_for(1000, n_threads, 1, late, [](size_t, size_t) {});
        } catch (const TimedOut&) {
            thrown = true;
        }
        CHECK(thrown);
    }
}

TEST(ids_are_sorted_and_the_lowest_selected) {
    for (const size_t n : {1, 63, 64, 500, 5000, 40000})
        for (const uint64_t range : {uint64_t(1) << 16, uint64_t(1) << 40}) {
            std::set<int64_t> unique;
            while (unique.size() < n) unique.insert(int64_t(rng() % range) - int64_t(range / 2));
            std::vector<int64_t> ids(unique.begin(), unique.end());
            const std::vector<int64_t> expected = ids;
            std::shuffle(ids.begin(), ids.end(), rng);
            IdOrder order;
            std::vector<int64_t> some = ids;
            order.lowest(some.data(), n, n / 10);
            CHECK(std::equal(expected.begin(), expected.begin() + std::ptrdiff_t(n / 10), some.begin()));
            order.sort(ids.data(), n);
            CHECK(ids == expected);
        }
}

TEST(the_first_items_by_rank_are_selected_as_by_a_naive_sort) {
    for (const size_t n_bytes : {1, 2, 4, 8, 24})
        for (const uint8_t mask : {0x01, 0x11, 0xff}) {  // few bits give many ties
            const std::vector<uint64_t> codes = sparse_codes(3000, 10, 2);
            std::vector<uint8_t> ranks(codes.size() * n_bytes);
            for (uint8_t& byte : ranks) byte = uint8_t(rng()) & mask;
            std::vector<int64_t> ids(codes.size());
            std::iota(ids.begin(), ids.end(), -1000);
            std::shuffle(ids.begin(), ids.end(), rng);
            Stop stop;
            const BuildOptions options{0, 0, false, 0, 0, 0.0, 2};
            const Built arrays = Builder<1>(codes.data(), ids.data(), codes.size(), 1, options,
                                            *active_kernels(), stop, {ranks.data(), uint32_t(n_bytes)})
                                     .run();
            const Segment segment = view(arrays);
            check(segment);
            SearcherOf<1> searcher({&segment}, 1);
            const uint64_t query = codes[5], words[3] = {rng(), rng(), rng()};
            struct Item {
                uint32_t distance, rank;
                int64_t id;
            };
            std::vector<Item> items;
            for (size_t i = 0; i < codes.size(); ++i) {
                uint32_t rank = 0;
                for (size_t b = 0; b < n_bytes; ++b)
                    rank += uint32_t(std::popcount(
                        uint8_t(ranks[i * n_bytes + b] ^ uint8_t(words[b / 8] >> (8 * (b % 8))))));
                items.push_back({uint32_t(std::popcount(codes[i] ^ query)), rank, ids[i]});
            }
            for (const bool total : {false, true}) {
                std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
                    if (total)
                        return std::pair(a.distance + a.rank, a.id) < std::pair(b.distance + b.rank, b.id);
                    return std::tuple(a.distance, a.rank, a.id) < std::tuple(b.distance, b.rank, b.id);
                });
                const auto equal = [&](const Answer& answer, size_t at, const Item& item) {
                    return answer.ids[at] == item.id && answer.distances[at] == int32_t(item.distance) &&
                           answer.rank_distances[at] == int32_t(item.rank);
                };
                for (const size_t k : {1, 10, 127, 500, 3000}) {
                    Answer answer(1, k, true);
                    searcher.ranked_top_k(&query, words, 1, k, total, 1, answer, stop);
                    for (size_t i = 0; i < k; ++i) CHECK(equal(answer, i, items[i]));
                }
                for (const uint32_t radius : {0u, 2u, 64u}) {
                    const Answer answer = searcher.ranked_radius(&query, words, 1, radius, total, 1, stop);
                    size_t at = 0;
                    for (const Item& item : items)
                        if (item.distance <= radius) CHECK(equal(answer, at++, item));
                    CHECK(answer.offsets[1] == int64_t(at));
                }
                for (const Reach reach : {Reach{0, 3, total}, Reach{2, 0, total}, Reach{2, 5, total},
                                          Reach{4, 600, total}, Reach{64, 4, total}}) {
                    const Answer answer = searcher.ranked_within(&query, words, 1, reach, 1, stop);
                    size_t at = 0;
                    for (const Item& item : items)
                        if (std::pair(item.distance, item.rank) <= std::pair(reach.radius, reach.rank))
                            CHECK(equal(answer, at++, item));
                    CHECK(answer.offsets[1] == int64_t(at));
                }
            }
        }
}

TEST(an_answer_whose_size_overflows_is_refused) {
    for (const size_t n_matches : {size_t(1) << 61, size_t(1) << 63, ~size_t(0)}) {
        bool thrown = false;
        try {
            Answer(1, n_matches);
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        CHECK(thrown);
    }
}
