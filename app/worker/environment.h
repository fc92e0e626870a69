// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Chooses the environment variables that vendor libraries read, before any of these libraries is loaded. The core type
// of OpenBLAS is not chosen here: the backend `openblas` loads its library later and chooses it then.

#include "core/bench/backend/backend.h"

namespace qs::worker {

struct Environment {
    Options set;    ///< variables to set now
    Options report; ///< all variables that matter, set here or by the user: for the report
};
/// `current` returns the value of a variable now. A variable that the user has set is not changed, with one exception:
/// the option xla_flags=FLAGS replaces XLA_FLAGS.
Environment chooseEnvironment(const Options& options, const char* (*current)(const char* name));
/// The options that the plugin gets: all but xla_flags.
Options pluginOptions(const Options& options);

} // namespace qs::worker
