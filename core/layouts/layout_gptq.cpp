// SPDX-License-Identifier: GPL-3.0-or-later
// GPTQ's container, for codes of any solver or none: NAME without ".weight" and .qweight, .qzeros, .scales, .g_idx, all with
// the inputs of a layer along the first axis. Source: AutoGPTQ qlinear_cuda_old.py; checkpoint_format gptq stores zero
// points less 1, gptq_v2 as they are.
#include "core/layouts/layouts.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/network_names.h"
#include "core/layouts/word_packing.h"
#include "core/model/conventions/checkpoint.h"
#include "core/quant/spec/code_set.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

constexpr std::uint64_t kNumbersAtOnce = std::uint64_t(16) << 20; ///< of a field, in memory
constexpr std::uint64_t kLeastOutputs = 256;

bool hasPartOfWords(std::span<const std::int64_t> shape) { return shape[0] % 32 != 0 || shape[1] % 32 != 0; }

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const int bits = spec.traits().bits;
    const bool rows = spec.hasScalePerRow();
    if (!hasIntegerCodes(spec) || (bits != 2 && bits != 3 && bits != 4 && bits != 8) ||
        scaleTypeOf(spec) != ScaleType::F16 || spec.tiles || (spec.scaleKind() != ScaleKind::Block && !rows))
        return advise(
            fmt::format("the gptq layout holds int2, int3, int4 and int8 with f16 scales per group or row, not "
                        "{}",
                        specText(spec)),
            {"int4:dialect=ct:block=128:scaletype=f16"});
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    if (shape.size() != 2) return fail(fmt::format("{} is not the matrix of a linear layer", shapeText(shape)));
    if (bits == 3 && hasPartOfWords(shape)) // gptqmodel cuts them into three words for 32 codes
        return fail(fmt::format("the gptq layout needs matrices whose sides are multiples of 32 for int3, not {}",
                                shapeText(shape)));
    if (spec.scaleKind() == ScaleKind::Block && spec.blockSize() % 32 != 0 && spec.blockSize() != 16)
        return fail(
            fmt::format("the gptq layout needs groups of 16 or of a multiple of 32, not block={}", spec.blockSize()));
    return {};
}

/// The kernels of GPUs want whole words; gptqmodel's own kernel in PyTorch takes every shape.
std::string warns(std::span<const TakenTensor> taken) {
    const auto isOdd = [](const TakenTensor& one) {
        const auto& shape = one.tensor->shape;
        const std::int64_t group = one.spec().scaleKind() == ScaleKind::Block ? one.spec().blockSize() : 1;
        return shape.size() == 2 && (hasPartOfWords(shape) || shape[1] % group != 0);
    };
    const auto first = std::ranges::find_if(taken, isOdd);
    if (first == taken.end()) return {};
    return fmt::format("Sides of {} of {} quantized tensors are no multiples of 32 and of the group, such as {}: "
                       "transformers and gptqmodel load them with BACKEND.GPTQ_TORCH alone.",
                       std::ranges::count_if(taken, isOdd), taken.size(), shapeText(first->tensor->shape));
}

/// Of Qwen3-Next and Qwen 3.5. Source: gptqmodel/models/definitions/qwen3_next.py and qwen3_5.py, where they are marked "!".
bool isGateOfLinearAttention(std::string_view name) {
    constexpr std::string_view kGates[] = {"ba", "a", "b"};
    return std::ranges::any_of(kGates, [&](std::string_view gate) {
        return name.ends_with(fmt::format("linear_attn.in_proj_{}.weight", gate));
    });
}

Result<void> holds(const TensorInfo& tensor) {
    const std::string_view module = moduleOf(tensor.name);
    if (const auto last = module.substr(module.rfind('.') + 1); !last.empty() && last[0] >= '0' && last[0] <= '9')
        return fail("transformers replaces no layer of a list or a sequence, such as this one, by one of GPTQ");
    if (isGateOfLinearAttention(tensor.name))
        return fail(
            "a gate of linear attention stays in its own dtype, because gptqmodel makes no quantized layer of it");
    // gptqmodel would take its codes; transformers leaves the head at random values, with a warning alone.
    if (tensor.role == TensorRole::Head || module == "lm_head")
        return fail(
            "the output head stays in its own dtype, because transformers looks for codes within the blocks alone");
    return isTransformersLinear(tensor);
}

/// A part of the network that sees images: "vision_tower.", "model.visual.", "multi_modal_projector.".
bool isOfImages(std::string_view name) {
    constexpr std::string_view kParts[] = {"vision", "visual", "projector", "image", "connector"};
    const std::string_view module = name.substr(0, std::min(name.find(".layers."), name.find(".blocks.")));
    return std::ranges::any_of(kParts, [&](std::string_view part) { return module.find(part) != module.npos; });
}

/// Source: module_tree of gemma3.py, llava.py, qwen2_vl.py and others in gptqmodel/models/definitions. transformers cannot load
/// layers of SigLIP in GPTQ: its initialisation wants their weights.
std::string staysIn(const Model& model, const TensorInfo& tensor) {
    const auto isOfText = [](const TensorInfo& one) {
        return one.name.view().find("embed_tokens.") != std::string_view::npos ||
               one.name.view().find("language_model.") != std::string_view::npos;
    };
    if (isOfImages(tensor.name) && std::ranges::any_of(model.tensors, isOfText))
        return "of a network for images and text gptqmodel quantizes the language model alone";
    return transformersKeeps(model, tensor);
}

std::int64_t groupOf(const MeasuredTensor& tensor) {
    return tensor.grid().kind == ScaleKind::Block ? std::int64_t(tensor.spec().blockSize()) : tensor.grid().features;
}
/// Outputs that are written at once where each has `perOutput` numbers in memory: whole words, and not too short pieces
/// of the rows in the file.
std::uint64_t outputsAtOnce(std::uint64_t perOutput) {
    return std::max(kLeastOutputs, kNumbersAtOnce / std::max<std::uint64_t>(1, perOutput) / 32 * 32);
}

/// Puts `piece` into a matrix of `rows` rows of `stride` bytes, from byte `first` of each row on.
Result<void> putColumns(const PutBytes& put, std::span<const std::byte> piece, std::uint64_t rows, std::uint64_t first,
                        std::uint64_t stride) {
    const std::uint64_t width = rows > 0 ? piece.size() / rows : 0;
    if (width == stride) return piece.empty() ? Result<void>{} : put(0, piece);
    for (std::uint64_t row = 0; row < rows; ++row)
        if (auto done = put(row * stride + first, piece.subspan(std::size_t(row * width), std::size_t(width))); !done)
            return done;
    return {};
}

/// The codes of `outputs` outputs, [output, input], as words [inputs / 32 * bits, output]. 16 outputs at a time are a
/// line of the cache.
std::vector<std::uint32_t> packedDown(std::span<const std::uint8_t> codes, std::size_t outputs, std::size_t inputs,
                                      unsigned bits) {
    const auto words = std::size_t(wordsOf(inputs, bits));
    std::vector<std::uint32_t> out(words * outputs);
    parallelFor((outputs + 15) / 16, 1, [&](std::size_t from, std::size_t to, unsigned) {
        std::vector<std::uint32_t> streams(16 * words);
        for (std::size_t tile = from; tile < to; ++tile) {
            const std::size_t first = tile * 16, n = std::min<std::size_t>(16, outputs - first);
            for (std::size_t r = 0; r < n; ++r)
                packWords(codes.data() + (first + r) * inputs, inputs, bits,
                          reinterpret_cast<std::byte*>(streams.data() + r * words));
            for (std::size_t w = 0; w < words; ++w)
                for (std::size_t r = 0; r < n; ++r) out[w * outputs + first + r] = streams[r * words + w];
        }
    });
    return out;
}

Result<void> writeCodes(MeasuredTensor& tensor, SlabScales& scales, const PutBytes& put) {
    const auto outputs = std::uint64_t(tensor.grid().rows), inputs = std::uint64_t(tensor.grid().features);
    const auto bits = unsigned(tensor.spec().traits().bits);
    const int offset = unsignedOffset(tensor.spec());
    RowCollector<std::uint8_t> rows(outputs, inputs, outputsAtOnce(inputs),
                                    [&](std::uint64_t first, std::size_t n, std::span<const std::uint8_t> codes) {
                                        const auto words = packedDown(codes, n, std::size_t(inputs), bits);
                                        return putColumns(put, std::as_bytes(std::span(words)), wordsOf(inputs, bits),
                                                          first * 4, outputs * 4);
                                    });
    const SlabCoder coder{[](std::uint64_t element) { return element; },
                          [offset](const PassRange& range, RunEncoder& encode, std::byte* at) {
                              RunOut out;
                              out.codes = reinterpret_cast<std::uint8_t*>(at);
                              encode(range.run, out);
                              moveCodes(out.codes, range.n, offset);
                          }};
    return streamSlabs(tensor, coder, scales, [&](std::span<const std::byte> slab) {
        return rows.add({reinterpret_cast<const std::uint8_t*>(slab.data()), slab.size()});
    });
}

TakeScales takeZeroColumns(const MeasuredTensor& tensor, const PutBytes& put) {
    const auto bits = unsigned(tensor.spec().traits().bits);
    const auto outputs = std::uint64_t(tensor.grid().rows);
    const auto groups = std::size_t(outputs ? std::uint64_t(tensor.grid().scales) / outputs : 0);
    const auto pack = [=](std::uint64_t first, std::size_t n, std::span<const std::uint8_t> zeros) {
        const auto words = std::size_t(wordsOf(n, bits));
        std::vector<std::byte> out(groups * words * 4);
        std::vector<std::uint8_t> row(n);
        for (std::size_t g = 0; g < groups; ++g) {
            for (std::size_t r = 0; r < n; ++r) row[r] = zeros[r * groups + g];
            packWords(row.data(), n, bits, out.data() + g * words * 4);
        }
        return putColumns(put, out, groups, first * bits / 8, wordsOf(outputs, bits) * 4);
    };
    return takeZeros(tensor, {outputs, groups, outputsAtOnce(groups), pack}, hasZeroPoints(tensor.spec()) ? 0 : 1);
}

TakeScales takeScaleColumns(const MeasuredTensor& tensor, const PutBytes& put) {
    const auto outputs = std::uint64_t(tensor.grid().rows);
    const auto groups = std::size_t(outputs ? std::uint64_t(tensor.grid().scales) / outputs : 0);
    const auto turn = [=](std::uint64_t first, std::size_t n, std::span<const float> scales) {
        std::vector<std::byte> out(groups * n * 2);
        std::vector<float> row(n);
        for (std::size_t g = 0; g < groups; ++g) {
            for (std::size_t r = 0; r < n; ++r) row[r] = scales[r * groups + g];
            appendAs(DType::F16, row.data(), n, out.data() + g * n * 2);
        }
        return putColumns(put, out, groups, first * 2, outputs * 2);
    };
    return [rows = RowCollector<float>(outputs, groups, outputsAtOnce(groups), turn)](
               std::span<const GroupParams> params) mutable {
        std::vector<float> scales(params.size());
        std::transform(params.begin(), params.end(), scales.begin(), [](const auto& one) { return one.scale; });
        return rows.add(scales);
    };
}

TakeScales takeScalesInHalf(const MeasuredTensor& tensor, const PutBytes& put) {
    return readIn(DType::F16, tensor, takeScaleColumns(tensor, put));
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    const std::string module(moduleOf(original.name));
    const std::int64_t outputs = original.shape[0], inputs = original.shape[1], bits = tensor.spec().traits().bits;
    const std::int64_t group = groupOf(tensor), groups = outputs > 0 ? tensor.grid().scales / outputs : 0;
    const auto words = [bits](std::int64_t codes) {
        return std::int64_t(wordsOf(std::uint64_t(codes), unsigned(bits)));
    };
    std::vector<std::int32_t> index(static_cast<std::size_t>(inputs)); // the group of each input
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = std::int32_t(std::int64_t(i) / group);
    const auto indexBytes = std::as_bytes(std::span(index));
    return OutputFields{
        .list = {OutputField{module + ".qweight", DType::I32, {words(inputs), outputs}, writeCodes, {}, false},
                 OutputField{module + ".qzeros", DType::I32, {groups, words(outputs)}, {}, takeZeroColumns, false},
                 OutputField{module + ".scales", DType::F16, {groups, outputs}, {}, takeScalesInHalf, false},
                 constantField(module + ".g_idx", DType::I32, {inputs}, {indexBytes.begin(), indexBytes.end()})},
        .readType = DType::F16};
}

/// gptqmodel and vLLM match the beginning of a name with it.
std::string patternOf(const std::string& module) {
    std::string out;
    for (const char c : module) out += c == '.' ? "\\." : std::string(1, c);
    return out + "$";
}

/// The matrix of an expert under the names of Mixtral's checkpoints: "block_sparse_moe.experts.0.w1". gptqmodel 7.7 looks
/// for gate_proj, down_proj and up_proj, as transformers 5 calls them.
bool isRenamedExpert(const TensorInfo& tensor) {
    const std::string_view module = moduleOf(tensor.name);
    return isExpertMatrix(tensor.name) &&
           (module.ends_with(".w1") || module.ends_with(".w2") || module.ends_with(".w3"));
}

/// Names of the taken modules in the network of transformers.
Result<std::vector<std::string>> modulesOf(const Model& model, std::span<const TakenTensor> taken) {
    const NetworkNames names(model);
    std::vector<std::string> out;
    for (const TakenTensor& one : taken) {
        auto modules = names.inNetwork(std::string(moduleOf(one.tensor->name)));
        if (!modules) return modules;
        out.insert(out.end(), modules->begin(), modules->end());
    }
    return out;
}

/// The beginning that all names share, in whole parts: "model.layers"; "" if they share none.
std::string blocksOf(const std::vector<std::string>& modules) {
    std::string_view shared = modules.front();
    for (const std::string_view name : modules) {
        const auto end = std::ranges::mismatch(shared, name).in1;
        shared = shared.substr(0, std::size_t(end - shared.begin()));
    }
    return std::string(shared.substr(0, std::min(shared.rfind('.'), shared.size())));
}

Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    const QuantSpec& first = taken.front().spec();
    const auto groupSize = [](const QuantSpec& spec) {
        return spec.scaleKind() == ScaleKind::Block ? std::int64_t(spec.blockSize()) : -1;
    };
    for (const TakenTensor& one : taken)
        if (one.spec().traits().bits != first.traits().bits || hasZeroPoints(one.spec()) != hasZeroPoints(first) ||
            groupSize(one.spec()) != groupSize(first))
            return fail(
                fmt::format("the gptq layout has one width, group and kind of zero points for a model, not {} and {}: "
                            "layout compressed-tensors mixes them",
                            specText(first), specText(one.spec())));
    if (std::ranges::any_of(taken, [](const TakenTensor& one) { return isRenamedExpert(*one.tensor); }))
        return fail(
            "gptqmodel looks for the experts of this network under other names than its checkpoint has (w1, w2, "
            "w3): --spec 'experts=keep' leaves them as they are");
    // Source: module_tree in gptqmodel/models/definitions/jamba.py, which has no experts.
    if (std::ranges::any_of(taken, [](const TakenTensor& one) { return isExpertMatrix(one.tensor->name); }) &&
        readCheckpointConfig(model).modelType == "jamba")
        return fail("gptqmodel makes no quantized layers of the experts of Jamba, and transformers stacks them: "
                    "--spec 'experts=keep' leaves them as they are");
    const auto quantized = modulesOf(model, taken), modules = keptModules(model, taken);
    if (!quantized || !modules) return tl::unexpected((quantized ? modules : quantized).error());
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
    // transformers replaces the layers whose names begin with it; without it, it knows few networks.
    json["block_name_to_quantize"] = blocksOf(*quantized);
    bool whole = json["block_name_to_quantize"] != ""; // every layer that transformers replaces
    for (const auto& module : *modules) {
        kept["-:" + patternOf(module)] = nlohmann::ordered_json::object();
        whole = whole && module == "lm_head";
    }
    // It replaces the convolutions of images there too.
    whole = whole && std::ranges::none_of(model.tensors, [](const TensorInfo& t) { return t.shape.size() == 4; });
    json["dynamic"] = std::move(kept);
    // What "dynamic" says to gptqmodel, for transformers.
    if (!whole) json["modules_in_block_to_quantize"] = nlohmann::ordered_json::array({*quantized});
    return nlohmann::ordered_json{{"quantization_config", std::move(json)}}.dump();
}

/// config() has one width and group for all, and a list of those that stay.
constexpr JoinedMatrices kAllAlike[] = {{.regex = ".*", .mayStay = true}};

} // namespace

Layout gptqLayout() {
    return {.id = "gptq",
            .title = "GPTQ",
            .summary =
                "P.qweight, P.qzeros, P.scales and P.g_idx of a layer P, rounded to nearest or by --solver gptq; "
                "quantization_config for transformers, gptqmodel and vLLM.",
            .takes = "int2, int3, int4, int8 with f16 scales per group or row; matrices of linear layers",
            .accepts = accepts,
            .fields = fields,
            .turnsConv1d = true,
            .holds = holds,
            .staysIn = staysIn,
            .config = config,
            .describes = false,
            .warns = warns,
            .joins = kAllAlike};
}

} // namespace qs
