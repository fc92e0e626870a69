// SPDX-License-Identifier: GPL-3.0-or-later
// The lists of a benchmark: backends, specs of every format, shapes of the model.
#include "app/gui/pages/backends/backends_plan.h"

#include "app/gui/distinct_specs.h"
#include "app/gui/pages/sweep/spec_set_view.h"
#include "app/gui/session.h"
#include "app/gui/task.h"
#include "app/gui/widgets/tick_list.h"
#include "core/base/text.h"
#include "core/bench/run/operands.h"

#include <QSignalBlocker>

#include <algorithm>

namespace qs::gui {
namespace {

// the two largest shapes of a model are ticked at first, because all shapes take minutes
constexpr std::size_t kShapesTicked = 2;
// OpenBLAS without the core type that QuantScope chooses
constexpr const char* kOwnChoice = "openblas:coretype=default";

} // namespace

void BackendsPlan::listBackends() {
    std::vector<std::string> off, paths;
    for (int i = 0; i < backends_->count(); ++i)
        if (!backends_->ticked(i)) off.push_back(sources_[std::size_t(i)].id);
    if (backends_->count() == 0) off = {kOwnChoice};
    for (const auto& path : plugins_) paths.push_back(path.toStdString());
    sources_ = backendSources(paths);
    if (auto own = sourceWithOptions(kOwnChoice, sources_); own && own->built)
        sources_.insert(
            std::find_if(sources_.begin(), sources_.end(), [](const auto& source) { return source.id == "openblas"; }) +
                1,
            std::move(*own));
    const QSignalBlocker blocker(backends_);
    backends_->clear();
    for (const auto& source : sources_) {
        QString text = QString::fromStdString(escapeForPeople(source.id, 40));
        if (!source.built) text += tr("   not built");
        const bool on = source.built && std::find(off.begin(), off.end(), source.id) == off.end();
        QString tip = QString::fromStdString(escapeForPeople(source.path, 200));
        if (source.id == kOwnChoice)
            tip = tr("OpenBLAS with the core type that it detects itself, in addition to the chosen one");
        for (const auto& [key, value] : source.options)
            tip += u'\n' + QString::fromStdString(escapeForPeople(key + " = " + value, 200));
        backends_->add(text, on, tip.trimmed());
    }
    showTopology();
}

/// Order: A and B, formats that do not quantize, one spec for each other format. Initially A, another format and the
/// widest are ticked; later the ticks are kept.
void BackendsPlan::listSpecs() {
    stale_ = false;
    std::vector<std::string> on = {specText(session_.spec())};
    const auto presets = SpecSetView::presets();
    if (specList_->count() > 0) {
        for (int i = 0; i < specList_->count(); ++i)
            if (specList_->ticked(i)) on.push_back(specs_[std::size_t(i)].first);
    } else {
        const auto other = std::find_if(presets.begin(), presets.end(),
                                        [&](const auto& spec) { return spec.format != session_.spec().format; });
        if (other != presets.end()) on.push_back(specText(*other));
        const auto widest = std::max_element(formats().begin(), formats().end(),
                                             [](const auto& a, const auto& b) { return a.bits < b.bits; });
        on.push_back(widest->id);
    }
    DistinctSpecs all;
    all.add(session_.spec());
    if (session_.comparing()) all.add(session_.specB());
    for (const auto& format : formats()) {
        if (format.kind != FormatKind::Identity) continue;
        QuantSpec spec;
        spec.format = format.id;
        all.add(spec);
    }
    for (const auto& spec : presets) all.add(spec);
    for (const auto& [text, spec] : specs_) all.add(spec);
    specs_.clear();
    for (const auto& spec : all.inOrder()) specs_.emplace_back(specText(spec), spec);
    const QSignalBlocker blocker(specList_);
    specList_->clear();
    for (const auto& [text, spec] : specs_) {
        const auto why = whyNotCrossing(spec);
        QString name = QString::fromStdString(text), tip = QString::fromStdString(canonicalText(spec));
        if (why) name += tr("   no backend"), tip += u'\n' + QString::fromStdString(*why);
        specList_->add(name, !why && std::find(on.begin(), on.end(), text) != on.end(), tip);
        if (why) specList_->disable(specList_->count() - 1);
    }
    estimate();
}

void BackendsPlan::listShapes() {
    const auto show = [this](std::vector<ModelShape> shapes) {
        if (shapes.empty()) shapes = {{4096, 4096, 0, {}}, {1024, 1024, 0, {}}};
        shapes_ = std::move(shapes);
        const QSignalBlocker blocker(shapeList_);
        shapeList_->clear();
        for (std::size_t i = 0; i < shapes_.size(); ++i) {
            const auto& shape = shapes_[i];
            QString text = QStringLiteral("%1 × %2").arg(shape.n).arg(shape.k);
            if (shape.count > 0) text += tr("   %1×").arg(shape.count);
            QStringList names;
            for (const auto& name : shape.tensors)
                if (names.size() < 8) names << QString::fromStdString(escapeForPeople(name, 80));
            shapeList_->add(text, i < kShapesTicked, names.join(u'\n'));
        }
        estimate();
    };
    if (!session_.model()) return show({});
    const auto work = [model = session_.model()](const Job&) -> Result<std::vector<ModelShape>> {
        return modelShapes(*model);
    };
    Task::once(this, work, show);
}

} // namespace qs::gui
