// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/codebook/codebook_gap_card.h"

#include "app/gui/pages/codebook/codebook_lab.h"
#include "app/gui/sentence.h"
#include "app/gui/theme.h"
#include "core/base/text.h"
#include "core/solve/codebooks.h"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPushButton>

#include <cmath>

namespace qs::gui {
namespace {

QString db(double value) { return QString::fromStdString(fixedText(value, 2)); }

} // namespace

GapGauge::GapGauge(const CodebookLab& lab, QWidget* parent) : QWidget(parent), lab_(lab) {
    setAccessibleName(tr("Signal to noise of these levels, of the best ones, and the bound"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, [this] { update(); });
}

void GapGauge::paintEvent(QPaintEvent*) {
    if (!lab_.ready()) return;
    const LloydGap& gap = lab_.gap();
    const Tokens& t = Theme::instance().tokens();
    struct Mark {
        double db;
        QString name;
        QColor colour;
    };
    QVector<Mark> marks = {{gap.fit.sqnrDb(), lab_.edited() ? tr("format") : tr("these levels"), t.dataB},
                           {gap.bestDb, tr("Lloyd-Max"), t.dataC},
                           {gap.boundDb, tr("bound"), t.muted}};
    if (lab_.edited()) marks.append({lab_.fit().sqnrDb(), tr("moved"), t.accent});
    double lo = marks[0].db, hi = lo;
    for (const Mark& mark : marks) lo = std::min(lo, mark.db), hi = std::max(hi, mark.db);
    const double air = std::max(0.12 * (hi - lo), 0.25);
    lo -= air, hi += air;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double y = 29, left = 4, right = width() - 4;
    const auto place = [&](double value) { return left + (value - lo) / (hi - lo) * (right - left); };
    painter.setPen(QPen(t.line, 4, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(QPointF(left, y), QPointF(right, y));
    const double now = lab_.fit().sqnrDb();
    QColor reach = lab_.edited() ? t.accent : t.dataB;
    reach.setAlphaF(0.55F);
    painter.setPen(QPen(reach, 4, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(QPointF(left, y), QPointF(std::max(left, place(now)), y));
    // Names are above, values below. Where two would overlap, the right one is moved.
    std::ranges::sort(marks, [](const Mark& a, const Mark& b) { return a.db < b.db; });
    double nameEnd = -1, figureEnd = -1;
    const QFontMetricsF words(Theme::words(10)), numbers(Theme::numbers(10));
    for (const Mark& mark : marks) {
        const double x = place(mark.db);
        painter.setPen(QPen(t.surface, 2));
        painter.setBrush(mark.colour);
        painter.drawEllipse(QPointF(x, y), 5.5, 5.5);
        const auto write = [&](const QString& text, const QFont& font, const QFontMetricsF& metrics, double top,
                               double& end, const QColor& colour) {
            const double w = metrics.horizontalAdvance(text);
            const double from = std::max(std::clamp(x - w / 2, left, right - w), end + 8);
            if (from > std::min(x + 8, right - w)) return; // the text below has the same value
            painter.setFont(font);
            painter.setPen(colour);
            painter.drawText(QRectF(from, top, w + 1, 14), Qt::AlignLeft | Qt::AlignVCenter, text);
            end = from + w;
        };
        write(mark.name, Theme::words(10), words, 4, nameEnd, mark.colour);
        write(db(mark.db), Theme::numbers(10), numbers, 42, figureEnd, t.text);
    }
}

GapCard::GapCard(CodebookLab& lab, QWidget* parent)
    : Card(tr("Distance to the best levels"), parent), lab_(lab), gauge_(new GapGauge(lab)), figures_(new QLabel),
      verdict_(new QLabel), level_(named(new QDoubleSpinBox, "level")),
      best_(named(new QPushButton(tr("Lloyd-Max")), "useBest")),
      learn_(named(new QPushButton(tr("Learn for")), "learnFor")), reset_(named(new QPushButton(tr("Reset")), "reset")),
      save_(named(new QPushButton(tr("Save as format")), "save")), id_(named(new QLineEdit, "formatId")) {
    figures_->setFont(Theme::numbers(10)); // fits on one line in the smallest window
    figures_->setTextFormat(Qt::PlainText);
    figures_->setWordWrap(true);
    verdict_->setProperty("role", QStringLiteral("muted"));
    verdict_->setTextFormat(Qt::PlainText);
    verdict_->setWordWrap(true);
    for (QLabel* label : {figures_, verdict_}) label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    level_->setAccessibleName(tr("Level of the selected code"));
    level_->setFont(Theme::numbers());
    level_->setDecimals(5);
    level_->setRange(-1e6, 1e6);
    level_->setKeyboardTracking(false);
    level_->setSpecialValueText(tr("no code")); // shown for the minimum
    level_->setMinimumWidth(112);
    level_->setMaximumWidth(172);
    id_->setAccessibleName(tr("Id of the new format"));
    id_->setPlaceholderText(tr("id of a new format, e.g. my_nf4"));
    id_->setMaxLength(32);
    best_->setToolTip(tr("Move all levels to the best ones for this tensor"));
    auto* menu = new QMenu(learn_);
    for (const auto& share : solve::shares())
        menu->addAction(tr(share.title), this, [this, id = QString::fromUtf8(share.id)] { Q_EMIT learnAsked(id); });
    menu->addSeparator();
    weights_ = menu->addAction(tr("Weight columns by inputs…"), this, &GapCard::weightsAsked);
    weights_->setCheckable(true);
    learn_->setMenu(menu);
    learn_->setProperty("menu", true);
    reset_->setToolTip(tr("Back to the format's own levels"));
    save_->setToolTip(tr("Keep these levels as a format that every spec can name"));
    auto* tools = spaced(new QHBoxLayout, 4);
    tools->addWidget(level_, 1);
    addWidgets(*tools, {best_, learn_, reset_});
    tools->addStretch();
    auto* keep = spaced(new QHBoxLayout, Theme::kSpace);
    keep->addWidget(id_, 1);
    keep->addWidget(save_);
    auto* body = new QWidget;
    auto* layout = spaced(new QVBoxLayout(body), Theme::kSpace);
    addWidgets(*layout, {gauge_, figures_});
    layout->addStretch(1);
    layout->addWidget(verdict_);
    layout->addLayout(tools);
    layout->addLayout(keep);
    setBody(body);

    connect(&lab_, &CodebookLab::changed, this, &GapCard::refresh);
    connect(level_, &QDoubleSpinBox::valueChanged, this, [this](double value) { lab_.moveLevel(code_, value); });
    connect(best_, &QPushButton::clicked, &lab_, &CodebookLab::useBest);
    connect(reset_, &QPushButton::clicked, &lab_, &CodebookLab::reset);
    connect(save_, &QPushButton::clicked, this, &GapCard::save);
    connect(id_, &QLineEdit::returnPressed, this, &GapCard::save);
    connect(id_, &QLineEdit::textChanged, this, &GapCard::refresh);
    refresh();
}

void GapCard::showCode(int code) {
    code_ = code;
    refresh();
}

void GapCard::refresh() {
    const bool ready = lab_.ready(), chosen = ready && code_ >= 0 && code_ < int(lab_.fit().levels.size());
    level_->setEnabled(chosen);
    best_->setEnabled(ready);
    const auto learnable = lab_.learnable();
    learn_->setEnabled(learnable.has_value());
    learn_->setToolTip(learnable ? tr("Levels learned from every value of these tensors")
                                 : QString::fromStdString(learnable.error().sentence()));
    reset_->setEnabled(ready && lab_.edited());
    save_->setEnabled(ready && !id_->text().isEmpty());
    {
        const QSignalBlocker quiet(level_);
        const double range = ready ? lab_.fit().levels.back() - lab_.fit().levels.front() : 2;
        level_->setSingleStep(range / 200);
        level_->setPrefix(chosen ? tr("code %1  ").arg(code_) : QString());
        level_->setValue(chosen ? lab_.fit().levels[std::size_t(code_)] : level_->minimum());
    }
    gauge_->update();
    verdict_->clear();
    if (!ready) {
        setNote({});
        if (const AnalysisRow& row = lab_.row(); row && !row->levels.empty() && row->status == Status::Ok)
            figures_->setText(
                tr("Not measured: there is no error, or the boundaries between codes differ from group to "
                   "group."));
        else
            figures_->clear();
        return;
    }
    const LloydGap& gap = lab_.gap();
    const CodebookFit& now = lab_.fit();
    const double bits = std::log2(double(now.levels.size()));
    setNote(tr("%1 levels, dB of W / scale").arg(now.levels.size()));
    figures_->setText(tr("SQNR %1 dB   to Lloyd-Max %2 dB   to the bound %3 dB")
                          .arg(db(now.sqnrDb()), db(gap.bestDb - now.sqnrDb()), db(gap.boundDb - now.sqnrDb())));
    figures_->setToolTip(tr("The bound is Shannon's for %1 bits per weight: no code of that size can exceed it.")
                             .arg(QString::fromStdString(fixedText(bits, 2))));
    const double change = now.sqnrDb() - gap.fit.sqnrDb();
    if (lab_.edited())
        verdict_->setText(tr("%1: %2%3 dB against %4.")
                              .arg(lab_.how().isEmpty() ? tr("Moved") : lab_.how(),
                                   change < 0 ? QStringLiteral("−") : QStringLiteral("+"), db(std::abs(change)),
                                   QString::fromStdString(lab_.row()->spec.format)));
    else
        verdict_->setText(tr("Drag a level in the density, or choose a code and type its level."));
}

void GapCard::setWeights(const QString& title) {
    weights_->setChecked(!title.isEmpty());
    weights_->setText(title.isEmpty() ? tr("Weight columns by inputs…") : tr("Columns weighted by %1").arg(title));
}

void GapCard::save() {
    const QString id = id_->text().trimmed();
    const auto path = lab_.save(id);
    if (!path) return verdict_->setText(tr("Not saved: %1").arg(errorSentence(path.error())));
    Q_EMIT saved(id);
    verdict_->setText(tr("Saved as %1, in %2").arg(id, *path));
}

} // namespace qs::gui
