// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_choice.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/known_backends.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/page_title.h"
#include "app/gui/widgets/spec_ticks.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/bench/backend/backend.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStandardItemModel>

#include <algorithm>

namespace qs::gui {
namespace {

/// A new plan chooses from spec A and a few others of different sizes.
constexpr int kMostTargetRows = 65536;
constexpr char16_t kBetweenLimits = u';';
constexpr const char* kPlanFirst[] = {"ternary:scale=channel", "int3:block=32", "nf4:block=64", "int8"};

/// The limits of a text, or what is wrong with the first that is none.
Result<std::vector<plan::SizeLimit>> limitsOf(const QString& text) {
    std::vector<plan::SizeLimit> out;
    for (const QString& one : text.split(kBetweenLimits, Qt::SkipEmptyParts)) {
        auto limit = plan::parseLimit(one.trimmed().toStdString());
        if (!limit) return tl::unexpected(limit.error());
        out.push_back(std::move(*limit));
    }
    return out;
}

} // namespace

PlanChoice::PlanChoice(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), specs_(new SpecTicks("planChoices", tr("Specs to choose from"), "planAdd")),
      group_(named(new QLineEdit, "planGroup")), limits_(new QLineEdit), layout_(new QComboBox),
      objective_(new QComboBox), target_(new QComboBox), rows_(named(new QSpinBox, "planTargetRows")) {
    auto* column = spaced(new QVBoxLayout(this), 4);
    column->addWidget(captionLabel(tr("Specs to choose from")));
    specs_->setToolTip(tr("Tensors get one of these"));
    column->addWidget(specs_, 1);
    layout_->addItem(tr("the first that takes most"), QString());
    for (const Layout& layout : layouts()) {
        layout_->addItem(QString::fromUtf8(layout.title), QString::fromUtf8(layout.id));
        layout_->setItemData(layout_->count() - 1, QString::fromUtf8(layout.summary), Qt::ToolTipRole);
    }
    addLine(*column, tr("Layout"), layout_, "planLayout", tr("Whose stored bytes count, padding and scales included"));
    followBackends();
    addLine(*column, tr("Target"), target_, "planTarget",
            tr("A backend is asked which specs its kernels take at the shape of each tensor; the others are no choice. "
               "The page Backends adds plugins of your own"));
    rows_->setAccessibleName(tr("M of the target"));
    rows_->setToolTip(tr("Rows of x that the target is asked about: tokens in one pass"));
    rows_->setFont(Theme::numbers());
    rows_->setRange(1, kMostTargetRows);
    rows_->setPrefix(QStringLiteral("M = "));
    rows_->setKeyboardTracking(false);
    rows_->setEnabled(false);
    auto* target = spaced(new QHBoxLayout, 4);
    column->removeWidget(target_);
    target->addWidget(target_, 1);
    target->addWidget(rows_);
    column->addLayout(target);
    connect(target_, &QComboBox::currentIndexChanged, this, [this](int at) { rows_->setEnabled(at > 0); });
    connect(rows_, &QSpinBox::valueChanged, this, &PlanChoice::changed);
    for (const plan::Objective& objective : plan::objectives()) {
        const QString title = tr(objective.title);
        objective_->addItem(objective.isProxy ? tr("%1 (proxy)").arg(title) : title, QLatin1String(objective.id));
        objective_->setItemData(objective_->count() - 1, QString::fromUtf8(objective.summary), Qt::ToolTipRole);
    }
    addLine(*column, tr("What is made least"), objective_, "planObjective",
            tr("The sum of this loss over all tensors; a proxy is not measured on the model's output"));
    column->addWidget(captionLabel(tr("One spec together")));
    auto* boxes = spaced(new QHBoxLayout, Theme::kSpace);
    for (const plan::UsualGroup& one : plan::usualGroups()) {
        auto* box = new QCheckBox(tr(one.title));
        box->setObjectName(QStringLiteral("planGroup-") + QLatin1String(one.id));
        box->setToolTip(tr("Tensors whose names are equal without %1").arg(QLatin1String(one.regex)));
        box->setAccessibleName(tr("One spec for %1").arg(tr(one.title)));
        boxes->addWidget(box);
        groups_.emplace_back(one.regex, box);
        connect(box, &QCheckBox::toggled, this, &PlanChoice::changed);
    }
    boxes->addStretch(1);
    column->addLayout(boxes);
    group_->setFont(Theme::code());
    group_->setPlaceholderText(tr("Another group, e.g. block\\.\\d+"));
    group_->setAccessibleName(tr("Another group: a regular expression"));
    group_->setToolTip(tr("Tensors whose names are equal without what this matches get one spec"));
    column->addWidget(group_);
    limits_->setFont(Theme::code());
    limits_->setPlaceholderText(tr("e.g. down_proj>=int6"));
    addLine(
        *column, tr("Limits"), limits_, "planLimits",
        tr("Tensors whose names match a regular expression take at least (>=), or at most (<=), the bytes of a spec"));
    connect(limits_, &QLineEdit::editingFinished, this, [this] {
        if (const auto limits = limitsOf(limits_->text()); !limits)
            return Q_EMIT refused(QString::fromStdString(limits.error().sentence()));
        Q_EMIT changed();
    });
    connect(specs_, &SpecTicks::refused, this, &PlanChoice::refused);
    connect(specs_, &SpecTicks::changed, this, &PlanChoice::changed);
    for (auto* box : {layout_, objective_, target_})
        connect(box, &QComboBox::currentIndexChanged, this, &PlanChoice::changed);
    connect(group_, &QLineEdit::editingFinished, this, [this] {
        const QRegularExpression regex(group_->text());
        if (!regex.isValid())
            return Q_EMIT refused(tr("The group is not a regular expression: %1.").arg(regex.errorString()));
        Q_EMIT changed();
    });
    followSensitivities();
}

void PlanChoice::addLine(QVBoxLayout& column, const QString& title, QWidget* widget, const char* name,
                         const QString& tip) {
    widget->setObjectName(QLatin1String(name));
    widget->setAccessibleName(title);
    widget->setToolTip(tip);
    column.addWidget(captionLabel(title));
    column.addWidget(widget);
}

PlanSettings PlanChoice::settings() const {
    PlanSettings out;
    out.specs = specs_->ticked();
    out.layout = layout_->currentData().toString().toStdString();
    out.objective = objective_->currentData().toString().toStdString();
    out.target = target_->currentData().toString().toStdString();
    if (!out.target.empty()) out.targetRows = rows_->value();
    for (const auto& [regex, box] : groups_)
        if (box->isChecked()) out.groups.push_back(regex);
    if (const QRegularExpression regex(group_->text()); regex.isValid() && !group_->text().isEmpty())
        out.groups.push_back(group_->text().toStdString());
    if (auto limits = limitsOf(limits_->text())) out.limits = std::move(*limits);
    return out;
}

void PlanChoice::setSettings(const PlanSettings& settings) {
    const QSignalBlocker blocker(this);
    specs_->tickOnly(settings.specs);
    layout_->setCurrentIndex(std::max(0, layout_->findData(QString::fromStdString(settings.layout))));
    objective_->setCurrentIndex(std::max(0, objective_->findData(QString::fromStdString(settings.objective))));
    target_->setCurrentIndex(std::max(0, target_->findData(QString::fromStdString(settings.target))));
    rows_->setValue(int(std::min<std::int64_t>(settings.targetRows, kMostTargetRows)));
    group_->clear();
    for (const auto& [regex, box] : groups_) box->setChecked(false);
    for (const auto& regex : settings.groups) {
        const auto known = std::ranges::find_if(groups_, [&](const auto& g) { return g.first == regex; });
        if (known != groups_.end())
            known->second->setChecked(true);
        else
            group_->setText(QString::fromStdString(regex));
    }
    QStringList limits;
    for (const plan::SizeLimit& limit : settings.limits) limits << QString::fromStdString(plan::limitText(limit));
    limits_->setText(limits.join(QStringLiteral("; ")));
}

void PlanChoice::followBackends() {
    const QStringList plugins = keptPlugins();
    if (plugins_ == plugins) return;
    plugins_ = plugins, backends_ = knownBackends(plugins);
    const QString before = target_->currentData().toString();
    const QSignalBlocker quiet(target_);
    target_->clear();
    target_->addItem(tr("any backend"), QString());
    for (const BackendSource& source : backends_) {
        if (!source.built) continue;
        const QString id = QString::fromStdString(source.id);
        target_->addItem(QString::fromStdString(escapeForPeople(source.id, 40)), id);
        target_->setItemData(target_->count() - 1, pluginOf(source), Qt::ToolTipRole);
    }
    target_->setCurrentIndex(std::max(0, target_->findData(before)));
    rows_->setEnabled(target_->currentIndex() > 0);
}

void PlanChoice::followSpecs() {
    const auto ticked = specs_->ticked();
    DistinctSpecs all;
    for (const auto& spec : ticked) all.add(spec);
    const bool isNew = ticked.empty();
    if (isNew)
        for (const char* text : kPlanFirst)
            if (const auto spec = parseSpec(text)) all.add(*spec);
    const std::size_t on = all.inOrder().size();
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    for (const auto& spec : session_.recipe()->specs) all.add(spec);
    for (const auto& spec : session_.analysedSpecs()) all.add(spec);
    for (const auto& spec : SpecSetView::presets()) all.add(spec);
    specs_->setSpecs(all.inOrder(), [on](std::size_t place) { return place < on; });
    if (isNew) Q_EMIT changed();
}

void PlanChoice::chooseFrom(std::vector<QuantSpec> specs) {
    constexpr std::size_t kFewest = 2;
    for (const QuantSpec& spec : specs_->ticked())
        if (specs.size() < kFewest && !contains(specs, spec)) specs.push_back(spec);
    specs_->tickOnly(specs);
    Q_EMIT changed();
}

void PlanChoice::allowObjective(const std::string& also) {
    known_ = also;
    followSensitivities();
}

void PlanChoice::followSensitivities() {
    const auto* measured = session_.output().text().sensitivities.get();
    auto* items = qobject_cast<QStandardItemModel*>(objective_->model());
    std::size_t row = 0;
    for (const plan::Objective& objective : plan::objectives()) {
        const bool can =
            !objective.how || known_ == objective.id || (measured && measured->contains(objective.how->id));
        auto* item = items->item(int(row++));
        item->setEnabled(can);
        item->setToolTip(can ? QString::fromUtf8(objective.summary)
                             : tr("Not measured: page Evidence, tab Tensors, measures it."));
        if (!can && objective_->currentIndex() == int(row) - 1) objective_->setCurrentIndex(0);
    }
}

} // namespace qs::gui
