// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/evidence/evidence_imports.h"

#include "app/gui/output_check.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/eval/files/base_logits.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr int kFieldWidth = 150, kMostRows = 6;

struct Imported {
    bool isBase = false;
    std::vector<eval::ImportedColumn> columns;
};

} // namespace

EvidenceImports::EvidenceImports(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), choose_(new QPushButton(tr("Import figures…"))),
      remove_(new QPushButton(tr("Remove"))), spec_(new QLineEdit), floor_(new QLineEdit),
      status_(new StatusLine("evidenceImportStatus")), table_(named(new QTableView, "evidenceImported")),
      rows_(new RowModel<eval::ImportedColumn>(eval::importedColumns(), this)) {
    auto* column = spaced(new QVBoxLayout(this), Theme::kSpace);
    column->addWidget(bar());
    asDataTable(*table_, tr("Figures of other programs"));
    table_->setModel(rows_);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->horizontalHeader()->setStretchLastSection(true);
    column->addWidget(table_);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
        const File* file = current();
        spec_->setText(file ? QString::fromStdString(file->wish.spec) : QString());
        floor_->setText(file && file->wish.floor ? QString::number(*file->wish.floor) : QString());
    });
    connect(&task_, &Task::failed, this, [this](const QString& why) { status_->say(why, true); });
    connect(&task_, &Task::over, this, [this] {
        draw();
        Q_EMIT settled();
    });
    draw();
}

QWidget* EvidenceImports::bar() {
    auto* bar = new QWidget;
    auto* row = spaced(new QHBoxLayout(bar), Theme::kSpace);
    choose_->setObjectName(QStringLiteral("evidenceImport"));
    choose_->setToolTip(
        tr("A log or table of llama-perplexity, a log of GPTQ, a CSV of GGUF-Tool-Suite with a figure a "
           "tensor; or a base-logits file of llama.cpp, which becomes the reference"));
    remove_->setObjectName(QStringLiteral("evidenceImportRemove"));
    remove_->setToolTip(tr("Forget the file of the chosen row"));
    spec_->setObjectName(QStringLiteral("evidenceImportSpec"));
    spec_->setAccessibleName(tr("Spec of the imported figures"));
    spec_->setPlaceholderText(tr("spec, if not said"));
    spec_->setToolTip(tr("The spec that the figures are of, where the file does not say it; Enter applies"));
    spec_->setFont(Theme::code());
    floor_->setObjectName(QStringLiteral("evidenceImportFloor"));
    floor_->setAccessibleName(tr("Floor of the imported figures"));
    floor_->setPlaceholderText(tr("floor: estimated"));
    floor_->setToolTip(
        tr("What all tensors of the file have in common because its reference was itself quantized, in the "
           "unit of the figures. Left empty it is estimated: the 5th percentile over tensors, from 20 "
           "tensors on. Enter applies"));
    floor_->setFont(Theme::numbers());
    for (auto* field : {spec_, floor_}) {
        field->setFixedWidth(kFieldWidth);
        connect(field, &QLineEdit::returnPressed, this, &EvidenceImports::again);
    }
    status_->setWordWrap(false);
    status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    addWidgets(*row, {choose_, spec_, floor_, remove_});
    row->addWidget(status_, 1);
    connect(choose_, &QPushButton::clicked, this, &EvidenceImports::choose);
    connect(remove_, &QPushButton::clicked, this, [this] {
        const File* file = current();
        if (!file) return;
        files_.erase(files_.begin() + (file - files_.data()));
        draw();
        Q_EMIT changed();
    });
    return bar;
}

void EvidenceImports::choose() {
    auto* dialog = named(new QFileDialog(this, tr("Figures of another program")), "evidenceImportDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        read({path.toStdString(), {}, {}});
    });
    dialog->open();
}

void EvidenceImports::read(const eval::ImportWish& wish) {
    if (!session_.model()) return;
    readsBeside(session_, QString::fromStdString(wish.path), tr("imported figures"));
    const auto work = [model = session_.model(), wish](const Job&) -> Result<Imported> {
        if (eval::looksLikeBase(wish.path)) return Imported{true, {}};
        auto columns = eval::importColumns(model, wish);
        if (!columns) return tl::unexpected(columns.error());
        return Imported{false, std::move(*columns)};
    };
    status_->say({});
    task_.run({}, work, [this, wish](Imported imported) {
        if (imported.isBase) {
            status_->say(tr("It is the reference of the next evaluation now."));
            return Q_EMIT baseChosen(QString::fromStdString(wish.path));
        }
        const auto known = std::ranges::find_if(files_, [&](const File& one) { return one.wish.path == wish.path; });
        if (known == files_.end())
            files_.push_back({wish, std::move(imported.columns)});
        else
            *known = {wish, std::move(imported.columns)};
        Q_EMIT changed();
    });
}

void EvidenceImports::again() {
    const File* file = current();
    if (!file) return;
    eval::ImportWish wish{file->wish.path, spec_->text().trimmed().toStdString(), {}};
    if (const QString text = floor_->text().trimmed(); !text.isEmpty()) {
        bool ok = false;
        wish.floor = text.toDouble(&ok);
        if (!ok || !(*wish.floor >= 0)) return status_->say(tr("The floor is a number from 0 on."), true);
    }
    read(wish);
}

std::vector<eval::ImportedColumn> EvidenceImports::columns() const {
    std::vector<eval::ImportedColumn> all;
    for (const File& file : files_) all.insert(all.end(), file.columns.begin(), file.columns.end());
    return all;
}

const EvidenceImports::File* EvidenceImports::current() const {
    std::size_t row = std::size_t(std::max(0, table_->currentIndex().row()));
    for (const File& file : files_) {
        if (row < file.columns.size()) return &file;
        row -= file.columns.size();
    }
    return nullptr;
}

void EvidenceImports::clear() {
    task_.drop();
    files_.clear();
    status_->say({});
    draw();
}

void EvidenceImports::draw() {
    const int before = table_->currentIndex().row();
    rows_->setRows(columns());
    const int count = rows_->rowCount();
    if (count > 0) table_->selectRow(std::clamp(before, 0, count - 1));
    for (QWidget* widget : std::initializer_list<QWidget*>{table_, spec_, floor_, remove_})
        widget->setVisible(count > 0);
    for (int i = 0; i + 1 < rows_->columnCount(); ++i) table_->resizeColumnToContents(i);
    table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() +
                           std::clamp(count, 1, kMostRows) * table_->verticalHeader()->defaultSectionSize() + 4);
    if (task_.running()) return;
    for (const auto& column : rows_->rows())
        if (column.saysLittle())
            status_->say(tr("%1: the floor is over half of the median, so single figures say little.")
                             .arg(QString::fromStdString(column.title())));
}

} // namespace qs::gui
