// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/begin_program.h"

#include <csignal>
#include <fcntl.h>
#include <initializer_list>
#include <sys/resource.h>
#include <unistd.h>

namespace qs {

void beginProgram() {
    // open() returns the least free number. The modes are the wrong way round on purpose.
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(descriptor, F_GETFD) < 0 &&
            ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor)
            ::_exit(1);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

} // namespace qs
