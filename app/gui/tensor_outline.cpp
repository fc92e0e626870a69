// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_layout.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"

#include <QHash>
#include <QSet>

#include <algorithm>

namespace qs::gui {
namespace {

QString escaped(const std::string& text, std::size_t most = 200) {
    return QString::fromStdString(escapeForPeople(text, most));
}

// Embeddings first, the stack, then final norms and the head: the order in which the model works.
int flowRank(const TensorOutline::Group& group, const Model& model) {
    if (!group.title.isEmpty()) return 1;
    const auto& name = model.tensors[std::size_t(group.tensors.front())].name;
    const auto has = [&name](std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(),
                           [&name](const char* word) { return name.find(word) != std::string::npos; });
    };
    if (has({"head", "output", "classifier"})) return 3;
    return has({"norm", "ln_f"}) && !has({"embed"}) ? 2 : 0;
}

bool hasLayers(const TensorOutline& out) {
    return std::any_of(out.groups.begin(), out.groups.end(), [](const auto& group) { return !group.title.isEmpty(); });
}

/// Outside the stack, too, what nearly every name begins and ends with says nothing: "embed_tokens".
void shortenOutside(TensorOutline& out, const Model& model) {
    QSet<QString> used;
    for (const auto& group : out.groups) {
        if (!group.title.isEmpty()) continue;
        for (const int tensor : group.tensors) {
            std::string_view name = model.tensors[std::size_t(tensor)].name;
            if (name.starts_with("model.")) name.remove_prefix(6);
            if (name.ends_with(".weight")) name.remove_suffix(7);
            const QString brief = escaped(std::string(name));
            if (brief.isEmpty() || used.contains(brief)) continue;
            used.insert(brief);
            out.roles[std::size_t(tensor)] = brief;
        }
    }
}

void orderByFlow(TensorOutline& out, const Model& model) {
    std::stable_sort(out.groups.begin(), out.groups.end(),
                     [&model](const auto& a, const auto& b) { return flowRank(a, model) < flowRank(b, model); });
    for (std::size_t at = 0; at < out.groups.size(); ++at)
        for (const int tensor : out.groups[at].tensors) out.groupOf[std::size_t(tensor)] = int(at);
}

} // namespace

TensorOutline outlineOf(const Model& model) {
    TensorOutline out;
    QHash<QString, int> known;
    int weights = 0;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const auto& tensor = model.tensors[i];
        const auto place = placeOf(tensor.name);
        const auto title = place.layer >= 0 ? escaped(place.group) : QString();
        int at = title.isEmpty() ? -1 : known.value(title, -1);
        if (at < 0) {
            at = int(out.groups.size());
            out.groups.push_back({title, {}, 0});
            if (!title.isEmpty()) known.insert(title, at);
        }
        auto& group = out.groups[std::size_t(at)];
        out.names.push_back(escaped(tensor.name));
        out.roles.push_back(title.isEmpty() || place.role.empty() ? out.names.back() : escaped(place.role));
        out.groupOf.push_back(at);
        out.weightOf.push_back(tensor.isWeight() ? weights++ : -1);
        group.tensors.push_back(int(i));
        group.bytes += storedBytes(tensor);
    }
    if (hasLayers(out)) {
        shortenOutside(out, model);
        orderByFlow(out, model);
    }
    return out;
}

const TensorInfo* ModelLayout::firstWeight(const Model& model) const {
    for (const auto& group : outline.groups)
        for (const int tensor : group.tensors)
            if (model.tensors[std::size_t(tensor)].isWeight()) return &model.tensors[std::size_t(tensor)];
    return nullptr;
}

std::shared_ptr<const ModelLayout> layoutOf(const Model& model) {
    auto layout = std::make_shared<ModelLayout>();
    for (const auto& tensor : model.tensors)
        if (tensor.isWeight()) layout->weights.push_back(&tensor);
    layout->outline = outlineOf(model);
    layout->grid = roleGrid(layout->weights);
    return layout;
}

} // namespace qs::gui
