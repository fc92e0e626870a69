// SPDX-License-Identifier: GPL-3.0-or-later
// bitsandbytes' 4-bit linear layers as its QuantState writes them: the codes under the weight's own name, two to a
// byte, and what decodes them in tensors NAME.absmax, NAME.quant_map, NAME.nested_... and
// NAME.quant_state.bitsandbytes__nf4. Source: bitsandbytes functional.py (QuantState.as_dict), transformers
// quantizer_bnb_4bit.py.
#include "core/layouts/layouts.h"

#include "core/base/text.h"
#include "core/layouts/fields.h"
#include "core/layouts/linear_weights.h"
#include "core/quant/encode/nibbles.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace qs {
namespace {

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (!isOf(spec, kBitsandbytes4Dialect)) {
        std::vector<std::string> works;
        for (const FormatTraits& format : formats())
            if (kBitsandbytes4Dialect.takes(format))
                works.insert(format.id == spec.format ? works.begin() : works.end(),
                             fmt::format("{}:dialect={}", format.id, kBitsandbytes4Dialect.id));
        return advise(fmt::format("the bnb layout holds bitsandbytes' blocks of nf4 and fp4, not {}", specText(spec)),
                      std::move(works));
    }
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

/// Two to a byte. Blocks are even, so that every range begins with a byte.
SlabCoder nibbleCoder(const FormatTraits& format) {
    const auto nibbles = nibblesOf(format);
    const bool inOrder = format.bytes.empty();
    const std::uint8_t zero = nibbles[std::size_t(format.zeroCode)];
    return {[](std::uint64_t element) { return (element + 1) / 2; },
            [=](const PassRange& range, RunEncoder& encode, std::byte* at) {
                const auto codes = codesOf(range, encode);
                if (!inOrder)
                    for (auto& code : codes) code = nibbles[code];
                auto* bytes = reinterpret_cast<std::uint8_t*>(at);
                packNibbles<FirstNibble::High>(codes.data(), range.n / 2 * 2, bytes);
                if (range.n % 2) bytes[range.n / 2] = std::uint8_t(codes[range.n - 1] << 4 | zero);
            }};
}

/// As Python writes a float: the shortest decimals, always with a point or an exponent.
std::string pythonFloat(double value) {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".en") == text.npos) text += ".0";
    return text;
}

/// json.dumps() of the parts of the state that are not tensors. With double quantization it holds the offset, so its
/// length is known only when the scales are.
Result<std::string> stateText(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    std::string text =
        fmt::format(R"({{"quant_type": "{}", "blocksize": {}, "dtype": "{}", "shape": [{}])", tensor.spec().format,
                    tensor.spec().blockSize(), torchType(original.dtype), fmt::join(original.shape, ", "));
    if (isDoubleQuantized(tensor.spec())) {
        const auto pass = tensor.pass();
        if (!pass) return tl::unexpected(pass.error());
        const float offset = (*pass)->nested() ? (*pass)->nested()->offset : NestedGrid{}.offset;
        text += fmt::format(R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": {})", kNestedBlock,
                            pythonFloat(double(offset)));
        tensor.dropPass();
    }
    return text + "}";
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const TensorInfo& original = tensor.info();
    const FormatTraits& format = tensor.spec().traits();
    const auto state = stateText(tensor);
    if (!state) return tl::unexpected(state.error());
    const auto text = std::as_bytes(std::span(*state));
    OutputField scales = scaleField(tensor, original.name + ".absmax");
    scales.shape = {tensor.grid().scales};
    OutputFields out{
        {codeField(original.name, DType::U8, {std::int64_t((original.elements + 1) / 2), 1}, nibbleCoder(format)),
         std::move(scales), constantFloats(original.name + ".quant_map", quantMap(format)),
         constantField(original.name + ".quant_state.bitsandbytes__" + tensor.spec().format, DType::U8,
                       {std::int64_t(text.size())}, {text.begin(), text.end()})}};
    if (isDoubleQuantized(tensor.spec())) {
        const auto map = dynamicMap();
        out.list.push_back(nestedScaleField(tensor, original.name + ".nested_absmax"));
        out.list.push_back(constantFloats(original.name + ".nested_quant_map", {map.begin(), map.end()}));
    }
    return out;
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
    const auto first = std::ranges::find_if(taken, splitsBlocks);
    if (first == taken.end()) return {};
    const std::int64_t columns = first->tensor->shape.back();
    std::uint32_t fits = first->spec().blockSize();
    while (fits > kLeastBnbBlock && columns % std::int64_t(fits) != 0) fits /= 2;
    const std::string works = columns % std::int64_t(fits) == 0 ? fmt::format("block={} fits them", fits)
                                                                : std::string("no block of bitsandbytes fits them");
    return fmt::format("Rows of {} of {} quantized tensors are not whole blocks, such as {} columns under block={}: "
                       "bitsandbytes 0.50 cannot multiply by these on a CPU; {}.",
                       std::ranges::count_if(taken, splitsBlocks), taken.size(), columns, first->spec().blockSize(),
                       works);
}

} // namespace

Layout bnbLayout() {
    return {.id = "bnb",
            .title = "bitsandbytes 4-bit",
            .summary = "NAME as U8, NAME.absmax, NAME.quant_map, NAME.quant_state and, with double quantization, "
                       "NAME.nested_absmax and NAME.nested_quant_map; quantization_config for transformers.",
            .takes = "nf4 and fp4 with dialect=bnb; matrices of linear layers",
            .accepts = accepts,
            .fields = fields,
            .turnsConv1d = true,
            .holds = isBitsandbytesLinear,
            .staysIn = transformersKeeps,
            .config = config,
            .dialect = &kBitsandbytes4Dialect,
            .describes = false,
            .warns = warns};
}

} // namespace qs
