// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends_detail.h"

#include "app/gui/pages/backends_rows.h"
#include "app/gui/theme.h"

#include <QComboBox>
#include <QPlainTextEdit>
#include <QSignalBlocker>

#include <algorithm>

namespace qs::gui {

BenchDetail::BenchDetail(QWidget* parent)
    : Card(tr("What was run"), parent), text_(new QPlainTextEdit), artifact_(new QComboBox) {
    text_->setObjectName(QStringLiteral("benchDetail"));
    text_->setAccessibleName(tr("What was run"));
    text_->setReadOnly(true);
    text_->setFont(Theme::numbers(11));
    text_->setLineWrapMode(QPlainTextEdit::NoWrap);
    text_->document()->setDocumentMargin(0);
    setBody(text_);
    artifact_->setObjectName(QStringLiteral("artifactChoice"));
    artifact_->setAccessibleName(tr("Summary, or the program that ran"));
    artifact_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    addCorner(artifact_);
    connect(artifact_, &QComboBox::currentIndexChanged, this,
            [this](int index) { text_->setPlainText(texts_.value(index)); });
    clear();
}

void BenchDetail::clear() {
    artifact_->hide();
    setMessage(tr("A click on a result shows what exactly was run."));
}

void BenchDetail::show(const BenchmarkRow& row) {
    const QString before = artifact_->currentText();
    {
        const QSignalBlocker blocker(artifact_);
        artifact_->clear();
        texts_ = {rowText(row)};
        artifact_->addItem(tr("Summary"));
        for (const auto& [kind, text] : row.artifacts) {
            artifact_->addItem(QString::fromStdString(kind));
            texts_ << QString::fromStdString(text);
        }
        artifact_->setCurrentIndex(std::max(0, artifact_->findText(before)));
    }
    artifact_->setVisible(artifact_->count() > 1);
    text_->setPlainText(texts_.value(artifact_->currentIndex()));
    setMessage({});
}

} // namespace qs::gui
