// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/spec_bar.h"

#include "app/gui/session.h"
#include "app/gui/spec_edit.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/format_box.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/spec_more.h"
#include "core/quant/spec/calibration.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScopedValueRollback>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace qs::gui {
namespace {

// Arrow keys and wheel double and halve the value; any size can be typed.
class BlockSpin : public QSpinBox {
public:
    using QSpinBox::QSpinBox;
    void stepBy(int steps) override {
        const double power = std::exp2(std::round(std::log2(double(std::max(1, value()))) + steps));
        setValue(int(std::clamp(power, double(minimum()), double(maximum()))));
    }
};

QString fromUtf8(std::string_view text) { return QString::fromUtf8(text.data(), qsizetype(text.size())); }

QToolButton* letter(const QString& text, const QString& tip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setCheckable(true);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setFixedWidth(30);
    return button;
}

} // namespace

SpecBar::SpecBar(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), format_(named(new FormatBox, "format")),
      scale_(named(new QComboBox, "scale")), calibration_(named(new QComboBox, "calibration")),
      decode_(named(new QComboBox, "decode")), block_(named(new QSlider(Qt::Horizontal), "block")),
      blockValue_(named(new BlockSpin, "blockValue")),
      compare_(letter(QStringLiteral("A/B"), QStringLiteral("Compare with a second spec (B)"))),
      a_(letter(QStringLiteral("A"), QStringLiteral("Edit spec A"))),
      b_(letter(QStringLiteral("B"), QStringLiteral("Edit spec B"))), more_(named(new QToolButton, "more")),
      panel_(new SpecMore([this](const QuantSpec& spec) { edit([spec](const QuantSpec&) { return spec; }); }, this)) {
    setAccessibleName(QStringLiteral("Spec"));
    compare_->setObjectName(QStringLiteral("comparing"));
    a_->setObjectName(QStringLiteral("editA"));
    b_->setObjectName(QStringLiteral("editB"));

    decode_->addItems({QStringLiteral("table"), QStringLiteral("poly")});
    blockValue_->setFont(Theme::numbers());
    blockValue_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    blockValue_->setKeyboardTracking(false);
    blockValue_->setFixedSize(64, 18);
    blockValue_->setProperty("role", QStringLiteral("inline"));
    block_->setPageStep(1);
    more_->setProperty("role", QStringLiteral("quiet"));
    more_->setFixedWidth(30);
    more_->setToolTip(
        QStringLiteral("Dialect, zero points, scale type, tiles, rounding and more, and the spec as text"));
    more_->setAccessibleName(QStringLiteral("More of the spec"));
    const auto tint = [this] { more_->setIcon(Theme::icon(QStringLiteral("more"), Theme::instance().tokens().muted)); };
    tint();
    connect(&Theme::instance(), &Theme::changed, this, tint);

    auto* row = spaced(new QHBoxLayout(this), Theme::kGap);
    auto* pair = new QWidget;
    auto* pairRow = spaced(new QHBoxLayout(pair), 4);
    compare_->setFixedWidth(40);
    for (auto* button : {compare_, a_, b_}) pairRow->addWidget(button);
    row->addWidget(field(QStringLiteral("Format"), format_, 96));
    row->addWidget(field(QStringLiteral("Block"), block_, 0, blockValue_), 3);
    row->addWidget(field(QStringLiteral("Scale"), scale_, 92));
    row->addWidget(field(QStringLiteral("Calibration"), calibration_, 104));
    decodeField_ = field(QStringLiteral("Decode"), decode_, 80);
    row->addWidget(decodeField_);
    row->addWidget(field(QString(), more_, 30));
    row->addWidget(field(QStringLiteral("Compare"), pair, 0));
    row->addStretch(1);
    connectControls();
    refresh();
}

QWidget* SpecBar::field(const QString& caption, QWidget* control, int width, QWidget* beside) {
    auto* box = new QWidget;
    auto* column = spaced(new QVBoxLayout(box), 2);
    auto* label = captionLabel(caption);
    label->setFixedHeight(18);
    auto* head = spaced(new QHBoxLayout, 0);
    head->addWidget(label, 1);
    if (beside) {
        head->addWidget(beside);
        beside->setAccessibleName(caption + QStringLiteral(" size in elements"));
    }
    column->addLayout(head);
    column->addWidget(control);
    if (width > 0) control->setFixedWidth(width);
    if (control->accessibleName().isEmpty()) control->setAccessibleName(caption);
    if (width == 0 && beside) box->setMinimumWidth(104), box->setMaximumWidth(220);
    return box;
}

bool SpecBar::editsB() const { return session_.comparing() && b_->isChecked(); }
const QuantSpec& SpecBar::target() const { return editsB() ? session_.specB() : session_.spec(); }

void SpecBar::edit(const Edit& change) {
    if (showing_) return;
    const auto spec = change(target());
    // a control cannot set an invalid spec; the text field reports errors itself
    if (!validate(spec)) return refresh();
    if (editsB())
        session_.setSpecB(spec);
    else
        session_.setSpec(spec);
}

void SpecBar::connectControls() {
    connect(format_, &QComboBox::currentIndexChanged, this, [this](int index) {
        if (index >= 0) edit([index](const QuantSpec& s) { return withFormat(s, formats()[std::size_t(index)]); });
    });
    connect(block_, &QSlider::valueChanged, this, [this](int at) {
        if (at < int(stops_.size()))
            edit([this, at](const QuantSpec& s) { return withBlock(s, stops_[std::size_t(at)]); });
    });
    connect(blockValue_, &QSpinBox::valueChanged, this, [this](int block) {
        edit([block](const QuantSpec& s) { return withBlock(s, std::uint32_t(block)); });
        refresh(); // rounded to a multiple that the format needs
    });
    connect(scale_, &QComboBox::currentIndexChanged, this, [this](int index) {
        if (index < 0) return;
        const auto kind = ScaleKind(scale_->itemData(index).toInt());
        edit([kind](const QuantSpec& s) { return withScale(s, kind); });
    });
    connect(calibration_, &QComboBox::currentIndexChanged, this, [this](int index) {
        if (index < 0) return;
        const auto id = calibration_->itemText(index).toStdString();
        edit([id](QuantSpec s) {
            if (s.effectiveCalibration().id != id)
                s.calibration = Calibration{id, exampleArguments(id, s.traits().kind == FormatKind::Sign)};
            return s;
        });
    });
    connect(decode_, &QComboBox::currentIndexChanged, this, [this](int index) {
        edit([index](QuantSpec s) {
            s.decode = index == 1 ? std::optional(Decode::Poly) : std::nullopt;
            return s;
        });
    });
    connect(compare_, &QToolButton::toggled, this, [this](bool on) {
        if (!showing_) session_.setComparing(on);
    });
    connect(a_, &QToolButton::clicked, this, [this] { b_->setChecked(false), refresh(); });
    connect(b_, &QToolButton::clicked, this, [this] { b_->setChecked(true), refresh(); });
    connect(more_, &QToolButton::clicked, this, [this] { panel_->popUp(target(), more_); });
    connect(&session_, &Session::specChanged, this, &SpecBar::refresh);
}

void SpecBar::refresh() {
    if (showing_) return;
    const QScopedValueRollback guard(showing_, true);
    if (!session_.comparing()) b_->setChecked(false);
    const auto& spec = target();
    const auto& traits = spec.traits();
    compare_->setChecked(session_.comparing());
    a_->setVisible(session_.comparing());
    b_->setVisible(session_.comparing());
    a_->setChecked(!editsB());
    format_->addFormats();
    format_->setCurrentText(fromUtf8(spec.format));
    format_->setToolTip(fromUtf8(traits.summary));

    scale_->clear();
    for (const auto& choice : scaleChoices(traits)) scale_->addItem(choice.title, int(choice.kind));
    if (spec.keepsOutput || (spec.axes && *spec.axes != std::vector<int>{-1}))
        scale_->setItemText(scale_->findData(int(ScaleKind::Axes)), QStringLiteral("axis"));
    if (spec.tiles) scale_->setItemText(scale_->findData(int(ScaleKind::Block)), QStringLiteral("tile"));
    scale_->setCurrentIndex(scale_->findData(int(spec.scaleKind())));
    scale_->setEnabled(scale_->count() > 1);
    scale_->setToolTip(scale_->count() > 1
                           ? QStringLiteral("Which values share one scale")
                           : QStringLiteral("%1 has only one kind of scale").arg(fromUtf8(traits.title)));

    calibration_->clear();
    for (const auto id : calibrationsOf(spec)) {
        calibration_->addItem(fromUtf8(id));
        calibration_->setItemData(calibration_->count() - 1, fromUtf8(findCalibration(id)->summary), Qt::ToolTipRole);
    }
    const bool calibrated = calibration_->count() > 0;
    if (!calibrated) calibration_->addItem(QStringLiteral("none"));
    calibration_->setCurrentText(QString::fromStdString(spec.effectiveCalibration().id));
    calibration_->setEnabled(calibration_->count() > 1);
    calibration_->setToolTip(!calibrated ? QStringLiteral("%1 has nothing to calibrate").arg(fromUtf8(traits.title))
                                         : calibration_->currentData(Qt::ToolTipRole).toString());

    decodeField_->setVisible(!traits.polyLevels.empty());
    decode_->setCurrentIndex(spec.effectiveDecode() == Decode::Poly ? 1 : 0);
    decode_->setToolTip(QStringLiteral("table: the codebook's levels; poly: the polynomial of eformer's kernels"));
    showBlock(spec);
    if (panel_->isVisible()) panel_->follow(spec); // otherwise when it is shown
}

void SpecBar::showBlock(const QuantSpec& spec) {
    const auto& traits = spec.traits();
    stops_ = blockStops(traits);
    const bool on = spec.scaleKind() == ScaleKind::Block && !spec.tiles && traits.minBlock < traits.maxBlock;
    block_->setEnabled(on);
    blockValue_->setEnabled(on);
    if (on) {
        const auto at = std::lower_bound(stops_.begin(), stops_.end(), spec.blockSize());
        block_->setRange(0, int(stops_.size()) - 1);
        block_->setValue(int(std::min(at, stops_.end() - 1) - stops_.begin()));
        blockValue_->setRange(int(traits.minBlock), int(traits.maxBlock));
        blockValue_->setSpecialValueText({});
        blockValue_->setValue(int(spec.blockSize()));
    } else {
        // A fixed size is shown, too.
        const int fixed = spec.scaleKind() == ScaleKind::Block && !spec.tiles ? int(spec.blockSize()) : 0;
        block_->setRange(0, 0);
        blockValue_->setRange(fixed, fixed);
        blockValue_->setSpecialValueText(fixed > 0 ? QString() : QStringLiteral("–"));
    }
    const auto tip =
        on ? QStringLiteral("Consecutive elements of %3 that share a scale (%1 to %2)")
                 .arg(traits.minBlock)
                 .arg(traits.maxBlock)
                 .arg(spec.isFlat() ? QStringLiteral("all axes but the first") : QStringLiteral("the last axis"))
        : spec.tiles ? QStringLiteral("This spec has tiles: change their size under More")
        : spec.scaleKind() == ScaleKind::Block
            ? QStringLiteral("%1 has blocks of %2").arg(fromUtf8(traits.title)).arg(spec.blockSize())
        : (traits.scaleKinds & std::uint8_t(ScaleKind::Block))
            ? QStringLiteral("This kind of scale has no blocks: choose the scale block")
            : QStringLiteral("%1 has no blocks").arg(fromUtf8(traits.title));
    block_->setToolTip(tip);
    blockValue_->setToolTip(tip);
    block_->setAccessibleDescription(tip);
}

} // namespace qs::gui
