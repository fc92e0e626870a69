// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/audit/audited_tensors.h"

#include "app/gui/session.h"
#include "app/gui/widgets/data_table.h"

#include <QHeaderView>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr std::size_t kMostRows = 1000; // more would hold the window up
constexpr int kMeasuredRows = 30;       // that say how wide a column is

} // namespace

AuditedTensors::AuditedTensors(Session& session)
    : Card(tr("What was read")), session_(session),
      rows_(new RowModel<InspectRow>(inspectColumns(true).without({"conversion_error", "reason"}), this)),
      table_(new QTableView) {
    asDataTable(*table_, tr("Tensors that the audit has read, and their statistics"));
    table_->setObjectName(QStringLiteral("auditTensors"));
    table_->setProperty("roomy", true); // words beside right-aligned numbers
    table_->setModel(rows_);
    table_->horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
    setBody(table_);
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        Q_EMIT clicked(QString::fromStdString(rows_->row(index.row()).info.name));
    });
}

void AuditedTensors::showAll() {
    std::vector<InspectRow> rows;
    const auto model = session_.model();
    const std::size_t all = model ? model->tensors.size() : 0;
    for (std::size_t i = 0; i < std::min(all, kMostRows); ++i) {
        const TensorInfo& tensor = model->tensors[i];
        InspectRow row{tensor, {}, {}, {}};
        if (const auto known = session_.statistics(tensor)) row.statistics = *known;
        rows.push_back(std::move(row));
    }
    setNote(all > kMostRows ? tr("the first %1 of %2 tensors").arg(kMostRows).arg(all) : tr("%1 tensors").arg(all));
    rows_->setRows(std::move(rows));
    table_->resizeColumnsToContents();
    // The width that is left goes to all columns alike.
    const int columns = rows_->columnCount();
    const int more = (table_->viewport()->width() - table_->horizontalHeader()->length()) / std::max(1, columns);
    for (int i = 0; more > 0 && i < columns; ++i) table_->setColumnWidth(i, table_->columnWidth(i) + more);
}

} // namespace qs::gui
