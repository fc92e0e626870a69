// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The second budget of a plan: the time of the products of one pass, from the rows that the page Backends has measured.

#include "app/gui/session.h"
#include "app/gui/task.h"
#include "core/plan/mixture.h"

#include <QWidget>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;

namespace qs::gui {

class PlanTime : public QWidget {
    Q_OBJECT
public:
    explicit PlanTime(Session& session, QWidget* parent = nullptr);
    void follow(); ///< the rows of the session or its model have changed
    bool busy() const { return reading_.running() || restoring_.running(); }
    /// Times of the chosen backend and M; null: nothing is measured.
    std::shared_ptr<const plan::Latencies> latencies() const;
    std::optional<std::uint64_t> ns() const;     ///< none: any time
    void setNs(std::optional<std::uint64_t> ns); ///< emits changed()
    /// Chooses the times of a point of the map, and its time as the budget.
    void take(const plan::LatencyCase& where, std::int64_t m, double ns);
    void setSpecs(std::vector<QuantSpec> specs) { specs_ = std::move(specs); } ///< that the button has measured
    void setPlan(const plan::Mixture* mixture, const plan::Options* options);  ///< null: none

Q_SIGNALS:
    void changed();

private:
    using All = std::vector<std::shared_ptr<const plan::Latencies>>;
    void show(All all);
    Session& session_;
    Task reading_, restoring_;
    All all_; ///< an item of the list each
    std::vector<QuantSpec> specs_;
    QDoubleSpinBox* box_;
    QComboBox* times_;
    QLabel *use_, *none_;
    QPushButton* measure_;
};

} // namespace qs::gui
