// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What vendor libraries read from the environment, chosen before any of them is loaded.

#include "app/worker/openblas_core.h"
#include "core/bench/backend.h"

namespace qs::worker {

struct Machine {
    CpuModel cpu;
    bool tpu = false;
};

struct Environment {
    Options set;                    ///< variables to set
    std::vector<std::string> unset; ///< variables to remove
    Options report;                 ///< those that matter, set here or by the user, and why
};
/// What the environment (`current`) says already stays, unless an option says otherwise: coretype=auto (chosen from the
/// CPU), coretype=default (OpenBLAS decides by itself), coretype=NAME, xla_flags=FLAGS.
Environment chooseEnvironment(const Options& options, const Machine& machine, const char* (*current)(const char* name));
/// Options that a plugin gets: those above left out.
Options pluginOptions(const Options& options);

} // namespace qs::worker
