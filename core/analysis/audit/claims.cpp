// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/audit/claims.h"

#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/schemes.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace qs {
namespace {

/// Quantized layers and how they are stored.
struct StoredLayer {
    const TensorInfo* tensor;
    std::optional<LayerCoding> coding;
    const Convention* convention; ///< null: of a kind of file, not of a program
};

const Convention* conventionOf(std::string_view type) {
    for (const Convention& one : conventions())
        for (const char* its : one.types)
            if (type == its) return &one;
    return nullptr;
}

std::vector<StoredLayer> layersOf(const Model& model) {
    std::vector<StoredLayer> out;
    for (const TensorInfo& tensor : model.tensors)
        if (tensor.derived && !tensor.derived->fields().empty())
            out.push_back({&tensor, tensor.derived->coding(), conventionOf(tensor.derived->typeId())});
    return out;
}

/// "4 in 210 layers, 8 in 2".
std::string countsText(const std::map<std::string, std::size_t>& counts) {
    std::string text;
    for (const auto& [value, n] : counts)
        text += text.empty() ? fmt::format("{} in {} layer{}", value, n, n == 1 ? "" : "s")
                             : fmt::format(", {} in {}", value, n);
    return text.empty() ? "no quantized layer" : text;
}

class Claiming {
public:
    Claiming(const CheckpointConfig& config, const std::vector<StoredLayer>& layers, std::vector<Claim>& out)
        : config_(config), layers_(layers), out_(out) {
        for (const auto& [key, value] : config.quantization.items())
            mayDiffer_ = mayDiffer_ || (value.is_object() && !value.empty()) || key == "modules_to_not_convert";
    }
    /// Every layer has what the settings say; where they have entries for single layers too, some layer has.
    void fact(const char* key, const std::string& says, const std::function<std::string(const LayerCoding&)>& value) {
        std::map<std::string, std::size_t> counts;
        for (const StoredLayer& layer : layers_)
            if (layer.coding) ++counts[value(*layer.coding)];
        if (counts.empty()) return;
        const bool holds = counts.contains(says) && (counts.size() == 1 || mayDiffer_);
        out_.push_back({fmt::format("{}: {}", config_.file, key), says, countsText(counts), holds});
    }
    void whole(const char* key, const std::function<std::string(const LayerCoding&)>& value) {
        if (const auto said = countAt(config_.quantization, key)) fact(key, std::to_string(*said), value);
    }
    void flag(const char* key, const std::function<bool(const LayerCoding&)>& value) {
        const auto& said = valueAt(config_.quantization, key);
        if (said.is_boolean())
            fact(key, said.get<bool>() ? "true" : "false",
                 [&](const LayerCoding& coding) { return std::string(value(coding) ? "true" : "false"); });
    }

private:
    const CheckpointConfig& config_;
    const std::vector<StoredLayer>& layers_;
    std::vector<Claim>& out_;
    bool mayDiffer_ = false;
};

/// What quant_method says, against the conventions of the layers. Of a method that no convention names, nothing is known.
void claimMethod(const CheckpointConfig& config, const std::vector<StoredLayer>& layers, std::vector<Claim>& out) {
    const std::string_view method = config.method;
    const auto writes = [&](const Convention& one) { return contains(one.methods, method); };
    if (std::ranges::none_of(conventions(), writes)) return;
    std::map<std::string, std::size_t> counts;
    bool any = false;
    for (const StoredLayer& layer : layers) {
        ++counts[layer.tensor->typeId()];
        any |= layer.convention && writes(*layer.convention);
    }
    out.push_back({config.file + ": quant_method", escapeForPeople(config.method, 40), countsText(counts), any});
}

/// Schemes of compressed-tensors, layer by layer; one claim for all that hold, one for each that does not.
void claimSchemes(const CheckpointConfig& config, const std::vector<StoredLayer>& layers, std::vector<Claim>& out) {
    const Schemes schemes(config.quantization);
    if (schemes.empty()) return;
    std::size_t good = 0;
    const auto textOf = [](std::uint64_t bits, bool isFloat, std::uint64_t group) {
        const auto groups = group > 0 ? fmt::format(", groups of {}", group) : std::string();
        return fmt::format("{} bits, {}{}", bits, isFloat ? "float" : "int", groups);
    };
    for (const StoredLayer& layer : layers) {
        const auto said = schemes.of(std::string(moduleOf(layer.tensor->name)));
        if (!layer.coding || said.empty()) continue;
        const bool isFloat = layer.coding->levels != LayerCoding::Levels::Integers;
        const std::uint64_t group = layer.coding->rows == 1 ? layer.coding->columns : 0;
        const auto columns = std::uint64_t(layer.tensor->lastAxis());
        const bool holds = std::ranges::any_of(said, [&](const WeightScheme& one) {
            const bool sameGroup = one.group == 0 || group == 0 || std::min(one.group, columns) == group;
            return (one.bits == 0 || one.bits == layer.coding->bits) && one.isFloat == isFloat && sameGroup;
        });
        good += holds;
        if (!holds)
            out.push_back({fmt::format("{}: {}", config.file, escapeForPeople(layer.tensor->name, 80)),
                           textOf(said.front().bits, said.front().isFloat, said.front().group),
                           textOf(layer.coding->bits, isFloat, group), false});
    }
    if (good > 0)
        out.push_back({config.file + ": config_groups", fmt::format("bits and types of {} layers", good), "the same"});
}

void claimSettings(const Model& exported, bool ofLayers, std::vector<Claim>& out) {
    const CheckpointConfig config = readCheckpointConfig(exported);
    if (!config.problem.empty()) out.push_back({"settings", config.problem, "", false});
    if (config.file.empty()) return;
    const auto layers = layersOf(exported);
    if (ofLayers || !layers.empty()) claimMethod(config, layers, out); // else wrongLabels() says it
    if (layers.empty()) return;
    if (ofLayers) claimSchemes(config, layers, out);
    Claiming claims(config, layers, out);
    const auto bits = [](const LayerCoding& coding) { return std::to_string(coding.bits); };
    const auto group = [](const LayerCoding& coding) { return std::to_string(coding.columns); };
    for (const char* key : {"bits", "w_bit"}) claims.whole(key, bits);
    for (const char* key : {"group_size", "q_group_size"}) claims.whole(key, group);
    if (flagAt(config.quantization, "load_in_4bit", false)) claims.fact("load_in_4bit", "4", bits);
    if (flagAt(config.quantization, "load_in_8bit", false)) claims.fact("load_in_8bit", "8", bits);
    if (flagAt(config.quantization, "load_in_4bit", false)) {
        claims.flag("bnb_4bit_use_double_quant", [](const LayerCoding& coding) { return coding.hasNestedScales; });
        if (const std::string type = textAt(config.quantization, "bnb_4bit_quant_type"); !type.empty()) {
            std::map<std::string, std::size_t> counts;
            bool all = true;
            for (const StoredLayer& layer : layers) {
                const std::string stored = layer.tensor->typeId();
                ++counts[stored];
                all = all && stored.ends_with(type);
            }
            out.push_back({config.file + ": bnb_4bit_quant_type", escapeForPeople(type, 20), countsText(counts), all});
        }
    }
}

} // namespace

std::vector<Claim> claimsOfModel(const Model& model, bool ofLayers) {
    std::vector<Claim> out;
    claimSettings(model, ofLayers, out);
    for (std::string& wrong : wrongLabels(model)) out.push_back({"names and labels", std::move(wrong), "", false});
    return out;
}

} // namespace qs
