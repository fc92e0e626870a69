// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The tokens with the largest KL, each in the middle of its text.

#include "app/gui/row_model.h"
#include "core/eval/run/record.h"

#include <QTableView>

namespace qs::gui {

class EvidenceTokens : public QTableView {
    Q_OBJECT
public:
    explicit EvidenceTokens(QWidget* parent = nullptr);
    void setChange(const eval::RecordedChange* change); ///< null: none

private:
    RowModel<eval::WorstTokenRow>* rows_;
};

} // namespace qs::gui
