// The loss over pairs of rows and its gradient.
#include <cmath>
#include <memory>

#include "kernels/vectors.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

float l1(const float* a, const float* b, size_t m) {
    Vec total{};
    size_t j = 0;
    for (; j + LANES <= m; j += LANES) total += magnitude(load(a + j) - load(b + j));
    float rest = sum(total);
    for (; j < m; ++j) rest += std::fabs(a[j] - b[j]);
    return rest;
}

// up += g sign(a - b), down -= g sign(a - b)
void add_signs(const float* a, const float* b, size_t m, float g, float* up, float* down) {
    const Vec weight = splat(g);
    size_t j = 0;
    for (; j + LANES <= m; j += LANES) {
        const Vec x = load(a + j), y = load(b + j);
        const Vec s = (Vec)((Mask)weight & (x > y)) - (Vec)((Mask)weight & (x < y));
        store(up + j, load(up + j) + s);
        store(down + j, load(down + j) - s);
    }
    for (; j < m; ++j) {
        const float s = g * (float(a[j] > b[j]) - float(a[j] < b[j]));
        up[j] += s;
        down[j] -= s;
    }
}

}  // namespace

PairTerms pair_loss(const PairLoss& loss, const float* A, size_t n, const float* B, size_t k, size_t m,
                    bool symmetric, const float* similar, const bool* known, float* gA, float* gB) {
    double n_similar = 0,
           n_dissimilar = 0;  // a pair of similarity s counts as s of the one, 1 - s of the other
    std::unique_ptr<double[]> weight_a(new double[n]()), weight_b(new double[k]());
    for (size_t at = 0; at < n * k; ++at)
        if (known[at]) {
            n_similar += similar[at];
            n_dissimilar += 1 - double(similar[at]);
        }
    const double w_similar = n_similar > 0 ? loss.similar_share / n_similar : 0;
    const double w_dissimilar = n_dissimilar > 0 ? (1 - loss.similar_share) / n_dissimilar : 0;
    PairTerms terms{};
    for (size_t i = 0; i < n; ++i)
        for (size_t j = symmetric ? i + 1 : 0; j < k; ++j) {
            if (!known[i * k + j]) continue;
            const float *a = A + i * m, *b = B + j * m;
            const double d = l1(a, b, m), both = symmetric ? 2 : 1;  // (i, j) and (j, i)
            const double alike = both * similar[i * k + j], unlike = both - alike;
            const double w_pull = alike * w_similar, w_push = unlike * w_dissimilar;
            weight_a[i] += w_pull + w_push;
            (symmetric ? weight_a : weight_b)[j] += w_pull + w_push;
            terms.pull += w_pull * d;
            if (alike > 0) terms.similar_distance += alike * d / n_similar;
            if (unlike > 0) terms.dissimilar_distance += unlike * d / n_dissimilar;
            double slope = w_pull;
            const double gap = loss.margin - d;
            if (unlike > 0 && gap > 0) {
                terms.push += w_push * loss.lambda / 2 * gap * gap;
                slope -= w_push * loss.lambda * gap;
            }
            // Most pairs that are far enough apart have no gradient at all.
            if (slope != 0) add_signs(a, b, m, float(slope), gA + i * m, (symmetric ? gA : gB) + j * m);
        }
    const auto shrink_all = [&](const float* X, const double* weights, size_t rows, float* g) {
        for (size_t i = 0; i < rows; ++i) {
            const float slope = float(loss.alpha * weights[i]);
            float size = 0;
            for (size_t j = 0; j < m; ++j) {
                const float x = X[i * m + j];
                size += std::fabs(x);
                g[i * m + j] += slope * (float(x > 0) - float(x < 0));
            }
            terms.sparsity += loss.alpha * weights[i] * size;
        }
    };
    shrink_all(A, weight_a.get(), n, gA);
    if (!symmetric) shrink_all(B, weight_b.get(), k, gB);
    return terms;
}
}  // namespace kinhash::KINHASH_ISA
