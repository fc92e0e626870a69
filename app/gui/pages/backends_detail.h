// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What exactly was run for one row: the summary with its command, and the texts that the backend gives of it
// (StableHLO, assembly).

#include "app/gui/widgets/card.h"
#include "core/bench/bench_row.h"

class QComboBox;
class QPlainTextEdit;

namespace qs::gui {

class BenchDetail : public Card {
    Q_OBJECT
public:
    explicit BenchDetail(QWidget* parent = nullptr);
    void show(const BenchmarkRow& row); ///< stays at the kind of text that was chosen
    void clear();

private:
    QPlainTextEdit* text_;
    QComboBox* artifact_;
    QStringList texts_;
};

} // namespace qs::gui
