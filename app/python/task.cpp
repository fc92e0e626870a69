// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/python/task.h"

#include "core/base/job_scope.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace qs::python {
namespace {

constexpr std::chrono::milliseconds kTurn(50); ///< between two looks for signals and progress

/// What the two threads share.
struct Turn {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Progress> progress; ///< news since the last turn
    bool ended = false;

    /// Waits for the end or for the next turn. True: ended.
    bool wait(std::optional<Progress>& news) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, kTurn, [&] { return ended; });
        news = std::move(progress);
        progress.reset();
        return ended;
    }
};

void lookAround(const py::object& callback, const std::optional<Progress>& news) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (news && !callback.is_none()) callback(news->done, news->total, news->what);
}

} // namespace

void runTask(const py::object& progress, const std::function<void(const Job&)>& work) {
    Turn turn;
    std::exception_ptr thrown, raised; // by the work; by Python
    const Job job([&turn](const Progress& news) {
        const std::lock_guard lock(turn.mutex);
        turn.progress = news;
    });
    std::jthread worker([&] {
        try {
            const JobScope scope(&job);
            work(job);
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(turn.mutex);
        turn.ended = true;
        turn.changed.notify_one();
    });
    for (bool ended = false; !ended;) {
        std::optional<Progress> news;
        {
            const py::gil_scoped_release released;
            ended = turn.wait(news);
            if (ended) worker.join();
        }
        if (raised) continue;
        try {
            lookAround(progress, news);
        } catch (...) {
            raised = std::current_exception();
            job.cancel();
        }
    }
    if (raised) std::rethrow_exception(raised);
    if (thrown) std::rethrow_exception(thrown);
}

} // namespace qs::python
