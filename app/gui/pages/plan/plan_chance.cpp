// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_chance.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/card.h"
#include "app/gui/widgets/data_table.h"
#include "app/gui/widgets/sketch.h"
#include "core/base/text.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollArea>
#include <QTableView>

#include <cmath>

namespace qs::gui {

PlanChance::PlanChance(QWidget* parent)
    : QWidget(parent), verdictCard_(new Card(tr("Against chance"))), tableCard_(new Card(tr("Measured plans"))),
      verdicts_(named(new QLabel, "planVerdicts")), table_(named(new QTableView, "planContenders")),
      rows_(new RowModel<plan::Contender>(plan::contenderColumns().pick({"name", "kind", "bytes", "loss", "kl_mean",
                                                                         "kl_se_chunk", "top1", "difference"}),
                                          this)) {
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    verdicts_->setAccessibleName(tr("What the test against chance found"));
    verdicts_->setWordWrap(true);
    verdicts_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    verdicts_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    verdicts_->setTextFormat(Qt::PlainText);
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(verdicts_);
    verdictCard_->setBody(scroll);
    verdictCard_->setSketch(new Sketch(Sketch::Kind::Text));
    asDataTable(*table_, tr("The plan and what it was measured beside"));
    table_->setModel(rows_);
    fillWidth(*table_, 190);
    tableCard_->setBody(table_);
    tableCard_->setSketch(Sketch::ofTable(*rows_));
    row->addWidget(verdictCard_, 2);
    row->addWidget(tableCard_, 3);
    setMeasured(nullptr, 0);
}

QString PlanChance::verdicts() const { return verdicts_->text(); }

bool PlanChance::isInside(const plan::PlanProof& proof) {
    return (proof.permuted && proof.permuted->isInside()) || (proof.random && proof.random->isInside());
}

QString PlanChance::measuredText(const plan::PlanProof& proof) {
    return tr("%1 of %2 measured").arg(proof.measured()).arg(proof.contenders.size());
}

QString PlanChance::briefVerdict(const plan::PlanProof& proof) {
    if (!proof.isWhole()) return measuredText(proof);
    const auto& plan = proof.contenders.front();
    if (!plan.summary) return QString::fromStdString(oneSentence(plan.reason));
    const QString kl =
        tr("measured KL %1").arg(QString::fromStdString(significantText(plan.summary->divergence.mean, 3)));
    const auto& chance = proof.random ? proof.random : proof.permuted;
    if (!chance) return kl;
    const QString p = QString::fromStdString(significantText(chance->rank, 2));
    if (isInside(proof)) return tr("%1, inside the random band (p %2)").arg(kl, p);
    if (chance->effect >= 0) return tr("%1, worse than chance (p %2)").arg(kl, p);
    return tr("%1, %2 of the median of chance (p %3)")
        .arg(kl, QString::fromStdString(significantText(std::exp(chance->effect), 2)), p);
}

void PlanChance::setMeasured(const plan::MeasuredPlan* measured, double bpw) {
    const QString empty =
        tr("Not measured yet. Measure finds the KL of the plan on held-out text, beside uniform specs, "
           "rules of thumb and random plans of equal bytes.");
    verdictCard_->setEmpty(measured ? QString() : empty);
    tableCard_->setEmpty(measured ? QString() : tr("Nothing was measured."));
    if (!measured) {
        for (Card* card : {verdictCard_, tableCard_}) card->setNote({});
        return rows_->setRows({});
    }
    QString text;
    for (const std::string& verdict : measured->proof->verdicts)
        text += QString::fromStdString(verdict) + QStringLiteral("\n\n");
    text += tr("%1 tokens in %2 chunks of %3 that no loss was measured on.")
                .arg(measured->proof->tokens)
                .arg(measured->proof->chunks)
                .arg(QFileInfo(QString::fromStdString(measured->textPath)).fileName());
    verdicts_->setText(text);
    verdictCard_->setNote(tr("plan of %1 bpw").arg(bpw, 0, 'f', 4));
    tableCard_->setNote(measured->proof->isWhole() ? QString() : measuredText(*measured->proof));
    rows_->setRows(measured->proof->contenders);
    for (int i = 1; i < rows_->columnCount(); ++i) table_->resizeColumnToContents(i);
}

} // namespace qs::gui
