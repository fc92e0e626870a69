// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How a benchmark is run: M, operation, activations, cache, time, threads, memory, and the topology to compile for.

#include "core/bench/run/bench_plan.h"

#include <QObject>

#include <span>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QSpinBox;
class QVBoxLayout;

namespace qs::gui {

class PlanFields : public QObject {
    Q_OBJECT
public:
    PlanFields(QVBoxLayout& column, QObject* parent);
    void fill(BenchmarkPlan& plan) const;         ///< everything but M and the topology
    Result<std::vector<std::int64_t>> ms() const; ///< ascending; {1} for an operation without M
    void enableForOperation();                    ///< disables fields that the operation does not use
    /// Shows the field of the topology if one of the sources is a PJRT plugin.
    void offerTopology(std::span<const BackendSource> sources);
    /// The source with the typed topology, if it is a PJRT plugin.
    Result<BackendSource> withTopology(BackendSource source) const;

Q_SIGNALS:
    void changed(); ///< a field was edited

private:
    const BenchOp* op() const;
    QLineEdit *ms_ = nullptr, *topology_ = nullptr;
    QComboBox *op_ = nullptr, *act_ = nullptr, *cache_ = nullptr;
    QCheckBox* bias_ = nullptr;
    QDoubleSpinBox* seconds_ = nullptr;
    QSpinBox *threads_ = nullptr, *memory_ = nullptr;
    QLabel* topologyCaption_ = nullptr;
};

} // namespace qs::gui
