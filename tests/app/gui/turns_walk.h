// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A user's work with a large model in the whole window, step by step, in one process. turns_test judges the times.

#include "tests/bench/timed_application.h"

/// Prints a line per step, fields separated by tabs: kStep, name, longest turn in ms, its CPU time, receiver. Exit code
/// 1 with a message if a step does not end.
int walkTheWindow(TimedApplication& application);

constexpr const char* kStep = "step";
