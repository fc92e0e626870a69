// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/sweep/sweep_choice.h"

#include "app/gui/sentence.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/lists.h"

#include <QCheckBox>
#include <QGridLayout>
#include <QLineEdit>

namespace qs::gui {
namespace {

constexpr std::uint32_t kOffered[] = {8, 16, 32, 64, 128, 256, 512, 1024};

} // namespace

SweepChoice::SweepChoice(QWidget* parent) : QWidget(parent) {
    auto* column = spaced(new QVBoxLayout(this), 4);
    column->addWidget(captionLabel(tr("Formats")));
    formats_ = new TickList("sweepFormats", tr("Formats to sweep"));
    for (const auto& line : sweepLines()) formats_->add(QString::fromStdString(line.text), line.usual);
    connect(formats_, &QListWidget::itemChanged, this, &SweepChoice::changed);
    column->addWidget(formats_, 1);
    typed_ = dressed(named(new QLineEdit, "sweepAdd"), Theme::code());
    typed_->setPlaceholderText(tr("Add a spec, e.g. int4:calib=mse"));
    typed_->setAccessibleName(tr("Add a spec"));
    connect(typed_, &QLineEdit::returnPressed, this, &SweepChoice::addTyped);
    column->addWidget(typed_);
    column->addSpacing(Theme::kSpace);
    column->addWidget(captionLabel(tr("Block sizes, elements per scale")));
    auto* sizes = new QGridLayout;
    sizes->setSpacing(4);
    const auto usual = usualSweepBlocks();
    int place = 0;
    for (const std::uint32_t block : kOffered) {
        auto* box = dressed(new QCheckBox(QString::number(block)), Theme::numbers());
        box->setObjectName(QStringLiteral("sweepBlock%1").arg(block));
        box->setAccessibleName(tr("Block size %1").arg(block));
        box->setChecked(contains(usual, block));
        connect(box, &QCheckBox::toggled, this, &SweepChoice::changed);
        sizes->addWidget(box, place / 4, place % 4);
        ++place;
        blocks_.push_back(box);
    }
    column->addLayout(sizes);
}

void SweepChoice::addTyped() {
    const auto text = typed_->text().trimmed();
    const auto spec = parseSpec(text.toStdString());
    if (!spec) return Q_EMIT refused(errorSentence(spec.error()));
    const auto known = formats_->findItems(text, Qt::MatchExactly);
    if (known.isEmpty()) {
        formats_->add(text, true);
        formats_->scrollToBottom();
    } else
        known.front()->setCheckState(Qt::Checked);
    typed_->clear();
    Q_EMIT changed();
}

Result<std::vector<SweepSpec>> SweepChoice::specs() const {
    std::vector<std::string> lines;
    for (int i = 0; i < formats_->count(); ++i)
        if (formats_->ticked(i)) lines.push_back(formats_->item(i)->text().toStdString());
    std::vector<std::uint32_t> blocks;
    for (const auto* box : blocks_)
        if (box->isChecked()) blocks.push_back(box->text().toUInt());
    return sweepSpecs(lines, blocks);
}

} // namespace qs::gui
