// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/model_layout.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/norm_name.h"

#include <QHash>

#include <algorithm>
#include <functional>
#include <string_view>

namespace qs::gui {
namespace {

QString escaped(const std::string& text, std::size_t most = 200) {
    return QString::fromStdString(escapeForPeople(text, most));
}

// Data-flow order: embeddings, layers, final norms, head.
int flowRank(int row, const Model& model) {
    if (row < 0) return 1;
    const auto& name = model.tensors[std::size_t(row)].name;
    const auto has = [&name](std::initializer_list<const char*> words) {
        return std::ranges::any_of(words, [&name](const char* word) { return name.find(word) != std::string::npos; });
    };
    if (has({"head", "output", "classifier"})) return 3;
    return (saysNorm(name) || has({"ln_f"})) && !has({"embed"}) ? 2 : 0;
}

/// Outside the layers, too, the parts that nearly all names share are left out: "embed_tokens".
std::string_view brief(std::string_view name) {
    if (name.starts_with("model.")) name.remove_prefix(6);
    if (name.ends_with(".weight")) name.remove_suffix(7);
    return name;
}

/// When several tensors have the same short name, only the first one gets it.
void shortenOutside(TensorOutline& out, const Model& model) {
    out.isBrief.assign(out.count, false);
    std::vector<int> alone;
    for (const int row : out.order)
        if (row >= 0) alone.push_back(row);
    const auto briefOf = [&](int tensor) { return brief(model.tensors[std::size_t(tensor)].name); };
    std::ranges::sort(alone, [&](int a, int b) {
        const auto x = briefOf(a), y = briefOf(b);
        return x != y ? x < y : a < b;
    });
    for (std::size_t i = 0; i < alone.size(); ++i)
        out.isBrief[std::size_t(alone[i])] =
            !briefOf(alone[i]).empty() && (i == 0 || briefOf(alone[i]) != briefOf(alone[i - 1]));
}

void orderByFlow(TensorOutline& out, const Model& model) {
    std::ranges::stable_sort(out.order, [&model](int a, int b) { return flowRank(a, model) < flowRank(b, model); });
    out.rowOf.assign(out.count, 0);
    for (std::size_t at = 0; at < out.order.size(); ++at) {
        const int row = out.order[at];
        if (row >= 0)
            out.rowOf[std::size_t(row)] = int(at);
        else
            for (const int tensor : out.groups[std::size_t(~row)].tensors) out.rowOf[std::size_t(tensor)] = int(at);
    }
}

} // namespace

QString TensorOutline::name(const TensorInfo& tensor) { return escaped(tensor.name); }

QString TensorOutline::role(const Model& model, int tensor) const {
    const auto& info = model.tensors[std::size_t(tensor)];
    if (!standsAlone(tensor)) {
        const auto place = placeOf(info.name);
        return place.inLayer.empty() ? name(info) : escaped(place.inLayer);
    }
    return !isBrief.empty() && isBrief[std::size_t(tensor)] ? escaped(std::string(brief(info.name))) : name(info);
}

TensorOutline outlineOf(const Model& model) {
    TensorOutline out;
    out.count = model.tensors.size();
    out.order.reserve(out.count);
    QHash<QString, int> known;
    int weights = 0;
    for (std::size_t i = 0; i < out.count; ++i) {
        const auto& tensor = model.tensors[i];
        if (tensor.isWeight()) {
            if (weights == 0) out.weights.assign(out.count, -1);
            out.weights[i] = weights++;
        }
        const auto place = placeOf(tensor.name);
        const auto title = place.layer >= 0 ? escaped(place.group) : QString();
        if (title.isEmpty()) {
            out.order.push_back(int(i));
            continue;
        }
        int at = known.value(title, -1);
        if (at < 0) {
            at = int(out.groups.size());
            out.groups.push_back({title, {}, 0});
            known.insert(title, at);
            out.order.push_back(~at);
        }
        auto& group = out.groups[std::size_t(at)];
        group.tensors.push_back(int(i));
        group.bytes += storedBytes(tensor);
    }
    if (out.groups.empty()) {
        out.order = {};
    } else {
        out.order.shrink_to_fit();
        shortenOutside(out, model);
        orderByFlow(out, model);
    }
    return out;
}

const TensorInfo* ModelLayout::firstWeight(const Model& model) const {
    if (weights.empty()) return nullptr;
    if (outline.order.empty()) return weights.front();
    for (const int row : outline.order) {
        const auto first = [&](int tensor) { return outline.weightOf(tensor) >= 0; };
        if (row >= 0) {
            if (first(row)) return &model.tensors[std::size_t(row)];
            continue;
        }
        const auto& tensors = outline.groups[std::size_t(~row)].tensors;
        const auto at = std::ranges::find_if(tensors, first);
        if (at != tensors.end()) return &model.tensors[std::size_t(*at)];
    }
    return nullptr;
}

int ModelLayout::indexOf(const TensorInfo* tensor) const {
    const auto at = std::lower_bound(weights.begin(), weights.end(), tensor, std::less<>());
    return at != weights.end() && *at == tensor ? int(at - weights.begin()) : -1;
}

const TensorInfo* ModelLayout::neighbour(const TensorInfo* tensor, int step) const {
    if (weights.empty()) return nullptr;
    const int at = indexOf(tensor);
    return at < 0 ? weights.front() : weights[std::size_t(std::clamp(at + step, 0, int(weights.size()) - 1))];
}

const TensorInfo* ModelLayout::sameRole(const TensorInfo& tensor, int layerStep) const {
    const auto here = placeOf(tensor.name);
    if (here.layer < 0) return nullptr;
    for (const auto* other : weights) {
        if (other->name.find(here.role) == std::string::npos) continue; // cheaper than parsing 100,000 names
        const auto place = placeOf(other->name);
        if (place.layer == here.layer + layerStep && place.role == here.role) return other;
    }
    return nullptr;
}

std::shared_ptr<const ModelLayout> layoutOf(const Model& model) {
    auto layout = std::make_shared<ModelLayout>();
    for (const auto& tensor : model.tensors)
        if (tensor.isWeight()) layout->weights.push_back(&tensor);
    layout->outline = outlineOf(model);
    layout->grid = roleGrid(layout->weights);
    layout->source = quantizedSource(model);
    return layout;
}

} // namespace qs::gui
