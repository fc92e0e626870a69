// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Starts a program in a process of its own.

#include <string>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <vector>

namespace qs {

/// Runs a program in a process group of its own. `descriptors` become its descriptors 0, 1, 2, ...; it gets no others.
/// `environment` is a list of "NAME=value". The error is an errno. A thread that never ends starts all programs,
/// because the signal of PR_SET_PDEATHSIG is sent when the starting THREAD ends.
tl::expected<pid_t, int> spawn(const std::string& program, const std::vector<std::string>& arguments,
                               const std::vector<int>& descriptors, const std::vector<std::string>& environment);

} // namespace qs
