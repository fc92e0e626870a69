// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/job.h"

namespace qs::cli {

/// The one job of the process. SIGINT, SIGTERM and SIGHUP cancel it; files being written are then removed.
const Job& processJob();
void catchSignals();
int caughtSignal(); ///< Signal number; 0 if none

/// Sets the message of a stopped command that has kept some results. The default says that nothing was written.
void stoppedWith(std::string sentence);
const std::string& stoppedSentence();

/// While an object lives, a signal ends the process after 0.2 s. For steps that do not check the job and write nothing:
/// waiting for a reader that does not answer, or one product of a large layer.
class EndsAtOnce {
public:
    EndsAtOnce();
    ~EndsAtOnce();
    EndsAtOnce(const EndsAtOnce&) = delete;
    EndsAtOnce& operator=(const EndsAtOnce&) = delete;
};

} // namespace qs::cli
