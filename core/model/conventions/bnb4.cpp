// SPDX-License-Identifier: GPL-3.0-or-later
// 4-bit layers of bitsandbytes: blocks over the flattened tensor. A byte holds two codes, the first in the high bits.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "kernels/format.h"
#include "kernels/kernel_set.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4",
                                      ".weight.absmax", ".weight.quant_map"};
/// Settings of a layer, from the JSON text in the tensor NAME.quant_state.bitsandbytes__nf4.
struct QuantState {
    std::string type;
    std::uint64_t block = 0, elements = 1;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    bool nested = false;
    std::uint64_t nestedBlock = 0;
    float offset = 0;
};

Result<QuantState> parseState(std::string_view text) {
    auto tree = readJsonTree(text);
    if (!tree) return fail("its quant_state " + tree.error().message);
    const auto wrong = [](const char* what) { return fail(fmt::format("its quant_state has no usable {}", what)); };
    if (!tree->is_object()) return fail("its quant_state is no object");
    QuantState state;
    state.type = textAt(*tree, "quant_type");
    if (state.type != "nf4" && state.type != "fp4") return wrong("quant_type");
    state.block = countAt(*tree, "blocksize").value_or(0);
    if (state.block < 32 || state.block > 4096 || (state.block & (state.block - 1))) return wrong("blocksize");
    const auto dtype = textAt(*tree, "dtype");
    if (dtype == "float16")
        state.dtype = DType::F16;
    else if (dtype == "bfloat16")
        state.dtype = DType::BF16;
    else if (dtype != "float32")
        return wrong("dtype");
    const auto shape = tree->find("shape");
    if (shape == tree->end() || !shape->is_array() || shape->size() > 8) return wrong("shape");
    for (const auto& size : *shape) {
        if (!size.is_number_unsigned() || size.get<std::uint64_t>() > (std::uint64_t(1) << 48)) return wrong("shape");
        state.shape.push_back(std::int64_t(size.get<std::uint64_t>()));
        if (__builtin_mul_overflow(state.elements, size.get<std::uint64_t>(), &state.elements) || state.elements >> 56)
            return wrong("shape");
    }
    state.nested = tree->contains("nested_offset") || tree->contains("nested_blocksize");
    if (!state.nested) return state;
    state.nestedBlock = countAt(*tree, "nested_blocksize").value_or(0);
    if (state.nestedBlock == 0 || state.nestedBlock > 65536) return wrong("nested_blocksize");
    const auto offset = tree->find("nested_offset");
    if (offset == tree->end() || !offset->is_number()) return wrong("nested_offset");
    state.offset = float(offset->get<double>());
    if (!std::isfinite(state.offset)) return wrong("nested_offset");
    if (textAt(*tree, "nested_dtype") != "float32") return wrong("nested_dtype");
    return state;
}

class Bnb4Layer final : public Layer {
public:
    Bnb4Layer(QuantState state, std::vector<Field> fields)
        : Layer({state.type == "nf4" ? "bnb-nf4" : "bnb-fp4",
                 fmt::format("bitsandbytes {}, blocks of {}{}", state.type, state.block,
                             state.nested ? ", double quantization" : ""),
                 state.dtype, state.shape, std::move(fields)}),
          state_(std::move(state)), levels_(state_.type == "nf4" ? nf4Levels().data() : kBnbFp4Values) {}

    std::optional<LayerCoding> coding() const override {
        LayerCoding out;
        out.levels = levels_ == kBnbFp4Values ? LayerCoding::Levels::Fp4 : LayerCoding::Levels::Nf4;
        out.bits = 4, out.columns = state_.block, out.isFlat = true, out.hasNestedScales = state_.nested;
        return out;
    }

    // Computed in f32: level * absmax. With double quantization, absmax = map[code] * nested_absmax + offset.
    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        const std::uint64_t end = begin + n, firstBlock = begin / state_.block;
        const auto scales = maxima(firstBlock, std::size_t((end + state_.block - 1) / state_.block - firstBlock));
        thread_local std::vector<std::byte> scratch;
        const auto bytes = field(0).read(begin / 2, std::size_t((end + 1) / 2 - begin / 2), scratch);
        const auto* codes = reinterpret_cast<const std::uint8_t*>(bytes.data());
        if (begin % state_.block == 0 && n % state_.block == 0) {
            bestKernels().dequantizeNf4Packed(codes, n, std::size_t(state_.block), scales.data(), levels_, out);
            return;
        }
        for (std::uint64_t at = begin; at < end;) {
            const std::uint64_t stop = std::min(end, (at / state_.block + 1) * state_.block);
            const float scale = scales[std::size_t(at / state_.block - firstBlock)];
            float table[16];
            for (int code = 0; code < 16; ++code) table[code] = levels_[code] * scale;
            if (at % 2) *out++ = table[codes[at / 2 - begin / 2] & 15], ++at;
            for (; at + 1 < stop; at += 2) {
                const unsigned byte = codes[at / 2 - begin / 2];
                *out++ = table[byte >> 4];
                *out++ = table[byte & 15];
            }
            if (at < stop) *out++ = table[codes[at / 2 - begin / 2] >> 4], ++at;
        }
    }

private:
    /// The absmax of `n` blocks, from block `first` on.
    std::vector<float> maxima(std::uint64_t first, std::size_t n) const {
        auto scales = field(1).floats(first, n);
        if (!state_.nested) return scales;
        const auto map = field(4).floats(0, 256);
        const std::uint64_t group = first / state_.nestedBlock;
        const auto outer = field(3).floats(group, std::size_t((first + n - 1) / state_.nestedBlock - group + 1));
        for (std::size_t i = 0; i < n; ++i)
            scales[i] = map[std::size_t(scales[i])] * outer[std::size_t((first + i) / state_.nestedBlock - group)] +
                        state_.offset;
        return scales;
    }
    QuantState state_;
    const float* levels_;
};

/// True if the stored quant_map equals the levels of bitsandbytes. It always decodes with its own levels, so a file
/// with other levels would be decoded wrongly.
bool isOwnMap(const Field& map, const float* levels) {
    const auto stored = map.floats(0, 16);
    return std::equal(stored.begin(), stored.end(), levels, [](float a, float b) { return std::fabs(a - b) <= 1e-4f; });
}

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const std::string& name) {
    const TensorInfo *nf4 = checkpoint.find(name + std::string(kEnds[0])),
                     *fp4 = checkpoint.find(name + std::string(kEnds[1]));
    if (!nf4 && !fp4)
        return fail(fmt::format("{}.quant_state.bitsandbytes__nf4 or __fp4 is missing", escapeForPeople(name, 80)));
    if (nf4 && fp4) return fail("it has two quant_states");
    const Field text = checkpoint.field(nf4 ? *nf4 : *fp4);
    if (text.info.dtype != DType::U8 || text.info.bytes > 65536) return fail("its quant_state is no text");
    const auto bytes = text.octets(0, std::size_t(text.info.bytes));
    auto state = parseState({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!state) return tl::unexpected(state.error());
    if (state->type != (nf4 ? "nf4" : "fp4")) return fail("its quant_state says another type than its name");

    std::vector<Field> fields;
    const TensorInfo* codes = checkpoint.find(name);
    if (!codes) return fail(fmt::format("{} is missing", quotedName(name)));
    if (codes->packed || codes->bytes != (state->elements + 1) / 2)
        return fail(fmt::format("{} has {} bytes, but shape {} needs {}", quotedName(name), codes->bytes,
                                shapeText(state->shape), (state->elements + 1) / 2));
    fields.push_back(checkpoint.field(*codes));
    const auto ceil = [](std::uint64_t a, std::uint64_t b) { return std::int64_t((a + b - 1) / b); };
    const std::int64_t blocks = ceil(state->elements, state->block);
    const auto take = [&](const char* end, DType dtype, std::int64_t count) -> Result<void> {
        auto more = checkpoint.field(name + end, {dtype}, std::span(&count, 1));
        if (!more) return tl::unexpected(more.error());
        fields.push_back(std::move(*more));
        return {};
    };
    if (auto ok = take(".absmax", state->nested ? DType::U8 : DType::F32, blocks); !ok)
        return tl::unexpected(ok.error());
    if (auto ok = take(".quant_map", DType::F32, 16); !ok) return tl::unexpected(ok.error());
    if (!isOwnMap(fields.back(), nf4 ? nf4Levels().data() : kBnbFp4Values))
        return fail(fmt::format("{}.quant_map is not that of {}, which is what bitsandbytes would decode with",
                                escapeForPeople(name, 80), state->type));
    if (state->nested) {
        if (auto ok = take(".nested_absmax", DType::F32, ceil(std::uint64_t(blocks), state->nestedBlock)); !ok)
            return tl::unexpected(ok.error());
        if (auto ok = take(".nested_quant_map", DType::F32, 256); !ok) return tl::unexpected(ok.error());
    }
    fields.push_back(text);
    return std::make_shared<const Bnb4Layer>(std::move(*state), std::move(fields));
}

constexpr const char* kTypes[] = {"bnb-nf4", "bnb-fp4"};
constexpr std::string_view kMethods[] = {"bitsandbytes"};

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    // Layers without a quant_state are found by their other fields. Each is handled once, by the first of these fields.
    std::string name = field.name.substr(0, field.name.size() - end.size());
    if (end == kEnds[2] || end == kEnds[3]) {
        name += ".weight";
        if (checkpoint.find(name + ".packed")) return; // eformer's nf4 fields, which also have an .absmax
        for (const auto state : {kEnds[0], kEnds[1]})
            if (checkpoint.find(name + std::string(state))) return; // handled through its quant_state
        if (end == kEnds[3] && checkpoint.find(name + ".absmax")) return;
    }
    // Other programs have an .absmax too.
    const bool isSaid = end == kEnds[0] || end == kEnds[1] || checkpoint.config().method == kMethods[0];
    checkpoint.take(kBnb4Convention, name, isSaid ? Evidence::Said : Evidence::Alike, readLayer(checkpoint, name));
}

} // namespace

const Convention kBnb4Convention = {
    "bitsandbytes-4bit", "bitsandbytes 4-bit", "its tensor quant_state", kTypes, kEnds, take, kMethods};

} // namespace qs
