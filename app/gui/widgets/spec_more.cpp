// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/spec_more.h"

#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
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
    if (spec.keepsOutput) return QStringLiteral("out");
    QStringList parts;
    for (const int axis : spec.reducedAxes()) parts << QString::number(axis);
    return parts.join(QLatin1Char(','));
}

/// The value of a key as the text of the spec has it, or "".
QString valueIn(const QuantSpec& spec, std::string_view key) {
    for (const auto& [name, value] : specKeys(spec))
        if (name == key) return QString::fromStdString(value);
    return {};
}

void setIds(QComboBox& box, const std::vector<std::string_view>& ids) {
    box.clear();
    for (const auto id : ids) box.addItem(QString::fromUtf8(id.data(), qsizetype(id.size())));
}

/// The spec allows blocks over the flattened kernel (flat=yes).
bool takesFlat(QuantSpec spec) {
    if (spec.scaleKind() != ScaleKind::Block) return false;
    spec.flat = true;
    return validate(spec).has_value();
}

void clearGroups(QuantSpec& spec) {
    spec.scale = ScaleSpelling::Default;
    spec.block.reset(), spec.axes.reset(), spec.flat.reset();
    spec.keepsOutput = false;
}

} // namespace

SpecMore::SpecMore(std::function<void(const QuantSpec&)> apply, QWidget* parent)
    : QFrame(parent, Qt::Popup), apply_(std::move(apply)), text_(named(new QLineEdit, "specText")),
      axes_(new QLineEdit), numbers_(new QLineEdit), tiles_(new QLineEdit), sparsity_(new QLineEdit),
      seed_(new QLineEdit), nan_(new QComboBox), compute_(new QComboBox), dialect_(new QComboBox),
      scaleType_(new QComboBox), zero_(new QComboBox), bits_(new QComboBox), flat_(new QComboBox),
      rounding_(new QComboBox), clip_(new QDoubleSpinBox), problem_(new QLabel),
      instead_(named(new QPushButton, "instead")), full_(new QPlainTextEdit) {
    setProperty("role", QStringLiteral("popup"));
    setAccessibleName(QStringLiteral("More of the spec"));
    nan_->addItems({QStringLiteral("refuse"), QStringLiteral("skip")});
    nan_->setToolTip(
        QStringLiteral("A tensor with NaN or Inf: refuse it, or leave those values out of the statistics"));
    compute_->addItems({QStringLiteral("f32"), QStringLiteral("input")});
    compute_->setToolTip(QStringLiteral("Compute scales in f32, or in the tensor's own type as eformer does"));
    zero_->addItems({QStringLiteral("none"), QStringLiteral("per scale")});
    zero_->setToolTip(
        QStringLiteral("Symmetric around 0, or from the minimum to the maximum with a zero point per scale"));
    scaleType_->setToolTip(QStringLiteral("The type in which scales are stored"));
    clip_->setRange(0.01, 1000);
    clip_->setSingleStep(0.01);
    clip_->setDecimals(3);
    clip_->setKeyboardTracking(false);
    clip_->setToolTip(QStringLiteral(
        "The bound of the calibration is multiplied by this factor; with absmax and minmax, below 1 clips values"));
    axes_->setToolTip(
        QStringLiteral("Axes whose values share one scale, for example -1 or 0,1; out: all axes but that of the "
                       "output channels"));
    flat_->addItems({QStringLiteral("the last axis"), QStringLiteral("all axes but the first")});
    flat_->setToolTip(QStringLiteral("Axes along which blocks run. All axes but the first: the flattened kernel of a "
                                     "convolution (flat=yes)"));
    bits_->setToolTip(QStringLiteral("Bits of a code: 2^bits levels are learned"));
    rounding_->addItems({QStringLiteral("nearest"), QStringLiteral("stochastic")});
    rounding_->setToolTip(
        QStringLiteral("To the nearest level; or up or down at random, the nearer level with the higher probability"));
    seed_->setToolTip(QStringLiteral("Seed of the random numbers: the same seed gives the same codes"));
    tiles_->setToolTip(
        QStringLiteral("Tiles that share a scale, AXISxSIZE for each axis: 0x128,1x128 is one scale per 128 x 128"));
    tiles_->setPlaceholderText(QStringLiteral("none, e.g. 0x128,1x128"));
    sparsity_->setToolTip(
        QStringLiteral("N/M: of every M consecutive values, the N of largest magnitude are kept, the others become 0"));
    sparsity_->setPlaceholderText(QStringLiteral("none, e.g. 2/4"));
    for (auto* edit : {text_, axes_, numbers_, tiles_, sparsity_, seed_}) edit->setFont(Theme::code(12));
    clip_->setFont(Theme::numbers(12));
    problem_->setWordWrap(true);
    problem_->setProperty("role", QStringLiteral("warn"));
    dress(*full_, Theme::code(10), "muted");
    full_->setAccessibleName(QStringLiteral("All keys of the spec"));
    full_->setReadOnly(true);
    full_->setFocusPolicy(Qt::ClickFocus);
    full_->setFrameShape(QFrame::NoFrame);
    full_->setWordWrapMode(QTextOption::WrapAnywhere);
    full_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    full_->document()->setDocumentMargin(0);
    setFixedWidth(340);

    auto* form = spaced(new QFormLayout(this), Theme::kSpace, Theme::kCardMargins);
    const std::pair<const char*, QWidget*> rows[] = {{"Spec", text_},         {"Bits", bits_},
                                                     {"Dialect", dialect_},   {"Zero point", zero_},
                                                     {"Clip factor", clip_},  {"Numbers", numbers_},
                                                     {"Axes", axes_},         {"Blocks over", flat_},
                                                     {"Tiles", tiles_},       {"Scale type", scaleType_},
                                                     {"Rounding", rounding_}, {"Seed", seed_},
                                                     {"Sparsity", sparsity_}, {"NaN", nan_},
                                                     {"Compute", compute_}};
    for (const auto& [caption, control] : rows) {
        auto* label = new QLabel(QString::fromLatin1(caption));
        label->setProperty("role", QStringLiteral("muted"));
        label->setBuddy(control);
        control->setAccessibleName(label->text());
        form->addRow(label, control);
    }
    instead_->setAccessibleName(QStringLiteral("Use the spec that works"));
    form->insertRow(1, problem_);
    form->insertRow(2, instead_);
    form->addRow(full_);
    connectControls();
}

void SpecMore::connectControls() {
    connect(text_, &QLineEdit::returnPressed, this, &SpecMore::applyText);
    connect(instead_, &QPushButton::clicked, this, [this] {
        text_->setText(instead_->property("spec").toString());
        applyText();
    });
    connect(axes_, &QLineEdit::editingFinished, this, &SpecMore::applyAxes);
    const auto onChoice = [this](QComboBox* box, auto change) {
        connect(box, &QComboBox::currentIndexChanged, this, [this, change](int index) {
            auto spec = spec_;
            change(spec, index);
            this->apply(spec);
        });
    };
    onChoice(nan_,
             [](QuantSpec& spec, int index) { spec.nan = index == 1 ? std::optional(NanPolicy::Skip) : std::nullopt; });
    onChoice(compute_, [](QuantSpec& spec, int index) {
        spec.compute = index == 1 ? std::optional(Compute::Input) : std::nullopt;
    });
    onChoice(dialect_, [this](QuantSpec& spec, int index) {
        spec = withDialect(spec, index > 0 ? std::optional(dialect_->itemText(index).toStdString()) : std::nullopt);
    });
    onChoice(scaleType_, [this](QuantSpec& spec, int index) {
        spec.scaleType = index > 0 ? std::optional(scaleType_->itemText(index).toStdString()) : std::nullopt;
    });
    onChoice(zero_, [](QuantSpec& spec, int index) {
        spec.symmetric = index == 1 ? std::optional(false) : std::nullopt;
        spec.calibration.reset();
    });
    onChoice(rounding_, [](QuantSpec& spec, int index) {
        spec.stochastic = index == 1 ? std::optional<std::int64_t>(0) : std::nullopt;
    });
    onChoice(flat_, [](QuantSpec& spec, int index) { spec.flat = index == 1 ? std::optional(true) : std::nullopt; });
    connect(bits_, &QComboBox::currentTextChanged, this, [this](const QString& bits) {
        auto spec = spec_;
        spec.bits = bits.toUInt();
        if (spec.codeBits() != spec_.codeBits()) this->apply(spec);
    });
    connect(numbers_, &QLineEdit::editingFinished, this, [this] {
        auto rest = spec_;
        const auto id = QString::fromStdString(rest.effectiveCalibration().id);
        rest.calibration.reset();
        const auto numbers = numbers_->text().remove(u' ');
        applyKey(*numbers_, rest, "calib", numbers.isEmpty() ? id : id + u',' + numbers);
    });
    connect(tiles_, &QLineEdit::editingFinished, this, [this] {
        auto rest = spec_;
        rest.tiles.reset();
        const auto tiles = tiles_->text().remove(u' ');
        if (!tiles.isEmpty()) clearGroups(rest);
        applyKey(*tiles_, rest, "tile", tiles);
    });
    connect(sparsity_, &QLineEdit::editingFinished, this, [this] {
        auto rest = spec_;
        rest.sparsity.reset();
        applyKey(*sparsity_, rest, "sparse", sparsity_->text().remove(u' '));
    });
    connect(seed_, &QLineEdit::editingFinished, this, [this] {
        auto rest = spec_;
        rest.stochastic.reset();
        applyKey(*seed_, rest, "round", QStringLiteral("stochastic,") + seed_->text().trimmed());
    });
    connect(clip_, &QDoubleSpinBox::valueChanged, this, [this](double factor) {
        auto spec = spec_;
        auto calibration = spec.effectiveCalibration();
        const auto* row = findCalibration(calibration.id);
        const bool isDefault = factor == 1 && row && row->minArguments == 0;
        calibration.arguments = isDefault ? std::vector<double>{} : std::vector{factor};
        spec.calibration = calibration;
        this->apply(spec);
    });
}

void SpecMore::apply(const QuantSpec& spec) {
    if (showing_) return;
    const auto valid = validate(spec);
    say(valid ? Error{} : valid.error());
    if (valid) apply_(spec);
}

void SpecMore::applyText() {
    const auto parsed = parseSpec(text_->text().trimmed().toStdString());
    markInvalid(text_, !parsed);
    say(parsed ? Error{} : parsed.error());
    if (parsed) apply_(*parsed);
}

void SpecMore::applyAxes() {
    if (showing_ || axes_->text() == axesText(spec_)) return;
    auto spec = spec_;
    spec.scale = ScaleSpelling::Default;
    spec.axes.reset();
    spec.keepsOutput = axes_->text().trimmed() == QLatin1String("out");
    if (spec.keepsOutput) return apply(spec);
    spec.axes.emplace();
    bool understood = true;
    for (const auto& part : axes_->text().split(QLatin1Char(','))) {
        bool number = false;
        spec.axes->push_back(part.trimmed().toInt(&number));
        understood = understood && number;
    }
    markInvalid(axes_, !understood);
    if (understood) return apply(spec);
    say(fail("Axes are whole numbers separated by commas, for example -1 or 0,1; or the word out.").value());
}

void SpecMore::say(const Error& refusal) {
    problem_->setText(QString::fromStdString(refusal.message));
    problem_->setVisible(!refusal.message.empty());
    const QString works = refusal.works.empty() ? QString() : QString::fromStdString(refusal.works.front());
    instead_->setText(tr("Use %1").arg(works));
    instead_->setProperty("spec", works);
    instead_->setVisible(!works.isEmpty());
    adjustSize();
}

void SpecMore::applyKey(QLineEdit& edit, const QuantSpec& rest, std::string_view key, const QString& value) {
    if (showing_) return;
    auto text = specText(rest);
    if (!value.isEmpty()) text += ":" + std::string(key) + "=" + value.toStdString();
    const auto parsed = parseSpec(text);
    markInvalid(&edit, !parsed);
    if (!parsed) return say(parsed.error());
    if (*parsed == spec_) return follow(spec_); // unchanged: a previous error message is removed
    apply(*parsed);
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
    for (auto* edit : {text_, axes_, numbers_, tiles_, sparsity_, seed_}) markInvalid(edit, false);
    const auto full = QString::fromStdString(canonicalText(spec));
    const QFontMetrics metrics(full_->font());
    const int line = std::max(1, (width() - 2 * Theme::kMargin - 4) / metrics.horizontalAdvance(u'0'));
    full_->setPlainText(full);
    full_->setFixedHeight(metrics.lineSpacing() * int((full.size() + line - 1) / line) + 2);
    say({});
    nan_->setCurrentIndex(spec.effectiveNan() == NanPolicy::Skip);
    compute_->setCurrentIndex(spec.effectiveCompute() == Compute::Input);
    setRow(compute_, traits.computeInput);
    setIds(*dialect_, dialectIds(traits));
    dialect_->setCurrentText(QString::fromStdString(spec.effectiveDialect()));
    setRow(dialect_, dialect_->count() > 1);
    zero_->setCurrentIndex(spec.isSymmetric() ? 0 : 1);
    const bool chooses = !hasBiases(spec); // formats with biases have only one rule
    setRow(zero_, traits.affine && chooses);
    setIds(*scaleType_, scaleTypesOf(spec));
    scaleType_->setCurrentText(QString::fromStdString(spec.effectiveScaleType()));
    setRow(scaleType_, scaleType_->count() > 1);
    axes_->setText(axesText(spec));
    setRow(axes_, spec.scaleKind() == ScaleKind::Axes);
    flat_->setCurrentIndex(spec.isFlat() ? 1 : 0);
    setRow(flat_, takesFlat(spec));
    const auto calibration = spec.effectiveCalibration();
    clip_->setValue(calibration.arguments.empty() ? 1.0 : calibration.arguments.front());
    const auto* row = findCalibration(calibration.id);
    const bool isFactor = row && row->isFactor;
    setRow(clip_, isFactor && chooses);
    const bool sign = traits.kind == FormatKind::Sign; // sign formats use absmean without numbers
    numbers_->setText(valueIn(spec, "calib").section(u',', 1));
    numbers_->setPlaceholderText(
        row ? QString::fromUtf8(row->arguments).remove(QRegularExpression(QStringLiteral("^\\[?,|\\]"))) : QString());
    numbers_->setToolTip(row ? QString::fromUtf8(row->summary) : QString());
    setRow(numbers_, row && row->maxArguments > 0 && !isFactor && !sign);
    setIds(*bits_, words(traits.bitWidths));
    bits_->model()->sort(0);
    bits_->setCurrentText(QString::number(spec.codeBits()));
    setRow(bits_, bits_->count() > 1);
    rounding_->setCurrentIndex(spec.randomSeed() ? 1 : 0);
    setRow(rounding_, traits.stochastic && chooses);
    seed_->setText(spec.randomSeed() ? QString::number(*spec.randomSeed()) : QString());
    setRow(seed_, spec.randomSeed().has_value());
    tiles_->setText(valueIn(spec, "tile"));
    setRow(tiles_, traits.tiles && chooses);
    sparsity_->setText(valueIn(spec, "sparse"));
    setRow(sparsity_, traits.sparse && chooses);
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
