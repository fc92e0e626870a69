// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/spec_more.h"

#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScopedValueRollback>
#include <QStyle>

#include <algorithm>

namespace qs::gui {
namespace {

void markInvalid(QLineEdit* edit, bool invalid) {
    edit->setProperty("invalid", invalid);
    edit->style()->unpolish(edit);
    edit->style()->polish(edit);
}

QString axesText(const QuantSpec& spec) {
    QStringList parts;
    for (const int axis : spec.reducedAxes()) parts << QString::number(axis);
    return parts.join(QLatin1Char(','));
}

} // namespace

SpecMore::SpecMore(std::function<void(const QuantSpec&)> apply, QWidget* parent)
    : QFrame(parent, Qt::Popup), apply_(std::move(apply)), text_(new QLineEdit), axes_(new QLineEdit),
      nan_(new QComboBox), compute_(new QComboBox), dialect_(new QComboBox), scaleType_(new QComboBox),
      zero_(new QComboBox), clip_(new QDoubleSpinBox), problem_(new QLabel), full_(new QLabel) {
    setProperty("role", QStringLiteral("popup"));
    setAccessibleName(QStringLiteral("More of the spec"));
    nan_->addItems({QStringLiteral("refuse"), QStringLiteral("skip")});
    nan_->setToolTip(
        QStringLiteral("A tensor with NaN or Inf: refuse it, or leave those values out of the statistics"));
    compute_->addItems({QStringLiteral("f32"), QStringLiteral("input")});
    compute_->setToolTip(QStringLiteral("Compute scales in f32, or in the tensor's own type as the seed does"));
    zero_->addItems({QStringLiteral("none"), QStringLiteral("per scale")});
    zero_->setToolTip(
        QStringLiteral("Symmetric around 0, or from the minimum to the maximum with a zero point per scale"));
    scaleType_->setToolTip(QStringLiteral("What the scales are stored as"));
    clip_->setRange(0.01, 1000);
    clip_->setSingleStep(0.01);
    clip_->setDecimals(3);
    clip_->setKeyboardTracking(false);
    clip_->setToolTip(QStringLiteral("Factor of the calibration's bound; of absmax and minmax, below 1 clips"));
    axes_->setToolTip(QStringLiteral("Axes that one scale runs over, for example -1 or 0,1"));
    text_->setObjectName(QStringLiteral("specText"));
    for (auto* edit : {text_, axes_}) edit->setFont(Theme::numbers(12));
    clip_->setFont(Theme::numbers(12));
    problem_->setWordWrap(true);
    problem_->setProperty("role", QStringLiteral("warn"));
    full_->setFont(Theme::numbers(10));
    full_->setProperty("role", QStringLiteral("muted"));
    full_->setWordWrap(true);
    full_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setFixedWidth(340);

    auto* form = new QFormLayout(this);
    form->setContentsMargins(Theme::kMargin, Theme::kGap, Theme::kMargin, Theme::kGap);
    form->setSpacing(Theme::kSpace);
    const std::pair<const char*, QWidget*> rows[] = {{"Spec", text_},       {"NaN", nan_},
                                                     {"Compute", compute_}, {"Dialect", dialect_},
                                                     {"Zero point", zero_}, {"Scale type", scaleType_},
                                                     {"Axes", axes_},       {"Clip factor", clip_}};
    for (const auto& [caption, control] : rows) {
        auto* label = new QLabel(QString::fromLatin1(caption));
        label->setProperty("role", QStringLiteral("muted"));
        label->setBuddy(control);
        control->setAccessibleName(label->text());
        form->addRow(label, control);
    }
    form->insertRow(1, problem_);
    form->addRow(full_);

    connect(text_, &QLineEdit::returnPressed, this, &SpecMore::applyText);
    connect(axes_, &QLineEdit::editingFinished, this, &SpecMore::applyAxes);
    connect(nan_, &QComboBox::currentIndexChanged, this, [this](int index) {
        auto spec = spec_;
        spec.nan = index == 1 ? std::optional(NanPolicy::Skip) : std::nullopt;
        this->apply(spec);
    });
    connect(compute_, &QComboBox::currentIndexChanged, this, [this](int index) {
        auto spec = spec_;
        spec.compute = index == 1 ? std::optional(Compute::Input) : std::nullopt;
        this->apply(spec);
    });
    connect(dialect_, &QComboBox::currentIndexChanged, this, [this](int index) {
        auto spec = spec_;
        spec.dialect = index > 0 ? std::optional(dialect_->itemText(index).toStdString()) : std::nullopt;
        this->apply(consistent(spec));
    });
    connect(scaleType_, &QComboBox::currentIndexChanged, this, [this](int index) {
        auto spec = spec_;
        spec.scaleType = index > 0 ? std::optional(scaleType_->itemText(index).toStdString()) : std::nullopt;
        this->apply(spec);
    });
    connect(zero_, &QComboBox::currentIndexChanged, this, [this](int index) {
        auto spec = spec_;
        spec.symmetric = index == 1 ? std::optional(false) : std::nullopt;
        spec.calibration.reset();
        this->apply(spec);
    });
    connect(clip_, &QDoubleSpinBox::valueChanged, this, [this](double factor) {
        auto spec = spec_;
        auto calibration = spec.effectiveCalibration();
        calibration.arguments = factor == 1 && calibration.id != "rms" ? std::vector<double>{} : std::vector{factor};
        spec.calibration = calibration;
        this->apply(spec);
    });
}

void SpecMore::apply(const QuantSpec& spec) {
    if (showing_) return;
    const auto valid = validate(spec);
    problem_->setText(valid ? QString() : QString::fromStdString(valid.error().message));
    problem_->setVisible(!valid);
    if (valid) apply_(spec);
    adjustSize();
}

void SpecMore::applyText() {
    const auto parsed = parseSpec(text_->text().trimmed().toStdString());
    markInvalid(text_, !parsed);
    problem_->setText(parsed ? QString() : QString::fromStdString(parsed.error().message));
    problem_->setVisible(!parsed);
    if (parsed) apply_(*parsed);
    adjustSize();
}

void SpecMore::applyAxes() {
    if (showing_ || axes_->text() == axesText(spec_)) return;
    auto spec = spec_;
    spec.scale = ScaleSpelling::Default;
    spec.axes.emplace();
    bool understood = true;
    for (const auto& part : axes_->text().split(QLatin1Char(','))) {
        bool number = false;
        spec.axes->push_back(part.trimmed().toInt(&number));
        understood = understood && number;
    }
    markInvalid(axes_, !understood);
    if (understood) return apply(spec);
    problem_->setText(QStringLiteral("Axes are whole numbers with commas between, for example -1 or 0,1."));
    problem_->show();
    adjustSize();
}

void SpecMore::follow(const QuantSpec& spec) {
    const QScopedValueRollback guard(showing_, true);
    spec_ = spec;
    const auto& traits = spec.traits();
    auto* form = static_cast<QFormLayout*>(layout());
    const auto setRow = [form](QWidget* control, bool on) {
        control->setVisible(on);
        form->labelForField(control)->setVisible(on);
    };
    text_->setText(QString::fromStdString(specText(spec)));
    markInvalid(text_, false);
    full_->setText(QString::fromStdString(canonicalText(spec)));
    problem_->hide();
    nan_->setCurrentIndex(spec.effectiveNan() == NanPolicy::Skip);
    compute_->setCurrentIndex(spec.effectiveCompute() == Compute::Input);
    setRow(compute_, traits.computeInput);
    dialect_->clear();
    for (const auto id : words(traits.dialects)) dialect_->addItem(QString::fromUtf8(id.data(), qsizetype(id.size())));
    dialect_->setCurrentText(QString::fromStdString(spec.effectiveDialect()));
    setRow(dialect_, dialect_->count() > 1);
    zero_->setCurrentIndex(spec.isSymmetric() ? 0 : 1);
    setRow(zero_, traits.affine);
    scaleType_->clear();
    for (const auto id : words(traits.scaleTypes))
        scaleType_->addItem(QString::fromUtf8(id.data(), qsizetype(id.size())));
    scaleType_->setCurrentText(QString::fromStdString(spec.effectiveScaleType()));
    setRow(scaleType_, scaleType_->count() > 1);
    axes_->setText(axesText(spec));
    setRow(axes_, spec.scaleKind() == ScaleKind::Axes);
    const auto calibration = spec.effectiveCalibration();
    clip_->setValue(calibration.arguments.empty() ? 1.0 : calibration.arguments.front());
    setRow(clip_, calibration.id == "absmax" || calibration.id == "minmax" || calibration.id == "rms");
}

void SpecMore::popUp(const QuantSpec& spec, QWidget* under) {
    follow(spec);
    adjustSize();
    const auto corner = under->mapToGlobal(QPoint(under->width(), under->height() + 4));
    move(std::max(0, corner.x() - width()), corner.y());
    show();
    text_->setFocus();
}

} // namespace qs::gui
