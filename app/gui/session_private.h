// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The parts of a session, for its own source.

#include "app/gui/inspected_tensor.h"
#include "app/gui/kept_texts.h"
#include "app/gui/model_opener.h"
#include "app/gui/model_sweep.h"
#include "app/gui/recent_files.h"
#include "app/gui/session.h"
#include "app/gui/session_rules.h"

#include <QTimer>

namespace qs::gui {

/// The parts of a session, each with its own state; the session connects them.
struct Session::Private {
    static constexpr int kSettleMs = 250; // time without a change of the spec until the whole model is analysed
    explicit Private(Session* session)
        : sweep(tasks, session), opener(tasks, [session](OpenedModel opened) { session->adopt(std::move(opened)); }) {
        settle.setSingleShot(true);
        settle.setInterval(kSettleMs);
    }
    TaskList tasks;
    Decision decision;
    ModelSweep sweep;
    InspectedTensor inspected;
    ModelOpener opener;
    RecentFiles recent;
    KeptTexts kept;
    ModelOutput output;
    SessionRules rules;
    QTimer settle;
    FormerRun former;
    std::string as; // the convention that the user chose for the model's quantized layers, see OpenOptions
};

} // namespace qs::gui
