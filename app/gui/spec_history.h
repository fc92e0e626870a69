// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Undo and redo of both specs, the recipe, moved levels and the budget of the plan. One drag of a slider or a level is one
// step; so are rules typed without a pause. What only changes the view is no step: the page, the tensor, whether B is shown.

#include "app/gui/moved_levels.h"
#include "core/quant/spec/spec.h"
#include "core/session/session_file.h"

#include <QElapsedTimer>
#include <QObject>

#include <optional>
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
    QString undoText() const; ///< "Undo spec change": what undo() takes back
    QString redoText() const;
    /// Steps in the form of session files, and back. Texts that are no valid spec are left out.
    std::vector<SessionStep> steps() const;
    std::size_t at() const { return at_; }
    void restore(const std::vector<SessionStep>& steps, std::size_t at);
    bool eventFilter(QObject* watched, QEvent* event) override; ///< sees where drags begin and end

Q_SIGNALS:
    void changed();

private:
    struct Step {
        QuantSpec a, b;
        QString rules;
        bool keepsRest = false;
        MovedLevels levels;
        std::optional<double> budget; ///< of the plan
        bool operator==(const Step&) const = default;
    };
    enum class Of { Spec, Rules, Levels, Budget };
    static Of changeOf(const Step& before, const Step& after);
    /// the change belongs to the gesture that made the last step
    bool continues(const Step& step, Of change) const;
    QString changeText(std::size_t from) const;
    Step now() const;
    void note();
    void forget(); ///< steps that belong to another model
    void go(std::size_t to);
    Session& session_;
    std::vector<Step> steps_;
    std::size_t at_ = 0;
    QElapsedTimer sinceLast_;
    bool travelling_ = false;
    bool isPressed_ = false, notedPressed_ = false; ///< a mouse button is down, and made the last step already
    Of last_ = Of::Spec;
};

} // namespace qs::gui
