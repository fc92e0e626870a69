// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/lane_work.h"

#include "app/gui/session.h"

#include <QCoreApplication>
#include <QElapsedTimer>

#include <atomic>

namespace qs::gui {
namespace {

constexpr qint64 kEveryMs = 50; // progress is said at most 20 times a second

/// Called from any thread; the lane hears of it in the event loop.
Job spoken(Session& session, const std::string& what) {
    QElapsedTimer clock;
    clock.start();
    const auto last = std::make_shared<std::atomic<qint64>>(0);
    return Job([guard = QPointer<Session>(&session), what, clock, last](const Progress& progress) {
        const qint64 now = clock.elapsed();
        auto* application = QCoreApplication::instance();
        if (!application || now - last->load() < kEveryMs) return;
        last->store(now);
        auto shown = progress;
        shown.what = what;
        const double left = shown.done > 0 ? double(now) / 1e3 * (shown.total - shown.done) / shown.done : -1;
        const auto say = [guard, shown, left] {
            if (guard && guard->laneBusy()) Q_EMIT guard->jobProgress(shown, left);
        };
        QMetaObject::invokeMethod(application, say, Qt::QueuedConnection);
    });
}

} // namespace

LaneWork::LaneWork(Session& session, const std::string& what) : session_(&session), job_(spoken(session, what)) {
    session.beginWork(*this);
    Q_EMIT session.jobProgress({.done = 0, .total = 0, .what = what, .items = 0, .itemsTotal = 0}, -1);
}

LaneWork::~LaneWork() {
    job_.cancel();
    if (session_) session_->endWork(*this);
}

} // namespace qs::gui
