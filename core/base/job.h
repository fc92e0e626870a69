// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A long operation is a function that takes a Job. It asks cancelled() every few milliseconds or more often, and
// reports progress(). Copies of a Job are cheap and share its state. Thread-safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace qs {

struct Progress {
    double done = 0, total = 0;              ///< in the same unit, bytes unless `what` says otherwise; total 0: unknown
    std::string what;                        ///< current step, e.g. "Analysing layers.3.self_attn.v_proj"
    std::uint64_t items = 0, itemsTotal = 0; ///< e.g. 24 of 38
};

/// Cancellation and progress of one operation.
class Job {
public:
    Job() : state_(std::make_shared<State>()) {}
    explicit Job(std::function<void(const Progress&)> onProgress) : Job() {
        state_->onProgress = std::move(onProgress);
    }

    bool cancelled() const { return state_->cancelled.load(std::memory_order_relaxed); }
    void cancel() const { state_->cancelled.store(true, std::memory_order_relaxed); }
    /// Any thread may call it, so the callback must be thread-safe.
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
