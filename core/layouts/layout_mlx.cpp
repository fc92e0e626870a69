// SPDX-License-Identifier: GPL-3.0-or-later
// MLX's affine quantization: P.weight as words, P.scales and P.biases, a value being scale * code + bias. Source: mlx
// python/mlx/nn/layers/quantized.py, mlx_lm utils.py.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/stacked_experts.h"
#include "core/layouts/word_packing.h"
#include "core/model/conventions/checkpoint.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Json = nlohmann::ordered_json;

/// Readers compute in the type of scales and biases. That is the model's where the spec's scales have its 16 bits, as
/// mlx_lm writes it: 32 bits a group, and readers round every product and sum. Else f32, in which every product of a
/// scale of 16 bits and a code is exact, so that adding the bias gives what the zero point gives; of dialect=mlx they
/// round then what analysis rounds.
DType parameterType(const QuantSpec& spec, DType source) {
    return storedScaleType(spec, source) == source ? source : DType::F32;
}

/// mlx's affine_dequantize in 16 bits: scale * code rounded, the bias added; its sum is rounded by who stores it.
void readRounded(DType type, int offset, std::span<const std::uint8_t> codes, std::span<const float> scales,
                 std::span<const float> biases, std::size_t group, float* values) {
    for (std::size_t i = 0; i < codes.size(); ++i) values[i] = scales[i / group] * float(int(codes[i]) + offset);
    roundTo(type, values, codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) values[i] += biases[i / group];
}

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const std::uint32_t block = spec.blockSize();
    const ScaleType& type = scaleTypeOf(spec);
    const bool halves = hasIntegerCodes(spec) && (type == ScaleType::F16 || type == ScaleType::Bf16);
    if ((!halves && !hasBiases(spec)) || spec.traits().bits == 7 || spec.scaleKind() != ScaleKind::Block ||
        spec.tiles || (block != 32 && block != 64 && block != 128))
        return advise(fmt::format("the mlx layout holds dialect=mlx, and int2 to int6 and int8 in groups of 32, 64 or "
                                  "128 with scales of f16 or bf16, not {}",
                                  specText(spec)),
                      {"int4:dialect=mlx", "int4:sym=no:block=64:scaletype=bf16"});
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    if (shape.size() != 2 && shape.size() != 3)
        return fail(fmt::format("the mlx layout holds matrices and stacks of them, not {}", shapeText(shape)));
    ScaleGrid rows = *grid;
    rows.features = shape.back();
    return hasWholeGroups(spec, rows, "mlx");
}

Result<void> holds(const TensorInfo& tensor) {
    if (auto named = hasWeightName(tensor); !named) return named;
    if (isSwitchStack(tensor)) return {};
    // mlx makes quantized modules of embeddings too.
    if (const RoleRow& role = rowOf(tensor.role); tensor.role != TensorRole::Embedding && *role.why)
        return fail(role.why);
    if (tensor.role == TensorRole::Embedding && moduleOf(tensor.name).ends_with("lm_head"))
        return fail("config.json ties the head to the embedding, and mlx_lm leaves lm_head.weight out");
    if (tensor.shape.size() != 2) return fail(fmt::format("{} is not a matrix", shapeText(tensor.shape)));
    return isNoConv1d(tensor, "mlx_lm");
}

/// Of DeepSeek-V2 mlx_lm takes this matrix as it is. Of later networks it turns one half of it and quantizes both halves
/// again, so their values would change.
std::string staysIn(const Model& model, const TensorInfo& tensor) {
    const std::string_view module = moduleOf(tensor.name);
    if (module.ends_with(".kv_b_proj") && readCheckpointConfig(model).modelType != "deepseek_v2")
        return "mlx_lm splits this matrix and would quantize its parts once more";
    const bool isNumbered = module.ends_with(".w1") || module.ends_with(".w2") || module.ends_with(".w3");
    if (isNumbered && readCheckpointConfig(model).modelType == "lfm2_moe")
        return "mlx_lm gives the weight of this module another name, but not its scales";
    return {};
}

/// Source: Model.sanitize() of mlx_lm/models/falcon_h1.py.
Result<void> takesModel(const Model& model) {
    if (readCheckpointConfig(model).modelType != "falcon_h1") return {};
    return fail(
        "mlx_lm multiplies the stored tensors of Falcon-H1 when it loads them, and codes cannot be multiplied: use "
        "layout plain, and mlx_lm.convert on what it writes",
        model.path);
}

/// Scales, or biases: those of the spec, or what its zero points come to.
TakeScales takeParameters(const MeasuredTensor& tensor, const PutBytes& put, DType type, bool biases) {
    return [&tensor, unsignedZero = UnsignedZero(tensor), sink = oneAfterAnother(put), type, biases,
            stored = hasBiases(tensor.spec()),
            group = std::uint64_t(0)](std::span<const GroupParams> params) mutable -> Result<void> {
        std::vector<float> values;
        values.reserve(params.size());
        for (const GroupParams& one : params) {
            float value = biases && stored ? one.bias : one.scale;
            if (biases && !stored) {
                const auto zero = unsignedZero(one, group++);
                if (!zero) return tl::unexpected(zero.error());
                value *= -float(*zero);
            }
            values.push_back(value);
        }
        return putFloats(
            tensor, [&](std::uint64_t, auto bytes) { return sink(bytes); }, type, values);
    };
}

/// What readers in a type of 16 bits make of codes. Zero points become biases as takeParameters() makes them.
ReadAs readIn(DType type, const QuantSpec& spec) {
    const bool stored = hasBiases(spec);
    const float middle = float(1 << (spec.traits().bits - 1));
    return [type, offset = unsignedOffset(spec), stored, middle](auto codes, auto scales, auto zeros, auto group,
                                                                 float* values) {
        std::vector<float> biases(zeros.begin(), zeros.end());
        for (std::size_t i = 0; !stored && i < biases.size(); ++i) biases[i] = scales[i] * -(zeros[i] + middle);
        if (!stored) roundTo(type, biases.data(), biases.size());
        readRounded(type, offset, codes, scales, biases, group, values);
    };
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    const std::string module(moduleOf(original.name));
    auto codes = original.shape.sizes(), scales = codes;
    codes.back() = std::int64_t(wordsOf(std::uint64_t(codes.back()), unsigned(tensor.spec().traits().bits)));
    scales.back() /= std::int64_t(tensor.spec().blockSize());
    const DType type = parameterType(tensor.spec(), original.dtype);
    const auto parameters = [&](const char* end, bool biases) {
        OutputField field{module + end, type, scales};
        field.fromScales = [type, biases](MeasuredTensor& from, const PutBytes& put) {
            return takeParameters(from, put, type, biases);
        };
        return field;
    };
    OutputFields out{{codeField(original.name, DType::U32, codes, rowCoder(tensor)), parameters(".scales", false),
                      parameters(".biases", true)}};
    if (type != DType::F32) out.readAs = readIn(type, tensor.spec());
    out.readType = type;
    return out;
}

/// Readers that compute in f32 need parameters of f32: what is read back is then what was analysed.
std::string remark(const TensorInfo& tensor, const QuantSpec& spec) {
    const DType type = parameterType(spec, tensor.dtype);
    if (type != DType::F32 || storedScaleType(spec, tensor.dtype) == type) return {};
    return fmt::format("scales and biases are stored as F32, not {}, because the source is {} and readers compute in "
                       "their type; {:.4f} bits per weight",
                       spec.effectiveScaleType(), tensor.typeId(),
                       double(spec.traits().bits) + 64.0 / double(spec.blockSize()));
}

Json settings(const QuantSpec& spec) {
    return {{"group_size", spec.blockSize()}, {"bits", spec.traits().bits}, {"mode", "affine"}};
}

/// Each module that differs from the first has an entry of its own.
Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    const Json first = settings(taken.front().spec());
    Json json = first;
    for (const TakenTensor& one : taken)
        if (const Json own = settings(one.spec()); own != first) json[std::string(moduleOf(one.tensor->name))] = own;
    for (const auto& module : keptMatrices(model, taken)) json[module] = false;
    return Json{{"quantization", json}, {"quantization_config", json}}.dump();
}

/// stackedExperts() makes one tensor of the experts of a layer.
constexpr JoinedMatrices kStacked[] = {{"(?<=\\.experts\\.)[0-9]+(?=\\.)"}};

} // namespace

Layout mlxLayout() {
    return {.id = "mlx",
            .title = "MLX affine",
            .summary =
                "P.weight as U32 words, P.scales and P.biases of a layer P, in the model's dtype where it is that of "
                "the scales, else F32; quantization for mlx_lm.",
            .takes = "dialect=mlx; int2 to int6 and int8 in groups of 32, 64 or 128 with f16 or bf16 scales; several "
                     "specs in one model",
            .accepts = accepts,
            .fields = fields,
            .holds = holds,
            .staysIn = staysIn,
            .stacked = stackedExperts,
            .config = config,
            .dialect = &kMlxDialect,
            .describes = false,
            .takesModel = takesModel,
            .remark = remark,
            .joins = kStacked};
}

} // namespace qs
