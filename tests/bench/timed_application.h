// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// An application that measures every event handler of its GUI thread and names the receivers of the longest ones.

#include <QApplication>
#include <QElapsedTimer>
#include <QMetaEnum>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

inline double threadCpuMs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

/// How long this thread was ready to run but had no CPU, in ms. 0 if the kernel does not count it.
inline double waitedForCpuMs() {
    static const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[96] = {};
    unsigned long long ran = 0, waited = 0;
    if (file < 0 || pread(file, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return 0;
    return double(waited) / 1e6;
}

inline double percentile(std::vector<double> values, double p) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, std::size_t(p / 100 * double(values.size())))];
}

/// Every event of the GUI thread passes through notify(). Nested events count as part of the outermost one.
class TimedApplication : public QApplication {
public:
    struct Turn {
        double cpuMs;  ///< CPU time of the thread
        double heldMs; ///< wall-clock time without the wait for a CPU: CPU time and sleep, on a lock or a file
        QByteArray receiver;
    };

    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override {
        if (depth_++ > 0) {
            const bool handled = QApplication::notify(receiver, event);
            --depth_;
            return handled;
        }
        // The receiver may delete itself, so its name is read before.
        const char* type = QMetaEnum::fromType<QEvent::Type>().valueToKey(event->type());
        const char* owner = receiver->parent() ? receiver->parent()->metaObject()->className() : "";
        const char* name = receiver->metaObject()->className();
        const double waited = waitedForCpuMs();
        const QElapsedTimer timer = [] {
            QElapsedTimer started;
            started.start();
            return started;
        }();
        const double before = threadCpuMs();
        const bool handled = QApplication::notify(receiver, event);
        const double cpu = threadCpuMs() - before, wall = double(timer.nsecsElapsed()) / 1e6;
        const double held = std::max(cpu, wall - (waitedForCpuMs() - waited));
        turns.push_back(wall);
        cpuTurns.push_back(cpu);
        if (held > 4)
            longest.push_back({cpu, held, QByteArray(owner) + " / " + name + " / " + (type ? type : "user event")});
        --depth_;
        return handled;
    }
    void forget() {
        turns.clear();
        cpuTurns.clear();
        longest.clear();
    }
    std::vector<double> turns, cpuTurns; ///< in ms: wall clock and CPU time
    std::vector<Turn> longest;           ///< the ones that took over 4 ms

private:
    int depth_ = 0;
};
