// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layouts/conv1d.h"

#include "core/model/output_axis.h"
#include "core/model/strided_tensor.h"

#include <algorithm>
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

bool isStoredTurned(const Model& model, const TensorInfo& tensor) {
    if (!tensor.derived || tensor.derived->parts().empty() || tensor.shape.size() != 2 || !isConv1dName(tensor.name))
        return false;
    constexpr std::size_t kWeight = sizeof("weight") - 1;
    const std::string name(tensor.name);
    const TensorInfo* bias = model.find(name.substr(0, name.size() - kWeight) + "bias");
    return !bias || bias->elements == std::uint64_t(tensor.shape[0]); // a value for each output
}

Result<TensorToWrite> turnedBack(const Model& model, const TensorInfo& tensor) {
    auto view = model.view(tensor);
    if (!view) return tl::unexpected(view.error());
    const auto outputs = std::size_t(tensor.shape[0]), inputs = std::size_t(tensor.shape[1]);
    const auto write = [view = *view, outputs, inputs](const TensorToWrite::Sink& sink) -> Result<void> {
        const auto item = std::size_t(info(view.info->dtype).bits) / 8;
        std::vector<std::byte> stored(std::size_t(view.info->bytes)), out(stored.size());
        view.readInto(0, stored);
        for (std::size_t o = 0; o < outputs; ++o)
            for (std::size_t i = 0; i < inputs; ++i)
                std::copy_n(&stored[(o * inputs + i) * item], item, &out[(i * outputs + o) * item]);
        if (auto written = sink(out); !written) return written;
        return view.info->derived->unchanged(); // what could not be decoded was read as zeros
    };
    const std::vector<std::int64_t> shape = {tensor.shape[1], tensor.shape[0]};
    return TensorToWrite{tensor.name, tensor.dtype, shape, write};
}

Result<void> isNoConv1d(const TensorInfo& tensor, const char* loader) {
    if (!isConv1d(tensor)) return {};
    return fail(fmt::format("it is the matrix of a Conv1D, of which {} makes no quantized module: layouts plain, bnb, "
                            "llm-int8 and gptq hold it",
                            loader));
}

} // namespace qs
