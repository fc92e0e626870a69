// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Starts a program in a process of its own.

#include <string>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <vector>

namespace qs {

/// Runs a program in a process group of its own with these as its descriptors 0, 1, 2, 3 ... and no others, and with
/// "NAME=value" as its environment. The error is errno. A thread that never ends starts it: PR_SET_PDEATHSIG fires when
/// the starting THREAD ends.
tl::expected<pid_t, int> spawn(const std::string& program, const std::vector<std::string>& arguments,
                               const std::vector<int>& descriptors, const std::vector<std::string>& environment);

} // namespace qs
