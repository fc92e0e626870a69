// SPDX-License-Identifier: GPL-3.0-or-later
// LLM.int8 of bitsandbytes: signed bytes, and the absolute maximum of each row in P.SCB. Source: bitsandbytes
// nn/modules.py (Int8Params), backends/default/ops.py (int8_vectorwise_quant, int8_vectorwise_dequant).
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/produce.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialects/rows.h"
#include "kernels/small_float.h"

#include <fmt/format.h>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (!isOf(spec, kLlmInt8Dialect))
        return fail(fmt::format("the llm-int8 layout holds what bitsandbytes makes of a row, not {}: use "
                                "int8:dialect=bnb",
                                specText(spec)));
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    if (shape.size() != 2) return fail(fmt::format("{} is not the matrix of a linear layer", shapeText(shape)));
    return {};
}

Result<void> holds(const TensorInfo& tensor) {
    if (auto named = hasWeightName(tensor); !named) return named;
    return isLinearWeight(tensor);
}

/// The maximum of a row is an f16, which what was divided by 127 is near enough to tell.
float maximumOf(float scale) { return f16ToF32(f32ToF16(scale * 127.0f)); }

/// int8_vectorwise_dequant: in f32, times the maximum, then times 1/127.
float valueOf(float level, float scale) { return level * maximumOf(scale) * 7.874015718698502e-3f; }

Result<void> produceBytes(Source& source, const Sink& sink) {
    const int offset = codeSetOf(source.spec).valueOffset;
    return streamSlabs(
        source, sink, [](std::uint64_t element) { return element; },
        [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
            RunOut out;
            out.codes = reinterpret_cast<std::uint8_t*>(at);
            encode(range.run, out);
            moveCodes(out.codes, range.n, offset);
        });
}

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorInfo& original = *source->view.info;
    auto ok = holds(original);
    if (ok) ok = accepts(source->spec, original.shape);
    if (!ok) return fail(fmt::format("tensor '{}': {}", escapeForPeople(original.name), ok.error().message));
    const std::string module(moduleOf(original.name));
    return std::vector<TensorToWrite>{
        {original.name, DType::I8, original.shape, [source](const Sink& sink) { return produceBytes(*source, sink); }},
        ofParams(source, module + ".SCB", DType::F32, {original.shape[0]},
                 [](const Sink& sink) -> TakeParams {
                     return [sink](std::span<const GroupParams> params) {
                         std::vector<float> maxima;
                         for (const GroupParams& one : params) maxima.push_back(maximumOf(one.scale));
                         return sinkFloats(sink, DType::F32, maxima);
                     };
                 }),
        {module + ".weight_format", DType::U8, {}, [](const Sink& sink) {
             static constexpr std::byte kRows{0};
             return sink(std::span(&kRows, 1));
         }}};
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
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
            .write = write,
            .writeFrom = writeFrom,
            .holds = holds,
            .config = config,
            .describes = false,
            .valueOf = valueOf};
}

} // namespace qs
