// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that contradict what is said of them, that are not decoded, and that are missing.
#include "core/analysis/audit/audit_checks.h"
#include "core/base/json_tree.h"
#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/companion.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace qs {
namespace {

namespace fs = std::filesystem;

/// "0 to 3, 7": the numbers below `end` that are not there.
std::string gapsText(const std::set<int>& there, int end) {
    std::string text;
    for (int first = 0; first < end; ++first) {
        if (there.contains(first)) continue;
        int last = first;
        while (last + 1 < end && !there.contains(last + 1)) ++last;
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", first, last > first ? fmt::format(" to {}", last) : "");
        first = last;
    }
    return text;
}

/// The number of layers that config.json names; 0 if it names none.
int layersOfConfig(const Model& model) {
    const fs::path folder = model.folder.empty() ? fs::path(model.path).parent_path() : fs::path(model.folder);
    const auto config = readCompanionTree((folder / "config.json").string());
    if (!config || !config->is_object()) return 0;
    const auto inner = config->find("text_config");
    for (const auto* tree : {&*config, inner == config->end() ? nullptr : &*inner})
        for (const char* key : {"num_hidden_layers", "n_layer", "num_layers"})
            if (tree && tree->is_object())
                if (const auto n = countAt(*tree, key); n && *n < 100000) return int(*n);
    return 0;
}

/// True for the name of a stack of equal layers. Numbers of other modules have gaps by design: layers without weights.
bool isStack(std::string_view name) {
    constexpr std::string_view kStackNames[] = {"layers", "layer", "h", "blocks", "block", "blk"};
    return contains(kStackNames, name.substr(name.rfind('.') + 1));
}

/// The name of a stack of layers: "model.layers" of "model.layers.3.mlp.up_proj.weight".
std::string stackOf(const std::string& name, int layer) {
    const auto number = "." + std::to_string(layer) + ".";
    return name.substr(0, name.find(number));
}

} // namespace

void findContradictions(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const Contradiction& one : audited.model->contradictions)
        out.push_back({&self, one.layer,
                       fmt::format("{}, but {}{}", one.says, one.holds,
                                   *one.fits ? fmt::format("; {} fits (--as {})", one.fits, one.fits) : "")});
    for (const UndecodedLayer& layer : audited.model->undecoded)
        if (layer.isContradicted) out.push_back({&self, layer.name, oneSentence("not decoded: " + layer.why)});
}

void findUndecoded(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const UndecodedLayer& layer : audited.model->undecoded) {
        if (layer.isContradicted) continue;
        std::string text = layer.why.empty() ? layer.why : "not decoded: " + layer.why;
        for (const ConventionCandidate& one : layer.candidates)
            text += fmt::format("{}{}: plausibility {:.2f}, {}", text.empty() ? "" : "; ", one.convention,
                                one.plausibility, one.reason);
        if (text.empty()) text = fmt::format("{} parts without a known convention", layer.parts.size());
        out.push_back({&self, layer.name, oneSentence(text)});
    }
}

void findMissing(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    const Model& model = *audited.model;
    if (auto sentence = missingSentence(model); !sentence.empty()) {
        sentence.pop_back();
        out.push_back({&self, {}, std::move(sentence)});
    }
    std::map<std::string, std::set<int>> stacks;
    for (const TensorInfo& tensor : model.tensors)
        if (const TensorPlace place = placeOf(tensor.name); place.layer >= 0)
            stacks[stackOf(tensor.name, place.layer)].insert(place.layer);
    const std::set<int>* longest = nullptr;
    for (const auto& [stack, layers] : stacks) {
        if (!longest || layers.size() > longest->size()) longest = &layers;
        const int end = *layers.rbegin() + 1;
        if (layers.size() > 1 && int(layers.size()) < end && isStack(stack))
            out.push_back({&self,
                           {},
                           fmt::format("{}: of the layers 0 to {} these have no tensor: {}", quotedName(stack), end - 1,
                                       gapsText(layers, end))});
    }
    const int wanted = longest ? layersOfConfig(model) : 0;
    if (wanted > 0 && *longest->rbegin() + 1 < wanted)
        out.push_back({&self,
                       {},
                       fmt::format("config.json has {} layers; the files have {}, up to layer {}", wanted,
                                   longest->size(), *longest->rbegin())});
}

} // namespace qs
