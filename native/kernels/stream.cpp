// Writes the ids of buckets, and equal distances, past the cache.
#include <cstring>

#include "kernels/buckets.hpp"

namespace kinhash::KINHASH_ISA {
namespace {

typedef int64_t Line __attribute__((vector_size(64)));

// Stores a cache line past the cache.
inline void stream_line(void* to, Line line) {
#if defined(__AVX512F__)
    _mm512_stream_si512(static_cast<__m512i*>(to), (__m512i)line);
#elif defined(__AVX2__)
    __m256i halves[2];
    std::memcpy(halves, &line, sizeof line);
    for (size_t i = 0; i < 2; ++i) _mm256_stream_si256(static_cast<__m256i*>(to) + i, halves[i]);
#elif defined(__SSE2__)
    __m128i quarters[4];
    std::memcpy(quarters, &line, sizeof line);
    for (size_t i = 0; i < 4; ++i) _mm_stream_si128(static_cast<__m128i*>(to) + i, quarters[i]);
#else
    std::memcpy(to, &line, sizeof line);
#endif
}
// Makes the stores above visible to other threads.
inline void end_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// Writes all complete lines of the buffer.
inline void flush(Stream& stream) {
    size_t line = 0, n_lines = stream.used / Stream::LINE;
    if (stream.skipped && n_lines) {
        std::copy(stream.held + stream.skipped, stream.held + Stream::LINE, stream.out + stream.skipped);
        stream.skipped = 0;
        line = 1;
    }
    for (; line < n_lines; ++line) {
        Line whole;
        std::memcpy(&whole, stream.held + line * Stream::LINE, sizeof whole);
        stream_line(stream.out + line * Stream::LINE, whole);
    }
    std::copy_n(stream.held + n_lines * Stream::LINE, stream.used % Stream::LINE, stream.held);
    stream.out += n_lines * Stream::LINE;
    stream.used %= Stream::LINE;
}

}  // namespace

size_t stream_ids(const uint32_t* ids, size_t n_ids, const uint32_t* offsets, const Hit* hits, size_t n_hits,
                  size_t n_after, Stream& stream, size_t room) {
    size_t written = 0;
    for (size_t h = 0; h < n_hits; ++h) {
        if (h + BUCKETS_AHEAD < n_hits + n_after)
            __builtin_prefetch(ids + offsets[hits[h + BUCKETS_AHEAD].row]);
        const auto [from, to] = bucket(offsets, n_ids, hits[h]);
        size_t n = std::min(to - from, room - written);
        const uint32_t* in = ids + from;
        written += n;
        while (n) {
            const size_t part = std::min(n, Stream::SIZE - stream.used);
            copy_ids(in, part, size_t(ids + n_ids - in), stream.held + stream.used,
                     Stream::SIZE + Stream::LINE - stream.used);
            stream.used += part;
            in += part;
            n -= part;
            if (stream.used == Stream::SIZE) flush(stream);
        }
    }
    return written;
}

void finish(Stream& stream) {
    flush(stream);
    std::copy(stream.held + stream.skipped, stream.held + stream.used, stream.out + stream.skipped);
    end_streams();
}

void stream_fill(int32_t* out, size_t n, int32_t value) {
    constexpr size_t IN_LINE = sizeof(Line) / sizeof(int32_t);
    const size_t misaligned = reinterpret_cast<uintptr_t>(out) / sizeof(int32_t) % IN_LINE;
    const size_t head = std::min(n, (IN_LINE - misaligned) % IN_LINE), n_lines = (n - head) / IN_LINE;
    const Line line = (uint64_t(uint32_t(value)) << 32 | uint32_t(value)) - Line{};
    std::fill_n(out, head, value);
    for (size_t i = 0; i < n_lines; ++i) stream_line(out + head + i * IN_LINE, line);
    std::fill(out + head + n_lines * IN_LINE, out + n, value);
}
}  // namespace kinhash::KINHASH_ISA
