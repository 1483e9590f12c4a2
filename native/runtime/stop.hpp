// Ends long work early: at a deadline, or because of a signal.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

namespace kinhash {

// The deadline has passed.
struct TimedOut : std::exception {
    const char* what() const noexcept override { return "timed out"; }
};

// Another thread of the same call has failed or was interrupted.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "stopped"; }
};

// What all threads of one call poll. The thread that made the call also handles signals there.
class Stop {
  public:
    explicit Stop(std::optional<double> seconds = {}) : caller_(std::this_thread::get_id()) {
        if (seconds)
            deadline_ = Clock::now() +
                        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
    }
    virtual ~Stop() = default;
    Stop(const Stop&) = delete;

    // Throws if the work must end.
    void poll() {
        n_polls().fetch_add(1, std::memory_order_relaxed);
        if (stopped_.load(std::memory_order_relaxed)) throw Stopped();
        const Clock::time_point now = Clock::now();
        if (deadline_ && now >= *deadline_) throw TimedOut();
        if (std::this_thread::get_id() != caller_ || now < next_signals_) return;
        if (next_signals_ != Clock::time_point()) handle_signals();
        next_signals_ = now + SIGNALS_EVERY;
    }
    // Cheaper than poll() without a deadline, for the start of work that may be short.
    void poll_deadline() {
        if (deadline_) poll();
    }
    // All other threads throw at their next poll.
    void stop() { stopped_ = true; }

    // All polls of this process: a test counts them.
    static std::atomic<uint64_t>& n_polls() {
        static std::atomic<uint64_t> n = 0;
        return n;
    }

  protected:
    // Throws what a signal's handler throws. Called in the caller's thread only.
    virtual void handle_signals() {}

  private:
    using Clock = std::chrono::steady_clock;
    // Handling signals takes the GIL, which other threads may hold.
    static constexpr std::chrono::milliseconds SIGNALS_EVERY{10};
    const std::thread::id caller_;
    std::optional<Clock::time_point> deadline_;
    Clock::time_point next_signals_;  // only the caller's thread reads and writes it
    std::atomic<bool> stopped_ = false;
};

// Counts units of work (comparisons, items) in one thread and polls every `EVERY` of them.
class Polling {
  public:
    static constexpr uint64_t EVERY = uint64_t(1) << 20;
    explicit Polling(Stop* stop) : stop_(stop) {}
    void add(uint64_t n) {
        if ((since_ += n) >= EVERY && stop_) {
            since_ = 0;
            stop_->poll();
        }
    }

  private:
    Stop* stop_;
    uint64_t since_ = 0;
};

}  // namespace kinhash
