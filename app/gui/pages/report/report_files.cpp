// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/report/report_files.h"

#include "app/gui/output_check.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/status_line.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"

#include <QDesktopServices>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QPushButton>
#include <QUrl>

namespace qs::gui {
namespace {

constexpr int kReportStatusLines = 2; // of what became of a file

QString chooseByDialog(QWidget* parent, const QString& suggested, const ReportWriter& writer) {
    const QString kind =
        QString::fromUtf8(writer.title) + QStringLiteral(" (*%1)").arg(QString::fromUtf8(writer.extension));
    return QFileDialog::getSaveFileName(parent, ReportFiles::tr("Write the report"), suggested, kind);
}

} // namespace

ReportFiles::ReportFiles(Session& session, QWidget* parent)
    : Card(tr("Export"), parent), session_(session), status_(new StatusLine("reportStatus")),
      openFolder_(new QPushButton(tr("Open folder"))), writing_(&session.tasks()) {
    choosePath_ = [this](const QString& suggested, const ReportWriter& writer) {
        return chooseByDialog(this, suggested, writer);
    };
    auto* files = new QWidget;
    auto* grid = new QGridLayout(files);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(Theme::kGap);
    grid->setVerticalSpacing(Theme::kSpace / 2); // all have room in the least window
    grid->setColumnStretch(1, 1);
    for (const auto& writer : reportWriters()) {
        const int row = int(buttons_.size());
        auto* button = new QPushButton(QString::fromUtf8(writer.title));
        button->setMinimumWidth(104);
        button->setObjectName(QStringLiteral("write_") + QString::fromUtf8(writer.id));
        button->setToolTip(tr("%1: %2").arg(QString::fromUtf8(writer.title), QString::fromUtf8(writer.holds)));
        if (writer.id == std::string_view("html")) button->setProperty("role", QStringLiteral("primary"));
        connect(button, &QPushButton::clicked, this, [this, &writer] { write(writer); });
        auto* name = dressed(new QLabel, Theme::numbers(), "muted");
        grid->addWidget(button, row, 0);
        grid->addWidget(name, row, 1);
        buttons_.push_back(button);
        names_.push_back(name);
    }
    // The text has its room from the start: otherwise the buttons would move when a file is written.
    status_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    status_->setFixedHeight(kReportStatusLines * status_->fontMetrics().lineSpacing() + 2);
    openFolder_->hide();
    auto policy = openFolder_->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    openFolder_->setSizePolicy(policy);
    connect(openFolder_, &QPushButton::clicked, this,
            [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder_)); });
    grid->addWidget(openFolder_, int(buttons_.size()), 0, Qt::AlignTop);
    grid->addWidget(status_, int(buttons_.size()), 1);
    setBody(files);
    setReport(nullptr);
    connect(&writing_, &Task::cancelled, this, [this] { say(tr("Cancelled; nothing was written."), false); });
    connect(&writing_, &Task::failed, this, [this](const QString& why) { say(why, true); });
}

QString ReportFiles::fileName(const ReportWriter& writer) const {
    QString stem =
        session_.model() ? QFileInfo(QString::fromStdString(session_.model()->title)).completeBaseName() : QString();
    for (QChar& c : stem)
        if (!c.isLetterOrNumber() && c != u'-' && c != u'_' && c != u'.') c = u'-';
    return (stem.isEmpty() ? QStringLiteral("model") : stem.left(60)) + QStringLiteral("-report") +
           QString::fromUtf8(writer.extension);
}

void ReportFiles::setReport(std::shared_ptr<const Report> report) {
    report_ = std::move(report);
    for (std::size_t i = 0; i < names_.size(); ++i) {
        names_[i]->setText(fileName(reportWriters()[i]));
        buttons_[i]->setEnabled(report_ != nullptr);
    }
}

void ReportFiles::forget() {
    writing_.drop();
    say({}, false);
    setReport(nullptr);
}

void ReportFiles::write(const ReportWriter& writer) {
    if (!report_) return;
    const QString home = folder_.isEmpty() ? QDir::homePath() : folder_;
    const QString path = choosePath_(QDir(home).filePath(fileName(writer)), writer);
    if (path.isEmpty()) return;
    say(tr("Writing %1").arg(QFileInfo(path).fileName()), false);
    const auto work = [report = report_, &writer, path = path.toStdString(),
                       check = outputCheck(session_)](const Job& job) -> Result<std::uint64_t> {
        if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
        const auto text = writer.render(*report);
        if (!text) return tl::unexpected(text.error());
        if (job.cancelled()) return tl::unexpected(cancelledError());
        if (auto done = writeWholeFile(path, *text); !done) return tl::unexpected(done.error());
        return text->size();
    };
    const auto title = "Writing " + escapeForPeople(QFileInfo(path).fileName().toStdString());
    writing_.run(title, work, [this, path](std::uint64_t bytes) {
        const QFileInfo file(path);
        say(tr("Wrote %1, %2.").arg(file.fileName(), QString::fromStdString(bytesText(bytes))), false,
            file.absolutePath());
        Q_EMIT written(path);
    });
}

void ReportFiles::say(const QString& sentence, bool wrong, const QString& folder) {
    status_->say(sentence, wrong);
    openFolder_->setVisible(!folder.isEmpty());
    if (!folder.isEmpty()) folder_ = folder;
    if (wrong) Q_EMIT failed(sentence);
}

} // namespace qs::gui
