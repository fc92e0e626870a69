// SPDX-License-Identifier: GPL-3.0-or-later
// compressed-tensors: int-quantized, float-quantized, pack-quantized, nvfp4- and mxfp4-pack-quantized, several of them
// in one model by config_groups. Source: compressed-tensors 0.20 compressors/ and quantization/.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/conv1d.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/network_names.h"
#include "core/layouts/word_packing.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kRowsAtOnce = 4096; ///< a multiple of 32: whole words of zero points

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
    return advise(
        fmt::format("the compressed-tensors layout holds int2 to int8 with a scale per row or group, fp8_e4m3 "
                    "per tensor, row or tile=0xN,1xM, nvfp4 and mxfp4, with scales of f32, f16 or bf16 where "
                    "there is a choice, not {}",
                    specText(spec)),
        {"int4:dialect=ct:block=128"});
}

/// Experts with a byte per weight are packed, because transformers 5 stacks the experts of a layer and takes no
/// int-quantized ones (integrations/compressed_tensors.py).
Result<Kind> kindOf(const QuantSpec& spec, const TensorInfo& tensor) {
    const auto kind = kindOf(spec);
    const bool isByte = kind && *kind == Kind::Int && spec.hasScalePerRow() && !hasZeroPoints(spec);
    return isByte && isExpertMatrix(tensor.name) ? Kind::Pack : kind;
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

/// e2m1 in pairs, the first low; groups are even.
SlabCoder nibbleCoder(const FormatTraits& format) {
    const auto bits = format.bytes;
    return {[](std::uint64_t element) { return element / 2; },
            [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
                const auto codes = codesOf(range, encode);
                for (std::size_t i = 0; i + 1 < range.n; i += 2)
                    at[i / 2] = std::byte(bits[codes[i]] | bits[codes[i + 1]] << 4);
            }};
}

/// Zero points as a column of unsigned codes for each group, packed along the rows of the weight: 32 rows are whole
/// words.
TakeScales takePackedZeros(const MeasuredTensor& tensor, const PutBytes& put) {
    const auto bits = unsigned(tensor.spec().traits().bits);
    const auto rows = std::uint64_t(tensor.grid().rows), groups = rows ? std::uint64_t(tensor.grid().scales) / rows : 0;
    const auto pack = [bits, groups = std::size_t(groups),
                       sink = oneAfterAnother(put)](std::uint64_t, std::size_t n, std::span<const std::uint8_t> zeros) {
        const auto words = std::size_t(wordsOf(n, bits));
        std::vector<std::byte> out(words * groups * 4), packed(words * 4);
        std::vector<std::uint8_t> column(n);
        for (std::size_t g = 0; g < groups; ++g) {
            for (std::size_t r = 0; r < n; ++r) column[r] = zeros[r * groups + g];
            packWords(column.data(), n, bits, packed.data());
            for (std::size_t w = 0; w < words; ++w) std::copy_n(&packed[4 * w], 4, &out[4 * (w * groups + g)]);
        }
        return sink(out);
    };
    return takeZeros(tensor, RowCollector<std::uint8_t>(rows, groups, kRowsAtOnce, pack));
}

void addZeros(std::vector<OutputField>& fields, const MeasuredTensor& tensor, Kind kind,
              const std::vector<std::int64_t>& scaleShape) {
    if (!hasZeroPoints(tensor.spec())) return;
    const std::string name = tensor.info().name + "_zero_point";
    if (kind == Kind::Int) {
        fields.push_back(zeroField(tensor, name));
        fields.back().shape = scaleShape;
        return;
    }
    const auto words = wordsOf(std::uint64_t(tensor.grid().rows), unsigned(tensor.spec().traits().bits));
    fields.push_back({name, DType::I32, {std::int64_t(words), scaleShape.back()}});
    fields.back().fromScales = takePackedZeros;
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    const QuantSpec& spec = tensor.spec();
    const Kind kind = *kindOf(spec, original);
    const std::string& name = original.name;
    const std::int64_t rows = original.shape[0], columns = original.shape[1];
    OutputField scales = scaleField(tensor, name + "_scale");
    if (scales.shape.empty()) scales.shape = {1};
    if (scales.dtype == DType::F16)
        scales.fromScales = [make = scales.fromScales](MeasuredTensor& from, const PutBytes& put) {
            return readIn(DType::F16, from, make(from, put));
        };
    if (kind == Kind::Mxfp4) scales.dtype = DType::U8; // the same bytes
    const auto scaleShape = scales.shape;
    const bool isOfHalves = kind == Kind::Nvfp4 || kind == Kind::Mxfp4; // its scales are no type of values
    OutputFields out{.readType = isOfHalves ? DType::BF16 : scales.dtype};
    out.list.push_back(std::move(scales));
    const auto codes = [&](const char* end, DType dtype, std::int64_t width, SlabCoder coder) {
        out.list.push_back(codeField(name + end, dtype, {rows, width}, std::move(coder)));
    };
    switch (kind) {
    case Kind::Int: codes("", DType::I8, columns, byteCoder(spec)); break;
    case Kind::Float: codes("", DType::F8_E4M3, columns, byteCoder(spec)); break;
    case Kind::Pack: {
        codes("_packed", DType::I32, std::int64_t(wordsOf(std::uint64_t(columns), unsigned(spec.traits().bits))),
              rowCoder(tensor));
        const auto shape = std::as_bytes(std::span(original.shape.sizes()));
        out.list.push_back(constantField(name + "_shape", DType::I64, {2}, {shape.begin(), shape.end()}));
        break;
    }
    case Kind::Nvfp4: out.list.push_back(tensorScaleField(name + "_global_scale")); [[fallthrough]];
    case Kind::Mxfp4: codes("_packed", DType::U8, columns / 2, nibbleCoder(spec.traits())); break;
    }
    addZeros(out.list, tensor, kind, scaleShape);
    return out;
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

/// transformers decodes all experts of a model by one scheme, and knows no other kinds of it.
constexpr const char* kExpertTarget = "re:.*\\.experts\\.[0-9]+\\..*";

struct SchemeGroup {
    Kind kind;
    bool isExperts;
    Json weights, targets = Json::array();
};

/// Why transformers does not load the experts.
Result<void> checkExperts(const Model& model, std::span<const SchemeGroup> groups, std::span<const TakenTensor> taken) {
    const auto isExperts = [](const SchemeGroup& group) { return group.isExperts; };
    const auto kept = std::ranges::count_if(
        model.tensors, [](const TensorInfo& one) { return one.isWeight() && isExpertMatrix(one.name); });
    const auto quantized =
        std::ranges::count_if(taken, [](const TakenTensor& one) { return isExpertMatrix(one.tensor->name); });
    const bool dense = std::ranges::all_of(groups, [](const SchemeGroup& g) { return g.kind == Kind::Float; });
    if (kept == 0 || (quantized == 0 && dense)) return {};
    if (kept != quantized || std::ranges::count_if(groups, isExperts) > 1)
        return fail("transformers 5 stacks the experts of a layer and decodes all experts of a model by one scheme: "
                    "give all of them one spec, or keep them beside layers of fp8_e4m3");
    const SchemeGroup& experts = *std::ranges::find_if(groups, isExperts);
    const bool isTiled = experts.kind == Kind::Float && experts.weights["strategy"] == "block";
    if (experts.kind != Kind::Nvfp4 && experts.kind != Kind::Int && !isTiled) return {};
    return advise("transformers 5 stacks the experts of a layer, and decodes those of int4, int8 with a scale per row, "
                  "mxfp4 and fp8_e4m3 without tiles alone",
                  {"int4:dialect=ct:block=32", "fp8_e4m3"});
}

/// Adds the names that targets have in the network of transformers.
Result<void> nameInNetwork(const Model& model, std::vector<SchemeGroup>& groups) {
    const NetworkNames names(model);
    for (SchemeGroup& group : groups) {
        Json targets = Json::array();
        for (const Json& target : group.targets) {
            const auto text = target.get<std::string>();
            const auto all = text == kExpertTarget ? Result<std::vector<std::string>>({text}) : names.all(text);
            if (!all) return tl::unexpected(all.error());
            for (const std::string& name : *all) targets.push_back(name);
        }
        group.targets = std::move(targets);
    }
    return {};
}

/// One scheme for all linear layers, or the names of those of each.
Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    std::vector<SchemeGroup> groups;
    for (const TakenTensor& one : taken) {
        const auto kind = kindOf(one.spec(), *one.tensor);
        if (!kind) return tl::unexpected(kind.error());
        const bool isExpert = isExpertMatrix(one.tensor->name);
        const Json weights = weightsJson(one.spec(), *kind);
        auto found = std::ranges::find_if(groups, [&](const SchemeGroup& g) {
            return g.kind == *kind && g.isExperts == isExpert && g.weights == weights;
        });
        if (found == groups.end()) found = groups.insert(groups.end(), {*kind, isExpert, weights, Json::array()});
        if (!isExpert)
            found->targets.push_back(std::string(moduleOf(one.tensor->name)));
        else if (found->targets.empty())
            found->targets.push_back(kExpertTarget);
    }
    if (auto fine = checkExperts(model, groups, taken); !fine) return tl::unexpected(fine.error());
    if (std::ranges::all_of(groups, [&](const SchemeGroup& g) {
            return g.kind == groups.front().kind && g.weights == groups.front().weights;
        })) {
        groups.resize(1);
        groups.front().targets = {"Linear"};
    } else if (auto named = nameInNetwork(model, groups); !named)
        return tl::unexpected(named.error());
    const auto kept = keptModules(model, taken);
    if (!kept) return tl::unexpected(kept.error());
    const bool mixed = std::ranges::any_of(groups, [&](const SchemeGroup& g) { return g.kind != groups.front().kind; });
    Json json;
    json["quant_method"] = "compressed-tensors";
    json["format"] = mixed ? "mixed-precision" : kNames[int(groups.front().kind)];
    json["quantization_status"] = "compressed";
    json["global_compression_ratio"] = nullptr;
    json["ignore"] = *kept;
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

Result<void> holds(const TensorInfo& tensor) {
    const auto linear = isTransformersLinear(tensor);
    return linear ? isNoConv1d(tensor, "compressed-tensors") : linear;
}

std::string warns(std::span<const TakenTensor> taken) {
    const auto affine = [](const TakenTensor& one) { return hasZeroPoints(one.spec()); };
    const auto count = std::ranges::count_if(taken, affine);
    if (count == 0) return {};
    return fmt::format("{} of {} quantized tensors have zero points (sym=no), which compressed-tensors itself decodes "
                       "and transformers 5.23 does not load: without sym=no it does.",
                       count, taken.size());
}

/// All experts have one scheme, see checkExperts(); vLLM loads the others as qkv_proj and gate_up_proj.
constexpr JoinedMatrices kFused[] = {
    {"^.*\\.experts\\.[0-9]+\\..*$"}, {"(?<![^.])(q|k|v)_proj(?![^.])"}, {"(?<![^.])(gate|up)_proj(?![^.])"}};

} // namespace

Layout compressedTensorsLayout() {
    return {.id = "compressed-tensors",
            .title = "compressed-tensors",
            .summary =
                "int-quantized, float-quantized, pack-quantized, nvfp4- and mxfp4-pack-quantized: NAME_packed or "
                "NAME, NAME_scale and what decodes them; config_groups for transformers and vLLM.",
            .takes = "int2 to int8, fp8_e4m3, nvfp4, mxfp4; matrices of linear layers; several specs in one model",
            .accepts = accepts,
            .fields = fields,
            .holds = holds,
            .staysIn = transformersKeeps,
            .config = config,
            .dialect = &kCompressedTensorsDialect,
            .describes = false,
            .warns = warns,
            .joins = kFused};
}

} // namespace qs
