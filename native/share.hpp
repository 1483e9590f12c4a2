// Work in threads, and what they keep from one call to the next.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace kinhash {

// Threads that wait for work: to start one takes longer than to answer hundreds of queries.
class Crew {
  public:
    // Calls `run` here, and in up to `n` other threads at the same time. Who has not begun when the
    // call here is done need not any more; those that have are waited for.
    void help(size_t n, const std::function<void()>& run) {
        Job job{&run, n, 0};
        {
            std::lock_guard guard(mutex_);
            hire(n);
            jobs_.push_back(&job);
        }
        n == 1 ? asked_.notify_one() : asked_.notify_all();
        run();
        std::unique_lock lock(mutex_);
        std::erase(jobs_, &job);
        done_.wait(lock, [&] { return job.n_running == 0; });
    }

    static Crew& instance() {
        static const bool watched = [] {
            current() = new Crew;
            // After a fork, the child has none of the threads.
            return pthread_atfork(nullptr, nullptr, [] { current() = new Crew; }) == 0;
        }();
        static_cast<void>(watched);
        return *current();
    }

  private:
    struct Job {
        const std::function<void()>* run;
        size_t n_wanted, n_running;
    };
    static Crew*& current() {
        static Crew* crew = nullptr;  // never deleted: its threads wait until the process ends
        return crew;
    }
    void hire(size_t n) {
        try {
            for (; n_threads_ < n; ++n_threads_) std::thread([this] { work(); }).detach();
        } catch (const std::system_error&) {
            // The system gives no more threads: those that there are do the work.
        }
    }
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            asked_.wait(lock, [&] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            if (--job.n_wanted == 0) jobs_.erase(jobs_.begin());
            ++job.n_running;
            lock.unlock();
            (*job.run)();
            lock.lock();
            if (--job.n_running == 0) done_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable asked_, done_;
    std::vector<Job*> jobs_;
    size_t n_threads_ = 0;
};

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
    Crew::instance().help(n_threads - 1, [&]() noexcept {
        try {
            for (size_t begin; (begin = next.fetch_add(piece)) < n;) work(begin, std::min(begin + piece, n));
        } catch (...) {
            next = n;
            std::lock_guard guard(mutex);
            if (!failure) failure = std::current_exception();
        }
    });
    if (failure) std::rethrow_exception(failure);
}

// Things that are costly to make, waiting for whoever needs one next.
template <typename T>
class Spares {
  public:
    Spares() = default;
    ~Spares() { delete last_.load(); }
    std::unique_ptr<T> take() {
        if (T* last = last_.exchange(nullptr)) return std::unique_ptr<T>(last);
        std::lock_guard guard(mutex_);
        if (spares_.empty()) return nullptr;
        auto one = std::move(spares_.back());
        spares_.pop_back();
        return one;
    }
    void give_back(std::unique_ptr<T> one) {
        T* none = nullptr;
        if (last_.compare_exchange_strong(none, one.get())) {
            static_cast<void>(one.release());
            return;
        }
        std::lock_guard guard(mutex_);
        if (spares_.size() < 64) spares_.push_back(std::move(one));
    }

  private:
    std::atomic<T*> last_ = nullptr;  // found without a lock: all that a single thread needs
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> spares_;
};

}  // namespace kinhash
