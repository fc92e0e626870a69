// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Long work is an ordinary function that takes a Job: it asks cancelled() at least every few milliseconds and says
// progress(). Job is cheap to copy; copies share the flag. Thread-safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace qs {

struct Progress {
    double done = 0, total = 0;              ///< same unit (bytes unless `what` says otherwise); total 0: unknown
    std::string what;                        ///< "Analysing layers.3.self_attn.v_proj"
    std::uint64_t items = 0, itemsTotal = 0; ///< "24 of 38"
};

class Job {
public:
    Job() : state_(std::make_shared<State>()) {}
    explicit Job(std::function<void(const Progress&)> onProgress) : Job() {
        state_->onProgress = std::move(onProgress);
    }

    bool cancelled() const { return state_->cancelled.load(std::memory_order_relaxed); }
    void cancel() const { state_->cancelled.store(true, std::memory_order_relaxed); }
    /// May be called from any thread; the callback must be thread-safe.
    void progress(const Progress& p) const {
        if (state_->onProgress) state_->onProgress(p);
    }

private:
    struct State {
        std::atomic<bool> cancelled{false};
        std::function<void(const Progress&)> onProgress;
    };
    std::shared_ptr<State> state_;
};

} // namespace qs
