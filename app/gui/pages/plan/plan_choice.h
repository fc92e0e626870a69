// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a plan chooses from: specs, the layout whose bytes count, what is made least, which tensors get one spec, and limits.

#include "app/gui/pages/plan/plan_work.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLineEdit;
class QSpinBox;
class QVBoxLayout;

namespace qs::gui {

class Session;
class SpecTicks;

class PlanChoice : public QWidget {
    Q_OBJECT
public:
    explicit PlanChoice(Session& session, QWidget* parent = nullptr);
    PlanSettings settings() const;
    void setSettings(const PlanSettings& settings);
    void followSpecs(); ///< lists the specs of the session
    /// Ticks these alone; a single one keeps another that was ticked, because a plan chooses.
    void chooseFrom(std::vector<QuantSpec> specs);
    void followBackends(); ///< lists the backends, plugins of the user among them
    const std::vector<BackendSource>& backends() const { return backends_; } ///< that a target is one of
    void followSensitivities(); ///< objectives that were not measured cannot be chosen
    /// `also`: an objective whose losses are known from a session file.
    void allowObjective(const std::string& also);

Q_SIGNALS:
    void changed();
    void refused(const QString& why);

private:
    void addLine(QVBoxLayout& column, const QString& title, QWidget* widget, const char* name, const QString& tip);

    Session& session_;
    std::string known_; ///< see allowObjective()
    SpecTicks* specs_;
    QLineEdit *group_, *limits_;
    QComboBox *layout_, *objective_, *target_;
    QSpinBox* rows_;
    std::vector<BackendSource> backends_;
    std::optional<QStringList> plugins_;                     ///< of the list; none: it was not made yet
    std::vector<std::pair<std::string, QCheckBox*>> groups_; ///< expression, box
};

} // namespace qs::gui
