// SPDX-License-Identifier: GPL-3.0-or-later
// GGUF from GGUF: every key as it is, tensors in other types of ggml. Making GGUF files of other models needs their
// tokenizers and permuted heads, which is llama.cpp's business.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/fields.h"
#include "core/layouts/write_model.h"
#include "core/model/gguf/gguf_write.h"
#include "core/model/gguf/packed_type.h"
#include "core/quant/encode/block_encoder.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace qs {
namespace {

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return char(c >= 'a' && c <= 'z' ? c - 32 : c); });
    return text;
}

/// The type of ggml that holds the spec.
const GgmlType* typeOf(const QuantSpec& spec) {
    const std::string id = upper(spec.format);
    for (const GgmlType& type : ggmlTypes()) {
        if (codecOf(spec) && type.packed.id && id == type.packed.id) return &type;
        if (spec.traits().kind == FormatKind::Identity && !type.packed.id && id == info(type.dtype).id) return &type;
    }
    return nullptr;
}

/// The format of ggml with the nearest bits whose blocks fit the rows; f16 fits all rows.
std::string nearestThatFits(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const std::int64_t row = shape.empty() ? 1 : shape.back();
    const auto distance = [&](const FormatTraits& format) { return std::abs(format.bits - spec.traits().bits); };
    const FormatTraits* nearest = nullptr;
    for (const FormatTraits& format : formats())
        if (format.kind == FormatKind::Superblock && format.id != spec.format && row % format.codec->elements == 0 &&
            (!nearest || distance(format) < distance(*nearest)))
            nearest = &format;
    return nearest ? nearest->id : "f16";
}

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (!typeOf(spec))
        return advise(fmt::format("the gguf layout holds ggml's formats, f32, f16 and bf16, not {}", specText(spec)),
                      {nearestThatFits(spec, shape)});
    if (auto grid = scaleGrid(spec, shape); !grid) {
        Error error = grid.error();
        if (!error.works.empty()) error.works = {nearestThatFits(spec, shape)};
        return tl::unexpected(std::move(error));
    }
    return {};
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    const BlockCodec* codec = codecOf(tensor.spec());
    const GgmlType* type = typeOf(tensor.spec());
    const DType dtype = codec ? DType::F32 : type->dtype;
    OutputField field =
        codeField(original.name, dtype, original.shape, codec ? blockCoder(*codec) : valueCoder(tensor, dtype));
    if (codec) field.packed = &type->packed;
    return OutputFields{.list = {std::move(field)}, .readType = dtype};
}

/// llama.cpp's number for what most values are in; 0 is "all F32".
std::uint32_t fileType(const TensorsToWrite& tensors) {
    static constexpr std::array<std::pair<std::string_view, std::uint32_t>, 18> kNumbers = {{{"F32", 0},
                                                                                             {"F16", 1},
                                                                                             {"Q4_0", 2},
                                                                                             {"Q4_1", 3},
                                                                                             {"Q8_0", 7},
                                                                                             {"Q5_0", 8},
                                                                                             {"Q5_1", 9},
                                                                                             {"Q2_K", 10},
                                                                                             {"Q3_K", 12},
                                                                                             {"Q4_K", 15},
                                                                                             {"Q5_K", 17},
                                                                                             {"Q6_K", 18},
                                                                                             {"IQ4_NL", 25},
                                                                                             {"IQ4_XS", 30},
                                                                                             {"BF16", 32},
                                                                                             {"TQ1_0", 36},
                                                                                             {"TQ2_0", 37},
                                                                                             {"MXFP4", 38}}};
    std::map<std::string_view, std::uint64_t> elements;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& kind = tensors.kindOf(i);
        std::uint64_t n = 1;
        for (const auto dim : kind.shape) n *= std::uint64_t(dim);
        elements[kind.packed ? kind.packed->id : info(kind.dtype).id] += n;
    }
    std::uint64_t most = 0;
    std::uint32_t number = 0;
    for (const auto& [id, n] : elements) {
        const auto row = std::ranges::find_if(kNumbers, [&](const auto& r) { return r.first == id; });
        if (row != kNumbers.end() && n > most) most = n, number = row->second;
    }
    return number;
}

Result<WrittenFiles> writeFile(const Model& model, std::vector<OutputShard> shards, const std::string& output,
                               const Job& job, const Finish& finish) {
    TensorsToWrite all = inOne(std::move(shards)).tensors;
    const GgufNumbers changed = {{"general.file_type", fileType(all)}, {"general.quantization_version", 2}};
    const auto bytes = writeGguf(output, std::move(all), model, changed, job, finish.naming(output));
    if (!bytes) return tl::unexpected(bytes.error());
    return WrittenFiles{{output}, *bytes, 0, 0};
}

/// llama.cpp computes with these in f32 alone (llama-graph.cpp, build_norm(); ggml_ssm_conv()).
Result<void> holds(const TensorInfo& tensor) {
    const bool isF32 = tensor.role == TensorRole::Norm || tensor.role == TensorRole::State;
    if (isF32 || tensor.role == TensorRole::Vector)
        return fail(fmt::format("llama.cpp takes a {} as it is, not quantized", rowOf(tensor.role).title));
    return {};
}

Result<void> takesModel(const Model& model) {
    if (model.format != "gguf")
        return fail(
            fmt::format("the gguf layout re-quantizes GGUF files, and {} is {}: convert it with llama.cpp first",
                        escapeForPeople(model.path, 160), model.format));
    return {};
}

} // namespace

Layout ggufLayout() {
    return {.id = "gguf",
            .title = "GGUF",
            .summary = "A GGUF file from a GGUF file: every key as it is, tensors in other types; one file, "
                       "NAME.gguf.",
            .takes = "ggml's formats, mxfp4 and nvfp4 with dialect=ggml, f32, f16, bf16; several specs in one model",
            .accepts = accepts,
            .fields = fields,
            .holds = holds,
            .describes = false,
            .takesModel = takesModel,
            .writeFiles = writeFile,
            .fileEnding = ".gguf",
            .copy = bytewiseCopyOf};
}

} // namespace qs
