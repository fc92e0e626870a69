// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A write beyond the file size limit raises SIGXFSZ, which ends the process. While this object lives, the signal is
// blocked on this thread, so the write returns an error instead.

#include <cerrno>
#include <csignal>
#include <ctime>

namespace qs {

class NoSizeSignal {
public:
    NoSizeSignal() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    NoSizeSignal(const NoSizeSignal&) = delete;
    NoSizeSignal& operator=(const NoSizeSignal&) = delete;
    ~NoSizeSignal() {
        const int savedErrno = errno;
        const timespec now{};
        if (!sigismember(&before_, SIGXFSZ)) sigtimedwait(&set_, nullptr, &now);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = savedErrno;
    }

private:
    sigset_t set_, before_;
};

} // namespace qs
