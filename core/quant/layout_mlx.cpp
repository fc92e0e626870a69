// SPDX-License-Identifier: GPL-3.0-or-later
// MLX's affine quantization: P.weight as words, P.scales and P.biases, a value being scale * code + bias. Source: mlx
// python/mlx/nn/layers/quantized.py, mlx_lm utils.py.
#include "core/quant/layouts.h"

#include "core/base/text.h"
#include "core/quant/code_set.h"
#include "core/quant/linear_weights.h"
#include "core/quant/word_packing.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;
using Json = nlohmann::ordered_json;

// Scales and biases are stored as f32, because readers compute in their type and would round each product to 16 bits.
// With scales of 16 bits every product of scale and code is exact in f32, so that adding the bias gives what the zero
// point gives.
Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const std::uint32_t block = spec.blockSize();
    const ScaleType type = scaleTypeOf(spec);
    if (!hasIntegerCodes(spec) || spec.traits().bits == 7 || spec.scaleKind() != ScaleKind::Block || spec.tiles ||
        (type != ScaleType::F16 && type != ScaleType::Bf16) || (block != 32 && block != 64 && block != 128))
        return fail(fmt::format("the mlx layout holds int2 to int6 and int8 in groups of 32, 64 or 128 with scales of "
                                "f16 or bf16, not {}: use int4:sym=no:block=64:scaletype=bf16",
                                specText(spec)));
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    if (shape.size() != 2) return fail(fmt::format("the mlx layout holds matrices, not {}", shapeText(shape)));
    return hasWholeGroups(spec, *grid, "mlx");
}

Result<void> holds(const TensorInfo& tensor) {
    if (!tensor.name.ends_with(".weight"))
        return fail("its name does not end with .weight, as that of a layer's matrix does");
    if (tensor.shape.size() != 2) return fail(fmt::format("{} is not a matrix", shapeText(tensor.shape)));
    return {};
}

Result<void> produceParameters(Source& source, const Sink& sink, bool biases) {
    auto values = allScales(source);
    if (!values) return tl::unexpected(values.error());
    if (biases) {
        const auto zeros = unsignedZeros(source);
        if (!zeros) return tl::unexpected(zeros.error());
        for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] *= -float((*zeros)[i]);
    }
    return sinkFloats(sink, DType::F32, *values);
}

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorInfo& original = *source->view.info;
    auto ok = holds(original);
    if (ok) ok = accepts(source->spec, original.shape);
    if (!ok) return fail(fmt::format("tensor '{}': {}", escapeForPeople(original.name), ok.error().message));
    const std::string module(moduleOf(original.name));
    const auto words = wordsOf(std::uint64_t(original.shape[1]), unsigned(source->spec.traits().bits));
    return std::vector<TensorToWrite>{{original.name,
                                       DType::U32,
                                       {original.shape[0], std::int64_t(words)},
                                       [source](const Sink& sink) { return producePackedRows(*source, sink); }},
                                      {module + ".scales", DType::F32, source->grid.scaleShape,
                                       [source](const Sink& sink) { return produceParameters(*source, sink, false); }},
                                      {module + ".biases", DType::F32, source->grid.scaleShape,
                                       [source](const Sink& sink) { return produceParameters(*source, sink, true); }}};
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

Json settings(const QuantSpec& spec) {
    return {{"group_size", spec.blockSize()}, {"bits", spec.traits().bits}, {"mode", "affine"}};
}

/// Each module that differs from the first has an entry of its own.
Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    const Json first = settings(taken.front().spec);
    Json json = first;
    for (const TakenTensor& one : taken)
        if (const Json own = settings(one.spec); own != first) json[std::string(moduleOf(one.tensor->name))] = own;
    for (const auto& module : keptModules(model, taken))
        if (model.find(module + ".weight")) json[module] = false;
    return Json{{"quantization", json}, {"quantization_config", json}}.dump();
}

} // namespace

Layout mlxLayout() {
    return {.id = "mlx",
            .title = "MLX affine",
            .summary = "P.weight as U32 words, P.scales and P.biases of a layer P; quantization for mlx_lm.",
            .takes = "int2 to int6 and int8 in groups of 32, 64 or 128 with f16 or bf16 scales; several specs in one "
                     "model",
            .accepts = accepts,
            .write = write,
            .writeFrom = writeFrom,
            .holds = holds,
            .config = config,
            .describes = false};
}

} // namespace qs
