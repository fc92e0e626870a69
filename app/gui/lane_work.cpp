// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/lane_work.h"

#include "app/gui/session.h"

#include <QCoreApplication>
#include <QElapsedTimer>

#include <atomic>

namespace qs::gui {
namespace {

constexpr qint64 kEveryMs = 50; // progress is said at most 20 times a second

Progress nothingYet(const std::string& what) {
    return {.done = 0, .total = 0, .what = what, .items = 0, .itemsTotal = 0};
}

/// Called from any thread; the lane hears of it in the event loop.
template<class Said> Job spoken(const std::shared_ptr<Said>& said, const std::string& what) {
    QElapsedTimer clock;
    clock.start();
    const auto last = std::make_shared<std::atomic<qint64>>(0);
    return Job([said = std::weak_ptr<Said>(said), what, clock, last](const Progress& progress) {
        const qint64 now = clock.elapsed();
        auto* application = QCoreApplication::instance();
        if (!application || now - last->load() < kEveryMs) return;
        last->store(now);
        auto shown = progress;
        shown.what = what;
        const double left = shown.done > 0 ? double(now) / 1e3 * (shown.total - shown.done) / shown.done : -1;
        const auto say = [said, shown, left] {
            if (const auto to = said.lock()) to->say(shown, left);
        };
        QMetaObject::invokeMethod(application, say, Qt::QueuedConnection);
    });
}

} // namespace

/// On the window's thread.
struct LaneWork::Said {
    QPointer<Session> session;
    Progress progress;
    double left = -1;
    void say(const Progress& now, double secondsLeft) {
        progress = now, left = secondsLeft;
        if (session) Q_EMIT session->jobProgress(progress, left);
    }
};

LaneWork::LaneWork(Session& session, const std::string& what)
    : session_(&session), said_(std::make_shared<Said>(Said{&session, {}, -1})), job_(spoken(said_, what)) {
    session.beginWork(*this);
    said_->say(nothingYet(what), -1);
}

void LaneWork::sayAgain() const { said_->say(said_->progress, said_->left); }

LaneWork::~LaneWork() {
    job_.cancel();
    if (session_) session_->endWork(*this);
}

} // namespace qs::gui
