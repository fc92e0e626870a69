// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/tensor/tensor_page_header.h"

#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/name_text.h"
#include "app/gui/widgets/selectable_label.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

#include <QHBoxLayout>
#include <QStyle>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

constexpr int kSpacing = 12;

QString text(const std::string& s) { return QString::fromStdString(s); }

/// A constant tensor has no kurtosis.
QString kurtosisText(double kurtosis) {
    return std::isfinite(kurtosis) ? text(fixedText(kurtosis, 2)) : QStringLiteral("–");
}

void setRole(QLabel& label, bool warns) {
    const QString role = warns ? QStringLiteral("warn") : QStringLiteral("muted");
    if (label.property("role").toString() == role) return;
    label.setProperty("role", role);
    label.style()->unpolish(&label);
    label.style()->polish(&label);
}

/// Why the recipe or the layout leaves it as it is; "": it does not. The figures then say what the spec would do.
QString whyKept(const Session& session, const TensorInfo& tensor) {
    const int weight = session.weightIndex(&tensor);
    if (weight < 0) return TensorHeader::tr("A spec does not take it by itself");
    const AnalysisRow decided = session.recipeRows().at(std::size_t(weight));
    return decided && decided->status == Status::Kept ? text(decided->reason) : QString();
}

} // namespace

TensorHeader::TensorHeader(QWidget* parent)
    : QWidget(parent), title_(new SelectableLabel), facts_(new QLabel), sigma_(new QLabel), kurtosis_(new QLabel),
      outliers_(new QLabel), holes_(new QLabel) {
    title_->setFont(Theme::words(18, QFont::DemiBold));
    title_->setTextFormat(Qt::PlainText);
    auto* layout = spaced(new QHBoxLayout(this), kSpacing);
    addWidgets(*layout, {title_, facts_});
    layout->addStretch(1);
    sigma_->setToolTip(tr("Standard deviation of the finite weights"));
    kurtosis_->setToolTip(tr("Excess kurtosis m4 / m2² − 3: 0 for a normal distribution, large for heavy tails"));
    outliers_->setToolTip(tr("Rows, and columns (indices of the last axis), whose largest |w| is more than 6 times the "
                             "median one's"));
    holes_->setToolTip(tr("Values that are not numbers or infinite"));
    for (QLabel* label : {facts_, sigma_, kurtosis_, outliers_, holes_}) {
        dress(*label, Theme::numbers(11), "muted");
        label->setTextFormat(Qt::PlainText);
        if (label != facts_) layout->addWidget(label);
    }
}

void TensorHeader::showTensor(const Session& session) {
    const TensorInfo* tensor = session.tensor();
    if (!tensor) return;
    const AnalysisRow row = session.current();
    const TensorStatistics* statistics = row && row->statistics ? &*row->statistics : nullptr;
    const QString kept = whyKept(session, *tensor);
    name_ = text(escapeForPeople(tensor->name, 400));
    title_->setToolTip(name_);
    const bool sized = row && row->bytesAfter > 0, larger = row && row->isLarger();
    facts_->setToolTip(!kept.isEmpty()   ? tr("%1. The figures below show what the spec would do to it.").arg(kept)
                       : larger          ? text(row->larger)
                       : tensor->derived ? text(escapeForPeople(tensor->derived->description(), 200))
                                         : QString());
    setRole(*facts_, larger && kept.isEmpty());
    facts_->setText(QStringLiteral("%1  %2   %3")
                        .arg(QString::fromLatin1(tensor->typeId()), text(shapeTimes(tensor->shape)),
                             !kept.isEmpty() ? tr("%1, kept").arg(text(bytesText(storedBytes(*tensor))))
                             : sized         ? text(bytesText(row->bytesBefore) + " → " + bytesText(row->bytesAfter))
                                             : text(bytesText(storedBytes(*tensor)))));
    const auto number = [&](const char* name, double value, int digits) {
        return QStringLiteral("%1 %2").arg(QString::fromUtf8(name), text(significantText(value, digits)));
    };
    sigma_->setText(statistics ? number("σ", statistics->std, 3) : tr("σ not measured"));
    kurtosis_->setText(statistics ? tr("kurtosis %1").arg(kurtosisText(statistics->kurtosis)) : QString());
    outliers_->setText(
        statistics ? tr("outlier rows %1  columns %2").arg(statistics->outlierChannels).arg(statistics->outlierColumns)
                   : QString());
    const quint64 nan = statistics ? statistics->moments.nan : 0, inf = statistics ? statistics->moments.inf : 0;
    QString holes = statistics ? tr("NaN %1").arg(nan) : QString();
    if (inf > 0) holes += tr("  Inf %1").arg(inf);
    holes_->setText(holes);
    setRole(*holes_, nan + inf > 0);
    setAccessibleName(name_ + u' ' + facts_->text());
    elide();
}

void TensorHeader::elide() {
    // The name gets the width that the other facts leave.
    int taken = 0;
    for (const QLabel* label : {facts_, sigma_, kurtosis_, outliers_, holes_})
        taken += label->sizeHint().width() + kSpacing;
    const int available = std::max(80, width() - taken - kSpacing);
    const QFontMetrics metrics = title_->fontMetrics();
    title_->setFixedWidth(std::min(available, metrics.horizontalAdvance(name_) + 2));
    title_->setText(fittedName(name_, title_->font(), title_->width()));
}

void TensorHeader::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    elide();
}

} // namespace qs::gui
