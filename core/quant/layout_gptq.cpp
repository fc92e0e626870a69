// SPDX-License-Identifier: GPL-3.0-or-later
// GPTQ's container, whoever chose the codes: NAME without ".weight" and .qweight, .qzeros, .scales, .g_idx, all with the
// inputs of a layer along the first axis. Source: AutoGPTQ qlinear_cuda_old.py; checkpoint_format gptq stores zero
// points less 1, gptq_v2 as they are.
#include "core/quant/layouts.h"

#include "core/base/text.h"
#include "core/quant/code_set.h"
#include "core/quant/linear_weights.h"
#include "core/quant/word_packing.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;
constexpr std::uint64_t kBandBytes = std::uint64_t(256) << 20; ///< codes in memory, one a byte

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const int bits = spec.traits().bits;
    const bool rows = spec.scaleKind() == ScaleKind::Axes && spec.reducedAxes() == std::vector<int>{-1};
    if (!hasIntegerCodes(spec) || (bits != 2 && bits != 3 && bits != 4 && bits != 8) ||
        scaleTypeOf(spec) != ScaleType::F16 || spec.tiles || (spec.scaleKind() != ScaleKind::Block && !rows))
        return fail(fmt::format("the gptq layout holds int2, int3, int4 and int8 with f16 scales per group or row, not "
                                "{}: use int4:dialect=ct:block=128:scaletype=f16",
                                specText(spec)));
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    if (shape.size() != 2 || shape[0] % 32 != 0 || shape[1] % 32 != 0)
        return fail(
            fmt::format("the gptq layout needs matrices whose sides are multiples of 32, not {}", shapeText(shape)));
    return hasWholeGroups(spec, *grid, "gptq");
}

Result<void> holds(const TensorInfo& tensor) {
    if (auto named = hasWeightName(tensor); !named) return named;
    // gptqmodel would take its codes; transformers leaves the head at random values, with a warning alone.
    if (moduleOf(tensor.name) == "lm_head")
        return fail("lm_head stays in its own dtype, because transformers looks for codes within the blocks alone");
    return isLinearWeight(tensor);
}

/// `columns` streams of `rows` codes become words side by side.
std::vector<std::uint32_t> packedDown(const std::vector<std::uint8_t>& codes, std::size_t columns, std::size_t rows,
                                      unsigned bits) {
    const auto words = std::size_t(wordsOf(rows, bits));
    std::vector<std::uint32_t> out(words * columns), one(words);
    for (std::size_t c = 0; c < columns; ++c) {
        packWords(codes.data() + c * rows, rows, bits, reinterpret_cast<std::byte*>(one.data()));
        for (std::size_t w = 0; w < words; ++w) out[w * columns + c] = one[w];
    }
    return out;
}

/// A band of inputs at a time, which is a band of the words: codes lie by output in the source. A tensor of more than one
/// band is encoded again for each.
Result<void> produceWeight(Source& source, const Sink& sink) {
    const auto outputs = std::uint64_t(source.grid.rows), inputs = std::uint64_t(source.grid.features);
    const std::uint64_t band = std::max<std::uint64_t>(1, kBandBytes / std::max<std::uint64_t>(1, outputs) / 32) * 32;
    for (std::uint64_t first = 0; first < inputs; first += band) {
        const std::uint64_t width = std::min(band, inputs - first);
        const auto codes = codesOfColumns(source, first, width); // [out, in]: a stream for each output
        if (!codes) return tl::unexpected(codes.error());
        const auto packed =
            packedDown(*codes, std::size_t(outputs), std::size_t(width), unsigned(source.spec.traits().bits));
        if (auto written = sinkBytes(sink, std::as_bytes(std::span(packed))); !written) return written;
    }
    return {};
}

Result<void> produceZeros(Source& source, const Sink& sink) {
    const auto zeros = unsignedZeros(source); // [out, groups]
    if (!zeros) return tl::unexpected(zeros.error());
    const auto bits = unsigned(source.spec.traits().bits);
    const auto rows = std::size_t(source.grid.rows), groups = rows ? zeros->size() / rows : 0;
    const int less = hasZeroPoints(source.spec) ? 0 : 1;
    const auto words = std::size_t(wordsOf(rows, bits));
    std::vector<std::byte> out(groups * words * 4);
    std::vector<std::uint8_t> row(rows);
    for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t r = 0; r < rows; ++r) row[r] = std::uint8_t((*zeros)[r * groups + g] - less);
        packWords(row.data(), rows, bits, out.data() + g * words * 4);
    }
    return sinkBytes(sink, out);
}

Result<void> produceScales(Source& source, const Sink& sink) {
    const auto scales = allScales(source);
    if (!scales) return tl::unexpected(scales.error());
    const auto rows = std::size_t(source.grid.rows), groups = rows ? scales->size() / rows : 0;
    std::vector<float> turned(scales->size());
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t g = 0; g < groups; ++g) turned[g * rows + r] = (*scales)[r * groups + g];
    return sinkFloats(sink, DType::F16, turned);
}

std::int64_t groupOf(const Source& source) {
    return source.grid.kind == ScaleKind::Block ? std::int64_t(source.spec.blockSize()) : source.grid.features;
}

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorInfo& original = *source->view.info;
    auto ok = holds(original);
    if (ok) ok = accepts(source->spec, original.shape);
    if (!ok) return fail(fmt::format("tensor '{}': {}", escapeForPeople(original.name), ok.error().message));
    const std::string module(moduleOf(original.name));
    const std::int64_t outputs = original.shape[0], inputs = original.shape[1], bits = source->spec.traits().bits;
    const std::int64_t group = groupOf(*source), groups = inputs > 0 ? inputs / group : 0;
    const auto field = [&](const char* name, DType dtype, std::vector<std::int64_t> shape,
                           Result<void> (*produce)(Source&, const Sink&)) {
        return TensorToWrite{module + name, dtype, std::move(shape),
                             [source, produce](const Sink& sink) { return produce(*source, sink); }};
    };
    return std::vector{field(".qweight", DType::I32, {inputs * bits / 32, outputs}, produceWeight),
                       field(".qzeros", DType::I32, {groups, outputs * bits / 32}, produceZeros),
                       field(".scales", DType::F16, {groups, outputs}, produceScales),
                       field(".g_idx", DType::I32, {inputs}, [](Source& from, const Sink& sink) {
                           std::vector<std::int32_t> index(std::size_t(from.grid.features));
                           for (std::size_t i = 0; i < index.size(); ++i)
                               index[i] = std::int32_t(std::int64_t(i) / groupOf(from));
                           return sinkBytes(sink, std::as_bytes(std::span(index)));
                       })};
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    const QuantSpec& first = taken.front().spec;
    const auto groupSize = [](const QuantSpec& spec) {
        return spec.scaleKind() == ScaleKind::Block ? std::int64_t(spec.blockSize()) : -1;
    };
    for (const TakenTensor& one : taken)
        if (one.spec.traits().bits != first.traits().bits || hasZeroPoints(one.spec) != hasZeroPoints(first) ||
            groupSize(one.spec) != groupSize(first))
            return fail(
                fmt::format("the gptq layout has one width, group and kind of zero points for a model, not {} and {}: "
                            "layout compressed-tensors mixes them",
                            specText(first), specText(one.spec)));
    nlohmann::ordered_json json;
    json["quant_method"] = "gptq";
    json["bits"] = first.traits().bits;
    json["group_size"] = groupSize(first);
    json["desc_act"] = false;
    json["sym"] = !hasZeroPoints(first);
    json["lm_head"] = false;
    json["checkpoint_format"] = hasZeroPoints(first) ? "gptq_v2" : "gptq";
    json["pack_dtype"] = "int32";
    nlohmann::ordered_json kept = nlohmann::ordered_json::object();
    bool whole = true; // every layer that transformers replaces
    for (const auto& module : keptModules(model, taken)) {
        kept["-:" + module] = nlohmann::ordered_json::object();
        whole = whole && module == "lm_head";
    }
    json["dynamic"] = std::move(kept);
    if (!whole) { // what "dynamic" says to gptqmodel, for transformers
        nlohmann::ordered_json modules = nlohmann::ordered_json::array();
        for (const TakenTensor& one : taken) modules.push_back(std::string(moduleOf(one.tensor->name)));
        json["modules_in_block_to_quantize"] = nlohmann::ordered_json::array({std::move(modules)});
    }
    return nlohmann::ordered_json{{"quantization_config", std::move(json)}}.dump();
}

} // namespace

Layout gptqLayout() {
    return {.id = "gptq",
            .title = "GPTQ",
            .summary =
                "P.qweight, P.qzeros, P.scales and P.g_idx of a layer P, rounded to nearest or by --solver gptq; "
                "quantization_config for transformers, gptqmodel and vLLM.",
            .takes = "int2, int3, int4, int8 with f16 scales per group or row; matrices of linear layers",
            .accepts = accepts,
            .write = write,
            .writeFrom = writeFrom,
            .holds = holds,
            .config = config,
            .describes = false};
}

} // namespace qs
