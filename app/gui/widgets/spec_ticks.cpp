// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/widgets/spec_ticks.h"

#include "app/gui/theme.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"

#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace qs::gui {

SpecTicks::SpecTicks(const char* list, const QString& accessibleName, const char* field, QWidget* parent)
    : QWidget(parent), list_(new TickList(list, accessibleName)), typed_(named(new QLineEdit, field)) {
    typed_->setFont(Theme::code());
    typed_->setPlaceholderText(tr("Add a spec, e.g. int3:block=32"));
    typed_->setAccessibleName(tr("Add a spec"));
    auto* column = spaced(new QVBoxLayout(this), 4);
    column->addWidget(list_, 1);
    column->addWidget(typed_);
    connect(typed_, &QLineEdit::returnPressed, this, &SpecTicks::addTyped);
    connect(list_, &QListWidget::itemChanged, this, &SpecTicks::changed);
}

std::vector<QuantSpec> SpecTicks::ticked() const {
    std::vector<QuantSpec> out;
    for (std::size_t i = 0; i < listed_.size(); ++i)
        if (list_->ticked(lineOf(i))) out.push_back(listed_[i]);
    return out;
}

void SpecTicks::setFirst(const QString& text, bool ticked, const QString& tip) {
    const QSignalBlocker quiet(list_);
    list_->clear();
    listed_.clear();
    hasFirst_ = !text.isEmpty();
    if (hasFirst_) list_->add(text, ticked, tip);
}

bool SpecTicks::isFirstTicked() const { return hasFirst_ && list_->ticked(0); }

void SpecTicks::setSpecs(const std::vector<QuantSpec>& specs, const std::function<bool(std::size_t)>& isTicked) {
    const QSignalBlocker quiet(list_);
    while (list_->count() > lineOf(0)) delete list_->takeItem(list_->count() - 1);
    listed_.clear();
    for (std::size_t i = 0; i < specs.size(); ++i) add(specs[i], isTicked(i));
}

void SpecTicks::tickOnly(const std::vector<QuantSpec>& specs, bool first) {
    const QSignalBlocker quiet(list_);
    for (int i = 0; i < list_->count(); ++i) list_->item(i)->setCheckState(Qt::Unchecked);
    if (hasFirst_ && first) list_->tick(0);
    for (const QuantSpec& spec : specs) add(spec, true);
}

/// A spec that is listed in another spelling is that one.
void SpecTicks::add(const QuantSpec& spec, bool ticked) {
    const std::string canonical = canonicalText(spec);
    for (std::size_t i = 0; i < listed_.size(); ++i)
        if (canonicalText(listed_[i]) == canonical) {
            if (ticked) list_->tick(lineOf(i));
            return;
        }
    listed_.push_back(spec);
    list_->add(QString::fromStdString(specText(spec)), ticked, QString::fromStdString(canonical));
}

void SpecTicks::addTyped() {
    const auto spec = parseSpec(typed_->text().trimmed().toStdString());
    if (!spec) return Q_EMIT refused(QString::fromStdString(oneSentence(spec.error().message)));
    typed_->clear();
    {
        const QSignalBlocker quiet(list_);
        add(*spec, true);
    }
    list_->scrollToBottom();
    Q_EMIT changed();
}

} // namespace qs::gui
