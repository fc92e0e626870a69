// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Undo and redo over both specs and the recipe. A drag of the slider is one step, and so are rules typed in one go.

#include "core/quant/spec.h"
#include "core/session/session_file.h"

#include <QElapsedTimer>
#include <QObject>

#include <vector>

namespace qs::gui {

class Session;

class SpecHistory : public QObject {
    Q_OBJECT
public:
    explicit SpecHistory(Session& session, QObject* parent = nullptr);
    bool canUndo() const { return at_ > 0; }
    bool canRedo() const { return at_ + 1 < steps_.size(); }
    void undo();
    void redo();
    /// As a session file keeps them, and back; what is no spec any more is left out.
    std::vector<SessionStep> steps() const;
    std::size_t at() const { return at_; }
    void restore(const std::vector<SessionStep>& steps, std::size_t at);

Q_SIGNALS:
    void changed();

private:
    struct Step {
        QuantSpec a, b;
        bool comparing = false;
        QString rules;
        bool keepsRest = false;
        bool operator==(const Step&) const = default;
    };
    Step now() const;
    void note();
    void go(std::size_t to);
    Session& session_;
    std::vector<Step> steps_;
    std::size_t at_ = 0;
    QElapsedTimer sinceLast_;
    bool travelling_ = false, typed_ = false;
};

} // namespace qs::gui
