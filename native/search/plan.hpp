// The plans that find the codes near a query, and what they work with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/kernels.hpp"
#include "runtime/stop.hpp"
#include "search/hits.hpp"
#include "structures/segment.hpp"

namespace kinhash {

enum class Plan : size_t { lookup, deletions, chunks, groups, scan, neighbours };
inline constexpr std::array<const char*, 6> PLAN_NAMES{"lookup", "deletions", "chunks",
                                                       "groups", "scan",      "neighbours"};

// The plan that a test asks for; without one, the cheapest is chosen.
using AskedPlan = std::optional<Plan>;

// How to answer a query; for neighbours also the row whose list answers it.
struct Choice {
    Plan plan;
    uint32_t row = 0;
};

// Which plans answered, and how many codes they compared. Polls as it counts.
class Work {
  public:
    explicit Work(Stop* stop) : polling_(stop) {}
    void answered(Plan plan, size_t n = 1) { queries[size_t(plan)] += n; }
    void compare(uint64_t n) {
        compared += n;
        polling_.add(n);
    }
    void wrote(uint64_t n_items) { polling_.add(n_items); }
    void add(const Work& other) {
        for (size_t p = 0; p < queries.size(); ++p) queries[p] += other.queries[p];
        compared += other.compared;
    }
    std::array<uint64_t, PLAN_NAMES.size()> queries{};
    uint64_t compared = 0;

  private:
    Polling polling_;
};

// A query, and where to put the hits.
struct Asked {
    const uint64_t* query;
    uint32_t radius;
    Hits* out;
};

// A segment to search. Hits carry `number`, its position among the segments of a search.
template <size_t W>
struct Target {
    const Segment& segment;
    const Kernels& kernels;
    Words<W> words;
    uint8_t number;

    Target(const Segment& of, const Kernels& by, uint8_t as)
        : segment(of), kernels(by), words(of.n_words), number(as) {}
    Hit hit(uint32_t row, uint32_t distance) const { return {row, number, 0, uint16_t(distance)}; }
    std::optional<uint32_t> find(const uint64_t* code) const {
        return segment.find(words, code, words.hash(code));
    }
};

// The words of one code.
template <size_t W>
using CodeBuffer = uint64_t[W ? W : MAX_WORDS];

}  // namespace kinhash
