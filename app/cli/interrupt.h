// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/job.h"

namespace qs::cli {

/// The process runs one job; SIGINT, SIGTERM and SIGHUP cancel it, so that files being written vanish.
const Job& processJob();
void catchSignals();
int caughtSignal(); ///< 0 when none

/// What a stopped command says when it has kept something; without it nothing was written.
void stoppedWith(std::string sentence);
const std::string& stoppedSentence();

} // namespace qs::cli
