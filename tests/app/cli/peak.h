// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Measures the peak memory of a program.

#include "cli_run.h"

#include <cstdint>
#include <fcntl.h>
#include <malloc.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace clitest {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
inline constexpr std::int64_t kMiB = 1 << 20;

struct Peak {
    int code = -1;
    std::int64_t bytes = 0; ///< largest resident size of the program or any process it started
};

/// Runs a program with arguments and measures it. Its output is discarded.
inline Peak peakOf(const std::vector<std::string>& call) {
    ::malloc_trim(0); // until exec() the child has the memory of this process, and that would count
    std::vector<char*> arguments;
    for (const auto& word : call) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        const int null = ::open("/dev/null", O_WRONLY);
        ::dup2(null, 1);
        ::dup2(null, 2);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || ::wait4(child, &status, 0, &usage) != child || !WIFEXITED(status)) return {};
    return {WEXITSTATUS(status), std::int64_t(usage.ru_maxrss) * 1024};
}

} // namespace clitest
