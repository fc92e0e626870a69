// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/labs/lab_operations.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"

#include <QComboBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QStyle>
#include <QTableView>

#include <algorithm>

namespace qs::gui {
namespace {

constexpr const char* kOperationsKept = "lab-operations"; // name in session files

} // namespace

OperationsPanel::OperationsPanel(Session& session, const LabInputs& inputs, QWidget* parent)
    : LabPanel(session, inputs, parent),
      model_(new RowModel<value::WhatIfRow>(value::whatIfColumns().without({"sqnr_before_db", "devices", "bytes_before",
                                                                            "bytes_total", "bytes_per_device"}),
                                            this)),
      table_(new QTableView), error_(new RankedBars), bytes_(new RankedBars),
      tableCard_(new Card(tr("After the operation"))), errorCard_(new Card(tr("SQNR afterwards"))),
      bytesCard_(new Card(tr("Most bytes on one device"))) {
    setObjectName(QStringLiteral("labOperations"));
    asDataTable(*table_, tr("Operations: error caused and bytes per device"));
    table_->setProperty("roomy", true); // text beside right-aligned numbers
    table_->setModel(model_);
    tableCard_->setBody(table_);
    tableCard_->setSketch(Sketch::ofTable(*model_));
    error_->setAccessibleName(tr("SQNR after each operation"));
    error_->setAxis(tr("SQNR, dB ↑"));
    error_->setToken(2);
    errorCard_->setBody(error_);
    errorCard_->setSketch(new Sketch(Sketch::Kind::Bars, {tr("SQNR, dB ↑")}));
    bytes_->setAccessibleName(tr("Bytes per device after each operation"));
    bytes_->setAxisVisible(false);
    bytes_->setToken(0);
    bytesCard_->setBody(bytes_);
    bytesCard_->setSketch(new Sketch(Sketch::Kind::Bars));
    auto* grid = spaced(new QGridLayout(this), Theme::kGap);
    grid->addWidget(sidebar(), 0, 0, 2, 1);
    grid->addWidget(tableCard_, 0, 1, 1, 2);
    grid->addWidget(errorCard_, 1, 1);
    grid->addWidget(bytesCard_, 1, 2);
    grid->setRowStretch(0, 1);
    grid->setRowStretch(1, 1);
    grid->setColumnStretch(1, 1);
    grid->setColumnStretch(2, 1);
    cards_ = {tableCard_, errorCard_, bytesCard_};
    for (Card* card : cards_) card->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    settle_.setSingleShot(true);
    settle_.setInterval(150);
    connect(&settle_, &QTimer::timeout, this, [this] {
        if (small() && !reading() && !showKept()) run();
    });
}

QWidget* OperationsPanel::sidebar() {
    auto* body = new QWidget;
    QFormLayout* form = labForm(body);
    for (const auto& operation : value::whatIfOperations()) {
        auto* caption =
            captionLabel(tr("%1 — %2").arg(QString::fromUtf8(operation.title), QString::fromUtf8(operation.argument)));
        caption->setWordWrap(true);
        auto* box = choiceBox();
        box->lineEdit()->setObjectName(QStringLiteral("operation-") + QString::fromUtf8(operation.id));
        box->setAccessibleName(caption->text());
        box->lineEdit()->setAccessibleName(caption->text());
        connect(box->lineEdit(), &QLineEdit::textEdited, &settle_, qOverload<>(&QTimer::start));
        connect(box->lineEdit(), &QLineEdit::returnPressed, this, &OperationsPanel::run);
        connect(box, &QComboBox::activated, &settle_, qOverload<>(&QTimer::start));
        form->addRow(caption); // over the whole width
        form->addRow(box);
        arguments_.push_back(box);
    }
    runButton_ = named(new QPushButton(tr("Run")), "runOperations");
    runButton_->setProperty("role", QStringLiteral("primary"));
    connect(runButton_, &QPushButton::clicked, this, &OperationsPanel::run);
    trouble_ = new StatusLine("operationTrouble");
    trouble_->hideWhenEmpty();
    return labSidebar(tr("Operations"), body, {runButton_, trouble_});
}

QLineEdit* OperationsPanel::argument(std::size_t operation) const { return arguments_[operation]->lineEdit(); }

void OperationsPanel::refresh() {
    settle_.stop();
    const TensorInfo* tensor = session_.tensor();
    if (!tensor) return drop();
    if (tensor->shape != shape_) {
        shape_ = tensor->shape;
        std::size_t i = 0;
        for (const auto& operation : value::whatIfOperations()) {
            QStringList choices{QString::fromStdString(operation.initial(shape_))};
            for (const auto& choice : operation.choices(shape_))
                if (const QString text = QString::fromStdString(choice); !choices.contains(text)) choices << text;
            arguments_[i]->clear();
            arguments_[i]->addItems(choices);
            arguments_[i++]->lineEdit()->setCursorPosition(0); // a long text is shown from its beginning
        }
    }
    runButton_->setVisible(!small());
    if (reading() || showKept()) return;
    if (small()) return run();
    drop();
    askToRun();
}

bool OperationsPanel::reading() {
    return takeRestored<std::shared_ptr<const KeptOperations>>(
        kOperationsKept, operationsKept, [this](auto operations) { kept_ = operations, restored_ = true; });
}

bool OperationsPanel::showKept() {
    const TensorInfo* tensor = session_.tensor();
    if (!kept_ || !tensor || subjectOf(kept_->tensor, kept_->spec) != subject()) return false;
    if (std::exchange(restored_, false))
        for (std::size_t i = 0; i < arguments_.size(); ++i)
            arguments_[i]->setEditText(QString::fromStdString(kept_->arguments[i]));
    if (kept_->arguments != arguments()) return false;
    drop();
    show(kept_->rows);
    return true;
}

void OperationsPanel::forget() { kept_.reset(); }

std::vector<std::string> OperationsPanel::arguments() const {
    std::vector<std::string> all;
    for (const QComboBox* box : arguments_) all.push_back(box->currentText().toStdString());
    return all;
}

void OperationsPanel::run() {
    settle_.stop();
    const TensorInfo* tensor = session_.tensor();
    if (!tensor) return;
    for (Card* card : cards_) card->setLoading(true);
    using Rows = std::vector<value::WhatIfRow>;
    KeptOperations planned{tensor->name, session_.spec(), arguments(), {}};
    const auto work = [model = session_.model(), tensor, spec = forTensor(session_.spec(), *tensor),
                       arguments = planned.arguments](const Job& job) -> Result<Rows> {
        auto w = labTensor(*model, *tensor, false);
        if (!w) return tl::unexpected(w.error());
        const auto subject = value::whatIfSubject(std::move(*w), spec, job);
        if (!subject) return tl::unexpected(subject.error());
        Rows all;
        const auto operations = value::whatIfOperations();
        for (std::size_t i = 0; i < operations.size(); ++i) {
            if (job.cancelled()) return cancelledError();
            auto rows = operations[i].run(*subject, arguments[i], job);
            if (!rows) return tl::unexpected(rows.error());
            all.insert(all.end(), rows->begin(), rows->end());
            job.progress({double(i + 1), double(operations.size()), operations[i].title, i + 1, operations.size()});
        }
        return all;
    };
    start(tr("Trying tensor operations"), work, [this, planned](Rows rows) {
        auto operations = std::make_shared<KeptOperations>(planned);
        operations->rows = std::move(rows);
        kept_ = operations, restored_ = false;
        session_.keep(QLatin1String(kOperationsKept), [kept = kept_] { return keptOperations(*kept); });
        show(kept_->rows);
    });
}

void OperationsPanel::show(std::vector<value::WhatIfRow> rows) {
    sayInCards({});
    std::vector<RankedBar> errors, bytes;
    for (const auto& row : rows) {
        // The table says how each operation is done; a bar does where there are several ways.
        const bool oneWay = std::ranges::count(rows, row.operation, &value::WhatIfRow::operation) == 1;
        const std::string name = oneWay ? row.operation : row.operation + ", " + row.detail;
        errors.push_back(sqnrBar(name, row.after, row.reason));
        if (!row.bytesPerDevice) continue;
        const QString size = QString::fromStdString(bytesText(*row.bytesPerDevice));
        bytes.push_back({QString::fromStdString(name),
                         double(*row.bytesPerDevice),
                         row.devices > 1 ? tr("%1 × %2").arg(row.devices).arg(size) : size,
                         {}});
    }
    if (!rows.empty() && rows.front().before)
        if (const auto before = rows.front().before->sqnrDb())
            errorCard_->setNote(tr("before %1 dB").arg(QString::fromStdString(fixedText(*before, 2))));
    if (!rows.empty() && rows.front().bytesBefore)
        bytesCard_->setNote(tr("before %1").arg(QString::fromStdString(bytesText(*rows.front().bytesBefore))));
    tableCard_->setNote(QString::fromStdString(specText(session_.spec())));
    error_->setBars(std::move(errors));
    bytes_->setBars(std::move(bytes));
    markRefused(rows);
    model_->setRows(std::move(rows));
    fitColumns(*table_);
    constexpr int kAround = 76; // pixels for title and margins of a card
    const int rowsHeight = table_->verticalHeader()->length() + table_->horizontalHeader()->height();
    tableCard_->setMaximumHeight(kAround + rowsHeight + 4);
}

/// Frames the field of a refused operation and shows the reasons below the fields.
void OperationsPanel::markRefused(const std::vector<value::WhatIfRow>& rows) {
    QStringList sentences;
    std::size_t at = 0;
    for (const auto& operation : value::whatIfOperations()) {
        QLineEdit* edit = arguments_[at++]->lineEdit();
        QString reason;
        for (const auto& row : rows)
            if (row.operation == operation.id && !row.reason.empty() && reason.isEmpty())
                reason = QString::fromStdString(row.reason);
        if (!reason.isEmpty()) sentences << tr("%1: %2.").arg(QString::fromUtf8(operation.title), reason);
        edit->setToolTip(reason);
        edit->setProperty("invalid", !reason.isEmpty());
        edit->style()->unpolish(edit);
        edit->style()->polish(edit);
    }
    trouble_->say(sentences.join(u'\n'), true);
}

} // namespace qs::gui
