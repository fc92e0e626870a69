// SPDX-License-Identifier: GPL-3.0-or-later
// LLM.int8 of bitsandbytes: signed bytes, and the absolute maximum of each row in P.SCB. Source: bitsandbytes
// nn/modules.py (Int8Params), backends/default/ops.py (int8_vectorwise_quant, int8_vectorwise_dequant).
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/fields.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/dialects/rows.h"
#include "kernels/small_float.h"

#include <fmt/format.h>

namespace qs {
namespace {

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (!isOf(spec, kLlmInt8Dialect))
        return advise(fmt::format("the llm-int8 layout holds what bitsandbytes makes of a row, not {}", specText(spec)),
                      {"int8:dialect=bnb"});
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    if (shape.size() != 2) return fail(fmt::format("{} is not the matrix of a linear layer", shapeText(shape)));
    return {};
}

/// The maximum of a row is an f16, which what was divided by 127 is near enough to tell.
float maximumOf(float scale) { return f16ToF32(f32ToF16(scale * 127.0f)); }

/// int8_vectorwise_dequant: in f32, times the maximum, then times 1/127.
float valueOf(float level, float scale) { return level * maximumOf(scale) * 7.874015718698502e-3f; }

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    const std::string module(moduleOf(original.name));
    return OutputFields{.list = {codeField(original.name, DType::I8, original.shape, byteCoder(tensor.spec())),
                                 floatsOfScales(module + ".SCB", DType::F32, {original.shape[0]},
                                                [](const GroupParams& one) { return maximumOf(one.scale); }),
                                 constantField(module + ".weight_format", DType::U8, {}, {std::byte{0}})}, // row by row
                        .readType = DType::F32};
}

Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    return bitsandbytesConfig(model, taken, {});
}

} // namespace

Layout llmInt8Layout() {
    return {.id = "llm-int8",
            .title = "LLM.int8",
            .summary = "P.weight as I8, P.SCB with the maximum of each row, P.weight_format; quantization_config for "
                       "transformers. Decoded as bitsandbytes does: code * SCB * (1/127).",
            .takes = "int8 with dialect=bnb; matrices of linear layers",
            .accepts = accepts,
            .fields = fields,
            .turnsConv1d = true,
            .holds = isBitsandbytesLinear,
            .staysIn = transformersKeeps,
            .config = config,
            .dialect = &kLlmInt8Dialect,
            .describes = false,
            .valueOf = valueOf};
}

} // namespace qs
