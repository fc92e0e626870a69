// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The weights that an audit has read, with the statistics that the session has for them.

#include "app/gui/row_model.h"
#include "app/gui/widgets/card.h"
#include "core/analysis/analysis.h"

class QTableView;

namespace qs::gui {

class Session;

class AuditedTensors : public Card {
    Q_OBJECT
public:
    explicit AuditedTensors(Session& session);
    void showAll(); ///< shows the first 1,000 weights of the opened model

Q_SIGNALS:
    void clicked(const QString& tensor);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fit();
    Session& session_;
    RowModel<InspectRow>* rows_;
    QTableView* table_;
};

} // namespace qs::gui
