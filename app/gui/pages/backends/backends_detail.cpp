// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/backends_detail.h"

#include "app/gui/pages/backends/backends_rows.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/sketch.h"

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QSignalBlocker>
#include <QTextOption>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {

BenchDetail::BenchDetail(QWidget* parent)
    : Card(tr("What was run"), parent), text_(named(new QPlainTextEdit, "benchDetail")),
      artifact_(named(new QComboBox, "artifactChoice")) {
    text_->setAccessibleName(tr("What was run"));
    text_->setReadOnly(true);
    text_->setFont(Theme::numbers(11));
    text_->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    text_->document()->setDocumentMargin(0);
    setBody(text_);
    setSketch(new Sketch(Sketch::Kind::Text));
    artifact_->setAccessibleName(tr("Summary, or the program that ran"));
    artifact_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    addCorner(artifact_);
    connect(artifact_, &QComboBox::currentIndexChanged, this, &BenchDetail::showText);
    copy_ = named(new QToolButton, "copyCommand");
    copy_->setText(tr("Copy command"));
    copy_->setToolTip(tr("Copy the command that measures this row again"));
    addCorner(copy_);
    connect(copy_, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(command_); });
    clear();
}

void BenchDetail::clear() {
    artifact_->hide();
    copy_->hide();
    setEmpty(tr("A click on a result shows what exactly was run."));
}

void BenchDetail::show(const BenchmarkRow& row) {
    const QString before = artifact_->currentText();
    {
        const QSignalBlocker blocker(artifact_);
        artifact_->clear();
        texts_ = {rowText(row)};
        artifact_->addItem(tr("Summary"));
        for (const auto& [kind, text] : row.answer.artifacts) {
            artifact_->addItem(QString::fromStdString(kind));
            texts_ << QString::fromStdString(text);
        }
        artifact_->setCurrentIndex(std::max(0, artifact_->findText(before)));
    }
    artifact_->setVisible(artifact_->count() > 1);
    command_ = QString::fromStdString(row.question.command);
    copy_->setVisible(!command_.isEmpty());
    showText();
    setMessage({});
}

/// Wraps sentences at the width of the card, but not programs.
void BenchDetail::showText() {
    const int at = artifact_->currentIndex();
    text_->setLineWrapMode(at <= 0 ? QPlainTextEdit::WidgetWidth : QPlainTextEdit::NoWrap);
    text_->setHorizontalScrollBarPolicy(at <= 0 ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
    text_->setPlainText(texts_.value(at));
}

} // namespace qs::gui
