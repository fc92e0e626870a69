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
    Options set;    ///< variables to set
    Options report; ///< those that matter, set here or by the user, and why
};
/// What the user has set (`current`) stays. Options that are for here: coretype=default (OpenBLAS decides by itself) or
/// coretype=NAME, and xla_flags=FLAGS.
Environment chooseEnvironment(const Options& options, const Machine& machine, const char* (*current)(const char* name));
/// Options that a plugin gets: those above left out.
Options pluginOptions(const Options& options);

} // namespace qs::worker
