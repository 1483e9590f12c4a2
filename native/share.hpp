// Work in threads, and what they keep from one call to the next.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace kinhash {

// Runs work(begin, end) over [0, n) in pieces, on up to n_threads threads. Whoever is done takes the
// next piece: with fixed shares, one busy core would hold up all the others. The first exception ends
// the work and is thrown here.
template <typename Run>
void share(size_t n, size_t n_threads, size_t piece, const Run& work) {
    n_threads = std::clamp<size_t>((n + piece - 1) / piece, 1, std::clamp<size_t>(n_threads, 1, 256));
    if (n_threads == 1) return work(size_t(0), n);
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    const auto run = [&]() noexcept {
        try {
            for (size_t begin; (begin = next.fetch_add(piece)) < n;) work(begin, std::min(begin + piece, n));
        } catch (...) {
            next = n;
            std::lock_guard guard(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(n_threads);
    try {
        for (size_t t = 1; t < n_threads; ++t) threads.emplace_back(run);
    } catch (const std::system_error&) {
        // The system gives no more threads: those that there are do the work.
    }
    run();
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

// Things that are costly to make, waiting for whoever needs one next.
template <typename T>
class Spares {
  public:
    std::unique_ptr<T> take() {
        std::lock_guard guard(mutex_);
        if (spares_.empty()) return nullptr;
        auto one = std::move(spares_.back());
        spares_.pop_back();
        return one;
    }
    void give_back(std::unique_ptr<T> one) {
        std::lock_guard guard(mutex_);
        if (spares_.size() < 64) spares_.push_back(std::move(one));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> spares_;
};

}  // namespace kinhash
