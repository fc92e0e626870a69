// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The parts of a session, for its own sources.

#include "app/gui/model_opener.h"
#include "app/gui/model_sweep.h"
#include "app/gui/recent_files.h"
#include "app/gui/session.h"
#include "app/gui/tensor_probe.h"
#include "app/gui/trust_keeper.h"

#include <QTimer>

namespace qs::gui {

/// The parts of a session, each with its own state; the session connects them.
struct Session::Private {
    static constexpr int kSettleMs = 250; // time without a change of the spec until the whole model is analysed
    explicit Private(Session* session)
        : sweep(tasks, session), probeA(session), probeB(session),
          opener(tasks, [session](OpenedModel opened) { session->adopt(std::move(opened)); }) {
        settle.setSingleShot(true);
        settle.setInterval(kSettleMs);
    }
    TaskList tasks;
    Decision decision;
    ModelSweep sweep;
    TensorProbe probeA, probeB;
    ModelOpener opener;
    RecentFiles recent;
    KeptTexts kept;
    TrustKeeper trust;
    QTimer settle;
    Task judging; ///< makes the recipe of a large model
    Task reading; ///< what a session file kept of the model's output
    bool replacing = false;
    SessionState resumable;
    QDateTime diedAt;
};

} // namespace qs::gui
