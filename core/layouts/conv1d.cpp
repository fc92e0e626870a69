// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/conv1d.h"

#include "core/model/output_axis.h"
#include "core/model/strided_tensor.h"

#include <nlohmann/json.hpp>

namespace qs {

using namespace nlohmann::literals;

Conv1dLayers::Conv1dLayers(const Model& model, const std::string& entries) {
    if (model.folder.empty() || entries.empty()) return;
    const auto written = nlohmann::json::parse(entries);
    known_ = written.value("/quantization_config/quant_method"_json_pointer, "") == "bitsandbytes";
}

bool Conv1dLayers::has(const TensorInfo& tensor) const {
    return known_ && tensor.outputLast && tensor.shape.size() == 2 && isConv1dName(tensor.name);
}

std::shared_ptr<const TensorInfo> turned(const Model& model, const TensorInfo& tensor) {
    if (tensor.packed || tensor.derived) return nullptr;
    auto out = std::make_shared<TensorInfo>(tensor);
    out->shape = std::vector<std::int64_t>{tensor.shape.back(), tensor.shape.front()};
    out->outputLast = false;
    out->derived = std::make_shared<StridedTensor>(
        model.files[tensor.file].mapping, StridedLayout{tensor.dtype, out->shape, {1, tensor.shape[1]}, tensor.offset});
    return out;
}

} // namespace qs
