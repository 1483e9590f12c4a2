// Looks up parts of the query: two codes within r bits are equal, or differ in few bits, in one of the parts.
#pragma once

#include <vector>

#include "search/costs.hpp"
#include "search/plan.hpp"
#include "structures/chunks.hpp"

namespace kinhash {

template <size_t W>
class ChunksPlan {
  public:
    explicit ChunksPlan(const Target<W>& target) : target_(target) {
        const Segment& segment = target.segment;
        if (segment.n_chunks) masks_ = chunk_masks(segment.used.data, segment.n_words, segment.n_chunks);
    }

    // ns, if chunks can answer: at most one bit of a part is flipped.
    std::optional<double> cost(uint32_t radius, size_t n_used) const {
        const Segment& segment = target_.segment;
        if (!segment.n_chunks || radius >= 2 * segment.n_chunks) return {};
        double probes = 0;
        for (size_t c = 0; c < segment.n_chunks; ++c)
            if (const std::optional<uint32_t> flips = flips_of(c, radius))
                probes += 1 + *flips * double(n_used) / segment.n_chunks;
        return costs::CHUNK_TOUCHES * costs::touch(segment.n_codes()) * probes *
               (1 + segment.chunk_candidates);
    }

    // Adds the probes of a query. Its hits are complete after finish().
    void start(const Asked& asked, Work& work) {
        asked_.push_back(asked);
        const size_t n_words = target_.words.count();
        CodeBuffer<W> part;
        for (uint32_t c = 0; c < target_.segment.n_chunks; ++c) {
            const std::optional<uint32_t> flips = flips_of(c, asked.radius);
            if (!flips) break;
            const uint64_t* mask = masks_.data() + c * n_words;
            for (size_t w = 0; w < n_words; ++w) part[w] = asked.query[w] & mask[w];
            add_probe(part, c, {});
            if (*flips == 0) continue;
            for (size_t w = 0; w < n_words; ++w)
                for (uint64_t rest = mask[w]; rest; rest &= rest - 1) {
                    part[w] ^= rest & -rest;
                    add_probe(part, c, uint32_t(64 * w + size_t(std::countr_zero(rest))));
                    part[w] ^= rest & -rest;
                }
        }
        if (probes_.size() >= MANY_PROBES) finish(work);
    }

    // First all buckets, then their rows, then the codes of these, so that the waits for memory overlap.
    void finish(Work& work) {
        if (asked_.empty()) return;
        find_buckets();
        const size_t n = target_.segment.n_codes();
        const uint32_t* const rows = target_.segment.chunks.rows.data;
        const auto each = [&](const Probe& probe, const auto& f) {
            for (size_t at = probe.from; at < probe.to; ++at)
                if (const uint32_t row = rows[probe.chunk * n + at]; row < n) f(row);
        };
        const size_t n_probes = probes_.size();
        for (size_t p = 0; n_probes && p < n_probes + AHEAD; ++p) {
            if (p < n_probes)
                each(probes_[p], [&](uint32_t row) { __builtin_prefetch(target_.segment.code(row)); });
            if (p < AHEAD) continue;
            const Probe& probe = probes_[p - AHEAD];
            each(probe, [&](uint32_t row) { check(probe, row); });
            work.compare(probe.to - probe.from);
        }
        probes_.clear();
        asked_.clear();
    }

  private:
    static constexpr size_t MANY_PROBES = 1 << 10;
    static constexpr size_t AHEAD = 16;  // probes whose codes are being prefetched

    // A part of a query, or the part with one bit flipped.
    struct Probe {
        uint32_t asked, chunk;
        std::optional<uint32_t> flipped;
        size_t from, to;  // first the place of its bucket's start, then the bucket's rows
    };

    // How many bits of part c may differ. If every part differed in one more than its limit, the sum would
    // exceed the radius. Nothing if the parts before c suffice.
    std::optional<uint32_t> flips_of(size_t c, uint32_t radius) const {
        const uint32_t most = radius / target_.segment.n_chunks;
        if (c <= radius % target_.segment.n_chunks) return most;
        if (most == 0) return {};
        return most - 1;
    }

    void add_probe(const uint64_t* part, uint32_t chunk, std::optional<uint32_t> flipped) {
        const Segment& segment = target_.segment;
        const size_t size = segment.chunks.starts.size / segment.n_chunks - 1;
        const size_t at = chunk * (size + 1) + (target_.words.hash(part) & (size - 1));
        probes_.push_back({uint32_t(asked_.size() - 1), chunk, flipped, at, 0});
        __builtin_prefetch(segment.chunks.starts.data + at);
    }

    void find_buckets() {
        const size_t n = target_.segment.n_codes();
        const uint32_t *starts = target_.segment.chunks.starts.data, *rows = target_.segment.chunks.rows.data;
        for (Probe& probe : probes_) {
            const size_t at = probe.from, end = std::min<size_t>(starts[at + 1], n);
            probe.from = std::min<size_t>(starts[at], end);
            probe.to = end;
            if (probe.from < probe.to) __builtin_prefetch(rows + probe.chunk * n + probe.from);
        }
    }

    // Adds a row if it is within the radius and this probe is the first that finds it.
    void check(const Probe& probe, uint32_t row) const {
        const auto& [query, radius, out] = asked_[probe.asked];
        const uint64_t* code = target_.segment.code(row);
        const uint32_t d = target_.words.distance(code, query);
        if (d > radius) return;
        const size_t n_words = target_.words.count();
        const auto differing = [&](size_t c, size_t w) {
            return (code[w] ^ query[w]) & masks_[c * n_words + w];
        };
        for (size_t w = 0; w < n_words; ++w) {
            const bool here = probe.flipped && *probe.flipped / 64 == w;
            const uint64_t flip = here ? uint64_t(1) << (*probe.flipped % 64) : 0;
            if (differing(probe.chunk, w) != flip) return;
        }
        for (size_t earlier = 0; earlier < probe.chunk; ++earlier) {
            uint32_t total = 0;
            for (size_t w = 0; w < n_words; ++w) total += uint32_t(std::popcount(differing(earlier, w)));
            if (total <= flips_of(earlier, radius)) return;
        }
        out->push_back(target_.hit(row, d));
    }

    Target<W> target_;
    Vector<uint64_t> masks_;
    std::vector<Asked> asked_;
    std::vector<Probe> probes_;
};

}  // namespace kinhash
