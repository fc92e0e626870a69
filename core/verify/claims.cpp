// SPDX-License-Identifier: GPL-3.0-or-later
// What an export says of itself against what its files hold.
#include "core/analysis/audit/audit_checks.h"
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/schemes.h"
#include "core/verify/verify.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
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

/// Methods are the first word of the ids of conventions, but for one that has no name of its own.
bool isOfMethod(const StoredLayer& layer, const std::string& method) {
    if (!layer.convention) return false;
    const std::string_view id = layer.convention->id;
    return id.starts_with(method) || (method.size() > 2 && id.find(method) != id.npos);
}

void claimMethod(const CheckpointConfig& config, const std::vector<StoredLayer>& layers, std::vector<Claim>& out) {
    if (config.method.empty()) return;
    std::map<std::string, std::size_t> counts;
    bool any = false;
    for (const StoredLayer& layer : layers) {
        ++counts[layer.tensor->typeId()];
        any |= isOfMethod(layer, config.method);
    }
    out.push_back({config.file + ": quant_method", escapeForPeople(config.method, 40), countsText(counts), any});
}

/// Schemes of compressed-tensors, layer by layer; one claim for all that hold, one for each that does not.
void claimSchemes(const CheckpointConfig& config, const std::vector<StoredLayer>& layers, std::vector<Claim>& out) {
    const Schemes schemes(config.quantization);
    if (schemes.empty()) return;
    std::size_t good = 0;
    const auto textOf = [](std::uint64_t bits, bool isFloat) {
        return fmt::format("{} bits, {}", bits, isFloat ? "float" : "int");
    };
    for (const StoredLayer& layer : layers) {
        const auto said = schemes.of(std::string(moduleOf(layer.tensor->name)));
        if (!layer.coding || said.empty()) continue;
        const bool isFloat = layer.coding->levels != LayerCoding::Levels::Integers;
        const bool holds = std::ranges::any_of(said, [&](const WeightScheme& one) {
            return (one.bits == 0 || one.bits == layer.coding->bits) && one.isFloat == isFloat;
        });
        good += holds;
        if (!holds)
            out.push_back({fmt::format("{}: {}", config.file, escapeForPeople(layer.tensor->name, 80)),
                           textOf(said.front().bits, said.front().isFloat), textOf(layer.coding->bits, isFloat),
                           false});
    }
    if (good > 0)
        out.push_back({config.file + ": config_groups", fmt::format("bits and types of {} layers", good), "the same"});
}

void claimSettings(const Model& exported, std::vector<Claim>& out) {
    const CheckpointConfig config = readCheckpointConfig(exported);
    if (!config.problem.empty()) out.push_back({"settings", config.problem, "", false});
    if (config.file.empty()) return;
    const auto layers = layersOf(exported);
    claimMethod(config, layers, out);
    if (layers.empty()) return;
    claimSchemes(config, layers, out);
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

/// What the certificate says of bits and specs.
void claimCertificate(const Verification& found, std::vector<Claim>& out) {
    if (!found.certificate) return;
    const Certificate& certificate = found.certificate->certificate;
    out.push_back({"certificate: files", fmt::format("size and SHA-256 of {}", found.certificate->files.size()),
                   checkText(*found.certificate), found.certificate->holds()});
    const double says = certificate.bitsPerWeightOfAll(), is = found.bpwOfAll();
    out.push_back({"certificate: bits per weight over all tensors", fixedText(says, 4), fixedText(is, 4),
                   std::fabs(says - is) < 5e-5});
    std::map<std::string, const VerifiedTensor*> rows;
    for (const VerifiedTensor& row : found.tensors) rows[row.other] = &row;
    std::size_t exact = 0;
    const auto read = certificate.proof.tensors.each([&](const TensorProof& proof) -> Result<void> {
        const auto row = rows.find(proof.name);
        if (proof.spec.empty() || row == rows.end()) return {};
        const bool holds = row->second->derives == Derives::Exact;
        exact += holds;
        if (!holds)
            out.push_back({fmt::format("certificate: {}", escapeForPeople(proof.name, 80)), proof.spec,
                           row->second->reason.empty() ? "not known" : row->second->reason, false});
        return {};
    });
    if (!read) out.push_back({"certificate: specs", "", read.error().sentence(), false});
    if (exact > 0)
        out.push_back(
            {"certificate: specs", fmt::format("of {} tensors", exact), "every value is what the spec makes"});
}

} // namespace

std::vector<Claim> claimsOf(std::shared_ptr<const Model> exported, const Verification& found) {
    std::vector<Claim> out;
    claimSettings(*exported, out);
    claimCertificate(found, out);
    const AuditCheck self{"", "", Severity::Fault, "", nullptr};
    Findings findings;
    findLabel({std::move(exported), {}, 0}, self, findings);
    for (Finding& one : findings) out.push_back({"names and labels", std::move(one.evidence), "", false});
    return out;
}

} // namespace qs
