// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The stored tensors of a model while its quantized layers are looked for.

#include "core/base/json_tree.h"
#include "core/model/conventions/layer.h"
#include "core/model/list_budget.h"

#include <optional>
#include <string_view>

namespace qs {

/// What config.json (or quantize_config.json, quant_config.json beside it) says of the quantization.
struct CheckpointConfig {
    nlohmann::json quantization; ///< quantization_config, else MLX's quantization, else null
    std::string method;          ///< quant_method: "gptq"
    std::string file;            ///< the name of the file that says so; "" where none does
    std::string problem;         ///< why the file was not read
    std::optional<DType> dtype;  ///< torch_dtype or dtype, where it is F32, F16 or BF16
    std::string modelType;       ///< model_type: "gpt2"
};
CheckpointConfig readCheckpointConfig(const Model& model);
/// The files beside the weights that say so, those that are there.
std::vector<std::string> configPaths(const Model& model);

class Schemes;

class Checkpoint {
public:
    explicit Checkpoint(const Model& model);

    const CheckpointConfig& config() const { return config_; }
    const Schemes& schemes() const { return *schemes_; } ///< of config_groups
    std::span<const TensorInfo> tensors() const { return model_.tensors; }
    const TensorInfo*
    find(std::string_view name) const; ///< null also where a layer has taken it, and where it is computed
    Field field(const TensorInfo& tensor) const { return {tensor, model_.files[tensor.file].mapping}; }
    /// The field of that name where its dtype is one of these and its shape is as given; else a sentence.
    Result<Field> field(const std::string& name, std::initializer_list<DType> dtypes,
                        std::span<const std::int64_t> shape) const;

    /// A layer under its name, in place of its fields.
    Result<void> add(std::string name, std::shared_ptr<const Layer> layer);
    /// Why what looks like a layer stays a list of tensors.
    void refuse(const char* convention, std::string_view layer, const std::string& why);
    void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }

    /// Puts the layers into the model and what was refused among its warnings.
    void finish(Model& model);

private:
    struct Refused {
        const char* convention;
        std::string first, why;
        std::size_t count;
    };
    const Model& model_;
    CheckpointConfig config_;
    std::shared_ptr<const Schemes> schemes_;
    std::vector<bool> taken_; ///< of each tensor
    ListBudget budget_;
    std::vector<TensorInfo> layers_;
    std::vector<Refused> refused_;
    std::vector<std::string> warnings_;
};

} // namespace qs
