// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The first line of the tensor page: facts of the tensor at the left, statistics at the right.

#include "core/analysis/analysis.h"

#include <QLabel>
#include <QWidget>

namespace qs::gui {

class TensorHeader : public QWidget {
    Q_OBJECT
public:
    explicit TensorHeader(QWidget* parent = nullptr);
    /// `statistics` may be null: then "not measured" is shown.
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
