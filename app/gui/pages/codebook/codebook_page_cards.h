// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The cards of the codebook page.

#include "app/gui/row_model.h"
#include "app/gui/task.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/plot_chart.h"
#include "core/analysis/forensics/forensics.h"

class QTableView;

namespace qs::gui {

class LevelsCard : public Card {
    Q_OBJECT
public:
    explicit LevelsCard(QWidget* parent = nullptr);
    /// `movable`: the levels of `view` can be dragged, see levelMoved().
    void setCodebook(const AnalysisRow& row, const CodebookView& view, bool movable = false);
    void showCode(int code); ///< -1: none
    PlotChart* chart() const { return chart_; }

Q_SIGNALS:
    void levelMoved(int code, double level);

private:
    PlotChart* chart_;
    QVector<double> levels_;
    QString drawn_;
};

class OccupancyCard : public Card {
    Q_OBJECT
public:
    explicit OccupancyCard(QWidget* parent = nullptr);
    void setCodebook(const CodebookView& view);
    void showCode(int code);
    PlotChart* chart() const { return chart_; }

Q_SIGNALS:
    void codeHovered(int code); ///< -1 when the mouse leaves

private:
    PlotChart* chart_;
};

class CodeTableCard : public Card {
    Q_OBJECT
public:
    explicit CodeTableCard(QWidget* parent = nullptr);
    void setCodebook(const CodebookView& view);
    void showCode(int code);
    QTableView* table() const { return table_; }

Q_SIGNALS:
    void codeSelected(int code);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void spreadColumns();
    RowModel<CodebookRow>* model_;
    QTableView* table_;
    std::size_t codes_ = 0;   ///< column widths are measured once for each codebook
    std::vector<int> widths_; ///< the widths that the columns need
};

/// Compares the decode by table and by polynomial: the difference of levels at once, the resulting error by a job.
class DecodeCard : public Card {
    Q_OBJECT
public:
    explicit DecodeCard(QWidget* parent = nullptr);
    void setCodebook(const std::shared_ptr<const Model>& model, const TensorInfo* tensor, const AnalysisRow& row,
                     const CodebookView& view);
    void showCode(int code);
    QString verdict() const { return verdict_->text(); }

private:
    PlotChart* chart_;
    QLabel* verdict_;
    Task task_;
    QString asked_; ///< tensor and spec of the running or finished comparison
};

/// "Decoding by the polynomial adds 8.10 % to the squared error: ..."
QString decodeVerdict(const DecodeComparison& comparison);

} // namespace qs::gui
