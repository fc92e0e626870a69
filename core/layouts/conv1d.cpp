// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/conv1d.h"

#include "core/model/output_axis.h"
#include "core/model/strided_tensor.h"

#include <fmt/format.h>

namespace qs {

bool isConv1d(const TensorInfo& tensor) {
    return tensor.outputLast && tensor.shape.size() == 2 && isConv1dName(tensor.name);
}

bool isTurned(const Layout& layout, const TensorInfo& tensor) {
    return layout.turnsConv1d && isConv1d(tensor) && !tensor.packed && !tensor.derived;
}

TensorInfo asWritten(const Layout& layout, const TensorInfo& tensor) {
    TensorInfo out = tensor;
    if (!isTurned(layout, tensor)) return out;
    out.shape = std::vector<std::int64_t>{tensor.shape.back(), tensor.shape.front()};
    out.outputLast = false;
    return out;
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

Result<void> isNoConv1d(const TensorInfo& tensor, const char* loader) {
    if (!isConv1d(tensor)) return {};
    return fail(fmt::format("it is the matrix of a Conv1D, of which {} makes no quantized module: layouts plain, bnb, "
                            "llm-int8 and gptq hold it",
                            loader));
}

} // namespace qs
