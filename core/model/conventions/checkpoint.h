// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Used while the quantized layers of a model are recognised: its stored tensors and the quantization settings.

#include "core/base/json_tree.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/layer.h"
#include "core/model/list_budget.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace qs {

/// Quantization settings from the file's own metadata, config.json, quantize_config.json or quant_config.json.
struct CheckpointConfig {
    nlohmann::json quantization; ///< the object quantization_config (of MLX: quantization); null if there is none
    std::string method;          ///< its quant_method in lower case: "gptq"
    std::string file;            ///< name of the file that holds the settings; "" if there is none
    std::string problem;         ///< message, if a settings file could not be read
    std::optional<DType> dtype;  ///< torch_dtype or dtype, if it is F32, F16 or BF16
    std::string modelType;       ///< model_type: "gpt2"
    /// From the metadata `_quantization_metadata` of ComfyUI: settings of layers by their name; null if there is none.
    nlohmann::json comfyLayers;
    /// Transforms of compressed-tensors that the network applies while it runs, as it names their modules: "R4_input".
    /// Source: TransformLocation of compressed-tensors 0.18.
    std::vector<std::string> transforms;
    bool tiesHead = false;                         ///< tie_word_embeddings: loaders take the embedding as the head
    std::optional<std::int64_t> vocabulary, width; ///< vocab_size and hidden_size
};
/// Reads the settings. A file's own metadata is used before config.json beside it.
CheckpointConfig readCheckpointConfig(const Model& model);
/// Paths of the settings files that exist beside the weights.
std::vector<std::string> configPaths(const Model& model);

class Schemes;
class ModuleRules;

class Checkpoint {
public:
    /// `as`: the convention that the user chose; null: none.
    Checkpoint(const Model& model, const Convention* as);

    const CheckpointConfig& config() const { return config_; }
    const Schemes& schemes() const { return *schemes_; } ///< from config_groups
    const ModuleRules& rules() const { return *rules_; } ///< from `dynamic` and `extra_config`
    bool isAsked(const Convention& convention) const;    ///< the user chose it
    bool hasMarker(std::string_view end) const;          ///< a tensor has a name with this end
    /// By its name the module is a table, with `rows` rows for tokens or positions.
    bool isTable(const std::string& module, std::int64_t rows, std::int64_t columns) const;
    std::span<const TensorInfo> tensors() const { return model_.tensors; }
    const TensorInfo*
    find(std::string_view name) const; ///< null if there is none, if a layer has taken it, or if it is computed
    /// The tensor as a field of a layer.
    Field field(const TensorInfo& tensor) const { return {tensor, model_.files[tensor.file].mapping}; }
    /// The tensor `name` as a field, if it has one of the dtypes and the shape. Otherwise an error sentence.
    Result<Field> field(const std::string& name, std::initializer_list<DType> dtypes,
                        std::span<const std::int64_t> shape) const;

    /// An entry of the metadata of the file that holds a tensor; null if there is none.
    const std::string* metadata(const TensorInfo& tensor, const std::string& key) const;

    /// Adds a layer of `convention`, which replaces its fields in the model. With evidence Alike, and no choice of the
    /// user, it is kept as a candidate. So is one with evidence Shaped beside tensors that the convention does not know:
    /// they may change its values. If it could not be read, its name is in use, a field belongs to two layers, or
    /// the layers take too much memory: records why its tensors are not decoded. `parts`: names of its tensors, where
    /// their ends do not say that they are parts (see undecoded.cpp).
    void take(const Convention& convention, const std::string& name, Evidence evidence,
              Result<std::shared_ptr<const Layer>> layer, const std::vector<std::string>& parts = {});
    /// Adds what the tensors of a layer contradict.
    void contradict(Contradiction what) { contradictions_.push_back(std::move(what)); }

    /// Puts the layers into the model and adds a warning per convention for what was refused.
    void finish(Model& model);

private:
    Result<void> add(const std::string& name, std::shared_ptr<const Layer> layer);
    std::vector<std::string> strangersBeside(const std::string& name, const Layer& layer);
    struct Refused {
        const char* convention;
        std::string first, why;
        std::size_t count;
    };
    void sayCandidates(Model& model) const;
    const Model& model_;
    const Convention* as_;
    CheckpointConfig config_;
    std::shared_ptr<const Schemes> schemes_;
    std::shared_ptr<const ModuleRules> rules_;
    mutable std::map<std::string, bool, std::less<>> markers_;
    std::vector<bool> taken_; ///< for each tensor: a layer has taken it
    ListBudget budget_;
    std::vector<TensorInfo> layers_;
    std::map<std::string_view, std::vector<const TensorInfo*>>
        modules_;                        ///< stored tensors by module; made when asked for
    std::vector<std::string> strangers_; ///< names of tensors beside layers
    std::vector<Refused> refused_;
    std::map<std::string, UndecodedLayer> undecoded_; ///< by their names
    std::vector<Contradiction> contradictions_;
};

} // namespace qs
