// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Details of one row: the summary with its command, and the program texts that the backend gives (StableHLO, assembly).

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
    void show(const BenchmarkRow& row); ///< keeps the chosen kind of text
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
