// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/undecoded.h"

#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace qs {
namespace {

/// The end of a name that a part of a quantized layer has.
struct PartEnd {
    std::string_view end;
    bool isCertain; ///< false: other tensors have it too, so it counts beside codes only
};
constexpr PartEnd kPartEnds[] = {
    {".weight_scale", true},
    {".weight_scale_2", true},
    {".weight_scale_inv", true},
    {"_scale_inv", true},
    {".weight_packed", true},
    {".weight_shape", true},
    {".weight_zero_point", true},
    {".weight_g_idx", true},
    {".weight_global_scale", true},
    {".global_scale", false},
    {".input_scale", true},
    {".input_zero_point", true},
    {".input_global_scale", true},
    {".output_scale", true},
    {".activation_scale", true},
    {".pre_quant_scale", true},
    {".weights_scaling_factor", true},
    {".weights_scaling_factor_2", true},
    {".weights_block_scaling_factor", true},
    {".weights_block_scaling_factor_interleaved", true},
    {".activation_scaling_factor", true},
    {".prequant_scaling_factor", true},
    {".qweight", true},
    {".qzeros", true},
    {".g_idx", true},
    {".absmax", true},
    {".quant_map", true},
    {".nested_absmax", true},
    {".nested_quant_map", true},
    {".quant_state.bitsandbytes__nf4", true},
    {".quant_state.bitsandbytes__fp4", true},
    {".SCB", true},
    {".weight_format", true},
    {".W_q", true},
    {".comfy_quant", true},
    {".scale_weight", true},
    {".scale_input", true},
    {".weight_s_rel", true},
    {".weight_s_channel", true},
    {".weight_codebook", true},
    {".weight_correction", true},
    {".weight_zeros", true},
    {".weight_proj_down", true},
    {".weight_proj_up", true},
    {".weight_smooth_factor", true},
    {".wscales", true},
    {".smooth_factor", false},
    {".proj_down", false},
    {".proj_up", false},
    {".scale", false},
    {".scales", false},
    {".scale2", false},
    {".codebook", false},
    {".zero", false},
    {".zeros", false},
    {".zero_point", false},
    {".zero_points", false},
    {".biases", false},
    {".shift", false},
    {"._scale", false},
    {"._shift", false},
    {"_scale", false},
    {"_scales", false},
    {"_zeros", false},
    {"_zero_point", false},
};
/// Ends of the names of codes, behind the name of their layer.
constexpr std::string_view kCodeEnds[] = {".qweight", ".weight_packed", ".W_q",   "_blocks", ".blocks",     ".codes",
                                          ".packed",  "._data",         "_qdata", ".weight", ".float8_data"};
/// Tensors of a file that mark how its layers are stored.
constexpr std::string_view kMarkers[] = {"scaled_fp8"};

/// Conventions that are known but not decoded.
struct KnownKind {
    std::string_view end;
    const char *title, *fields;
    bool packsHalves = false; ///< the bits of its codes may be stored as P.weight of F16
};
constexpr KnownKind kKnownKinds[] = {
    {".pre_quant_scale", "NVIDIA ModelOpt (AWQ)", "P.weight beside P.weight_scale and P.pre_quant_scale"},
    {".weights_scaling_factor", "TensorRT-LLM", "P.weight beside P.weights_scaling_factor", true},
    {".weights_block_scaling_factor_interleaved", "TensorRT-LLM", "scales in an order of its kernels"},
};

bool isCodeType(DType dtype) {
    switch (dtype) {
    case DType::Bool:
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
    case DType::C64:
    case DType::I64:
    case DType::U64: return false;
    default: return true;
    }
}

const PartEnd* partEnd(std::string_view name) {
    const PartEnd* longest = nullptr;
    for (const PartEnd& one : kPartEnds)
        if (name.size() > one.end.size() && name.ends_with(one.end) &&
            (!longest || one.end.size() > longest->end.size()))
            longest = &one;
    return longest;
}

/// The tensors of one module that may be parts of a layer.
struct Group {
    std::vector<TensorInfo*> certain, uncertain, codes;
};

using Groups = std::map<std::string, Group, std::less<>>;

bool isIn(const Group& group, const TensorInfo& tensor) {
    const auto has = [&](const auto& list) { return std::ranges::find(list, &tensor) != list.end(); };
    return has(group.codes) || has(group.certain) || has(group.uncertain);
}

/// The module that a tensor belongs to: what is before the last dot; "": it has none.
std::string_view moduleOf(std::string_view name) {
    const auto dot = name.rfind('.');
    return dot == name.npos ? std::string_view() : name.substr(0, dot);
}

/// What a part is called behind the name of its layer, or in its module if it lies beside.
std::string_view endOf(std::string_view part, std::string_view layer) {
    if (part.starts_with(layer) && part.size() > layer.size()) return part.substr(layer.size());
    return part.substr(moduleOf(part).size());
}

/// Whether a name says that its tensor describes codes.
bool saysThatItDescribes(std::string_view name) {
    constexpr std::string_view words[] = {"scale", "zero", "max", "codebook", "centroid", "lookup"};
    return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != name.npos; });
}

/// Whether the tensor holds the codes of a matrix, and not a mask or a table of places.
bool areCodesOfMatrix(const TensorInfo& tensor) {
    const std::string_view name = tensor.name;
    const auto sides = std::ranges::count_if(tensor.shape, [](std::int64_t size) { return size > 1; });
    return sides >= 2 && tensor.elements >= 64 && !name.ends_with("bias") && !name.ends_with("mask") &&
           !name.ends_with("_index") && !name.ends_with("_ids");
}

/// The group whose codes a tensor may describe, by its name alone: its name goes on behind theirs with "_", or it lies in
/// their module. `isQuantized`: the settings say that layers are quantized; then it may lie a module deeper. Null: none.
Group* besideCodes(Groups& groups, const std::map<std::string, std::string, std::less<>>& codesIn,
                   std::string_view name, bool isQuantized) {
    const std::string_view module = moduleOf(name);
    for (auto end = name.rfind('_'); end != name.npos && end > module.size();
         end = end ? name.rfind('_', end - 1) : name.npos)
        if (const auto found = groups.find(name.substr(0, end)); found != groups.end() && !found->second.codes.empty())
            return &found->second;
    for (const std::string_view place : {module, isQuantized ? moduleOf(module) : std::string_view()})
        if (const auto found = codesIn.find(place); !place.empty() && found != codesIn.end())
            return &groups.find(found->second)->second;
    return nullptr;
}

/// A layer is called as its module, not as its codes are: "q_proj", not "q_proj.Qidxs".
void nameByModules(const std::map<std::string, std::string, std::less<>>& codesIn, Groups& groups) {
    for (const auto& [module, name] : codesIn) {
        const auto found = groups.find(name);
        const bool isNamedByCodes = module.size() < name.size() && found->second.codes.front()->name.view() == name;
        if (!isNamedByCodes || found->second.uncertain.empty()) continue;
        const Group beside = std::move(groups.extract(found).mapped());
        Group& group = groups[module];
        group.codes.insert(group.codes.end(), beside.codes.begin(), beside.codes.end());
        for (TensorInfo* part : beside.uncertain)
            if (!isIn(group, *part)) group.uncertain.push_back(part);
    }
}

/// Programs name what describes codes as they like. In a module whose only matrix is one of codes, all but the bias does, if
/// the settings say that layers are quantized, the codes are 8-bit floats, or a name says that its tensor describes codes.
void addSiblings(Model& model, bool isQuantized, Groups& groups) {
    std::map<std::string, std::string, std::less<>> codesIn; // modules: the names of their groups
    std::set<std::string, std::less<>> several;              // modules with integers of more than one kind
    for (const auto& [name, group] : groups)
        for (const TensorInfo* codes : group.codes)
            if (const auto module = moduleOf(codes->name); areCodesOfMatrix(*codes) && !module.empty())
                if (!codesIn.emplace(module, name).second) several.emplace(module);
    if (!isQuantized)
        for (const std::string& module : several) codesIn.erase(module);
    // A module with a matrix of its own values has other uses for codes.
    for (const TensorInfo& tensor : model.tensors) {
        if (tensor.shape.size() < 2 || isCodeType(tensor.dtype) || tensor.derived) continue;
        const auto found = codesIn.find(moduleOf(tensor.name));
        if (found == codesIn.end()) continue;
        const auto& codes = groups.find(found->second)->second.codes;
        const bool isLarge = !isQuantized && std::ranges::any_of(codes, [&](const TensorInfo* one) {
            return areCodesOfMatrix(*one) && one->elements <= tensor.elements;
        });
        if (isLarge || tensor.name.ends_with(".weight")) codesIn.erase(found);
    }
    // Tables of integers lie beside matrices of values too: without settings a name must say that it describes codes.
    if (!isQuantized) {
        decltype(codesIn) described;
        for (const TensorInfo& tensor : model.tensors) {
            const std::string_view name = tensor.name, module = moduleOf(name);
            const bool isFloatCode = tensor.dtype == DType::F8_E4M3 || tensor.dtype == DType::F8_E5M2;
            if (!isFloatCode && (isCodeType(tensor.dtype) || !saysThatItDescribes(name.substr(module.size()))))
                continue;
            if (const auto found = codesIn.find(module); found != codesIn.end())
                described.insert(codesIn.extract(found));
        }
        codesIn = std::move(described);
    }
    std::set<std::string, std::less<>> decoded; // modules of layers that are decoded: the rest describes them as well
    for (const TensorInfo& tensor : model.tensors)
        if (tensor.derived && tensor.derived->parts().size() > 1 && tensor.name.ends_with(".weight"))
            decoded.emplace(moduleOf(tensor.name));
    for (TensorInfo& tensor : model.tensors) {
        const std::string_view name = tensor.name;
        const std::string_view end = name.substr(moduleOf(name).size());
        if (!tensor.derived && !name.ends_with("bias") && decoded.contains(moduleOf(name)) &&
            (tensor.shape.size() < 2 || saysThatItDescribes(end)))
            tensor.role = TensorRole::Part;
        const bool isOther = tensor.derived || tensor.packed || tensor.elements == 0 || name.ends_with("bias") ||
                             (isCodeType(tensor.dtype) && areCodesOfMatrix(tensor) && !partEnd(name));
        if (isOther || (codesIn.empty() && groups.empty())) continue;
        Group* group = besideCodes(groups, codesIn, name, isQuantized);
        if (group && !isIn(*group, tensor)) group->uncertain.push_back(&tensor);
    }
    for (const std::string& module : several) codesIn.erase(module);
    nameByModules(codesIn, groups);
}

Groups groupsIn(Model& model, bool isQuantized) {
    Groups groups;
    for (TensorInfo& tensor : model.tensors) {
        if (tensor.derived || tensor.packed) continue;
        const std::string_view name = tensor.name;
        const PartEnd* part = partEnd(name);
        std::string_view module = part ? name.substr(0, name.size() - part->end.size()) : name;
        bool isCodes = isCodeType(tensor.dtype) && tensor.elements > 1 && !part;
        for (const std::string_view end : kCodeEnds)
            if (isCodeType(tensor.dtype) && name.size() > end.size() && name.ends_with(end)) {
                module = name.substr(0, name.size() - end.size());
                isCodes = true;
                break;
            }
        if (!part && !isCodes) continue;
        Group& group = groups[std::string(moduleName(module))];
        (isCodes ? group.codes : part->isCertain ? group.certain : group.uncertain).push_back(&tensor);
        if (isCodes && part) group.certain.push_back(&tensor);
    }
    addSiblings(model, isQuantized, groups);
    return groups;
}

const KnownKind* knownKind(const Group& group) {
    for (const KnownKind& kind : kKnownKinds)
        for (const TensorInfo* part : group.certain)
            if (part->name.ends_with(kind.end)) return &kind;
    return nullptr;
}

/// How many layers were found for a reason, and the first.
struct Seen {
    std::string first, sentence;
    std::size_t count = 0;
};

class Finder {
public:
    Finder(Model& model, const CheckpointConfig& config) : model_(model), config_(config), budget_(model, 0) {
        for (std::size_t i = 0; i < model.undecoded.size(); ++i) {
            known_[model.undecoded[i].name] = i;
            for (const std::string& part : model.undecoded[i].parts) layerOf_[part] = i;
        }
    }

    void find() {
        for (auto& [module, group] : groupsIn(model_, !config_.method.empty())) {
            for (TensorInfo* part : group.certain) part->role = TensorRole::Part;
            if (isStoredByUs(module)) { // every command decodes it
                for (const auto* list : {&group.codes, &group.uncertain})
                    for (TensorInfo* part : *list) part->role = TensorRole::Part;
                continue;
            }
            addHalves(module, group);
            const bool isLayer = !group.codes.empty() && (!group.certain.empty() || !group.uncertain.empty());
            const std::size_t* known = knownLayer(module, group);
            if (isLayer || known || isNamedByConfig(group)) add(module, group, known);
        }
        for (TensorInfo& tensor : model_.tensors)
            if (isMarker(tensor.name)) tensor.role = TensorRole::Part;
        addTransforms();
        for (const auto& [reason, seen] : seen_)
            model_.warnings.push_back(
                fmt::format("{} {}{}.", quotedName(seen.first), seen.sentence,
                            seen.count > 1 ? fmt::format(", and those of {} more", seen.count - 1) : ""));
    }

private:
    /// The matrices of transforms multiply what goes into a layer, so they are no weights.
    void addTransforms() {
        for (TensorInfo& tensor : model_.tensors) {
            const std::string_view module = moduleOf(tensor.name);
            const auto ends = [&](const std::string& transform) {
                return module.size() > transform.size() && module.ends_with(transform) &&
                       module[module.size() - transform.size() - 1] == '.';
            };
            if (tensor.derived || !std::ranges::any_of(config_.transforms, ends)) continue;
            tensor.role = TensorRole::Part;
            const auto [known, isNew] = known_.emplace(module, model_.undecoded.size());
            const std::string name(tensor.name);
            if (!budget_.take(sizeof(UndecodedLayer) + 2 * ListBudget::heap(name.size()))) return;
            if (isNew) {
                UndecodedLayer& layer = model_.undecoded.emplace_back();
                layer.name = module;
                layer.why = fmt::format(
                    "it is a transform that the network applies while it runs (transform_config of {})", config_.file);
                Seen& seen = seen_["transforms"];
                if (seen.count++ == 0)
                    seen.first = layer.name,
                    seen.sentence = fmt::format("is a transform that the network applies while "
                                                "it runs (transform_config of {}): what this "
                                                "version shows are the weights behind it",
                                                config_.file);
            }
            auto& parts = model_.undecoded[known->second].parts;
            if (!contains(parts, name)) parts.push_back(name);
        }
    }

    void addHalves(const std::string& module, Group& group) {
        const KnownKind* kind = group.codes.empty() ? knownKind(group) : nullptr;
        if (!kind || !kind->packsHalves) return;
        const TensorInfo* codes = model_.find(module + ".weight");
        if (codes && !codes->derived) group.codes.push_back(model_.tensors.data() + (codes - model_.tensors.data()));
    }

    /// The metadata of this program describes the fields of the module.
    bool isStoredByUs(const std::string& module) const {
        return std::ranges::any_of(model_.files, [&](const ModelFile& file) {
            const std::string key = std::string(kStoredPrefix) + module;
            return file.metadata.contains(key) || file.metadata.contains(key + ".weight");
        });
    }

    /// The index of the layer of this name, or with these codes: programs name the parts of a layer as they like. Null:
    /// it is not in the list.
    const std::size_t* knownLayer(const std::string& module, const Group& group) const {
        if (const auto found = known_.find(module); found != known_.end()) return &found->second;
        for (const TensorInfo* codes : group.codes)
            if (const auto found = layerOf_.find(std::string_view(codes->name)); found != layerOf_.end())
                return &found->second;
        return nullptr;
    }

    /// Codes without a scale in a checkpoint that says that it is quantized.
    bool isNamedByConfig(const Group& group) const {
        return !config_.method.empty() && std::ranges::any_of(group.codes, [](const TensorInfo* codes) {
            return codes->shape.size() >= 2 && codes->name.ends_with(".weight") && codes->dtype != DType::F8_E4M3 &&
                   codes->dtype != DType::F8_E5M2;
        });
    }

    void add(const std::string& module, const Group& group, const std::size_t* known) {
        UndecodedLayer fresh;
        UndecodedLayer& layer = known ? model_.undecoded[*known] : fresh;
        std::uint64_t memory = sizeof(UndecodedLayer) + ListBudget::heap(module.size());
        for (const auto* list : {&group.codes, &group.certain, &group.uncertain})
            for (TensorInfo* part : *list) {
                part->role = TensorRole::Part;
                memory += sizeof(std::string) + ListBudget::heap(part->name.size());
                if (!contains(layer.parts, std::string(part->name))) layer.parts.emplace_back(part->name);
            }
        if (known) return;
        layer.name = module;
        explain(layer, group);
        if (budget_.take(memory)) model_.undecoded.push_back(std::move(layer));
    }

    void explain(UndecodedLayer& layer, const Group& group) {
        std::string key, sentence;
        if (const KnownKind* kind = knownKind(group)) {
            key = kind->title;
            layer.why = fmt::format("it is stored as {}, which this version does not decode", kind->title);
            sentence = fmt::format("is a layer of {} ({}), which this version does not decode: its parts are listed as "
                                   "they are stored",
                                   kind->title, kind->fields);
        } else {
            const TensorInfo* codes = group.codes.front();
            std::string beside;
            for (const auto* list : {&group.certain, &group.uncertain})
                for (const TensorInfo* part : *list)
                    if (part != codes && beside.empty())
                        beside = fmt::format(" beside {}", endOf(part->name, layer.name));
            key = codes->typeId() + beside;
            const std::string method =
                config_.method.empty() ? ""
                                       : fmt::format("{} says '{}'", config_.file, escapeForPeople(config_.method, 40));
            layer.why = fmt::format("{} codes{} are no way of storing that this version knows{}", codes->typeId(),
                                    beside, method.empty() ? "" : "; " + method);
            sentence =
                fmt::format("is a quantized layer in a way of storing that this version does not know ({} codes{}{}): "
                            "its parts are listed as they are stored",
                            codes->typeId(), beside, method.empty() ? "" : "; " + method);
        }
        Seen& seen = seen_[key];
        if (seen.count++ == 0) seen.first = layer.name, seen.sentence = std::move(sentence);
    }

    Model& model_;
    const CheckpointConfig& config_;
    ListBudget budget_;
    std::map<std::string, std::size_t, std::less<>> known_, layerOf_; ///< by name; by the names of their parts
    std::map<std::string, Seen> seen_;
};

} // namespace

bool isMarker(std::string_view tensorName) {
    return std::ranges::any_of(kMarkers, [&](std::string_view marker) { return tensorName.ends_with(marker); });
}

std::string_view moduleName(std::string_view tensorName) {
    constexpr std::string_view end = ".weight";
    if (tensorName.ends_with(end)) tensorName.remove_suffix(end.size());
    return tensorName;
}

void addUndecoded(Model& model, const CheckpointConfig& config) {
    Finder(model, config).find();
    // No layer is quantized in a way that is recognised, but the settings say that the weights are.
    const bool hasLayers = !model.undecoded.empty() || std::ranges::any_of(model.tensors, [](const TensorInfo& tensor) {
        return bool(tensor.derived);
    });
    if (!config.method.empty() && !hasLayers)
        model.warnings.push_back(
            fmt::format("{} says that the weights are quantized by '{}', but none is stored in a way "
                        "that this version decodes; they are listed as they are stored.",
                        config.file, escapeForPeople(config.method, 60)));
}

void markParts(Model& model) {
    for (const UndecodedLayer& layer : model.undecoded)
        for (const std::string& part : layer.parts)
            if (const TensorInfo* found = model.find(part))
                model.tensors[std::size_t(found - model.tensors.data())].role = TensorRole::Part;
}

std::string leftOutSentence(const Model& model) {
    if (model.undecoded.empty()) return {};
    const UndecodedLayer& first = model.undecoded.front();
    std::string choice;
    for (const ConventionCandidate& one : first.candidates)
        choice += (choice.empty() ? "; --as " : " or --as ") + std::string(one.convention);
    if (!choice.empty()) choice += " decodes it";
    const std::size_t count = model.undecoded.size();
    return fmt::format("Left out: {} quantized layer{} that {} not decoded. {} {}: {}{}.", count, count == 1 ? "" : "s",
                       count == 1 ? "is" : "are", count == 1 ? "It is" : "The first is", quotedName(first.name),
                       escapeForPeople(first.why, 200), choice);
}

} // namespace qs
