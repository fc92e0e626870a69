// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The one bridge between an ordinary function that does long work and the GUI thread. Everything that arrives after
// cancel() or after the receiver is gone is dropped. Rows on the way are polled from where the work leaves them, so
// that a fast job cannot flood the event loop.

#include "core/base/job_scope.h"
#include "core/base/result.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>

#include <functional>
#include <memory>
#include <new>

namespace qs::gui {

/// Runs work(job) on the pool; done(result) is called on the receiver's thread unless the job was cancelled meanwhile.
/// std::bad_alloc becomes an Error that names it.
template<class T>
void runJob(QObject* receiver, Job job, std::function<Result<T>(const Job&)> work,
            std::function<void(Result<T>)> done) {
    QPointer<QObject> guard(receiver);
    QThreadPool::globalInstance()->start([guard, job, work = std::move(work), done = std::move(done)]() mutable {
        auto result = std::make_shared<Result<T>>(cancelledError());
        if (!job.cancelled()) {
            try {
                const JobScope scope(&job);
                *result = work(job);
            } catch (const std::bad_alloc&) {
                *result = fail("not enough memory for this step");
            }
        }
        auto* application = QCoreApplication::instance();
        if (!application) return; // quitting
        QMetaObject::invokeMethod(
            application,
            [guard, job, result, done = std::move(done)]() mutable {
                if (guard && !job.cancelled()) done(std::move(*result));
            },
            Qt::QueuedConnection);
    });
}

/// The same, but little work is done at once, before this returns: what it gives is on the screen a frame earlier.
template<class T>
void runJobOrNow(bool little, QObject* receiver, const Job& job, std::function<Result<T>(const Job&)> work,
                 std::function<void(Result<T>)> done) {
    if (!little) return runJob<T>(receiver, job, std::move(work), std::move(done));
    done(work(job));
}

/// A pointer whose last owner frees nothing itself: the names and rows of 100,000 tensors take longer than a frame.
template<class T> std::shared_ptr<T> freedOnPool(std::shared_ptr<T> owned) {
    auto* raw = owned.get();
    return std::shared_ptr<T>(raw, [owned = std::move(owned)](T*) mutable {
        if (auto* pool = QThreadPool::globalInstance())
            pool->start([last = std::move(owned)]() mutable { last.reset(); });
    });
}

} // namespace qs::gui
