// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/quantized.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/conventions/layer.h"
#include "core/model/file_set.h"
#include "core/model/list_budget.h"
#include "core/model/onnx/packed_weights.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace qs::onnx {
namespace {

// Bytes of memory per layer: its decoder, its fields and their description. The rows of the fields are charged too,
// because they are kept until all layers are found.
constexpr std::uint64_t kPerLayer = 1400;

constexpr const char *kDequantize = "DequantizeLinear", *kGatherBlocks = "GatherBlockQuantized";

/// ONNX Runtime's names for its two ways to quantize a graph.
const char* typeOf(std::string_view op) { return op == kDequantize ? "ONNX-QDQ" : "ONNX-QOperator"; }

/// Name of the type of codes: ONNX's own name for 4 and 2 bits.
std::string nameOfType(const TensorInfo& codes) {
    return codes.derived ? codes.derived->typeId() : info(codes.dtype).id;
}

/// value = (code - zero point) * scale in f32, as DequantizeLinear and the operators on codes are defined.
class QdqLayer final : public Layer {
public:
    /// `inner`: number of consecutive elements with the same scale. The scales repeat after `channels` such runs.
    QdqLayer(const char* op, std::vector<std::int64_t> shape, std::vector<qs::Field> fields, std::uint64_t channels,
             std::uint64_t inner)
        : Layer(
              {typeOf(op), describe(op, fields, channels), fields[1].info.dtype, std::move(shape), std::move(fields)}),
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
    static std::string describe(const char* op, const std::vector<qs::Field>& fields, std::uint64_t channels) {
        return fmt::format("{} of {}, {}{}", op, nameOfType(fields[0].info),
                           fields[1].info.elements > 1 ? fmt::format("{} scales, one a channel", channels)
                                                       : std::string("one scale"),
                           fields.size() > 2 ? ", zero points" : "");
    }
    std::uint64_t channels_, inner_;
    bool hasZeros_;
};

/// A layer whose scales have a block size: along one axis, `block` elements share a scale. The scales have the shape of
/// the codes, but along this axis there is one a block.
class BlockedLayer final : public Layer {
public:
    /// The codes as [outer, size, inner], where `size` is the length of the axis. All counts in elements.
    struct Blocks {
        std::uint64_t size, inner, block;
        std::uint64_t perAxis() const { return (size + block - 1) / block; }
    };
    BlockedLayer(const char* op, std::vector<std::int64_t> shape, std::vector<qs::Field> fields, const Blocks& blocks)
        : Layer({typeOf(op), describe(op, fields, blocks), fields[1].info.dtype, std::move(shape), std::move(fields)}),
          blocks_(blocks), hasZeros_(parts().size() > 2) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        if (n == 0) return;
        const std::uint64_t from = firstScale(begin), last = firstScale(begin + n - 1);
        const auto count = std::size_t(last - from + blocks_.inner);
        const auto codes = field(0).floats(begin, n);
        const auto scales = field(1).floats(from, count);
        const auto zeros = hasZeros_ ? field(2).floats(from, count) : std::vector<float>(count, 0.0f);
        for (std::size_t i = 0; i < n;) {
            const std::uint64_t column = (begin + i) % blocks_.inner;
            const auto scale = std::size_t(firstScale(begin + i) - from + column);
            if (blocks_.inner > 1) { // a row: each element has a scale of its own
                const auto length = std::min<std::size_t>(n - i, std::size_t(blocks_.inner - column));
                for (std::size_t k = 0; k < length; ++k, ++i)
                    out[i] = (codes[i] - zeros[scale + k]) * scales[scale + k];
            } else { // a block with one scale
                const std::uint64_t place = (begin + i) % blocks_.size;
                const std::uint64_t end = std::min(blocks_.size, (place / blocks_.block + 1) * blocks_.block);
                const auto stop = i + std::min<std::size_t>(n - i, std::size_t(end - place));
                for (; i < stop; ++i) out[i] = (codes[i] - zeros[scale]) * scales[scale];
            }
        }
    }

private:
    static std::string describe(const char* op, const std::vector<qs::Field>& fields, const Blocks& blocks) {
        return fmt::format("{} of {}, a scale for {} elements{}", op, nameOfType(fields[0].info), blocks.block,
                           fields.size() > 2 ? ", zero points" : "");
    }
    /// Index of the first of the `inner` scales of the row that holds `element`.
    std::uint64_t firstScale(std::uint64_t element) const {
        const std::uint64_t row = element / blocks_.inner;
        return (row / blocks_.size * blocks_.perAxis() + row % blocks_.size / blocks_.block) * blocks_.inner;
    }
    Blocks blocks_;
    bool hasZeros_;
};

/// Collects the layers of a model; finish() puts them into the model in place of their tensors. Several layers may use
/// the same scales.
class Layers {
public:
    explicit Layers(Model& model) : model_(model), taken_(model.tensors.size()), budget_(model, 0) {}

    /// False if the list takes too much memory.
    bool add(const Dequantize& node) {
        auto layer = layerOf(node);
        if (!layer) return refuse(node.op, {node.codes, node.scale, node.zero}, layer.error().message), true;
        return !*layer || add(node.codes, std::move(*layer), node.outputLast);
    }

    bool add(const Node& node) {
        const TensorInfo* codes = node.inputs.empty() ? nullptr : find(node.inputs.front());
        // Codes of a type of their own, which are not packed in bytes.
        if (node.op == kGatherBlocks && codes && (codes->derived || codes->dtype != DType::U8))
            return add(blocksOf(node, *codes));
        const FindConstant constant = [&](const std::string& name) -> std::optional<qs::Field> {
            const TensorInfo* found = find(name);
            return found ? std::optional(field(*found)) : std::nullopt;
        };
        for (PackedWeight& weight : packedWeights(node, constant)) {
            if (!weight.layer)
                refuse(node.op, weight.parts, weight.layer.error().message);
            else if (const TensorInfo* of = find(weight.codes); of && !taken_[std::size_t(of - model_.tensors.data())])
                if (!add(weight.codes, std::move(*weight.layer), false)) return false;
        }
        return true;
    }

    void finish() {
        for (const auto& [op, refused] : refused_)
            model_.warnings.push_back(
                fmt::format("{} is a weight of {} but is listed as it is stored: {}{}.", refused.first, op, refused.why,
                            refused.count > 1 ? fmt::format(" (so are {} others)", refused.count - 1) : ""));
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
    struct Refused {
        std::string first, why;
        std::size_t count = 0;
    };
    bool add(const std::string& codes, std::shared_ptr<const Layer> layer, bool outputLast) {
        TensorInfo info;
        info.name = nameOf(codes);
        info.dtype = layer->dtype(), info.shape = layer->shape(), info.elements = layer->elements();
        info.bytes = info.elements * std::uint64_t(qs::info(info.dtype).bits) / 8;
        info.file = layer->file(), info.offset = layer->parts().front().offset;
        std::uint64_t memory = kPerLayer;
        for (const auto& part : layer->parts()) memory += 2 * ListBudget::of(part.name);
        if (!budget_.take(memory)) return false;
        for (const auto& part : layer->parts()) taken_[std::size_t(find(part.name) - model_.tensors.data())] = true;
        info.derived = std::move(layer);
        info.outputLast = outputLast && info.shape.size() >= 2;
        layers_.push_back(std::move(info));
        return true;
    }
    /// Makes the tensors parts, if any is there.
    void refuse(const std::string& op, const std::vector<std::string>& names, std::string why) {
        UndecodedLayer layer;
        for (const std::string& name : names)
            if (const TensorInfo* part = find(name)) {
                model_.tensors[std::size_t(part - model_.tensors.data())].role = TensorRole::Part;
                layer.parts.emplace_back(part->name);
            }
        if (layer.parts.empty()) return;
        layer.name = layer.parts.front(), layer.why = why;
        Refused& refused = refused_[op];
        if (refused.count++ == 0) refused.first = quotedName(layer.name), refused.why = std::move(why);
        model_.undecoded.push_back(std::move(layer));
    }
    /// GatherBlockQuantized, as DequantizeLinear would be written.
    static Dequantize blocksOf(const Node& node, const TensorInfo& codes) {
        const auto number = [&](const char* name, std::int64_t otherwise) {
            const auto found = node.numbers.find(name);
            return found == node.numbers.end() ? otherwise : found->second;
        };
        const auto input = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : std::string(); };
        Dequantize out{
            input(0), input(2), input(3), kGatherBlocks, number("quantize_axis", 1), number("block_size", 128)};
        const auto rank = std::int64_t(codes.shape.size()), axis = out.axis < 0 ? out.axis + rank : out.axis;
        if (out.blockSize == 0 && axis >= 0 && axis < rank) out.blockSize = codes.shape[std::size_t(axis)];
        return out;
    }
    /// Null if the model has no such tensor.
    const TensorInfo* find(const std::string& name) const { return name.empty() ? nullptr : model_.find(name); }
    qs::Field field(const TensorInfo& tensor) const { return {tensor, model_.files[tensor.file].mapping}; }

    /// True for the types that DequantizeLinear takes and that are read here.
    static bool isCode(const TensorInfo& tensor) {
        switch (tensor.dtype) {
        case DType::I8:
        case DType::U8:
        case DType::I16:
        case DType::U16:
        case DType::I32:
        case DType::F8_E4M3:
        case DType::F8_E5M2: return true;
        default: return tensor.derived && tensor.dtype == DType::F32; // FLOAT4E2M1
        }
    }

    /// Null if the node does not dequantize a weight; fails if it does so in a way that is not read.
    Result<std::shared_ptr<const Layer>> layerOf(const Dequantize& node) const;

    /// The name without the suffix that ONNX Runtime's quantizers append, if no other tensor has it.
    std::string nameOf(const std::string& codes) const {
        for (const std::string_view end : {"_quantized", "_quant", "_Q2", "_Q4", "_Q8", "_Bnb4"})
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
    std::map<std::string, Refused> refused_; ///< by operator
};

Result<std::shared_ptr<const Layer>> Layers::layerOf(const Dequantize& node) const {
    const auto none = std::shared_ptr<const Layer>();
    const TensorInfo *codes = find(node.codes), *scales = find(node.scale), *zeros = find(node.zero);
    if (!codes || codes->elements == 0) return none;
    if (taken_[std::size_t(codes - model_.tensors.data())]) return none; // another node already reads this weight
    if (!isCode(*codes)) {
        if (codes->dtype == DType::F32 || codes->dtype == DType::F16) return none;
        return fail(fmt::format("codes of type {} are not read", nameOfType(*codes)));
    }
    if (node.scale.empty()) return fail("the scale of its product is not found");
    if (!scales) return fail("its scale is no constant of the model");
    if (!node.zero.empty() && !zeros) return fail("its zero point is no constant of the model");
    const bool isFloat = scales->dtype == DType::F32 || scales->dtype == DType::F16 || scales->dtype == DType::BF16;
    if (!isFloat) return fail(fmt::format("its scales are {}", scales->typeId()));
    if (zeros && (zeros->dtype != codes->dtype || zeros->elements != scales->elements))
        return fail(fmt::format("its zero points are {} {} beside codes of {} and scales {}", nameOfType(*zeros),
                                shapeText(zeros->shape), nameOfType(*codes), shapeText(scales->shape)));
    std::vector<qs::Field> fields{field(*codes), field(*scales)};
    if (zeros) fields.push_back(field(*zeros));
    const auto rank = std::int64_t(codes->shape.size()), axis = node.axis < 0 ? node.axis + rank : node.axis;
    if (scales->elements == 1 && node.blockSize == 0)
        return std::make_shared<const QdqLayer>(node.op, codes->shape, std::move(fields), 1, codes->elements);
    if (axis < 0 || axis >= rank) return fail(fmt::format("axis {} is none of {}", node.axis, shapeText(codes->shape)));
    const auto size = std::uint64_t(codes->shape[std::size_t(axis)]);
    std::uint64_t inner = 1;
    for (std::int64_t i = axis + 1; i < rank; ++i) inner *= std::uint64_t(codes->shape[std::size_t(i)]);
    const auto unfit = [&] {
        return fail(fmt::format("scales {} do not fit codes {} along axis {}", shapeText(scales->shape),
                                shapeText(codes->shape), node.axis));
    };
    if (node.blockSize == 0) {
        if (scales->shape.size() > 1 || size != scales->elements) return unfit();
        return std::make_shared<const QdqLayer>(node.op, codes->shape, std::move(fields), size, inner);
    }
    if (node.blockSize < 0) return fail(fmt::format("block_size is {}", node.blockSize));
    const BlockedLayer::Blocks blocks{size, inner, std::uint64_t(node.blockSize)};
    std::vector<std::int64_t> wanted(codes->shape.begin(), codes->shape.end());
    wanted[std::size_t(axis)] = std::int64_t(blocks.perAxis());
    if (scales->shape != wanted || (zeros && zeros->shape != wanted)) return unfit();
    return std::make_shared<const BlockedLayer>(node.op, codes->shape, std::move(fields), blocks);
}

} // namespace

void addQuantizedLayers(Model& model, const std::vector<Dequantize>& nodes, const std::vector<Node>& packed) {
    Layers layers(model);
    const auto addAll = [&](const auto& list) {
        return std::ranges::all_of(list, [&](const auto& node) { return layers.add(node); });
    };
    if (!addAll(nodes) || !addAll(packed))
        model.warnings.emplace_back("The list of quantized layers takes more memory than a model of this size needs: "
                                    "the rest is listed as it is stored.");
    layers.finish();
}

} // namespace qs::onnx
