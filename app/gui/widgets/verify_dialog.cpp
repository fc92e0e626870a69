// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/verify_dialog.h"
#include "app/gui/widgets/data_table.h"

#include "app/gui/output_check.h"
#include "app/gui/session.h"
#include "app/gui/widgets/status_line.h"
#include "core/layouts/serve.h"
#include "core/model/output/atomic_file.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>

namespace qs::gui {
namespace {

const ReportWriter* writerOf(const QString& path) {
    for (const ReportWriter& writer : reportWriters())
        if (path.endsWith(QLatin1String(writer.extension), Qt::CaseInsensitive)) return &writer;
    return nullptr;
}

} // namespace

VerifyDialog::VerifyDialog(Session& session, QWidget* parent)
    : FindingDialog("verify", tr("Verify an export against this model"), parent), session_(session),
      rows_(new RowModel<VerifiedTensor>(
          verifiedColumns().pick({"tensor", "spec", "derives", "nmse", "bpw", "differing", "status", "reason"}), this)),
      claims_(new RowModel<Claim>(claimColumns(), this)), save_(button(tr("Save report…"), "saveVerification")),
      task_(&session.tasks()) {
    resize(1000, 640);
    chooseFolder_ = [this] { return QFileDialog::getExistingDirectory(this, tr("The export")); };
    headline_->setText(
        tr("Choose an export of this model, made by any program. Every tensor is compared with the model, "
           "and with what specs make of it."));
    auto* tensors = sortableTable(rows_, "verifyRows", tr("Tensors of the export against the model"));
    for (int column = 1; column < 7; ++column) tensors->setColumnWidth(column, column == 1 ? 200 : 88);
    tensors->horizontalHeader()->setStretchLastSection(true);
    auto* claims = sortableTable(claims_, "verifyClaims", tr("What the export says of itself"));
    claims->setMaximumHeight(160);
    claims->setColumnWidth(1, 200);
    claims->setColumnWidth(2, 320);
    auto* file = button(tr("File…"), "verifyFile");
    auto* folder = button(tr("Folder…"), "verifyFolder");
    lay({tensors, claims}, {file, folder}, {save_});
    save_->setEnabled(false);
    const auto chosen = [this](const QString& path) {
        if (!path.isEmpty()) verify(path);
    };
    connect(file, &QPushButton::clicked, this,
            [this, chosen] { chosen(QFileDialog::getOpenFileName(this, tr("The export"), {}, tr("All files (*)"))); });
    connect(folder, &QPushButton::clicked, this, [this, chosen] { chosen(chooseFolder_()); });
    connect(save_, &QPushButton::clicked, this, [this] {
        const QString path =
            QFileDialog::getSaveFileName(this, tr("Save the report"), QStringLiteral("verification.html"));
        if (!path.isEmpty()) save(path);
    });
    for (Task* task : {&task_, &saving_}) {
        status_->listenTo(*task);
        connect(task, &Task::failed, this, &VerifyDialog::settled);
    }
}

void VerifyDialog::verify(const QString& path) {
    const auto model = session_.model();
    if (!model) return status_->say(tr("Open the model first that the export was made from."), true);
    readsBeside(session_, path, tr("an export that is compared"));
    status_->say(tr("Comparing…"));
    task_.run(
        tr("Verifying %1").arg(QFileInfo(path).fileName()).toStdString(),
        [model, path = path.toStdString()](const Job& job) -> Result<std::shared_ptr<const Found>> {
            auto original = servedModel(model, job);
            if (!original) return tl::unexpected(original.error());
            auto exported = openModel(path);
            if (!exported) return tl::unexpected(exported.error());
            VerifyRequest request{std::move(*original), std::move(*exported), path};
            auto found = verifyExport(request, job);
            if (!found) return tl::unexpected(found.error());
            return std::make_shared<const Found>(Found{std::move(request), std::move(*found)});
        },
        [this](std::shared_ptr<const Found> found) { present(std::move(found)); });
}

void VerifyDialog::present(std::shared_ptr<const Found> found) {
    found_ = std::move(found);
    headline_->setText(
        QString::fromStdString(found_->request.exported->title + ": " + verificationText(found_->verification)));
    rows_->setRows(found_->verification.tensors);
    claims_->setRows(found_->verification.claims);
    save_->setEnabled(true);
    status_->say({});
    Q_EMIT settled();
}

void VerifyDialog::save(const QString& path) {
    const ReportWriter* writer = writerOf(path);
    if (!found_ || !writer) return status_->say(tr("Name the report .html, .pdf, .md, .json or .csv."), true);
    saving_.run(
        {},
        [found = found_, writer, path = path.toStdString(),
         check = outputCheck(session_)](const Job& job) -> Result<bool> {
            auto report = verifyReport(found->request, found->verification, "window", job);
            if (!report) return tl::unexpected(report.error());
            const auto bytes = writer->render(*report);
            if (!bytes) return tl::unexpected(bytes.error());
            if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
            if (auto done = writeWholeFile(path, *bytes); !done) return tl::unexpected(done.error());
            return true;
        },
        [this, path](bool) {
            status_->say(tr("Saved %1.").arg(QFileInfo(path).fileName()));
            Q_EMIT settled();
        });
}

void showVerification(Session& session, QWidget* window) {
    auto* dialog = new VerifyDialog(session, window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show();
}

} // namespace qs::gui
