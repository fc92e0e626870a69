// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Ends a process in the middle of its work, for tests of files that it writes.

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace qs::test {

/// Runs `work` in a child process, which is killed when it calls ready().
inline bool killedAfter(const std::function<void(const std::function<void()>&)>& work) {
    int pipe[2];
    if (::pipe(pipe) != 0) return false;
    const pid_t child = ::fork();
    if (child == 0) {
        work([&] {
            if (::write(pipe[1], "1", 1) == 1)
                for (;;) ::pause();
        });
        ::_exit(1);
    }
    ::close(pipe[1]);
    char byte = 0;
    const bool ready = ::read(pipe[0], &byte, 1) == 1;
    ::close(pipe[0]);
    ::kill(child, SIGKILL);
    return ::waitpid(child, nullptr, 0) == child && ready;
}

} // namespace qs::test
