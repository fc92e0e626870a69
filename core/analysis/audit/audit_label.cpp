// SPDX-License-Identifier: GPL-3.0-or-later
// Compares what the file name, metadata keys and config.json say about a checkpoint with the types of its weights.
#include "core/analysis/audit/audit_checks.h"
#include "core/analysis/audit/claims.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/layouts/stored.h"
#include "core/model/companion.h"
#include "core/model/file_format.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

namespace fs = std::filesystem;

struct Token {
    /// `text`: a part of the file name; `type`: the type it stands for; Q4_K also for "Q4_K_M"
    std::string_view text, type;
};
/// A text must come before shorter texts that it starts with.
constexpr Token kTokens[] = {{"Q2_K", "Q2_K"},   {"Q3_K", "Q3_K"},   {"Q4_K", "Q4_K"},     {"Q5_K", "Q5_K"},
                             {"Q6_K", "Q6_K"},   {"Q4_0", "Q4_0"},   {"Q4_1", "Q4_1"},     {"Q5_0", "Q5_0"},
                             {"Q5_1", "Q5_1"},   {"Q8_0", "Q8_0"},   {"IQ4_NL", "IQ4_NL"}, {"IQ4_XS", "IQ4_XS"},
                             {"TQ1_0", "TQ1_0"}, {"TQ2_0", "TQ2_0"}, {"MXFP4", "MXFP4"},   {"NVFP4", "NVFP4"},
                             {"BF16", "BF16"},   {"FP16", "F16"},    {"F16", "F16"},       {"FP32", "F32"},
                             {"F32", "F32"}};
/// Values of general.file_type in GGUF files and the type of most tensors (llama.h, enum llama_ftype).
constexpr std::pair<int, std::string_view> kFileTypes[] = {
    {0, "F32"},     {1, "F16"},   {2, "Q4_0"},   {3, "Q4_1"},   {7, "Q8_0"},  {8, "Q5_0"},
    {9, "Q5_1"},    {10, "Q2_K"}, {11, "Q3_K"},  {12, "Q3_K"},  {13, "Q3_K"}, {14, "Q4_K"},
    {15, "Q4_K"},   {16, "Q5_K"}, {17, "Q5_K"},  {18, "Q6_K"},  {21, "Q2_K"}, {25, "IQ4_NL"},
    {30, "IQ4_XS"}, {32, "BF16"}, {36, "TQ1_0"}, {37, "TQ2_0"}, {38, "MXFP4"}};
constexpr std::pair<std::string_view, std::string_view> kDtypes[] = {
    {"float32", "F32"}, {"float16", "F16"}, {"bfloat16", "BF16"}};

std::string upper(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    return text;
}

/// True if `text` occurs as a word: no letter or digit directly before or after it.
bool isWord(const std::string& name, std::string_view text) {
    const auto at = name.find(text), end = at + text.size();
    const auto joins = [&](std::size_t i) {
        return i < name.size() && ((name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= '0' && name[i] <= '9'));
    };
    return at != std::string::npos && !(at > 0 && joins(at - 1)) && !joins(end);
}

/// Number of weights of each type.
struct Types {
    std::map<std::string, std::size_t> counts;
    explicit Types(const Model& model) {
        for (const TensorInfo& tensor : model.tensors)
            if (tensor.shape.size() >= 2 && tensor.elements >= 256) ++counts[tensor.typeId()];
    }
    /// True if a weight has the type, also as a word of a longer name: MXFP4 in gpt-oss-mxfp4.
    bool has(std::string_view type) const {
        return std::ranges::any_of(counts, [&](const auto& row) { return isWord(upper(row.first), type); });
    }
    std::string text() const {
        std::string out;
        for (const auto& [type, n] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, type);
        return out;
    }
};

std::string configPath(const Model& model) {
    return ((model.folder.empty() ? fs::path(model.path).parent_path() : fs::path(model.folder)) / "config.json")
        .string();
}

bool isQuantized(const Model& model) {
    const bool stored = std::ranges::any_of(model.files, [](const ModelFile& file) {
        const auto first = file.metadata.lower_bound(std::string(kStoredPrefix));
        return first != file.metadata.end() && first->first.starts_with(kStoredPrefix);
    });
    return stored || std::ranges::any_of(model.tensors, [](const TensorInfo& tensor) {
               return tensor.packed || tensor.derived || info(tensor.dtype).bits <= 8 ||
                      !info(tensor.dtype).quantizable;
           });
}

} // namespace

std::vector<std::string> wrongLabels(const Model& model) {
    std::vector<std::string> out;
    const Types types(model);
    if (types.counts.empty()) return out;
    const auto say = [&](std::string who, std::string_view type) {
        out.push_back(fmt::format("{} says {}; weights are {}", who, type, types.text()));
    };
    const auto keys = metadataOf(model);
    if (const auto at = keys.find("general.file_type"); at != keys.end())
        for (const auto& [number, type] : kFileTypes)
            if (at->second == std::to_string(number) && !types.has(type)) say("general.file_type", type);

    const std::string name = upper(fs::path(model.path).filename().string());
    for (const auto& [text, type] : kTokens)
        if (isWord(name, text)) {
            if (!types.has(type))
                say(fmt::format("the name {}", quotedName(fs::path(model.path).filename().string())), type);
            break;
        }

    const auto read = readCompanionTree(configPath(model));
    const auto config = read ? *read : nlohmann::json();
    const auto quantization = config.is_object() ? config.find("quantization_config") : config.end();
    const bool quantized = config.is_object() && quantization != config.end();
    const std::string method = quantized ? textAt(*quantization, "quant_method") : std::string();
    if (!method.empty() && !isQuantized(model))
        out.push_back(fmt::format("config.json says quant_method {}; weights are {}, none of them quantized",
                                  escapeForPeople(method, 40), types.text()));
    std::string dtype = textAt(config, "torch_dtype");
    if (dtype.empty()) dtype = textAt(config, "dtype");
    for (const auto& [text, type] : kDtypes)
        if (!quantized && !isQuantized(model) && dtype == text && !types.has(type)) say("config.json", type);
    return out;
}

void findLabel(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const Claim& claim : claimsOfModel(*audited.model, false)) {
        if (claim.holds) continue;
        const bool whole = claim.found.empty(); // a sentence of its own
        out.push_back(
            {&self, {}, whole ? claim.says : fmt::format("{} says {}; found: {}", claim.who, claim.says, claim.found)});
    }
}

} // namespace qs
