// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Blocks the thread pool, for tests of what happens meanwhile.

#include <QSemaphore>
#include <QThreadPool>

namespace qs::test {

// Blocks all threads of the pool, so that new jobs do not start.
class HeldPool {
public:
    HeldPool() : threads_(QThreadPool::globalInstance()->maxThreadCount()) {
        for (int i = 0; i < threads_; ++i)
            QThreadPool::globalInstance()->start([this] {
                begun_.release();
                held_.acquire();
            });
        begun_.acquire(threads_);
    }
    ~HeldPool() {
        held_.release(threads_);
        QThreadPool::globalInstance()->waitForDone();
    }

private:
    int threads_;
    QSemaphore begun_, held_;
};

} // namespace qs::test
