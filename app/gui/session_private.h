// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a session keeps to itself; for session.cpp and session_open.cpp alone.

#include "app/gui/lane_work.h"
#include "app/gui/model_sweep.h"
#include "app/gui/session.h"
#include "app/gui/tensor_probe.h"
#include "core/session/session_file.h"

#include <QTimer>

#include <optional>

namespace qs::gui {

struct Session::Opened {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ModelLayout> layout;
    bool stored = false;
};

struct Session::Private {
    static constexpr int kSettleMs = 250; // the spec has stood still: the whole model may follow
    explicit Private(Session* session) : sweep(session), probeA(session), probeB(session) {
        settle.setSingleShot(true);
        settle.setInterval(kSettleMs);
    }
    ModelSweep sweep;
    TensorProbe probeA, probeB;
    QTimer settle;
    Job openJob;
    std::unique_ptr<LaneWork> decoding;
    bool opening = false, replacing = false;
    std::vector<const LaneWork*> work;
    QStringList recent;
    SessionState resumable, wanted; // wanted: to apply once its model is open
    QDateTime diedAt;
    std::map<QString, Kept> kept;
    int keptNumber = 0;
    struct Saved {
        SessionFile file;
        QString path;
        std::vector<std::string> changed; // a sentence for each source that is another one now
    };
    std::optional<Saved> saved; // of `wanted`
};

} // namespace qs::gui
