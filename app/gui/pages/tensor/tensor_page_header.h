// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The header line of the inspector: what the tensor is at the left, its statistics at the right.

#include "core/analysis/analysis.h"

#include <QLabel>
#include <QWidget>

namespace qs::gui {

class TensorHeader : public QWidget {
    Q_OBJECT
public:
    explicit TensorHeader(QWidget* parent = nullptr);
    /// statistics may be null: "not measured" stands there, never a zero.
    void setTensor(const TensorInfo* tensor, const AnalysisRow& row, const TensorStatistics* statistics);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void elide();
    QString name_;
    QLabel *title_, *facts_;
    QLabel *sigma_, *kurtosis_, *outliers_, *holes_;
};

} // namespace qs::gui
