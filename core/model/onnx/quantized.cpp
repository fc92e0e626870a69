// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/quantized.h"

#include "core/model/conventions/layer.h"
#include "core/model/file_set.h"
#include "core/model/list_budget.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::onnx {
namespace {

// Bytes of memory per layer: its decoder, its fields and their description. The rows of the fields are charged too,
// because they are kept until all layers are found.
constexpr std::uint64_t kPerLayer = 1400;

/// value = (code - zero point) * scale in f32, as the operator DequantizeLinear is defined.
class QdqLayer final : public Layer {
public:
    /// `inner`: number of consecutive elements with the same scale. The scales repeat after `channels` such runs.
    QdqLayer(std::vector<std::int64_t> shape, std::vector<qs::Field> fields, std::uint64_t channels,
             std::uint64_t inner)
        : Layer({"ONNX-QDQ", describe(fields, channels), fields[1].info.dtype, std::move(shape), std::move(fields)}),
          channels_(channels), inner_(inner), hasZeros_(parts().size() > 2) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        if (n == 0) return;
        const auto codes = field(0).floats(begin, n);
        // If the range has only a few channels, read the scales of these; otherwise read all scales.
        const std::uint64_t first = begin / inner_, last = (begin + n - 1) / inner_;
        const bool inOneTurn = first / channels_ == last / channels_;
        const std::uint64_t from = inOneTurn ? first % channels_ : 0;
        const auto count = std::size_t(inOneTurn ? last - first + 1 : channels_);
        const auto scales = field(1).floats(from, count);
        const auto zeros = hasZeros_ ? field(2).floats(from, count) : std::vector<float>(count, 0.0f);
        for (std::size_t i = 0; i < n;) {
            const std::uint64_t run = (begin + i) / inner_;
            const auto stop = std::size_t(std::min<std::uint64_t>(n, (run + 1) * inner_ - begin));
            const auto channel = std::size_t(run % channels_ - from);
            const float scale = scales[channel], zero = zeros[channel];
            for (; i < stop; ++i) out[i] = (codes[i] - zero) * scale;
        }
    }

private:
    static std::string describe(const std::vector<qs::Field>& fields, std::uint64_t channels) {
        return fmt::format("DequantizeLinear of {}, {}{}", info(fields[0].info.dtype).id,
                           fields[1].info.elements > 1 ? fmt::format("{} scales, one a channel", channels)
                                                       : std::string("one scale"),
                           fields.size() > 2 ? ", zero points" : "");
    }
    std::uint64_t channels_, inner_;
    bool hasZeros_;
};

/// Collects the layers of a model; finish() puts them into the model in place of their tensors. Several layers may use
/// the same scales.
class Layers {
public:
    explicit Layers(Model& model) : model_(model), taken_(model.tensors.size()), budget_(model, 0) {}

    bool add(const Dequantize& node) {
        const auto layer = layerOf(node);
        if (!layer) return true;
        TensorInfo info;
        info.name = nameOf(node.codes);
        info.dtype = layer->dtype(), info.shape = layer->shape(), info.elements = layer->elements();
        info.bytes = info.elements * std::uint64_t(qs::info(info.dtype).bits) / 8;
        info.file = layer->file(), info.offset = layer->parts().front().offset;
        std::uint64_t memory = kPerLayer;
        for (const auto& part : layer->parts()) memory += 2 * ListBudget::of(part.name);
        if (!budget_.take(memory)) return false;
        for (const auto& part : layer->parts()) taken_[std::size_t(find(part.name) - model_.tensors.data())] = true;
        info.derived = layer;
        layers_.push_back(std::move(info));
        return true;
    }

    void finish() {
        if (layers_.empty()) return;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < model_.tensors.size(); ++i)
            if (!taken_[i]) {
                if (kept != i) model_.tensors[kept] = std::move(model_.tensors[i]);
                ++kept;
            }
        model_.tensors.resize(kept);
        std::move(layers_.begin(), layers_.end(), std::back_inserter(model_.tensors));
        nameApart(model_);
    }

private:
    /// Null if there is no such tensor or if it is computed.
    const TensorInfo* find(const std::string& name) const {
        const TensorInfo* found = name.empty() ? nullptr : model_.find(name);
        return found && !found->derived ? found : nullptr;
    }
    qs::Field field(const TensorInfo& tensor) const { return {tensor, model_.files[tensor.file].mapping}; }

    /// Null if the node does not dequantize a weight, or not in a way that is supported here.
    std::shared_ptr<const Layer> layerOf(const Dequantize& node) const;

    /// The name without the suffix that ONNX Runtime's quantizers append, if no other tensor has it.
    std::string nameOf(const std::string& codes) const {
        for (const std::string_view end : {"_quantized", "_quant"})
            if (codes.size() > end.size() && codes.ends_with(end)) {
                auto name = codes.substr(0, codes.size() - end.size());
                return model_.find(name) ? codes : name;
            }
        return codes;
    }

    Model& model_;
    std::vector<bool> taken_; ///< for each tensor: a layer uses it
    ListBudget budget_;
    std::vector<TensorInfo> layers_;
};

std::shared_ptr<const Layer> Layers::layerOf(const Dequantize& node) const {
    const TensorInfo *codes = find(node.codes), *scales = find(node.scale), *zeros = find(node.zero);
    if (!codes || !scales || (!node.zero.empty() && !zeros) || codes->elements == 0 || node.blockSize != 0) return {};
    if (taken_[std::size_t(codes - model_.tensors.data())]) return {}; // another node already reads this weight
    const bool isInteger = codes->dtype == DType::I8 || codes->dtype == DType::U8 || codes->dtype == DType::I32;
    const bool isFloat = scales->dtype == DType::F32 || scales->dtype == DType::F16 || scales->dtype == DType::BF16;
    if (!isInteger || !isFloat || scales->shape.size() > 1) return {};
    if (zeros && (zeros->dtype != codes->dtype || zeros->elements != scales->elements)) return {};
    std::uint64_t inner = codes->elements;
    const auto rank = std::int64_t(codes->shape.size());
    if (scales->elements != 1) {
        const std::int64_t axis = node.axis < 0 ? node.axis + rank : node.axis;
        if (axis < 0 || axis >= rank || std::uint64_t(codes->shape[std::size_t(axis)]) != scales->elements) return {};
        inner = 1;
        for (std::int64_t i = axis + 1; i < rank; ++i) inner *= std::uint64_t(codes->shape[std::size_t(i)]);
    }
    std::vector<qs::Field> fields{field(*codes), field(*scales)};
    if (zeros) fields.push_back(field(*zeros));
    return std::make_shared<const QdqLayer>(codes->shape, std::move(fields), scales->elements, inner);
}

} // namespace

void addQuantizedLayers(Model& model, const std::vector<Dequantize>& nodes) {
    Layers layers(model);
    for (const Dequantize& node : nodes)
        if (!layers.add(node)) {
            model.warnings.push_back("The list of quantized layers takes more memory than a model of this size needs: "
                                     "the rest is listed as it is stored.");
            break;
        }
    layers.finish();
}

} // namespace qs::onnx
