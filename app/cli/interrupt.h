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

/// While one lives a signal ends the process where it is, after a moment: for steps that do not ask the job (a question to
/// a reader that does not answer, one product of a large layer) and that write nothing.
class EndsAtOnce {
public:
    EndsAtOnce();
    ~EndsAtOnce();
    EndsAtOnce(const EndsAtOnce&) = delete;
    EndsAtOnce& operator=(const EndsAtOnce&) = delete;
};

} // namespace qs::cli
