// Similarities of rows of vectors, read at random places, to a query.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/vectors.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

float to_float(float x) { return x; }
float to_float(int8_t x) { return x; }

// A half: shifted, its bits are a float with an exponent that is too small by 112. Infinity and NaN need the
// largest exponent.
float to_float(uint16_t half) {
    const uint32_t magnitude = uint32_t(half & 0x7fff) << 13, sign = uint32_t(half & 0x8000) << 16;
    const uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    return std::bit_cast<float>(bits | (magnitude >= 0x0f800000 ? 0x7f800000 : 0) | sign);
}

inline Vec load_as_floats(const float* p) { return load(p); }
#if defined(__AVX512F__)
// With masks, though of ones: GCC warns of its own undefined values in the plain forms.
inline Vec load_as_floats(const uint16_t* p) {
    return (Vec)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vec load_as_floats(const int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return __builtin_convertvector((Mask)_mm512_maskz_cvtepi8_epi32(0xffff, bytes), Vec);
}
#elif defined(__AVX2__)
inline Vec load_as_floats(const uint16_t* p) {
    return (Vec)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Vec load_as_floats(const int8_t* p) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return __builtin_convertvector((Mask)_mm256_cvtepi8_epi32(bytes), Vec);
}
#else
template <typename T>
inline Vec load_as_floats(const T* p) {
    Vec out;
    for (size_t i = 0; i < LANES; ++i) out[i] = to_float(p[i]);
    return out;
}
#endif

// The sum of sixteen lanes; always in the same order, so that each instruction set adds the same numbers.
inline float total(const Vec* parts) {
    float lanes[PANEL];
    for (size_t q = 0; q < PARTS; ++q) store(lanes + q * LANES, parts[q]);
    for (size_t width = PANEL / 2; width; width /= 2)
        for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    return lanes[0];
}

// The sums over the features of one row that a similarity needs: of products, or of squared differences; and
// of squares.
struct Sums {
    Vec products[2][PARTS] = {}, squares[2][PARTS] = {};

    template <Similarity S, typename T>
    void add(const T* row, const float* query) {
        for (size_t half = 0; half < 2; ++half)
            for (size_t q = 0; q < PARTS; ++q) {
                const size_t at = half * PANEL + q * LANES;
                const Vec x = load_as_floats(row + at), y = load(query + at);
                if constexpr (S == Similarity::l2) {
                    const Vec difference = x - y;
                    products[half][q] += difference * difference;
                } else {
                    products[half][q] += x * y;
                }
                if constexpr (S == Similarity::cosine) squares[half][q] += x * x;
            }
    }
    static float of(Vec (&parts)[2][PARTS]) {
        for (size_t q = 0; q < PARTS; ++q) parts[0][q] += parts[1][q];
        return total(parts[0]);
    }
};

// The same in double precision, for numbers whose squares are too large or too small for a float.
template <Similarity S, typename T>
float in_double(const T* row, const float* query, size_t n_features) {
    double products = 0, squares = 0;
    for (size_t j = 0; j < n_features; ++j) {
        const double x = to_float(row[j]), y = query[j], difference = x - y;
        products += S == Similarity::l2 ? difference * difference : x * y;
        squares += x * x;
    }
    if constexpr (S == Similarity::cosine)
        products = squares > 0 ? products / std::sqrt(squares) : squares;
    else if constexpr (S == Similarity::l2)
        products = -std::sqrt(products);
    const float result = float(S == Similarity::cosine ? std::clamp(products, -1.0, 1.0) : products);
    return std::isfinite(result) ? result : std::numeric_limits<float>::quiet_NaN();
}

inline bool is_safe(float sum_of_squares) { return sum_of_squares > 1e-30f && sum_of_squares < 1e30f; }

inline constexpr size_t CACHE_LINE = 64;

template <Similarity S, typename T>
float similarity(const T* row, const float* query, size_t n_features, const T* later) {
    constexpr size_t STEP = SIMILARITY_LANES;
    Sums sums;
    size_t j = 0;
    for (; j + STEP <= n_features; j += STEP) {
        for (size_t at = 0; at < STEP * sizeof(T); at += CACHE_LINE)
            __builtin_prefetch(reinterpret_cast<const char*>(later + j) + at);
        sums.add<S>(row + j, query + j);
    }
    __builtin_prefetch(later + n_features - 1);
    if (j < n_features) {
        T rest[SIMILARITY_LANES] = {};
        std::memcpy(rest, row + j, (n_features - j) * sizeof(T));
        sums.add<S>(rest, query + j);
    }
    const float products = Sums::of(sums.products);
    if constexpr (S == Similarity::dot) {
        if (std::isfinite(products)) return products;
    } else if constexpr (S == Similarity::l2) {
        if (is_safe(products)) return -std::sqrt(products);
    } else {
        const float squares = Sums::of(sums.squares);
        if (is_safe(squares)) return std::clamp(products / std::sqrt(squares), -1.0f, 1.0f);
    }
    return in_double<S>(row, query, n_features);
}

inline constexpr size_t AHEAD = 8;

template <Similarity S, typename T>
void of_rows(const VectorRows& vectors, const float* query, const size_t* rows, size_t n, float* out) {
    const auto row = [&](size_t i) {
        return reinterpret_cast<const T*>(vectors.data + ptrdiff_t(rows[i]) * vectors.stride);
    };
    for (size_t i = 0; i < n; ++i)
        out[i] = similarity<S>(row(i), query, vectors.n_features, row(i + AHEAD < n ? i + AHEAD : n - 1));
}

template <typename T>
void of_type(const VectorRows& vectors, Similarity similarity, const float* query, const size_t* rows,
             size_t n, float* out) {
    switch (similarity) {
        case Similarity::cosine: return of_rows<Similarity::cosine, T>(vectors, query, rows, n, out);
        case Similarity::dot: return of_rows<Similarity::dot, T>(vectors, query, rows, n, out);
        case Similarity::l2: return of_rows<Similarity::l2, T>(vectors, query, rows, n, out);
    }
}

}  // namespace

void similarities(const VectorRows& vectors, Similarity similarity, const float* query, const size_t* rows,
                  size_t n, float* out) {
    switch (vectors.element) {
        case Element::float32: return of_type<float>(vectors, similarity, query, rows, n, out);
        case Element::float16: return of_type<uint16_t>(vectors, similarity, query, rows, n, out);
        case Element::int8: return of_type<int8_t>(vectors, similarity, query, rows, n, out);
    }
}

}  // namespace kinhash::KINHASH_ISA
