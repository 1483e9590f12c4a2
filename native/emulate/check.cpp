// Compares the kernels of each instruction set with the portable ones on random data; encoding, whose sums
// the portable kernels may order differently, with AVX2. Prints EQUAL, or what differs.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/kernels.hpp"
#include "structures/planes.hpp"

using namespace kinhash;

namespace {

std::mt19937_64 rng(1);
int n_checks = 0, n_bad = 0;

void check(bool equal, const char* what) {
    ++n_checks;
    if (equal) return;
    ++n_bad;
    std::printf("DIFFERS: %s\n", what);
}

size_t below(size_t n) { return size_t(rng() % n); }

// Four of twelve bits, so that many codes are near each other; or any bits at all.
uint64_t word(bool dense) {
    if (dense) return rng();
    uint64_t bits = 0;
    for (int i = 0; i < 4; ++i) bits |= uint64_t(1) << below(12);
    return bits;
}

std::vector<float> floats(size_t n, float scale) {
    std::normal_distribution<float> normal;
    std::vector<float> out(n);
    for (float& x : out) x = scale * normal(rng);
    return out;
}

void check_scans(const Kernels& kernels, size_t n_words, bool dense) {
    const size_t n = 1 + below(900);
    std::vector<uint64_t> codes(n * n_words), query(n_words);
    for (uint64_t& w : codes) w = word(dense);
    for (uint64_t& w : query) w = dense ? codes[0] : word(false);
    size_t n_active = 0;
    for (const uint64_t w : query) n_active += size_t(std::popcount(w));
    Planes planes;
    const auto [in_planes, most_active] = planes.of(codes.data(), n, n_words);
    const Hit first{7, 3, 0, 0};
    for (const uint32_t radius : {0u, 1u, 2u, 3u, 5u, 9u, 30u, 64u}) {
        std::vector<Hit> expected(n + SPARE_HITS), found(n + SPARE_HITS);
        const size_t n_near =
            kernels_portable().scan(codes.data(), n, n_words, query.data(), radius, first, expected.data());
        const auto same = [&](size_t n_found) {
            return n_found == n_near && !std::memcmp(expected.data(), found.data(), n_near * sizeof(Hit));
        };
        check(same(kernels.scan(codes.data(), n, n_words, query.data(), radius, first, found.data())),
              "scan");
        // One hit per code, in the order of the codes.
        const auto apart = [&](size_t n_found) {
            std::vector<Hit> all;
            for (size_t i = 0; i < n_found; ++i)
                for (uint32_t j = 0; j <= found[i].more; ++j)
                    all.push_back({found[i].row + j, found[i].segment, 0, found[i].distance});
            std::sort(all.begin(), all.end(), [](const Hit& a, const Hit& b) { return a.row < b.row; });
            std::copy(all.begin(), all.end(), found.begin());
            return all.size();
        };
        if (n_active <= MOST_PLANES)
            check(same(apart(kernels.scan_planes(in_planes, codes.data(), n, n_words, most_active,
                                                 query.data(), radius, first, found.data()))),
                  "scan_planes");
    }
}

void check_writing(const Kernels& kernels) {
    std::vector<uint32_t> ids, offsets{0};
    std::vector<Hit> hits;
    std::vector<int64_t> expected;
    for (uint32_t row = 0; row < 400; ++row) {
        const size_t size = below(row % 7 ? 4 : row % 49 ? 40 : 400);
        for (size_t i = 0; i < size; ++i) ids.push_back(uint32_t(rng()));
        offsets.push_back(uint32_t(ids.size()));
        if (below(3) == 0) continue;
        if (!hits.empty() && hits.back().row + hits.back().more + 1 == row && hits.back().more < 63)
            ++hits.back().more;
        else
            hits.push_back({row, 0, 0, 0});
        expected.insert(expected.end(), ids.end() - std::ptrdiff_t(size), ids.end());
    }
    if (below(2)) expected.resize(expected.size() * 2 / 3);  // then there is less room than ids
    const size_t n = expected.size(), half = hits.size() / 2;
    std::vector<int64_t> written(n);
    const size_t n_written = kernels.write_ids(ids.data(), ids.size(), offsets.data(), hits.data(),
                                               hits.size(), 0, written.data(), n);
    check(n_written == n && written == expected, "write_ids");
    for (const size_t start : {0, 1, 5}) {
        std::vector<int64_t> streamed(start + n + 1, -1);
        Stream stream(streamed.data() + start);
        size_t n_streamed = kernels.stream_ids(ids.data(), ids.size(), offsets.data(), hits.data(), half,
                                               hits.size() - half, stream, n);
        n_streamed += kernels.stream_ids(ids.data(), ids.size(), offsets.data(), hits.data() + half,
                                         hits.size() - half, 0, stream, n - n_streamed);
        kernels.finish(stream);
        check(n_streamed == n &&
                  std::equal(expected.begin(), expected.end(), streamed.begin() + std::ptrdiff_t(start)),
              "stream_ids");
        check(streamed.back() == -1 && (start == 0 || streamed[start - 1] == -1),
              "stream_ids beyond its ends");
        std::vector<int32_t> plain(start + n + 1, 9), filled(start + n + 1, 9), past(start + n + 1, 9);
        std::fill_n(plain.begin() + std::ptrdiff_t(start), n, -7);
        kernels.fill(filled.data() + start, n, -7);
        kernels.stream_fill(past.data() + start, n, -7);
        check(filled == plain, "fill");
        check(past == plain, "stream_fill");
    }
}

void check_runs(const Kernels& kernels) {
    std::vector<uint32_t> rows;
    uint32_t row = 0;
    while (rows.size() < below(300)) rows.push_back(row += below(4) ? 1 : uint32_t(below(5)));
    const size_t n_codes = below(2) ? 1000 : below(300);
    const Hit first{0, 3, 0, 5};
    std::vector<Hit> hits(rows.size());
    hits.resize(kernels.runs(rows.data(), rows.size(), n_codes, first, hits.data()));
    std::vector<uint32_t> expected, found;
    for (size_t block = 0; block < rows.size(); block += 64) {
        const size_t end = std::min(block + 64, rows.size());
        for (size_t from = block, to; from < end; from = to) {
            for (to = from + 1; to < end && rows[to] == rows[to - 1] + 1;) ++to;
            if (rows[to - 1] < n_codes)
                expected.insert(expected.end(), rows.begin() + std::ptrdiff_t(from),
                                rows.begin() + std::ptrdiff_t(to));
        }
    }
    for (const Hit& hit : hits)
        for (uint32_t i = 0; i <= hit.more; ++i) found.push_back(hit.row + i);
    check(found == expected && std::all_of(hits.begin(), hits.end(),
                                           [&](const Hit& h) { return h.segment == 3 && h.distance == 5; }),
          "runs");
}

void check_network(const Kernels& kernels, size_t round) {
    const size_t n_in = 1 + below(70), n_out = PANEL * (1 + below(5)), n_rows = 1 + below(130);
    const auto mean = floats(n_in, 1), scale = floats(n_in, 1), W = floats(n_in * n_out, 0.3f),
               X = floats(n_rows * n_in, 1);
    const auto bias = floats(n_out, 0.1f), S = floats(n_out * n_out, 0.05f);
    auto tau = floats(n_out, 0.1f);
    for (float& t : tau) t = std::fabs(t);
    Network net{};
    net.n_in = n_in;
    net.n_bits = net.n_out = n_out;
    net.mean = mean.data();
    net.scale = scale.data();
    net.unit_length = round % 3 == 0;
    net.W = W.data();
    net.bias = bias.data();
    net.S = net.S_columns = S.data();
    net.tau = tau.data();
    net.cut = 0.05f;
    net.n_steps = round % 4;
    net.two_sided = round % 2;
    net.pursuit = round % 5 == 4 ? Pursuit::coordinate_descent : Pursuit::ista;
    const size_t n_words = (n_out + 63) / 64 * (net.two_sided ? 2 : 1);
    std::vector<uint64_t> expected(n_rows * n_words), found(n_rows * n_words);
    const size_t end = kernels_avx2().encode(net, X.data(), 0, n_rows, expected.data(), n_words);
    check(kernels.encode(net, X.data(), 0, n_rows, found.data(), n_words) == end && found == expected,
          "encode");
}

void check_loss(const Kernels& kernels) {
    const size_t m = 1 + below(80), n = 2 + below(12);
    const auto A = floats(n * m, 1);
    const auto similar = std::make_unique<float[]>(n * n);
    const auto known = std::make_unique<bool[]>(n * n);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < i; ++j) {
            similar[i * n + j] = similar[j * n + i] = float(below(5)) / 4;
            known[i * n + j] = known[j * n + i] = below(5) > 0;
        }
    std::vector<float> expected(n * m), found(n * m), unused(n * m);
    const PairLoss loss{0.5, 30, 0.1, 0.01};
    const auto run = [&](const Kernels& by, std::vector<float>& gradient) {
        return by.pair_loss(loss, A.data(), n, A.data(), n, m, true, similar.get(), known.get(),
                            gradient.data(), unused.data());
    };
    const PairTerms a = run(kernels_portable(), expected), b = run(kernels, found);
    const auto close = [](double x, double y) { return std::fabs(x - y) < 1e-4 * (1 + std::fabs(x)); };
    bool all = close(a.pull, b.pull) && close(a.push, b.push) && close(a.sparsity, b.sparsity);
    for (size_t i = 0; i < n * m; ++i) all &= close(expected[i], found[i]);
    check(all, "pair_loss");
}

}  // namespace

int main() {
    for (const Kernels* kernels : {&kernels_portable(), &kernels_avx2(), &kernels_avx512()}) {
        const int before = n_checks;
        for (size_t round = 0; round < 60; ++round) {
            for (const size_t n_words : {1, 2, 3, 5}) check_scans(*kernels, n_words, round % 3 == 0);
            check_writing(*kernels);
            check_runs(*kernels);
            if (kernels != &kernels_portable()) check_network(*kernels, round);
            check_loss(*kernels);
        }
        std::printf("%s: %d checks\n", kernels->name, n_checks - before);
    }
    std::printf(n_bad ? "DIFFERENT in %d checks\n" : "EQUAL\n", n_bad);
    std::fflush(stdout);
    while (getpid() == 1) pause();  // the only process of an emulated machine may not end
    return n_bad != 0;
}
