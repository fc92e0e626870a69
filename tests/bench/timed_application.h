// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An application that measures every turn of its GUI thread, with the receiver of the longest ones.

#include <QApplication>
#include <QElapsedTimer>
#include <QMetaEnum>

#include <algorithm>
#include <ctime>
#include <vector>

inline double threadCpuMs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

inline double percentile(std::vector<double> values, double p) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, std::size_t(p / 100 * double(values.size())))];
}

/// Every event of the GUI thread passes here; nested deliveries count with the outermost one.
class TimedApplication : public QApplication {
public:
    struct Turn {
        double cpuMs;
        QByteArray receiver;
    };

    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override {
        if (depth_++ > 0) {
            const bool handled = QApplication::notify(receiver, event);
            --depth_;
            return handled;
        }
        // The receiver may delete itself: who it is must be known before.
        const char* type = QMetaEnum::fromType<QEvent::Type>().valueToKey(event->type());
        const char* owner = receiver->parent() ? receiver->parent()->metaObject()->className() : "";
        const char* name = receiver->metaObject()->className();
        const QElapsedTimer timer = [] {
            QElapsedTimer started;
            started.start();
            return started;
        }();
        const double before = threadCpuMs();
        const bool handled = QApplication::notify(receiver, event);
        turns.push_back(double(timer.nsecsElapsed()) / 1e6);
        cpuTurns.push_back(threadCpuMs() - before);
        if (cpuTurns.back() > 4)
            longest.push_back(
                {cpuTurns.back(), QByteArray(owner) + " / " + name + " / " + (type ? type : "user event")});
        --depth_;
        return handled;
    }
    void forget() {
        turns.clear();
        cpuTurns.clear();
        longest.clear();
    }
    std::vector<double> turns, cpuTurns; ///< wall clock, and what the thread itself used
    std::vector<Turn> longest;           ///< those over 4 ms of CPU time

private:
    int depth_ = 0;
};
