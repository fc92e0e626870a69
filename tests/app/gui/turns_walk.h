// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a user does with a large model in the whole window, step by step, in one process; test_turns judges it.

#include "tests/bench/timed_application.h"

/// Prints a line for each step: kStep, its name, its longest turn in milliseconds and who took it, between tabs. The
/// exit code: 1 with a sentence when a step does not end.
int walkTheWindow(TimedApplication& application);

constexpr const char* kStep = "step";
