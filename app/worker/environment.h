// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What vendor libraries read from the environment, chosen before any of them is loaded. OpenBLAS's core type is not
// here: the backend openblas chooses it, because it loads the library late and can be told otherwise by an option.

#include "core/bench/backend/backend.h"

namespace qs::worker {

struct Environment {
    Options set;    ///< variables to set
    Options report; ///< those that matter, set here or by the user
};
/// What the environment (`current`) says already stays. The option xla_flags=FLAGS replaces XLA_FLAGS.
Environment chooseEnvironment(const Options& options, const char* (*current)(const char* name));
/// Options that a plugin gets: those above left out.
Options pluginOptions(const Options& options);

} // namespace qs::worker
