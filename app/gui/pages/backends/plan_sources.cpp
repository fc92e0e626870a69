// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/backends/plan_sources.h"

#include "app/gui/known_backends.h"
#include "app/gui/pages/backends/plan_list.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/lists.h"
#include "core/base/text.h"

#include <QAction>
#include <QFileDialog>
#include <QSignalBlocker>
#include <QToolButton>

#include <algorithm>

namespace qs::gui {
namespace {

// OpenBLAS without the core type that QuantScope chooses
constexpr const char* kOwnChoice = "openblas:coretype=default";

} // namespace

PlanSources::PlanSources(QVBoxLayout& column, QWidget* parent) : QObject(parent) {
    auto* plugin = named(new QToolButton, "planAddPlugin");
    plugin->setText(tr("Add a plugin…"));
    plugin->setToolTip(tr("A backend library, or a PJRT plugin for pjrt: libtpu.so, xla_cuda_plugin.so, …"));
    connect(plugin, &QToolButton::clicked, this, [this, parent] {
        const QString path =
            QFileDialog::getOpenFileName(parent, tr("A backend, or a PJRT plugin"), {}, tr("Libraries (*.so)"));
        if (!path.isEmpty()) addPlugin(path);
    });
    list_ = addPlanList(column, tr("Backends"), "planBackends", 116, plugin);
    auto* remove = new QAction(tr("Remove the plugin"), list_);
    remove->setShortcut(QKeySequence::Delete);
    remove->setShortcutContext(Qt::WidgetShortcut);
    list_->addAction(remove);
    list_->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(remove, &QAction::triggered, this, [this] {
        const int row = list_->currentRow();
        if (row >= 0 && sources_[std::size_t(row)].named) removePlugin(pluginOf(sources_[std::size_t(row)]));
    });
    connect(list_, &QListWidget::itemChanged, this, &PlanSources::changed);
    plugins_ = keptPlugins();
    list();
}

std::vector<BackendSource> PlanSources::ticked() const {
    std::vector<BackendSource> out;
    for (int i = 0; i < list_->count(); ++i)
        if (list_->ticked(i)) out.push_back(sources_[std::size_t(i)]);
    return out;
}

void PlanSources::fit() { list_->fit(); }

void PlanSources::list() {
    std::vector<std::string> off;
    for (int i = 0; i < list_->count(); ++i)
        if (!list_->ticked(i)) off.push_back(sources_[std::size_t(i)].id);
    if (list_->count() == 0) off = {kOwnChoice};
    sources_ = knownBackends(plugins_);
    if (auto own = sourceWithOptions(kOwnChoice, sources_); own && own->built)
        sources_.insert(std::ranges::find_if(sources_, [](const auto& source) { return source.baseline; }) + 1,
                        std::move(*own));
    const QSignalBlocker blocker(list_);
    list_->clear();
    for (const auto& source : sources_) {
        QString text = QString::fromStdString(escapeForPeople(source.id, 40));
        if (!source.built) text += tr("   not built");
        const bool on = source.built && !contains(off, source.id);
        QString tip = QString::fromStdString(shownPath(source.path));
        if (source.id == kOwnChoice)
            tip = tr("OpenBLAS with the core type that it detects itself, in addition to the chosen one");
        for (const auto& [key, value] : source.options)
            tip += u'\n' + QString::fromStdString(escapeForPeople(key + " = " + value, 200));
        list_->add(text, on, tip.trimmed());
    }
}

void PlanSources::keep() {
    keepPlugins(plugins_);
    list();
    Q_EMIT listed();
    Q_EMIT changed();
}

void PlanSources::addPlugin(const QString& path) {
    if (!plugins_.contains(path)) plugins_ << path;
    keep();
}

void PlanSources::removePlugin(const QString& path) {
    plugins_.removeAll(path);
    keep();
}

} // namespace qs::gui
