// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/checkpoint.h"

#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/companion.h"
#include "core/model/conventions/attention.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/module_rules.h"
#include "core/model/conventions/plausible.h"
#include "core/model/conventions/schemes.h"
#include "core/model/conventions/undecoded.h"
#include "core/model/file_set.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace qs {
namespace {

namespace fs = std::filesystem;

// Bytes of memory per layer: its decoder, its fields and their description. The rows of the fields are charged too,
// because they are kept until all layers are found.
constexpr std::uint64_t kPerLayer = 1400;

std::string lower(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    return text;
}

std::optional<DType> floatType(const std::string& name) {
    if (name == "float32") return DType::F32;
    if (name == "float16") return DType::F16;
    if (name == "bfloat16") return DType::BF16;
    return {};
}

std::optional<std::int64_t> sizeAt(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return {};
    const auto value = found->get<std::int64_t>();
    return value > 0 ? std::optional(value) : std::nullopt;
}

fs::path folderOfConfig(const Model& model) {
    return model.folder.empty() ? fs::path(model.files.front().path).parent_path() : fs::path(model.folder);
}

/// Transforms of weights are part of the weights already.
std::vector<std::string> transformsIn(const nlohmann::json& quantization) {
    std::vector<std::string> out;
    const auto groups = valueAt(valueAt(quantization, "transform_config"), "config_groups");
    if (!groups.is_object()) return out;
    for (const auto& [name, scheme] : groups.items())
        for (const auto& one : valueAt(scheme, "apply")) {
            const std::string location = one.is_object() ? textAt(one, "location") : std::string();
            if (!location.empty() && !location.starts_with("weight_")) addOnce(out, name + '_' + location);
        }
    return out;
}

} // namespace

std::vector<std::string> configPaths(const Model& model) {
    std::vector<std::string> paths;
    if (model.files.empty()) return paths;
    for (const char* name : {"config.json", "quantize_config.json", "quant_config.json", "hf_quant_config.json"}) {
        auto path = (folderOfConfig(model) / name).string();
        std::error_code failed;
        if (fs::exists(path, failed)) paths.push_back(std::move(path));
    }
    return paths;
}

/// Models for text and images have these entries one level deeper, in text_config.
AttentionSizes attentionSizes(const Model& model) {
    AttentionSizes sizes;
    if (model.files.empty()) return sizes;
    const auto tree = readCompanionTree((folderOfConfig(model) / "config.json").string());
    if (!tree || !tree->is_object()) return sizes;
    const auto text = tree->find("text_config");
    const nlohmann::json& of = text != tree->end() && text->is_object() ? *text : *tree;
    const auto heads = sizeAt(of, "num_attention_heads"), width = sizeAt(of, "hidden_size");
    sizes.kvHeads = sizeAt(of, "num_key_value_heads");
    if (!sizes.kvHeads) sizes.kvHeads = heads;
    sizes.headSize = sizeAt(of, "head_dim");
    if (!sizes.headSize && heads && width && *width % *heads == 0) sizes.headSize = *width / *heads;
    return sizes;
}

CheckpointConfig readCheckpointConfig(const Model& model) {
    CheckpointConfig config;
    if (model.files.empty()) return config;
    const fs::path folder = folderOfConfig(model);
    const auto take = [&](const char* name, const nlohmann::json& quantization) {
        if (!quantization.is_object()) return;
        config.quantization = quantization;
        config.method = lower(textAt(quantization, "quant_method"));
        config.file = name;
    };
    // Settings in the file's own metadata are used before files beside it.
    const auto& metadata = model.files.front().metadata;
    if (const auto said = metadata.find(kConfigKey); said != metadata.end() && said->second.size() <= kMostJson)
        if (const auto tree = readJsonTree(said->second)) take("its metadata", *tree);
    const bool isOwn = !config.file.empty();
    if (const auto said = metadata.find("_quantization_metadata"); said != metadata.end())
        if (const auto tree = readJsonTree(said->second)) config.comfyLayers = valueAt(*tree, "layers");
    if (const auto tree = readCompanionTree((folder / "config.json").string()); !tree)
        config.problem = tree.error().message;
    else if (tree->is_object()) {
        config.modelType = textAt(*tree, "model_type");
        const auto text = tree->find("text_config");
        const auto& own = text != tree->end() && text->is_object() ? *text : *tree; // of models for text and images
        config.vocabulary = sizeAt(own, "vocab_size"), config.width = sizeAt(own, "hidden_size");
        for (const auto* object : {&*tree, &own})
            if (const auto tied = object->find("tie_word_embeddings"); tied != object->end() && tied->is_boolean())
                config.tiesHead = tied->get<bool>();
        config.dtype = floatType(textAt(*tree, "torch_dtype"));
        if (!config.dtype) config.dtype = floatType(textAt(*tree, "dtype"));
        for (const char* key : {"compression_config", "quantization", "quantization_config"})
            if (const auto found = isOwn ? tree->end() : tree->find(key); found != tree->end())
                take("config.json", *found);
    }
    // Settings files of early writers. They do not name the method.
    for (const auto& [name, method] : {std::pair("quantize_config.json", "gptq"), std::pair("quant_config.json", "awq"),
                                       std::pair("hf_quant_config.json", "modelopt")}) {
        if (!config.file.empty()) break;
        const auto tree = readCompanionTree((folder / name).string());
        if (!tree) {
            config.problem = tree.error().message;
            continue;
        }
        take(name, tree->is_object() && tree->contains("quantization") ? (*tree)["quantization"] : *tree);
        if (!config.file.empty() && config.method.empty()) config.method = method;
    }
    config.transforms = transformsIn(config.quantization);
    return config;
}

Result<void> checkTransforms(const Model& model) {
    const CheckpointConfig config = readCheckpointConfig(model);
    if (config.transforms.empty()) return {};
    return fail(
        fmt::format("{} applies transforms while it runs (transform_config of {}, such as {}), and this version "
                    "does not: use a model whose transforms are part of its weights",
                    shownPath(model.path), config.file, quotedName(config.transforms.front())),
        model.path);
}

Checkpoint::Checkpoint(const Model& model, const Convention* as)
    : model_(model), as_(as), config_(readCheckpointConfig(model)),
      schemes_(std::make_shared<Schemes>(config_.quantization)),
      rules_(std::make_shared<ModuleRules>(config_.quantization)), taken_(model.tensors.size()), budget_(model, 0) {}

bool Checkpoint::isAsked(const Convention& convention) const {
    return as_ && std::string_view(as_->id) == convention.id;
}

bool Checkpoint::isTable(const std::string& module, std::int64_t rows, std::int64_t columns) const {
    const TensorRole role = roleOfMatrix(model_, module);
    // Projections behind a table have names like it; some tables lack a few tokens at the end of the vocabulary.
    const auto tokens = config_.vocabulary;
    return role == TensorRole::Position ||
           (role == TensorRole::Embedding && columns != tokens && rows > tokens.value_or(0) / 10 * 9);
}

bool Checkpoint::hasMarker(std::string_view end) const {
    const auto known = markers_.find(end);
    if (known != markers_.end()) return known->second;
    const bool has =
        std::ranges::any_of(model_.tensors, [&](const TensorInfo& tensor) { return tensor.name.ends_with(end); });
    return markers_.emplace(std::string(end), has).first->second;
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
    const TensorInfo* found = model_.find(name);
    if (!found || found->packed || found->derived) return nullptr; // a field is always a stored tensor
    return taken_[std::size_t(found - model_.tensors.data())] ? nullptr : found;
}

Result<Field> Checkpoint::field(const std::string& name, std::initializer_list<DType> dtypes,
                                std::span<const std::int64_t> shape) const {
    const TensorInfo* found = find(name);
    if (!found) return fail(fmt::format("{} is missing", quotedName(name)));
    const bool fits = contains(dtypes, found->dtype) && !found->packed && !found->derived &&
                      std::equal(shape.begin(), shape.end(), found->shape.begin(), found->shape.end());
    if (fits) return field(*found);
    std::string wanted;
    for (const DType dtype : dtypes) wanted += (wanted.empty() ? "" : " or ") + std::string(qs::info(dtype).id);
    return fail(fmt::format("{} is {} {}, not {} {}", quotedName(name), found->typeId(), shapeText(found->shape),
                            wanted, shapeText(shape)));
}

const std::string* Checkpoint::metadata(const TensorInfo& tensor, const std::string& key) const {
    const auto& all = model_.files[tensor.file].metadata;
    const auto found = all.find(key);
    return found == all.end() ? nullptr : &found->second;
}

/// The names of stored tensors in the module of a layer that are none of its fields, nor a bias or a scale of inputs or
/// outputs.
std::vector<std::string> Checkpoint::strangersBeside(const std::string& name, const Layer& layer) {
    const auto moduleOf = [](std::string_view tensor) {
        const auto dot = tensor.rfind('.');
        return dot == tensor.npos ? std::string_view() : tensor.substr(0, dot);
    };
    if (modules_.empty())
        for (const TensorInfo& tensor : model_.tensors) modules_[moduleOf(tensor.name)].push_back(&tensor);
    std::vector<std::string> strangers;
    const auto found = modules_.find(moduleName(name));
    if (found == modules_.end()) return strangers;
    const auto fields = layer.fields();
    constexpr std::string_view known[] = {"bias",         "input_scale", "input_zero_point", "input_global_scale",
                                          "output_scale", "k_scale",     "v_scale"};
    for (const TensorInfo* tensor : found->second) {
        const auto end = std::string_view(tensor->name).substr(found->first.size() + 1);
        if (!contains(known, end) && !contains(fields, std::string(tensor->name))) strangers.emplace_back(tensor->name);
    }
    return strangers;
}

Result<void> Checkpoint::add(const std::string& name, std::shared_ptr<const Layer> layer) {
    const auto fields = layer->fields();
    if (!contains(fields, name) && model_.find(name))
        return fail(fmt::format("there is a tensor {} beside its parts", quotedName(name)));
    std::uint64_t memory = kPerLayer;
    for (const auto& field : fields) memory += 2 * ListBudget::heap(field.size() + 1);
    if (!budget_.take(memory))
        return fail("the list of its layers takes more memory than a checkpoint of its size needs");
    for (const auto& field : fields) {
        const TensorInfo* found = find(field);
        if (!found) return fail(fmt::format("{} belongs to two layers", quotedName(field)));
        taken_[std::size_t(found - model_.tensors.data())] = true;
    }
    TensorInfo info;
    info.name = name;
    info.dtype = layer->dtype();
    info.shape = layer->shape();
    info.elements = layer->elements();
    info.bytes = info.elements * std::uint64_t(qs::info(info.dtype).bits) / 8;
    info.file = layer->file();
    info.offset = layer->parts().front().offset;
    info.derived = std::move(layer);
    layers_.push_back(std::move(info));
    return {};
}

void Checkpoint::take(const Convention& convention, const std::string& name, Evidence evidence,
                      Result<std::shared_ptr<const Layer>> layer, const std::vector<std::string>& parts) {
    const auto strangers =
        layer && evidence != Evidence::Said ? strangersBeside(name, **layer) : std::vector<std::string>();
    strangers_.insert(strangers_.end(), strangers.begin(), strangers.end());
    if (isAsked(convention)) evidence = Evidence::Said;
    UndecodedLayer& undecoded = undecoded_[std::string(moduleName(name))];
    if (layer && evidence != Evidence::Said) {
        auto [plausibility, reason] = plausibilityOf(**layer);
        if (evidence == Evidence::Alike || plausibility < kLeastPlausible || !strangers.empty()) {
            if (!strangers.empty()) {
                undecoded.why = fmt::format("{} beside it is no part of {}, and nothing says how it is stored",
                                            quotedName(strangers.front()), convention.title);
                undecoded.parts.insert(undecoded.parts.end(), strangers.begin(), strangers.end());
            }
            undecoded.candidates.push_back({convention.id, plausibility, std::move(reason)});
            for (auto& field : (*layer)->fields())
                if (!contains(undecoded.parts, field)) undecoded.parts.push_back(std::move(field));
            return;
        }
    }
    if (!layer && evidence == Evidence::Alike && !undecoded.candidates.empty()) return; // another explains it
    const auto added = std::move(layer).and_then([&](auto&& read) { return add(name, std::move(read)); });
    if (added) {
        undecoded_.erase(std::string(moduleName(name)));
        return;
    }
    for (const std::string& part : parts)
        if (!contains(undecoded.parts, part)) undecoded.parts.push_back(part);
    const std::string why = oneSentence(added.error().message);
    undecoded.isContradicted = evidence == Evidence::Said;
    undecoded.why = evidence == Evidence::Alike ? fmt::format("it looks like {}, but {}", convention.title, why) : why;
    const auto same = std::ranges::find_if(
        refused_, [&](const Refused& r) { return std::string_view(r.convention) == convention.title; });
    if (same != refused_.end())
        ++same->count;
    else
        refused_.push_back({convention.title, name, why, 1});
}

/// One warning for all layers with the same candidates.
void Checkpoint::sayCandidates(Model& model) const {
    std::map<std::string, std::pair<std::string, std::size_t>> first; // candidates: first layer, how many
    for (const auto& [name, layer] : undecoded_) {
        if (layer.candidates.empty()) continue;
        std::string all;
        for (const auto& one : layer.candidates) all += (all.empty() ? "" : " or ") + std::string(one.convention);
        auto& seen = first.try_emplace(all, name, 0).first->second;
        ++seen.second;
    }
    for (const auto& [candidates, seen] : first)
        model.warnings.push_back(
            fmt::format("{}{} could be stored as {}, and nothing in the checkpoint says which, so it is listed as "
                        "it is stored.",
                        quotedName(seen.first),
                        seen.second > 1 ? fmt::format(" and {} more layers", seen.second - 1) : "", candidates));
}

void Checkpoint::finish(Model& model) {
    for (const auto& refused : refused_)
        model.warnings.push_back(fmt::format(
            "{} looks like {} but is listed as it is stored: {}{}.", quotedName(refused.first), refused.convention,
            refused.why, refused.count > 1 ? fmt::format(" (so are {} others)", refused.count - 1) : ""));
    for (const TensorInfo& layer : layers_) undecoded_.erase(std::string(moduleName(layer.name)));
    sayCandidates(model);
    for (auto& [name, layer] : undecoded_) {
        layer.name = name;
        if (layer.why.empty()) layer.why = "nothing in the checkpoint says which convention stores it";
        std::ranges::stable_sort(layer.candidates, std::greater(), &ConventionCandidate::plausibility);
        model.undecoded.push_back(std::move(layer));
    }
    if (!contradictions_.empty()) {
        const Contradiction& one = contradictions_.front();
        model.warnings.push_back(fmt::format(
            "{}{}: {}, but {}{}.", quotedName(one.layer),
            contradictions_.size() > 1 ? fmt::format(" and {} more layers", contradictions_.size() - 1) : "", one.says,
            one.holds, *one.fits ? fmt::format("; --as {} reads it so", one.fits) : ""));
    }
    model.contradictions = std::move(contradictions_);
    if (!undecoded_.empty() && !config_.problem.empty()) model.warnings.push_back(config_.problem);
    for (const std::string& name : strangers_)
        if (const TensorInfo* stranger = model.find(name))
            model.tensors[std::size_t(stranger - model.tensors.data())].role = TensorRole::Part;
    if (layers_.empty()) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < model.tensors.size(); ++i)
        if (!taken_[i]) {
            if (kept != i) model.tensors[kept] = std::move(model.tensors[i]);
            ++kept;
        }
    model.tensors.resize(kept);
    std::move(layers_.begin(), layers_.end(), std::back_inserter(model.tensors));
    sortByName(model);
    // Two layers with the same name cannot be told apart. Normally conventions do not take the same fields.
    dropDuplicates(model);
}

} // namespace qs
