// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/quantized.h"

#include "core/base/lists.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/conventions/layer.h"
#include "core/model/file_set.h"
#include "core/model/list_budget.h"
#include "core/model/onnx/packed_weights.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace qs::onnx {
namespace {

// Bytes of memory per layer: its decoder, its fields and their description. The rows of the fields are charged too,
// because they are kept until all layers are found.
constexpr std::uint64_t kPerLayer = 1400;

constexpr const char* kGatherBlocks = "GatherBlockQuantized";

/// ONNX Runtime's names for its two ways to quantize a graph.
const char* typeOf(std::string_view op) {
    return op.ends_with("DequantizeLinear") || op == "Cast and Mul" ? "ONNX-QDQ" : "ONNX-QOperator";
}

/// Name of the type of codes: ONNX's own name for 4 and 2 bits.
std::string nameOfType(const TensorInfo& codes) {
    return codes.derived ? codes.derived->typeId() : info(codes.dtype).id;
}

/// What a layer is made of.
struct Stored {
    const char* op;
    std::vector<qs::Field> fields; ///< codes, scales, zero points; then what does not matter to the values
    bool hasZeros = false;
    DType dtype = DType::F32; ///< of the values
    std::vector<std::int64_t> shape() const { return {fields[0].info.shape.begin(), fields[0].info.shape.end()}; }
};

/// value = (code - zero point) * scale in f32, as DequantizeLinear and the operators on codes are defined.
class QdqLayer final : public Layer {
public:
    /// `inner`: number of consecutive elements with the same scale. The scales repeat after `channels` such runs.
    QdqLayer(Stored stored, std::uint64_t channels, std::uint64_t inner)
        : Layer(
              {typeOf(stored.op), describe(stored, channels), stored.dtype, stored.shape(), std::move(stored.fields)}),
          channels_(channels), inner_(inner), hasZeros_(stored.hasZeros) {}

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
    static std::string describe(const Stored& stored, std::uint64_t channels) {
        return fmt::format("{} of {}, {}{}", stored.op, nameOfType(stored.fields[0].info),
                           stored.fields[1].info.elements > 1 ? fmt::format("{} scales, one a channel", channels)
                                                              : std::string("one scale"),
                           stored.hasZeros ? ", zero points" : "");
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
    BlockedLayer(Stored stored, const Blocks& blocks)
        : Layer({typeOf(stored.op), describe(stored, blocks), stored.dtype, stored.shape(), std::move(stored.fields)}),
          blocks_(blocks), hasZeros_(stored.hasZeros) {}

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
    static std::string describe(const Stored& stored, const Blocks& blocks) {
        return fmt::format("{} of {}, a scale for {} elements{}", stored.op, nameOfType(stored.fields[0].info),
                           blocks.block, stored.hasZeros ? ", zero points" : "");
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
    Layers(Model& model, const std::vector<Dequantize>& nodes)
        : model_(model), taken_(model.tensors.size()), budget_(model, 0) {
        std::set<std::string_view> scales;
        for (const Dequantize& node : nodes)
            if (const TensorInfo* codes = find(node.codes); codes && isCode(*codes) && !find(node.scale))
                scales.insert(node.scale);
        for (const Dequantize& node : nodes)
            if (!node.output.empty() && scales.contains(node.output)) scaleMakers_.emplace(node.output, &node);
    }

    /// False if the list takes too much memory.
    bool add(const Dequantize& node) {
        if (makerOf(node.output)) return true; // it makes scales, which its reader decodes
        auto layer = layerOf(node);
        if (layer && *layer) return add(node.codes, std::move(*layer), node.outputLast);
        std::vector<std::string> parts{node.scale, node.zero};
        if (layer) { // no weight, or one that is decoded already
            const TensorInfo* codes = find(node.codes);
            if (codes && taken_[placeOf(*codes)]) markParts(parts);
            return true;
        }
        if (const Dequantize* maker = makerOf(node.scale)) parts = {maker->codes, maker->scale, maker->zero, node.zero};
        parts.insert(parts.begin(), node.codes);
        refuse(node.op, parts, layer.error().message);
        return true;
    }

    bool add(const Node& node) {
        if (!node.domain.starts_with("com.microsoft")) return addUnknown(node), true;
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
            else if (const TensorInfo* of = find(weight.codes); of && !taken_[placeOf(*of)])
                if (!add(weight.codes, std::move(*weight.layer), false)) return false;
        }
        return true;
    }

    /// Gives tensors that no layer uses the role Part.
    void markParts(const std::vector<std::string>& names) {
        for (const std::string& name : names)
            if (const TensorInfo* part = find(name); part && !taken_[placeOf(*part)])
                model_.tensors[placeOf(*part)].role = TensorRole::Part;
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
        for (const auto& part : layer->parts()) taken_[placeOf(*find(part.name))] = true;
        info.derived = std::move(layer);
        info.outputLast = outputLast && info.shape.size() >= 2;
        layers_.push_back(std::move(info));
        return true;
    }
    /// Makes the tensors parts, if any is there.
    void refuse(const std::string& op, const std::vector<std::string>& names, std::string why) {
        UndecodedLayer layer;
        markParts(names);
        for (const std::string& name : names)
            if (const TensorInfo* part = find(name); part && !contains(layer.parts, name)) layer.parts.push_back(name);
        if (layer.parts.empty() || !refusedNames_.insert(layer.parts.front()).second) return;
        layer.name = layer.parts.front(), layer.why = why;
        Refused& refused = refused_[op];
        if (refused.count++ == 0) refused.first = quotedName(layer.name), refused.why = std::move(why);
        model_.undecoded.push_back(std::move(layer));
    }
    /// A node of a domain that is not known. If it reads a matrix of codes, the rest of its constants describe it.
    void addUnknown(const Node& node) {
        std::vector<std::string> parts = node.inputs;
        const auto codes = std::ranges::find_if(parts, [&](const std::string& name) {
            const TensorInfo* tensor = find(name);
            return tensor && tensor->shape.size() >= 2 && isByteCode(*tensor) && !taken_[placeOf(*tensor)];
        });
        if (codes == parts.end()) return;
        std::rotate(parts.begin(), codes, codes + 1);
        refuse(node.op, parts, fmt::format("operators of the domain {} are not decoded", quotedName(node.domain)));
    }
    const Dequantize* makerOf(const std::string& scale) const {
        const auto found = scaleMakers_.find(scale);
        return found == scaleMakers_.end() ? nullptr : found->second;
    }
    std::size_t placeOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model_.tensors.data()); }

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

    /// Types of one byte or less.
    static bool isByteCode(const TensorInfo& tensor) {
        return isCode(tensor) && (tensor.derived || info(tensor.dtype).bits == 8);
    }

    /// Null if the node does not dequantize a weight; fails if it does so in a way that is not read.
    /// `isOfScales`: the node makes the scales of a weight; its own scale must be a constant.
    Result<std::shared_ptr<const Layer>> layerOf(const Dequantize& node, bool isOfScales = false) const;
    Result<std::shared_ptr<const Layer>> covered(const Dequantize& node, Stored stored) const;

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
    std::set<std::string> refusedNames_;
    std::map<std::string_view, const Dequantize*> scaleMakers_; ///< nodes whose output is the scale of another
};

/// Scales whose shape is broadcast: `channels` of them repeat, each for `inner` elements. Null: not in this way.
struct Run {
    std::uint64_t channels = 1, inner = 1;
};
std::optional<Run> broadcast(std::span<const std::int64_t> codes, std::span<const std::int64_t> scales) {
    if (scales.size() > codes.size()) return {};
    Run run;
    std::size_t i = codes.size();
    const auto scaleAt = [&](std::size_t axis) {
        const std::size_t missing = codes.size() - scales.size();
        return axis < missing ? 1 : scales[axis - missing];
    };
    for (; i > 0 && scaleAt(i - 1) == 1; --i) run.inner *= std::uint64_t(codes[i - 1]);
    for (; i > 0 && scaleAt(i - 1) == codes[i - 1]; --i) run.channels *= std::uint64_t(codes[i - 1]);
    for (; i > 0; --i)
        if (scaleAt(i - 1) != 1) return {};
    return run;
}

/// The block size that shapes of the same rank say, where they differ along one axis; sets this axis.
std::int64_t blockOf(std::span<const std::int64_t> codes, std::span<const std::int64_t> scales, std::int64_t& axis) {
    std::int64_t block = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (codes[i] == scales[i]) continue;
        if (block != 0 || scales[i] <= 0 || codes[i] % scales[i] != 0) return 0;
        block = codes[i] / scales[i], axis = std::int64_t(i);
    }
    return block;
}

DType typeOfValues(const Dequantize& node, DType scales) {
    if (node.outputType == 10) return DType::F16;
    if (node.outputType == 16) return DType::BF16;
    return node.outputType == 1 || scales == DType::F8_E8M0 ? DType::F32 : scales;
}

Result<std::shared_ptr<const Layer>> Layers::layerOf(const Dequantize& node, bool isOfScales) const {
    const auto none = std::shared_ptr<const Layer>();
    const TensorInfo *codes = find(node.codes), *zeros = find(node.zero);
    if (!codes || codes->elements == 0) return none;
    if (taken_[placeOf(*codes)]) return none; // another node already reads this weight
    // Whole numbers are cast for many reasons.
    if (node.cover == Cover::Broadcast && (codes->shape.size() < 2 || !isByteCode(*codes))) return none;
    if (!isCode(*codes)) {
        if (codes->dtype == DType::F32 || codes->dtype == DType::F16 || codes->dtype == DType::BF16) return none;
        return fail(fmt::format("codes of type {} are not read", nameOfType(*codes)));
    }
    const Dequantize* maker = isOfScales ? nullptr : makerOf(node.scale);
    const TensorInfo* stored = find(maker ? maker->codes : node.scale);
    if (node.cover == Cover::Broadcast && !stored && codes->dtype == DType::U8 && !codes->derived)
        return none; // a mask
    if (node.scale.empty()) return fail("its scale is not found");
    if (!stored) return fail("its scale is no constant of the model");
    if (!node.zero.empty() && !zeros) return fail("its zero point is no constant of the model");
    Stored out{node.op, {field(*codes), field(*stored)}};
    TensorInfo& scales = out.fields[1].info;
    std::vector<qs::Field> behind; // what the scales are made of, beside their codes
    if (maker) {
        auto made = layerOf(*maker, true);
        if (!made || !*made) return fail("its scales are made in a way that is not read");
        for (const TensorInfo& part : (*made)->parts().subspan(1)) behind.push_back(field(part));
        scales.dtype = (*made)->dtype(), scales.derived = std::move(*made);
    }
    if (node.hasExponents && scales.dtype == DType::U8) scales.dtype = DType::F8_E8M0;
    if (scales.dtype != DType::F32 && scales.dtype != DType::F16 && scales.dtype != DType::BF16 &&
        scales.dtype != DType::F8_E8M0)
        return fail(fmt::format("its scales are {}", scales.typeId()));
    const bool isOneType = node.cover == Cover::Broadcast || !zeros || zeros->dtype == codes->dtype;
    if (zeros && (!isOneType || zeros->elements != scales.elements || info(zeros->dtype).bits > 32))
        return fail(fmt::format("its zero points are {} {} beside codes of {} and scales {}", nameOfType(*zeros),
                                shapeText(zeros->shape), nameOfType(*codes), shapeText(scales.shape)));
    if (zeros) out.fields.push_back(field(*zeros)), out.hasZeros = true;
    std::ranges::move(behind, std::back_inserter(out.fields));
    out.dtype = typeOfValues(node, out.fields[1].info.dtype);
    return covered(node, std::move(out));
}

/// The layer, if its scales fit its codes.
Result<std::shared_ptr<const Layer>> Layers::covered(const Dequantize& node, Stored stored) const {
    const auto codes = stored.shape();
    const TensorInfo& scales = stored.fields[1].info;
    const std::vector<std::int64_t> scaleShape(scales.shape.begin(), scales.shape.end());
    const auto unfit = [&] {
        return fail(fmt::format("scales {} do not fit codes {} along axis {}", shapeText(scales.shape),
                                shapeText(codes), node.axis));
    };
    const auto rank = std::int64_t(codes.size());
    std::int64_t axis = node.axis < 0 ? node.axis + rank : node.axis, block = node.blockSize;
    if (block < 0) return fail(fmt::format("block_size is {}", block));
    const std::uint64_t elements = stored.fields[0].info.elements;
    if (scales.elements == 1 && block == 0) return std::make_shared<const QdqLayer>(std::move(stored), 1, elements);
    if (node.cover == Cover::One) return fail("its rows have scales of their own, which are not read here");
    if (node.cover == Cover::Broadcast) {
        const auto run = broadcast(codes, scaleShape);
        if (!run || (stored.hasZeros && stored.fields[2].info.shape != scales.shape))
            return fail(fmt::format("scales {} do not fit codes {}", shapeText(scales.shape), shapeText(codes)));
        return std::make_shared<const QdqLayer>(std::move(stored), run->channels, run->inner);
    }
    if (axis < 0 || axis >= rank) return fail(fmt::format("axis {} is none of {}", node.axis, shapeText(codes)));
    if (node.cover == Cover::Shapes && block == 0 && scaleShape.size() == codes.size() && rank > 1)
        block = blockOf(codes, scaleShape, axis);
    const auto size = std::uint64_t(codes[std::size_t(axis)]);
    std::uint64_t inner = 1;
    for (std::int64_t i = axis + 1; i < rank; ++i) inner *= std::uint64_t(codes[std::size_t(i)]);
    if (block == 0) {
        if (scaleShape.size() > 1 || size != scales.elements) return unfit();
        return std::make_shared<const QdqLayer>(std::move(stored), size, inner);
    }
    const BlockedLayer::Blocks blocks{size, inner, std::uint64_t(block)};
    auto wanted = codes;
    wanted[std::size_t(axis)] = std::int64_t(blocks.perAxis());
    if (scaleShape != wanted || (stored.hasZeros && stored.fields[2].info.shape != scales.shape)) return unfit();
    return std::make_shared<const BlockedLayer>(std::move(stored), blocks);
}

} // namespace

void addQuantizedLayers(Model& model, const std::vector<Dequantize>& nodes, const std::vector<Node>& packed,
                        const std::vector<std::string>& scales) {
    Layers layers(model, nodes);
    const auto addAll = [&](const auto& list) {
        return std::ranges::all_of(list, [&](const auto& node) { return layers.add(node); });
    };
    if (!addAll(nodes) || !addAll(packed))
        model.warnings.emplace_back("The list of quantized layers takes more memory than a model of this size needs: "
                                    "the rest is listed as it is stored.");
    layers.markParts(scales);
    layers.finish();
}

} // namespace qs::onnx
