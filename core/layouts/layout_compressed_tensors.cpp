// SPDX-License-Identifier: GPL-3.0-or-later
// compressed-tensors: int-quantized, float-quantized, pack-quantized, nvfp4- and mxfp4-pack-quantized, several of them in
// one model by config_groups. Source: compressed-tensors 0.20 compressors/ and quantization/.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/word_packing.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;
using Json = nlohmann::ordered_json;

enum class Kind { Int, Float, Pack, Nvfp4, Mxfp4 };
constexpr const char* kNames[] = {"int-quantized", "float-quantized", "pack-quantized", "nvfp4-pack-quantized",
                                  "mxfp4-pack-quantized"};

bool isFloatScale(const QuantSpec& spec) {
    const ScaleType& type = scaleTypeOf(spec);
    return type == ScaleType::F32 || type == ScaleType::F16 || type == ScaleType::Bf16;
}

Result<Kind> kindOf(const QuantSpec& spec) {
    const bool rows = spec.scaleKind() == ScaleKind::Tensor || spec.hasScalePerRow();
    const bool groups = spec.scaleKind() == ScaleKind::Block && !spec.tiles;
    if (hasIntegerCodes(spec) && isFloatScale(spec)) {
        if (groups || (rows && spec.traits().bits < 8 && spec.scaleKind() != ScaleKind::Tensor)) return Kind::Pack;
        if (rows && spec.traits().bits == 8) return Kind::Int;
    }
    const bool blocks = spec.tiles && spec.tiles->size() == 2;
    if (spec.format == "fp8_e4m3" && isFloatScale(spec) && (rows || blocks)) return Kind::Float;
    const bool ours = groups && !codecOf(spec);
    if (spec.format == "nvfp4" && ours && spec.blockSize() == 16 && scaleTypeOf(spec) == ScaleType::E4m3)
        return Kind::Nvfp4;
    if (spec.format == "mxfp4" && ours && spec.blockSize() == 32 && scaleTypeOf(spec) == ScaleType::E8m0)
        return Kind::Mxfp4;
    return fail(fmt::format("the compressed-tensors layout holds int2 to int8 with a scale per row or group, fp8_e4m3 "
                            "per tensor, row or tile=0xN,1xM, nvfp4 and mxfp4, with scales of f32, f16 or bf16 where "
                            "there is a choice, not {}: use int4:dialect=ct:block=128",
                            specText(spec)));
}

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const auto kind = kindOf(spec);
    if (!kind) return tl::unexpected(kind.error());
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    if (shape.size() != 2) return fail(fmt::format("{} is not the matrix of a linear layer", shapeText(shape)));
    if (*kind == Kind::Pack) return hasWholeGroups(spec, *grid, "compressed-tensors");
    const bool small = *kind == Kind::Nvfp4 || *kind == Kind::Mxfp4;
    if (small && shape[1] % std::int64_t(spec.blockSize()) != 0)
        return fail(fmt::format("the compressed-tensors layout needs groups of {} that divide the {} columns",
                                spec.blockSize(), shape[1]));
    return {};
}

Result<void> holds(const TensorInfo& tensor) {
    if (auto named = hasWeightName(tensor); !named) return named;
    return isLinearWeight(tensor);
}

/// A byte a value: integers, or the bits of floats.
Result<void> produceBytes(Source& source, const Sink& sink) {
    const auto bytes = source.spec.traits().bytes;
    const int offset = codeSetOf(source.spec).valueOffset;
    return streamSlabs(
        source, sink, [](std::uint64_t element) { return element; },
        [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
            RunOut out;
            out.codes = reinterpret_cast<std::uint8_t*>(at);
            encode(range.run, out);
            if (bytes.empty()) return moveCodes(out.codes, range.n, offset);
            for (std::size_t i = 0; i < range.n; ++i) at[i] = std::byte(bytes[out.codes[i]]);
        });
}

/// e2m1 in pairs, the first low; groups are even.
Result<void> produceNibbles(Source& source, const Sink& sink) {
    const auto bytes = source.spec.traits().bytes;
    return streamSlabs(
        source, sink, [](std::uint64_t element) { return element / 2; },
        [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
            thread_local std::vector<std::uint8_t> codes;
            codes.resize(range.n);
            RunOut out;
            out.codes = codes.data();
            encode(range.run, out);
            for (std::size_t i = 0; i + 1 < range.n; i += 2)
                at[i / 2] = std::byte(bytes[codes[i]] | bytes[codes[i + 1]] << 4);
        });
}

/// Zero points as a column of unsigned codes for each group, packed along the rows of the weight: 32 rows are whole
/// words.
TakeParams takePackedZeros(const Source& source, const Sink& sink) {
    const auto bits = unsigned(source.spec.traits().bits);
    const auto rows = std::size_t(source.grid.rows), groups = rows ? std::size_t(source.grid.scales) / rows : 0;
    return [unsignedZero = UnsignedZero(source), sink, bits, rows, groups, seen = std::uint64_t(0),
            zeros = std::vector<std::uint8_t>()](std::span<const GroupParams> params) mutable -> Result<void> {
        std::vector<std::byte> out;
        std::vector<std::uint8_t> column(32);
        for (const GroupParams& one : params) {
            const auto zero = unsignedZero(one, seen++);
            if (!zero) return tl::unexpected(zero.error());
            zeros.push_back(*zero);
            if (zeros.size() < 32 * groups && seen < rows * groups) continue;
            const std::size_t n = zeros.size() / groups, words = std::size_t(wordsOf(n, bits)), at = out.size();
            out.resize(at + words * groups * 4);
            std::vector<std::byte> packed(words * 4);
            for (std::size_t g = 0; g < groups; ++g) {
                for (std::size_t r = 0; r < n; ++r) column[r] = zeros[r * groups + g];
                packWords(column.data(), n, bits, packed.data());
                for (std::size_t w = 0; w < words; ++w)
                    std::copy_n(packed.begin() + std::ptrdiff_t(4 * w), 4,
                                out.begin() + std::ptrdiff_t(at + 4 * (w * groups + g)));
            }
            zeros.clear();
        }
        return sinkBytes(sink, out);
    };
}

void addZeros(std::vector<TensorToWrite>& tensors, const SharedSource& source, Kind kind, const std::string& name,
              const std::vector<std::int64_t>& scaleShape) {
    if (!hasZeroPoints(source->spec)) return;
    if (kind == Kind::Int) {
        TensorToWrite zeros = zeroTensor(source, "_zero_point");
        zeros.shape = scaleShape;
        tensors.push_back(std::move(zeros));
        return;
    }
    const auto words = wordsOf(std::uint64_t(source->grid.rows), unsigned(source->spec.traits().bits));
    tensors.push_back(ofParams(source, name + "_zero_point", DType::I32, {std::int64_t(words), scaleShape.back()},
                               [from = source.get()](const Sink& sink) { return takePackedZeros(*from, sink); }));
}

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorInfo& original = *source->view.info;
    const QuantSpec& spec = source->spec;
    auto ok = holds(original);
    if (ok) ok = accepts(spec, original.shape);
    if (!ok) return fail(fmt::format("tensor '{}': {}", escapeForPeople(original.name), ok.error().message));
    const Kind kind = *kindOf(spec);
    const std::string& name = original.name;
    const std::int64_t rows = original.shape[0], columns = original.shape[1];
    TensorToWrite scales = scaleTensor(source, "_scale");
    if (scales.shape.empty()) scales.shape = {1};
    if (kind == Kind::Mxfp4) scales.dtype = DType::U8; // the same bytes
    const auto scaleShape = scales.shape;
    std::vector<TensorToWrite> tensors;
    tensors.push_back(std::move(scales));
    const auto codes = [&](const char* field, DType dtype, std::int64_t width,
                           Result<void> (*produce)(Source&, const Sink&)) {
        tensors.push_back({name + field, dtype, {rows, width}, [source, produce](const Sink& sink) {
                               return produce(*source, sink);
                           }});
    };
    switch (kind) {
    case Kind::Int: codes("", DType::I8, columns, produceBytes); break;
    case Kind::Float: codes("", DType::F8_E4M3, columns, produceBytes); break;
    case Kind::Pack:
        codes("_packed", DType::I32, std::int64_t(wordsOf(std::uint64_t(columns), unsigned(spec.traits().bits))),
              producePackedRows);
        tensors.push_back({name + "_shape", DType::I64, {2}, [shape = original.shape](const Sink& sink) {
                               return sink(std::as_bytes(std::span(shape)));
                           }});
        break;
    case Kind::Nvfp4: tensors.push_back(tensorScaleTensor(source, "_global_scale")); [[fallthrough]];
    case Kind::Mxfp4: codes("_packed", DType::U8, columns / 2, produceNibbles); break;
    }
    addZeros(tensors, source, kind, name, scaleShape);
    return tensors;
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

Json weightsJson(const QuantSpec& spec, Kind kind) {
    const bool floats = kind == Kind::Float || kind == Kind::Nvfp4 || kind == Kind::Mxfp4;
    const char* strategy = kind == Kind::Nvfp4                     ? "tensor_group"
                           : spec.tiles                            ? "block"
                           : spec.scaleKind() == ScaleKind::Tensor ? "tensor"
                           : spec.scaleKind() == ScaleKind::Block  ? "group"
                                                                   : "channel";
    Json json;
    json["num_bits"] = spec.traits().bits;
    json["type"] = floats ? "float" : "int";
    json["symmetric"] = !hasZeroPoints(spec);
    json["strategy"] = strategy;
    json["group_size"] = spec.scaleKind() == ScaleKind::Block && !spec.tiles ? Json(spec.blockSize()) : Json(nullptr);
    json["dynamic"] = false;
    json["actorder"] = nullptr;
    json["block_structure"] = nullptr;
    if (spec.tiles) {
        Json& structure = json["block_structure"] = {1, 1};
        for (const Tile& tile : *spec.tiles) structure[std::size_t((tile.axis + 2) % 2)] = tile.size;
    }
    json["observer"] = "minmax";
    json["observer_kwargs"] = Json::object();
    if (kind == Kind::Nvfp4) json["scale_dtype"] = "torch.float8_e4m3fn";
    if (kind == Kind::Mxfp4) json["scale_dtype"] = "torch.uint8";
    return json;
}

/// One scheme for all linear layers, or the names of those of each.
Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    struct Group {
        Kind kind;
        Json weights, targets = Json::array();
    };
    std::vector<Group> groups;
    for (const TakenTensor& one : taken) {
        const auto kind = kindOf(one.spec());
        if (!kind) return tl::unexpected(kind.error());
        const Json weights = weightsJson(one.spec(), *kind);
        auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& g) { return g.kind == *kind && g.weights == weights; });
        if (found == groups.end()) found = groups.insert(groups.end(), {*kind, weights, Json::array()});
        found->targets.push_back(std::string(moduleOf(one.tensor->name)));
    }
    if (groups.size() == 1) groups.front().targets = {"Linear"};
    const bool mixed =
        std::any_of(groups.begin(), groups.end(), [&](const Group& g) { return g.kind != groups.front().kind; });
    Json json;
    json["quant_method"] = "compressed-tensors";
    json["format"] = mixed ? "mixed-precision" : kNames[int(groups.front().kind)];
    json["quantization_status"] = "compressed";
    json["global_compression_ratio"] = nullptr;
    json["ignore"] = keptModules(model, taken);
    json["kv_cache_scheme"] = nullptr;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        Json group;
        group["targets"] = groups[i].targets;
        group["weights"] = groups[i].weights;
        group["input_activations"] = nullptr;
        group["output_activations"] = nullptr;
        group["format"] = kNames[int(groups[i].kind)];
        json["config_groups"][fmt::format("group_{}", i)] = std::move(group);
    }
    return Json{{"quantization_config", std::move(json)}}.dump();
}

std::string warns(std::span<const TakenTensor> taken) {
    const auto affine = [](const TakenTensor& one) { return hasZeroPoints(one.spec()); };
    const auto count = std::count_if(taken.begin(), taken.end(), affine);
    if (count == 0) return {};
    return fmt::format("{} of {} quantized tensors have zero points (sym=no), which compressed-tensors itself decodes "
                       "and transformers 5.23 does not load: without sym=no it does.",
                       count, taken.size());
}

} // namespace

Layout compressedTensorsLayout() {
    return {.id = "compressed-tensors",
            .title = "compressed-tensors",
            .summary =
                "int-quantized, float-quantized, pack-quantized, nvfp4- and mxfp4-pack-quantized: NAME_packed or "
                "NAME, NAME_scale and what decodes them; config_groups for transformers and vLLM.",
            .takes = "int2 to int8, fp8_e4m3, nvfp4, mxfp4; matrices of linear layers; several specs in one model",
            .accepts = accepts,
            .write = write,
            .writeFrom = writeFrom,
            .holds = holds,
            .config = config,
            .describes = false,
            .warns = warns};
}

} // namespace qs
