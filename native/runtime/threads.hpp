// Work in threads, and objects that threads keep from one call to the next.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/memory.hpp"
#include "runtime/stop.hpp"

namespace kinhash {

// Threads that wait for work, because starting one takes longer than answering hundreds of queries. At most
// one per core is kept; a call that asks for more starts and joins the rest itself.
class ThreadPool {
  public:
    // Calls `run` here and in up to `n` other threads at the same time, and `wait` now and then while it
    // waits for those. Threads that have not begun when `run` returns here are not waited for. Neither
    // function may throw.
    void run(size_t n, const std::function<void()>& run, const std::function<void()>& wait) {
        const size_t n_kept = std::min(n, most_kept());
        Job job{&run, n_kept, 0};
        const Joined extra(n - n_kept, [&] {
            {
                std::lock_guard guard(mutex_);
                ++job.n_running;
            }
            run();
            std::lock_guard guard(mutex_);
            if (--job.n_running == 0) done_.notify_all();
        });
        if (n_kept) {
            std::lock_guard guard(mutex_);
            start(n_kept);
            jobs_.push_back(&job);
        }
        n_kept == 1 ? asked_.notify_one() : asked_.notify_all();
        run();
        std::unique_lock lock(mutex_);
        std::erase(jobs_, &job);
        while (!done_.wait_for(lock, std::chrono::milliseconds(20), [&] { return job.n_running == 0; })) {
            lock.unlock();
            wait();
            lock.lock();
        }
    }

    static ThreadPool& instance() {
        static const bool watched = [] {
            current() = new ThreadPool;
            // After a fork, the child has none of the threads.
            return pthread_atfork(nullptr, nullptr, [] { current() = new ThreadPool; }) == 0;
        }();
        static_cast<void>(watched);
        return *current();
    }

  private:
    struct Job {
        const std::function<void()>* run;
        size_t n_wanted, n_running;
    };

    // Threads of one call, joined when it ends. They begin when all of them are started: what they allocate
    // must not be what the next one needs to start.
    class Joined {
      public:
        template <typename F>
        Joined(size_t n, const F& run) {
            threads_.reserve(n);
            while (threads_.size() < n) {
                std::thread thread = started([this, run] {
                    begun_.wait(false);
                    run();
                });
                if (!thread.joinable()) break;
                threads_.push_back(std::move(thread));
            }
            begun_ = true;
            begun_.notify_all();
        }
        ~Joined() {
            for (std::thread& thread : threads_) thread.join();
        }

      private:
        std::atomic<bool> begun_ = false;
        std::vector<std::thread> threads_;
    };

    static ThreadPool*& current() {
        static ThreadPool* pool = nullptr;  // never deleted: its threads wait until the process ends
        return pool;
    }
    static size_t most_kept() { return std::max(1u, std::thread::hardware_concurrency()); }

    // Returns a thread that runs f, or none if the system has no memory or no threads left: then fewer do the
    // work.
    //
    // Returns once the thread has allocated the C++ runtime's thread-local data. If these were first needed
    // to throw bad_alloc, there would be no memory for them, and the dynamic linker would end the process
    // with exit code 127.
    template <typename F>
    static std::thread started(const F& f) {
        if (!has_memory(THREAD_MEMORY)) return {};
        try {
            const auto ready = std::make_shared<std::atomic<bool>>(false);
            std::thread thread([f, ready] {
                static_cast<void>(std::uncaught_exceptions());
                *ready = true;
                ready->notify_one();
                f();
            });
            ready->wait(false);
            return thread;
        } catch (const std::exception&) {
            return {};
        }
    }
    static constexpr size_t THREAD_MEMORY = size_t(1) << 24;  // bytes: a stack of 8 MB and what goes with it

    void start(size_t n) {
        for (; n_threads_ < n; ++n_threads_) {
            std::thread thread = started([this] { work(); });
            if (!thread.joinable()) return;
            thread.detach();
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

// The first exception of several threads. That a thread was stopped is only a consequence of another
// exception.
class Failure {
  public:
    // Calls f and keeps what it throws.
    template <typename F>
    void guard(const F& f) noexcept {
        try {
            f();
        } catch (const Stopped&) {
            keep(true);
        } catch (...) {
            keep(false);
        }
    }
    bool any() const { return any_; }
    void rethrow() {
        if (first_) std::rethrow_exception(first_);
    }

  private:
    void keep(bool stopped) noexcept {
        std::lock_guard lock(mutex_);
        if (!first_ || (only_stopped_ && !stopped)) {
            first_ = std::current_exception();
            only_stopped_ = stopped;
        }
        any_ = true;
    }
    std::mutex mutex_;
    std::exception_ptr first_;
    bool only_stopped_ = false;
    std::atomic<bool> any_ = false;
};

inline constexpr size_t MOST_THREADS = 256;

// Runs work(begin, end) over [0, n) in pieces, on up to n_threads threads. A thread that is done takes the
// next piece: with fixed shares, one busy core would hold up all the others. Polls before every piece but the
// first. The first exception ends the work and is thrown here.
template <typename Run>
void parallel_for(size_t n, size_t n_threads, size_t piece, Stop& stop, const Run& work) {
    n_threads =
        std::clamp<size_t>((n + piece - 1) / piece, 1, std::clamp<size_t>(n_threads, 1, MOST_THREADS));
    std::atomic<size_t> next = 0;
    const auto take_pieces = [&] {
        for (size_t begin; (begin = next.fetch_add(piece)) < n;) {
            begin ? stop.poll() : stop.poll_deadline();
            work(begin, std::min(begin + piece, n));
        }
    };
    if (n_threads == 1) return take_pieces();
    Failure failure;
    const auto guarded = [&](const auto& f) {
        failure.guard(f);
        if (failure.any()) {
            next = n;
            stop.stop();
        }
    };
    ThreadPool::instance().run(
        n_threads - 1, [&] { guarded(take_pieces); }, [&] { guarded([&] { stop.poll(); }); });
    failure.rethrow();
}

// Objects that are costly to make, kept for the next call.
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
        if (spares_.size() < MOST) spares_.push_back(std::move(one));
    }

  private:
    static constexpr size_t MOST = 64;
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> spares_;
};

}  // namespace kinhash
