// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_budget.h"

#include "app/gui/theme.h"
#include "core/base/text.h"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>

#include <cmath>
#include <utility>

namespace qs::gui {
namespace {

constexpr int kBudgetSteps = 2000; ///< of the slider

QLabel* figure(const char* name, const QString& title, QHBoxLayout& row, int width) {
    auto* column = spaced(new QVBoxLayout, 0);
    auto* caption = dressed(new QLabel(title), Theme::words(10), "caption");
    auto* value = new QLabel(QStringLiteral("–"));
    value->setObjectName(QLatin1String(name));
    value->setAccessibleName(title);
    value->setFont(Theme::numbers(13));
    value->setMinimumWidth(width);
    addWidgets(*column, {value, caption});
    row.addLayout(column);
    return value;
}

} // namespace

PlanBudget::PlanBudget(QWidget* parent)
    : QWidget(parent), slider_(named(new QSlider(Qt::Horizontal), "planBudget")),
      box_(named(new QDoubleSpinBox, "planBpw")), bytes_(named(new QLabel, "planBudgetBytes")) {
    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    auto* title = dressed(new QLabel(tr("Budget")), Theme::words(13, QFont::DemiBold));
    slider_->setAccessibleName(tr("Budget: size of the whole file"));
    slider_->setToolTip(tr("Size of the whole file, from the smallest choices to the largest"));
    slider_->setRange(0, kBudgetSteps);
    slider_->setPageStep(kBudgetSteps / 20);
    box_->setAccessibleName(tr("Budget in bits per weight"));
    box_->setFont(Theme::numbers());
    box_->setDecimals(4);
    box_->setSingleStep(0.05);
    box_->setSuffix(QStringLiteral(" bpw"));
    box_->setKeyboardTracking(false);
    box_->setFixedWidth(120);
    dress(*bytes_, Theme::numbers(), "muted");
    bytes_->setMinimumWidth(76);
    row->addWidget(title);
    row->addWidget(slider_, 1);
    addWidgets(*row, {box_, bytes_});
    size_ = figure("planSize", tr("plan, bits per weight"), *row, 96);
    loss_ = figure("planLoss", tr("predicted loss ↓"), *row, 120);
    gap_ = figure("planGap", tr("gap to the optimum"), *row, 90);
    connect(slider_, &QSlider::valueChanged, this, [this](int position) { setBpw(bpwOf(position)); });
    connect(slider_, &QSlider::sliderReleased, this, [this] {
        if (const auto bpw = std::exchange(dragged_, std::nullopt)) Q_EMIT chosen(*bpw);
    });
    connect(box_, &QDoubleSpinBox::valueChanged, this, &PlanBudget::setBpw);
    setEnabled(false);
}

double PlanBudget::bpwOf(int position) const { return least_ + (most_ - least_) * position / kBudgetSteps; }

void PlanBudget::setBpw(double bpw) {
    {
        const QSignalBlocker quiet(slider_), too(box_);
        box_->setValue(bpw);
        if (most_ > least_) slider_->setValue(int(std::lround((bpw - least_) / (most_ - least_) * kBudgetSteps)));
    }
    showBytes();
    Q_EMIT changed(bpw);
    if (slider_->isSliderDown())
        dragged_ = bpw;
    else
        Q_EMIT chosen(bpw);
}

void PlanBudget::showBytes() {
    const double bytes = box_->value() * double(elements_) / 8;
    bytes_->setText(QString::fromStdString(bytesText(std::uint64_t(std::max(0.0, bytes)))));
}

void PlanBudget::setAnswer(const PlanAnswer* answer) {
    setEnabled(answer != nullptr);
    box_->setSpecialValueText(answer ? QString() : QStringLiteral("–")); // the least value, which is 0 before a plan
    if (!answer) {
        for (auto* label : {size_, loss_, gap_}) label->setText(QStringLiteral("–"));
        return bytes_->clear();
    }
    const plan::Options& options = *answer->options;
    elements_ = options.elements;
    const double perByte = elements_ ? 8.0 / double(elements_) : 0;
    least_ = double(options.leastBytes()) * perByte, most_ = double(options.mostBytes()) * perByte;
    const double bpw = double(answer->budget) * perByte;
    {
        const QSignalBlocker quiet(slider_), too(box_);
        box_->setRange(std::ceil(least_ * 1e4) / 1e4, std::max(most_, std::ceil(least_ * 1e4) / 1e4));
        // The user may be ahead of this answer.
        if (!slider_->isSliderDown() && (std::exchange(follows_, false) || !box_->hasFocus())) {
            box_->setValue(bpw);
            slider_->setValue(most_ > least_ ? int(std::lround((bpw - least_) / (most_ - least_) * kBudgetSteps)) : 0);
        }
    }
    showBytes();
    const auto text = [](double value, int digits) { return QString::fromStdString(significantText(value, digits)); };
    size_->setText(QString::fromStdString(fixedText(answer->plan.bpw(options), 4)));
    size_->setToolTip(QString::fromStdString(bytesText(answer->plan.bytes)));
    QString loss = text(answer->plan.loss, 4);
    if (answer->plan.error > 0) loss += QStringLiteral(" ± ") + text(1.96 * answer->plan.error, 2);
    loss_->setText(loss);
    const plan::Objective& objective = *answer->ground->objective;
    QString tip = QString::fromUtf8(objective.summary);
    if (objective.isProxy) tip += u'\n' + tr("A proxy: not measured on the model's output.");
    if (answer->plan.error > 0) tip += u'\n' + tr("95 % interval, as if the errors of all tensors went the same way.");
    if (answer->plan.unmeasured > 0) tip += u'\n' + tr("%1 locked units lack a loss.").arg(answer->plan.unmeasured);
    loss_->setToolTip(tip);
    const double gap = answer->plan.gap();
    gap_->setText(gap == 0 ? tr("0, proved") : text(gap, 2));
    gap_->setToolTip(gap == 0 ? tr("No plan within the budget has a smaller sum of losses. Found in %1 ms.")
                                    .arg(answer->milliseconds, 0, 'f', 1)
                              : tr("The best plan may be smaller by this share."));
}

} // namespace qs::gui
