// SPDX-License-Identifier: GPL-3.0-or-later
// The formats of compressed-tensors: int-, float- and naive-quantized, mxfp8-quantized, pack-quantized, and nvfp4-,
// mxfp4- and mxfp6-pack-quantized. Modules of one checkpoint may differ.
#include "core/base/lists.h"
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"
#include "core/model/conventions/schemes.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kExpertScale = "_proj_scale"; ///< of fbgemm_fp8, for the experts of Llama 4
constexpr std::string_view kEnds[] = {".weight_packed", ".weight_scale", kExpertScale};
constexpr const char* kTypes[] = {"CT-int8", "CT-fp8-e4m3", "CT-fp8-e5m2", "CT-mxfp8", "CT-int1",
                                  "CT-int2", "CT-int3",     "CT-int4",     "CT-int5",  "CT-int6",
                                  "CT-int7", "CT-nvfp4",    "CT-mxfp4",    "CT-mxfp6"};
constexpr auto kFloats = {DType::F32, DType::F16, DType::BF16};

const char* intType(std::uint64_t bits) { return bits == 8 ? kTypes[0] : kTypes[3 + bits]; }

/// Sets `group` and `rowsPerScale` from the shape of the scales: one per tensor, per row, per group of columns or per
/// block. Returns this as text.
Result<std::string> coverWith(RowCoding& coding, const TensorInfo& scales, const std::vector<WeightScheme>& schemes) {
    const std::int64_t rows = coding.shape[0], columns = coding.shape[1];
    const auto& shape = scales.shape;
    const auto wrong = [&] {
        return fail(fmt::format("scales {} do not cover {}", shapeText(shape), shapeText(coding.shape)));
    };
    coding.group = std::uint64_t(columns);
    if (scales.elements == 1 && shape.size() <= 2) {
        coding.rowsPerScale = std::uint64_t(rows);
        return "a scale per tensor";
    }
    if (shape.size() == 1 && shape[0] == rows) return "a scale per row";
    // ModelOpt's FP8_PB_WO: [row blocks, 1, column blocks, 1] of whole blocks (its qtensor/fp8_tensor.py).
    if (shape.size() == 4 && shape[1] == 1 && shape[3] == 1 && shape[0] > 0 && shape[2] > 0 && rows % shape[0] == 0 &&
        columns % shape[2] == 0) {
        coding.rowsPerScale = std::uint64_t(rows / shape[0]), coding.group = std::uint64_t(columns / shape[2]);
        return fmt::format("blocks of {} x {}", coding.rowsPerScale, coding.group);
    }
    if (shape.size() != 2 || scales.elements == 0) return wrong();
    for (const auto& scheme : schemes) // blocks and incomplete last groups are known only from the config
        if (scheme.blockRows > 0 && scheme.blockRows < (1u << 31) && scheme.blockColumns > 0 &&
            scheme.blockColumns < (1u << 31) && shape[0] == groupsOf(rows, std::int64_t(scheme.blockRows)) &&
            shape[1] == groupsOf(columns, std::int64_t(scheme.blockColumns))) {
            coding.rowsPerScale = scheme.blockRows;
            coding.group = scheme.blockColumns;
            return fmt::format("blocks of {} x {}", scheme.blockRows, scheme.blockColumns);
        }
    if (shape[0] != rows) return wrong();
    if (shape[1] == 1) return "a scale per row";
    std::uint64_t group = columns % shape[1] == 0 ? std::uint64_t(columns / shape[1]) : 0;
    for (const auto& scheme : schemes)
        if (scheme.group > 0 && scheme.group < std::uint64_t(columns) &&
            groupsOf(columns, std::int64_t(scheme.group)) == shape[1])
            group = scheme.group;
    if (group == 0) return wrong();
    coding.group = group;
    return fmt::format("groups of {}", group);
}

/// Adds zero points that are not packed; they have the shape of the scales.
Result<void> addZeros(RowCoding& coding, const Checkpoint& checkpoint, const std::string& module,
                      const TensorInfo& scales) {
    if (!checkpoint.find(module + ".weight_zero_point")) return {};
    auto zeros = checkpoint.field(
        module + ".weight_zero_point",
        {DType::I8, DType::U8, DType::I32, DType::F8_E4M3, DType::F32, DType::F16, DType::BF16}, scales.shape);
    if (!zeros) return tl::unexpected(zeros.error());
    coding.zeros = int(coding.fields.size());
    coding.fields.push_back(std::move(*zeros));
    return {};
}

void addColumns(const Checkpoint& checkpoint, RowCoding& coding, const std::string& name) {
    if (const TensorInfo* more = checkpoint.find(name)) coding.fields.push_back(checkpoint.field(*more));
}

Result<void> addOrder(RowCoding& coding, const Checkpoint& checkpoint, const std::string& module) {
    if (!checkpoint.find(module + ".weight_g_idx")) return {};
    auto order = checkpoint.field(module + ".weight_g_idx", {DType::I32}, std::span(coding.shape).last(1));
    if (!order) return tl::unexpected(order.error());
    const auto groups = std::uint64_t(groupsOf(coding.shape[1], std::int64_t(coding.group)));
    const auto all = order->words(0, std::size_t(order->info.elements));
    if (!contains(all, ~0u)) { // -1 means that the field is not used
        auto read = readOrder(*order, coding.group, groups);
        if (!read) return tl::unexpected(read.error());
        coding.order = std::move(*read);
    }
    coding.fields.push_back(std::move(*order));
    return {};
}

/// Reads a layer whose `weight` has one byte per element.
Result<RowCoding> readBytes(const Checkpoint& checkpoint, const std::string& module, const TensorInfo& codes,
                            const TensorInfo& scales, const std::vector<WeightScheme>& schemes) {
    RowCoding coding;
    if (codes.shape.size() != 2 || codes.elements == 0 || codes.packed)
        return fail(fmt::format("{} is no matrix", quotedName(codes.name)));
    coding.shape = codes.shape;
    coding.rowBytes = std::uint64_t(codes.shape[1]);
    coding.fields = {checkpoint.field(codes), checkpoint.field(scales)};
    const bool exponents = scales.dtype == DType::U8 || scales.dtype == DType::F8_E8M0;
    if (codes.dtype == DType::I8)
        coding.type = intType(8), coding.levels = signedByteLevels();
    else if (codes.dtype == DType::F8_E4M3)
        coding.type = exponents ? kTypes[3] : kTypes[1], coding.levels = e4m3Levels();
    else if (codes.dtype == DType::F8_E5M2)
        coding.type = kTypes[2], coding.levels = e5m2Levels();
    else
        return fail(fmt::format("{} is {}, which has no meaning beside a weight_scale", quotedName(codes.name),
                                codes.typeId()));
    coding.dtype = exponents ? DType::BF16 : scales.dtype;
    if (exponents)
        coding.scaleCoding = ScaleCoding::E8m0;
    else if (!contains(kFloats, scales.dtype))
        return fail(fmt::format("{} is {}, not F32, F16 or BF16", quotedName(scales.name), scales.typeId()));
    auto cover = coverWith(coding, scales, schemes);
    if (!cover) return tl::unexpected(cover.error());
    // fbgemm_fp8 and other methods store the same fields.
    const std::string& method = checkpoint.config().method;
    coding.description = fmt::format("{}, {}, {}", method.empty() ? "compressed-tensors" : escapeForPeople(method, 40),
                                     coding.type + 3, *cover);
    if (auto ok = addZeros(coding, checkpoint, module, scales); !ok) return tl::unexpected(ok.error());
    if (auto ok = addOrder(coding, checkpoint, module); !ok) return tl::unexpected(ok.error());
    return coding;
}

/// Reads a layer whose `weight_packed` is 32-bit words (pack-quantized).
Result<RowCoding> readWords(const Checkpoint& checkpoint, const std::string& module, const TensorInfo& codes,
                            const TensorInfo& scales, const std::vector<WeightScheme>& schemes) {
    RowCoding coding;
    constexpr std::int64_t two = 2;
    const auto shapeField = checkpoint.field(module + ".weight_shape", {DType::I64, DType::I32}, std::span(&two, 1));
    if (!shapeField) return tl::unexpected(shapeField.error());
    const auto words = shapeField->words(0, shapeField->info.bytes / 4);
    const std::size_t step = words.size() / 2;
    coding.shape = {std::int64_t(words[0]), std::int64_t(words[step])};
    if (step == 2 && (words[1] || words[3])) coding.shape[0] = 0;
    const std::int64_t rows = coding.shape[0], columns = coding.shape[1];
    if (codes.shape.size() != 2 || rows <= 0 || columns <= 0 || codes.shape[0] != rows)
        return fail(fmt::format("weight_packed {} is not what weight_shape {} needs", shapeText(codes.shape),
                                shapeText(coding.shape)));
    // The bits per code come from the config; if it does not say, from the shapes.
    std::uint64_t bits = 0;
    bool asym = false, known = false;
    const auto fits = [&](std::uint64_t b) {
        const auto perWord = std::int64_t(32 / b);
        return codes.shape[1] == (columns * std::int64_t(b) + 31) / 32 || codes.shape[1] == groupsOf(columns, perWord);
    };
    for (const auto& scheme : schemes)
        if (!known && !scheme.isFloat && scheme.bits >= 1 && scheme.bits <= 8 && fits(scheme.bits))
            bits = scheme.bits, asym = !scheme.isSymmetric, known = true;
    if (!known && !schemes.empty())
        return fail(fmt::format("weight_packed {} of {} has not the bits that {} says", shapeText(codes.shape),
                                shapeText(coding.shape), checkpoint.config().file));
    if (!known && codes.shape[1] * 32 % columns == 0) bits = std::uint64_t(codes.shape[1] * 32 / columns);
    if (bits < 1 || bits > 8)
        return fail(fmt::format("weight_packed {} of {} does not say how many bits a code has", shapeText(codes.shape),
                                shapeText(coding.shape)));
    coding.type = intType(bits);
    coding.bits = unsigned(bits);
    if (codes.shape[1] != (columns * std::int64_t(bits) + 31) / 32)
        coding.perWord = unsigned(32 / bits); // older versions: no code crosses a word boundary
    coding.rowBytes = std::uint64_t(codes.shape[1]) * 4;
    coding.levels = integerLevels(coding.bits);
    coding.dtype = scales.dtype;
    if (!contains(kFloats, scales.dtype))
        return fail(fmt::format("{} is {}, not F32, F16 or BF16", quotedName(scales.name), scales.typeId()));
    coding.fields = {checkpoint.field(codes), checkpoint.field(scales), *shapeField};
    auto cover = coverWith(coding, scales, schemes);
    if (!cover) return tl::unexpected(cover.error());
    const TensorInfo* zero = checkpoint.find(module + ".weight_zero_point");
    if (zero && zero->elements == 1 && scales.elements == 1) { // that of a whole tensor is not packed
        if (auto ok = addZeros(coding, checkpoint, module, scales); !ok) return tl::unexpected(ok.error());
    } else if (zero) {
        const std::int64_t groups = scales.shape.back();
        const std::int64_t wanted[] = {(rows * std::int64_t(bits) + 31) / 32, groups};
        auto zeros = checkpoint.field(module + ".weight_zero_point", {DType::I32}, wanted);
        if (!zeros) return tl::unexpected(zeros.error());
        if (scales.shape.size() != 2 || scales.shape[0] != rows)
            return fail(fmt::format("zero points beside scales {} are in no known order", shapeText(scales.shape)));
        coding.zeros = int(coding.fields.size());
        coding.zeroBits = coding.bits;
        coding.fields.push_back(std::move(*zeros));
    }
    if (asym && coding.zeros < 0) {
        return fail(fmt::format("{}.weight_zero_point is missing, and {} says that it is not symmetric",
                                escapeForPeople(module, 80), checkpoint.config().file));
    }
    if (auto ok = addOrder(coding, checkpoint, module); !ok) return tl::unexpected(ok.error());
    coding.description =
        fmt::format("compressed-tensors, int{} packed, {}{}{}", bits, *cover, coding.zeros >= 0 ? ", zero points" : "",
                    coding.order.empty() ? "" : ", columns in an order of their own");
    return coding;
}

/// A layer of small floats whose `weight_packed` is bytes: `perGroup` bytes for each of `group` columns.
struct Packed {
    const char* type;
    unsigned bits;
    std::int64_t group, perGroup;
    ScaleCoding scales;
    const float* (*levels)();
};
const Packed kPacked[] = {{kTypes[11], 4, 16, 8, ScaleCoding::E4m3, e2m1Levels},
                          {kTypes[12], 4, 32, 16, ScaleCoding::E8m0, e2m1Levels},
                          {kTypes[13], 6, 32, 24, ScaleCoding::E8m0, e2m3Levels}};

/// Which of them it is: E4M3 scales are those of nvfp4; of the others the settings say the bits, or a row of whole
/// groups.
Result<const Packed*> packedOf(const TensorInfo& codes, const TensorInfo& scales,
                               const std::vector<WeightScheme>& schemes) {
    if (scales.dtype == DType::F8_E4M3) return &kPacked[0];
    if (scales.dtype != DType::U8 && scales.dtype != DType::F8_E8M0)
        return fail(fmt::format("{} is {}, not F8_E4M3 (nvfp4) or U8 (mxfp4, mxfp6)", quotedName(scales.name),
                                scales.typeId()));
    const auto says = [&](const Packed& one) {
        return std::ranges::any_of(schemes,
                                   [&](const WeightScheme& said) { return said.isFloat && said.bits == one.bits; });
    };
    const bool isSix = says(kPacked[1]) == says(kPacked[2])
                           ? codes.shape[1] == kPacked[2].perGroup * scales.shape.back()
                           : says(kPacked[2]);
    return &kPacked[isSix ? 2 : 1];
}

/// Reads a layer whose `weight_packed` has 4-bit or 6-bit floats, the first in the lowest bits.
Result<RowCoding> readFloats(const Checkpoint& checkpoint, const std::string& module, const TensorInfo& codes,
                             const TensorInfo& scales, const std::vector<WeightScheme>& schemes) {
    if (codes.shape.size() != 2 || codes.elements == 0 || scales.shape.empty())
        return fail(fmt::format("{} is no matrix", quotedName(codes.name)));
    const auto kind = packedOf(codes, scales, schemes);
    if (!kind) return tl::unexpected(kind.error());
    const Packed& packed = **kind;
    RowCoding coding;
    coding.shape = {codes.shape[0], codes.shape[1] * 8 / packed.bits};
    if (codes.shape[1] * 8 % packed.bits != 0 ||
        scales.shape != std::vector<std::int64_t>{codes.shape[0], groupsOf(coding.shape[1], packed.group)})
        return fail(fmt::format("scales {} are not one for {} of {}", shapeText(scales.shape), packed.group,
                                shapeText(coding.shape)));
    coding.type = packed.type;
    coding.bits = packed.bits;
    coding.rowBytes = std::uint64_t(codes.shape[1]);
    coding.levels = packed.levels();
    coding.dtype = DType::BF16;
    coding.group = std::uint64_t(packed.group);
    coding.scaleCoding = packed.scales;
    coding.fields = {checkpoint.field(codes), checkpoint.field(scales)};
    const bool hasGlobal = packed.scales == ScaleCoding::E4m3;
    if (hasGlobal) {
        constexpr std::int64_t one = 1;
        auto global = checkpoint.field(module + ".weight_global_scale", {DType::F32}, std::span(&one, 1));
        if (!global) return tl::unexpected(global.error());
        coding.global = 2;
        coding.fields.push_back(std::move(*global));
    }
    const std::string& method = checkpoint.config().method;
    coding.description = fmt::format("{}, {} packed, groups of {}{}",
                                     method.empty() ? "compressed-tensors" : escapeForPeople(method, 40),
                                     coding.type + 3, packed.group, hasGlobal ? ", one scale of the tensor" : "");
    return coding;
}

Result<RowCoding> readLayer(const Checkpoint& checkpoint, const std::string& module) {
    const TensorInfo* packed = checkpoint.find(module + ".weight_packed");
    const TensorInfo* codes = packed ? packed : checkpoint.find(module + ".weight");
    const TensorInfo* scales = checkpoint.find(module + ".weight_scale");
    if (!codes) return fail(fmt::format("{}.weight is missing", escapeForPeople(module, 80)));
    if (!scales) return fail(fmt::format("{}.weight_scale is missing", escapeForPeople(module, 80)));
    if (scales->packed || codes->packed) return fail("its fields are blocks of another format");
    const auto schemes = checkpoint.schemes().of(module);
    // Quark keeps the name of the matrix for its pairs of 4-bit floats.
    if (!packed && codes->dtype == DType::U8 && checkpoint.config().method == "quark")
        return readFloats(checkpoint, module, *codes, *scales, schemes);
    if (!packed) return readBytes(checkpoint, module, *codes, *scales, schemes);
    if (codes->dtype == DType::I32) return readWords(checkpoint, module, *codes, *scales, schemes);
    if (codes->dtype == DType::U8) return readFloats(checkpoint, module, *codes, *scales, schemes);
    return fail(fmt::format("{} is {}, not I32 or U8", quotedName(codes->name), codes->typeId()));
}

/// Methods whose layers have the fields of compressed-tensors; all but the first with 8-bit floats.
constexpr std::string_view kMethods[] = {"compressed-tensors", "fbgemm_fp8", "fp8",       "modelopt",        "quark",
                                         "auto-round",         "auto_round", "autoround", "intel/auto-round"};
/// Formats of compressed-tensors that are read. A layer of another one does not contradict its settings.
constexpr std::string_view kFormats[] = {"int-quantized",        "float-quantized",      "naive-quantized",
                                         "pack-quantized",       "nvfp4-pack-quantized", "mxfp4-pack-quantized",
                                         "mxfp6-pack-quantized", "mxfp8-quantized",      "mixed-precision"};

/// Scales of ComfyUI are in tiles of 128 x 4, so their axes are multiples of these.
bool canBeTiles(const TensorInfo& scales) {
    return scales.shape.size() == 2 && scales.shape[0] % 128 == 0 && scales.shape[1] % 4 == 0;
}

/// Quark stores groups of integers transposed, but not those with a scale per row or tensor (its torch/utils/pack.py).
bool isByRows(const nlohmann::json& settings) {
    const std::string scheme = textAt(valueAt(settings, "weight"), "qscheme");
    return scheme == "per_channel" || scheme == "per_tensor";
}

Evidence evidenceOf(const Checkpoint& checkpoint, const std::string& module, const Result<RowCoding>& read) {
    const std::string& method = checkpoint.config().method;
    if (method == kMethods[0] || !checkpoint.schemes().empty()) {
        const auto schemes = checkpoint.schemes().of(module);
        const bool isKnown = std::ranges::any_of(
            schemes, [](const WeightScheme& one) { return contains(kFormats, std::string_view(one.format)); });
        return read || isKnown ? Evidence::Said : Evidence::Alike;
    }
    if (!read) return Evidence::Alike;
    const RowCoding& coding = *read;
    if (checkpoint.find(module + ".weight_packed")) return Evidence::Shaped;
    const TensorInfo& scales = coding.fields[1].info;
    const DType codes = coding.fields[0].info.dtype;
    const bool isFloat = codes == DType::F8_E4M3 || codes == DType::F8_E5M2;
    if (isFloat && contains(kMethods, std::string_view(method))) return Evidence::Said;
    if (method == "quark" &&
        (codes == DType::U8 || isByRows(valueAt(checkpoint.config().quantization, "global_quant_config"))))
        return Evidence::Said;
    if (isFloat && coding.scaleCoding == ScaleCoding::Plain) return Evidence::Shaped;
    return isFloat && !canBeTiles(scales) ? Evidence::Shaped : Evidence::Alike;
}

/// Experts of Llama 4 by fbgemm_fp8: [experts, inputs, outputs], with a scale for each output; that of down_proj is
/// stored as [experts, outputs, 1]. Source: transformers:`integrations/fbgemm_fp8.py`.
Result<RowCoding> readExperts(const Checkpoint& checkpoint, const std::string& name, const TensorInfo& scales) {
    const TensorInfo* codes = checkpoint.find(name);
    if (!codes) return fail(fmt::format("{} is missing", quotedName(name)));
    if (codes->dtype != DType::F8_E4M3 || codes->shape.size() != 3 || codes->elements == 0)
        return fail(fmt::format("{} is {} {}", quotedName(name), codes->typeId(), shapeText(codes->shape)));
    const std::int64_t experts = codes->shape[0], outputs = codes->shape[2];
    const bool fits = scales.shape == std::vector{experts, std::int64_t(1), outputs} ||
                      scales.shape == std::vector{experts, outputs, std::int64_t(1)};
    if (!fits || !contains(kFloats, scales.dtype))
        return fail(fmt::format("{} is {} {}", quotedName(scales.name), scales.typeId(), shapeText(scales.shape)));
    RowCoding coding;
    coding.type = kTypes[1], coding.description = "fbgemm_fp8, experts, a scale per output";
    coding.dtype = scales.dtype, coding.shape = codes->shape;
    coding.rowBytes = std::uint64_t(outputs), coding.levels = e4m3Levels();
    coding.group = 1, coding.rowsPerScale = std::uint64_t(codes->shape[1]);
    coding.fields = {checkpoint.field(*codes), checkpoint.field(scales)};
    return coding;
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    const std::string& method = checkpoint.config().method;
    if (end == kExpertScale) {
        const std::string name = module + "_proj";
        if (method == "fbgemm_fp8" && field.shape.size() == 3)
            checkpoint.take(kCompressedConvention, name, Evidence::Said,
                            readExperts(checkpoint, name, field).map(rowCodedLayer));
        return;
    }
    if (method == kBitnetConvention.id) return;
    // ModelOpt and ComfyUI use some of these field names with another meaning.
    for (const char* theirs : {".weight_scale_2", ".pre_quant_scale", ".comfy_quant"})
        if (checkpoint.find(module + theirs)) return;
    // A layer with weight_packed is handled through that field, all others through weight_scale.
    if (end == kEnds[1] && checkpoint.find(module + ".weight_packed")) return;
    auto coding = readLayer(checkpoint, module);
    // Fields for quantized inputs belong to the layer, but the weights do not depend on them.
    for (const char* more : {".input_scale", ".input_zero_point", ".input_global_scale"})
        if (coding) addColumns(checkpoint, *coding, module + more);
    const Evidence evidence = evidenceOf(checkpoint, module, coding);
    checkpoint.take(kCompressedConvention, module + ".weight", evidence, std::move(coding).map(rowCodedLayer));
}

} // namespace

const Convention kCompressedConvention = {
    "compressed-tensors",
    "compressed-tensors",
    "quant_method compressed-tensors or config_groups; without one, names that only "
    "it gives, or 8-bit floats with plain scales",
    kTypes,
    kEnds,
    take,
    kMethods};

} // namespace qs
