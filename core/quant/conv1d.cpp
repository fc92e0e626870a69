// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/conv1d.h"

#include "core/model/companion.h"
#include "core/model/strided_tensor.h"
#include "core/quant/linear_weights.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using namespace nlohmann::literals;

constexpr std::array<std::string_view, 4> kModelTypes = {"gpt2", "openai-gpt", "imagegpt", "decision_transformer"};
constexpr std::array<std::string_view, 4> kModules = {"c_attn", "q_attn", "c_proj", "c_fc"};

} // namespace

Conv1dLayers::Conv1dLayers(const Model& model, const std::string& entries) {
    if (model.folder.empty() || entries.empty()) return;
    const auto written = nlohmann::json::parse(entries);
    if (written.value("/quantization_config/quant_method"_json_pointer, "") != "bitsandbytes") return;
    // One that cannot be read is refused when it is to be written again.
    const auto config = readCompanionTree((std::filesystem::path(model.folder) / "config.json").string());
    if (!config) return;
    known_ = std::find(kModelTypes.begin(), kModelTypes.end(), textAt(*config, "model_type")) != kModelTypes.end();
}

bool Conv1dLayers::has(const TensorInfo& tensor) const {
    if (!known_ || tensor.shape.size() != 2 || !tensor.name.ends_with(".weight")) return false;
    const std::string_view module = moduleOf(tensor.name);
    const auto last = module.substr(module.rfind('.') + 1);
    return std::find(kModules.begin(), kModules.end(), last) != kModules.end();
}

std::shared_ptr<const TensorInfo> turned(const Model& model, const TensorInfo& tensor) {
    if (tensor.packed || tensor.derived) return nullptr;
    auto out = std::make_shared<TensorInfo>(tensor);
    std::reverse(out->shape.begin(), out->shape.end());
    out->derived = std::make_shared<StridedTensor>(
        model.files[tensor.file].mapping, StridedLayout{tensor.dtype, out->shape, {1, tensor.shape[1]}, tensor.offset});
    return out;
}

} // namespace qs
