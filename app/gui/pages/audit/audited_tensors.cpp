// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/audit/audited_tensors.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"

#include <QHeaderView>
#include <QScrollBar>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr std::size_t kMostRows = 1000; // more rows would block the window
constexpr int kMeasuredRows = 30;       // number of rows that decide the widths of columns

} // namespace

AuditedTensors::AuditedTensors(Session& session)
    : Card(tr("Weights that were read")), session_(session),
      rows_(new RowModel<InspectRow>(inspectColumns(true).without({"conversion_error", "reason"}), this)),
      table_(named(new QTableView, "auditTensors")) {
    asDataTable(*table_, tr("Weights that the audit has read, and their statistics"));
    table_->setProperty("roomy", true); // text beside right-aligned numbers
    table_->setModel(rows_);
    table_->horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
    setBody(table_);
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        Q_EMIT clicked(QString::fromStdString(rows_->row(index.row()).info.name));
    });
}

void AuditedTensors::showAll() {
    std::vector<InspectRow> rows;
    const auto& weights = session_.weights();
    for (std::size_t i = 0; i < std::min(weights.size(), kMostRows); ++i) {
        InspectRow row{*weights[i], {}, {}, {}};
        if (const auto known = session_.statistics(*weights[i])) row.statistics = *known;
        rows.push_back(std::move(row));
    }
    setNote(weights.size() > kMostRows ? tr("the first %1 of %2").arg(kMostRows).arg(weights.size())
                                       : QString::number(weights.size()));
    setMessage(rows.empty() ? tr("This file holds no float tensor of rank 2 or more.") : QString());
    rows_->setRows(std::move(rows));
    fit();
}

/// Distributes the remaining width equally over all columns.
void AuditedTensors::fit() {
    table_->resizeColumnsToContents();
    const int columns = rows_->columnCount(), room = table_->width() - table_->verticalScrollBar()->sizeHint().width();
    const int more = (room - table_->horizontalHeader()->length()) / columns;
    for (int i = 0; more > 0 && i < columns; ++i) table_->setColumnWidth(i, table_->columnWidth(i) + more);
}

void AuditedTensors::resizeEvent(QResizeEvent* event) {
    Card::resizeEvent(event);
    fit();
}

} // namespace qs::gui
