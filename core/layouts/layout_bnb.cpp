// SPDX-License-Identifier: GPL-3.0-or-later
// bitsandbytes' 4-bit linear layers as its QuantState writes them: the codes under the weight's own name, two to a byte,
// and what decodes them in tensors NAME.absmax, NAME.quant_map, NAME.nested_... and NAME.quant_state.bitsandbytes__nf4.
// Source: bitsandbytes functional.py (QuantState.as_dict), transformers quantizer_bnb_4bit.py.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/linear_weights.h"
#include "core/layouts/produce.h"
#include "core/quant/encode/nibbles.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace qs {
namespace {

using Sink = TensorToWrite::Sink;
using SharedSource = std::shared_ptr<Source>;

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (!isOf(spec, kBitsandbytes4Dialect))
        return fail(fmt::format("the bnb layout holds bitsandbytes' blocks of nf4 and fp4, not {}: use {}:dialect=bnb",
                                specText(spec), spec.format == "fp4" ? "fp4" : "nf4"));
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    return {};
}

/// The nibble of each of our codes, which ascend with their levels.
std::array<std::uint8_t, 16> nibblesOf(const FormatTraits& format) {
    std::array<std::uint8_t, 16> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = format.bytes.empty() ? std::uint8_t(i) : format.bytes[i];
    return out;
}

/// What each nibble stands for; bitsandbytes makes its table from integers, so that its second zero has no sign.
std::vector<float> quantMap(const FormatTraits& format) {
    const auto nibbles = nibblesOf(format);
    std::vector<float> map(nibbles.size());
    for (std::size_t i = 0; i < nibbles.size(); ++i) map[nibbles[i]] = format.levels[i] + 0.0f;
    return map;
}

// Blocks are even, so that every range begins with a byte.
Result<void> produceCodes(Source& source, const Sink& sink) {
    const auto nibbles = nibblesOf(source.spec.traits());
    const bool inOrder = source.spec.traits().bytes.empty();
    const std::uint8_t zero = nibbles[std::size_t(source.spec.traits().zeroCode)];
    return streamSlabs(
        source, sink, [](std::uint64_t element) { return (element + 1) / 2; },
        [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
            thread_local std::vector<std::uint8_t> codes;
            codes.resize(range.n);
            RunOut out;
            out.codes = codes.data();
            encode(range.run, out);
            if (!inOrder)
                for (auto& code : codes) code = nibbles[code];
            auto* bytes = reinterpret_cast<std::uint8_t*>(at);
            packNibbles<FirstNibble::High>(codes.data(), range.n / 2 * 2, bytes);
            if (range.n % 2) bytes[range.n / 2] = std::uint8_t(codes[range.n - 1] << 4 | zero);
        });
}

/// As Python writes a float: the shortest decimals, always with a point or an exponent.
std::string pythonFloat(double value) {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".en") == text.npos) text += ".0";
    return text;
}

/// json.dumps() of what is no tensor in the state. With double quantization it says what the offset is, so that its
/// length is only known when the scales are. Of those the maxima of 256 are kept.
Result<std::string> stateText(Source& source, std::vector<float>& outer) {
    const TensorInfo& original = *source.view.info;
    std::string text =
        fmt::format(R"({{"quant_type": "{}", "blocksize": {}, "dtype": "{}", "shape": [{}])", source.spec.format,
                    source.spec.blockSize(), torchType(original.dtype), fmt::join(original.shape, ", "));
    if (isDoubleQuantized(source.spec)) {
        const auto pass = source.prepared();
        if (!pass) return tl::unexpected(pass.error());
        const NestedGrid nested = (*pass)->nested() ? *(*pass)->nested() : NestedGrid{};
        text += fmt::format(R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": {})", kNestedBlock,
                            pythonFloat(double(nested.offset)));
        outer = nested.absMax;
        source.pass.reset();
    }
    return text + "}";
}

void addNested(std::vector<TensorToWrite>& tensors, const Source& source, std::vector<float> outer) {
    const std::string& name = source.view.info->name;
    const auto blocks = (source.grid.scales + std::int64_t(kNestedBlock) - 1) / std::int64_t(kNestedBlock);
    tensors.push_back({name + ".nested_absmax", DType::F32, {blocks}, [outer = std::move(outer)](const Sink& sink) {
                           return sinkFloats(sink, DType::F32, outer);
                       }});
    tensors.push_back({name + ".nested_quant_map", DType::F32, {256}, [](const Sink& sink) {
                           const auto map = dynamicMap();
                           return sinkFloats(sink, DType::F32, {map.begin(), map.end()});
                       }});
}

Result<std::vector<TensorToWrite>> writeFrom(const SharedSource& source) {
    const TensorInfo& original = *source->view.info;
    if (auto ok = accepts(source->spec, original.shape); !ok)
        return fail(fmt::format("tensor '{}': {}", escapeForPeople(original.name), ok.error().message));
    std::vector<float> outer;
    auto state = stateText(*source, outer);
    if (!state) return tl::unexpected(state.error());
    const auto bytes = std::int64_t(state->size());
    TensorToWrite scales = scaleTensor(source, ".absmax");
    scales.shape = {source->grid.scales};
    std::vector<TensorToWrite> tensors{
        {original.name,
         DType::U8,
         {std::int64_t((original.elements + 1) / 2), 1},
         [source](const Sink& sink) { return produceCodes(*source, sink); }},
        std::move(scales),
        {original.name + ".quant_map",
         DType::F32,
         {16},
         [map = quantMap(source->spec.traits())](const Sink& sink) { return sinkFloats(sink, DType::F32, map); }},
        {original.name + ".quant_state.bitsandbytes__" + source->spec.format,
         DType::U8,
         {bytes},
         [text = std::move(*state)](const Sink& sink) { return sink(std::as_bytes(std::span(text))); }}};
    if (isDoubleQuantized(source->spec)) addNested(tensors, *source, std::move(outer));
    return tensors;
}

Result<std::vector<TensorToWrite>> write(const TensorView& view, const QuantSpec& spec, const Job& job) {
    const auto source = makeSource(view, spec, job);
    if (!source) return tl::unexpected(source.error());
    return writeFrom(*source);
}

Result<std::string> config(const Model& model, std::span<const TakenTensor> taken) {
    const QuantSpec& first = taken.front().spec();
    for (const TakenTensor& one : taken)
        if (one.spec().format != first.format || isDoubleQuantized(one.spec()) != isDoubleQuantized(first))
            return fail(fmt::format("the bnb layout has one 4-bit type and one kind of scales for a model, not {} and "
                                    "{}: only block may differ; layout compressed-tensors mixes formats",
                                    specText(first), specText(one.spec())));
    return bitsandbytesConfig(model, taken, {first.format, isDoubleQuantized(first)});
}

/// bitsandbytes 0.50 packs weights for its product on CPUs by rows of whole blocks, 32 rows at a time
/// (functional.py, _convert_weight_packed_for_cpu).
std::string warns(std::span<const TakenTensor> taken) {
    const auto splitsBlocks = [](const TakenTensor& one) {
        const auto& shape = one.tensor->shape;
        return isOf(one.spec(), kBitsandbytes4Dialect) &&
               shape.back() % std::int64_t(one.spec().blockSize()) != 0; // a plan has refused ones too
    };
    const auto first = std::find_if(taken.begin(), taken.end(), splitsBlocks);
    if (first == taken.end()) return {};
    const std::int64_t columns = first->tensor->shape.back();
    std::uint32_t fits = first->spec().blockSize();
    while (fits > kLeastBnbBlock && columns % std::int64_t(fits) != 0) fits /= 2;
    const std::string works = columns % std::int64_t(fits) == 0 ? fmt::format("block={} fits them", fits)
                                                                : std::string("no block of bitsandbytes fits them");
    return fmt::format("Rows of {} of {} quantized tensors are not whole blocks, such as {} columns under block={}: "
                       "bitsandbytes 0.50 cannot multiply by these on a CPU; {}.",
                       std::count_if(taken.begin(), taken.end(), splitsBlocks), taken.size(), columns,
                       first->spec().blockSize(), works);
}

} // namespace

Layout bnbLayout() {
    return {.id = "bnb",
            .title = "bitsandbytes 4-bit",
            .summary = "NAME as U8, NAME.absmax, NAME.quant_map, NAME.quant_state and, with double quantization, "
                       "NAME.nested_absmax and NAME.nested_quant_map; quantization_config for transformers.",
            .takes = "nf4 and fp4 with dialect=bnb; matrices of linear layers",
            .accepts = accepts,
            .write = write,
            .writeFrom = writeFrom,
            .holds = isLinearWeight,
            .config = config,
            .describes = false,
            .warns = warns};
}

} // namespace qs
