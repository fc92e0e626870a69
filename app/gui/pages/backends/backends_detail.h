// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What exactly was run for one row: the summary with its command, and the texts that the backend gives of it
// (StableHLO, assembly).

#include "app/gui/widgets/card.h"
#include "core/bench/run/bench_row.h"

class QComboBox;
class QPlainTextEdit;
class QToolButton;

namespace qs::gui {

class BenchDetail : public Card {
    Q_OBJECT
public:
    explicit BenchDetail(QWidget* parent = nullptr);
    void show(const BenchmarkRow& row); ///< stays at the kind of text that was chosen
    void clear();

private:
    void showText();
    QPlainTextEdit* text_;
    QComboBox* artifact_;
    QToolButton* copy_ = nullptr;
    QStringList texts_;
    QString command_;
};

} // namespace qs::gui
