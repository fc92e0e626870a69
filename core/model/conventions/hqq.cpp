// SPDX-License-Identifier: GPL-3.0-or-later
// HQQ. The settings of a layer are tensors beside its codes: numbers as scalars, words as letters. The weight is
// reshaped to a matrix whose rows (axis 1) or columns (axis 0) are the groups. A packed unit holds codes of rows that
// are `packedRows` apart; the first is in the highest bits.
// Source: hqq:`hqq/core/{quantize,bitpack,utils}.py`.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {".W_q"};
constexpr const char* kTypes[] = {"HQQ-int1", "HQQ-int2", "HQQ-int3", "HQQ-int4", "HQQ-int8"};
constexpr std::string_view kMethods[] = {"hqq"};
/// Fields of a layer besides W_q, scale and zero. They are not weights.
constexpr const char* kSettings[] = {"axis",
                                     "channel_wise",
                                     "compute_dtype",
                                     "encoded_state_dict",
                                     "group_size",
                                     "nbits",
                                     "offload_meta",
                                     "optimize",
                                     "packing",
                                     "quant_scale",
                                     "quant_zero",
                                     "round_zero",
                                     "shape",
                                     "stores_quant_config",
                                     "unpack_view_dtype",
                                     "view_as_float"};

struct Packing {
    const char* name;
    const char* type;
    unsigned bits, perUnit, unitBytes; ///< codes in a packed unit; bytes of a unit
};
constexpr Packing kPackings[] = {{"8bit_u8", kTypes[4], 8, 1, 1},
                                 {"4bit_u8", kTypes[3], 4, 2, 1},
                                 {"3bit_32", kTypes[2], 3, 10, 4},
                                 {"2bit_u8", kTypes[1], 2, 4, 1},
                                 {"1bit_u8", kTypes[0], 1, 8, 1}};

struct Coding {
    Packing packing{};
    std::string description;
    DType dtype = DType::F16;
    std::int64_t outputs = 0, inputs = 0;
    std::uint64_t columns = 0, packedRows = 0; ///< of the packed matrix, in units
    bool scalesAreOfRows = false;              ///< true: one scale per row; false: one per column, or a single one
    std::uint64_t scales = 1;
    std::vector<Field> fields; ///< codes, scales and zero points in this order, then the settings
};

class HqqLayer final : public Layer {
public:
    explicit HqqLayer(const Coding& coding)
        : Layer(
              {coding.packing.type, coding.description, coding.dtype, {coding.outputs, coding.inputs}, coding.fields}),
          packing_(coding.packing), columns_(coding.columns), units_(coding.packedRows * coding.columns),
          scales_(coding.scales), scalesAreOfRows_(coding.scalesAreOfRows) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        constexpr std::size_t kPiece = 64 * 1024;
        for (std::size_t done = 0; done < n;) {
            // Units with the same bit position, and rows of scales, are consecutive within this range.
            const std::uint64_t at = begin + done, step = at / units_, unit = at % units_;
            const auto part = std::size_t(std::min({std::uint64_t(n - done), units_ - unit, std::uint64_t(kPiece)}));
            piece(at, unit, packing_.bits * unsigned(packing_.perUnit - 1 - step), part, out + done);
            done += part;
        }
    }

private:
    float rounded(float value) const {
        if (dtype() == DType::F16) return f16ToF32(f32ToF16(value));
        return dtype() == DType::BF16 ? bf16ToF32(f32ToBf16(value)) : value;
    }

    void piece(std::uint64_t at, std::uint64_t unit, unsigned shift, std::size_t n, float* out) const {
        thread_local std::vector<std::byte> scratch;
        const std::uint64_t first = scales_ == 1 ? 0 : scalesAreOfRows_ ? at / columns_ : at % columns_;
        std::uint64_t count = 1;
        if (scales_ > 1 && scalesAreOfRows_) count = (at + n - 1) / columns_ - first + 1;
        const bool wraps = scales_ > 1 && !scalesAreOfRows_;
        if (wraps) count = std::min<std::uint64_t>(n, columns_ - first);
        auto scales = field(1).floats(first, std::size_t(count)), zeros = field(2).floats(first, std::size_t(count));
        if (wraps && count < n) { // continue at the first column, for at most a whole row
            const auto more = std::size_t(std::min<std::uint64_t>(n - count, first));
            const auto s = field(1).floats(0, more), z = field(2).floats(0, more);
            scales.insert(scales.end(), s.begin(), s.end());
            zeros.insert(zeros.end(), z.begin(), z.end());
        }
        const auto bytes = field(0).read(unit * packing_.unitBytes, n * packing_.unitBytes, scratch);
        const std::uint32_t mask = (1u << packing_.bits) - 1;
        std::uint64_t inRow = at % columns_;
        for (std::size_t i = 0, g = 0; i < n; ++i) {
            std::uint32_t word = 0;
            std::memcpy(&word, bytes.data() + i * packing_.unitBytes, packing_.unitBytes);
            out[i] = rounded(float(word >> shift & mask) - zeros[g]) * scales[g];
            if (scales_ == 1) continue;
            if (!scalesAreOfRows_)
                g = g + 1 == scales.size() ? 0 : g + 1;
            else if (++inRow == columns_)
                inRow = 0, ++g;
        }
    }

    Packing packing_;
    std::uint64_t columns_, units_, scales_;
    bool scalesAreOfRows_;
};

/// Reads the settings of one layer.
class Settings {
public:
    Settings(const Checkpoint& checkpoint, const std::string& module) : checkpoint_(checkpoint), module_(module) {}

    Result<std::uint32_t> number(const char* name, DType dtype) const {
        auto field = checkpoint_.field(module_ + name, {dtype}, {});
        if (!field) return tl::unexpected(field.error());
        return dtype == DType::U8 ? field->octets(0, 1)[0] : field->words(0, 1)[0];
    }
    Result<std::string> word(const char* name) const {
        const TensorInfo* found = checkpoint_.find(module_ + name);
        if (!found) return fail(fmt::format("{} is missing", quotedName(module_ + name)));
        if (found->dtype != DType::U8 || found->shape.size() != 1 || found->elements > 64)
            return fail(fmt::format("{} is {} {}, not the letters of a word", quotedName(found->name), found->typeId(),
                                    shapeText(found->shape)));
        const auto letters = checkpoint_.field(*found).octets(0, std::size_t(found->elements));
        return std::string(letters.begin(), letters.end());
    }

private:
    const Checkpoint& checkpoint_;
    const std::string& module_;
};

Result<DType> computeType(const Settings& settings) {
    const auto said = settings.word(".compute_dtype");
    if (!said) return tl::unexpected(said.error());
    for (const auto& [name, dtype] :
         {std::pair("torch.float16", DType::F16), {"torch.bfloat16", DType::BF16}, {"torch.float32", DType::F32}})
        if (*said == name) return dtype;
    return fail(fmt::format("compute_dtype is {}, which is none of HQQ's", quotedName(*said)));
}

Result<const Packing*> packingOf(const Settings& settings) {
    const auto said = settings.word(".packing");
    if (!said) return tl::unexpected(said.error());
    for (const auto& packing : kPackings)
        if (*said == packing.name) return &packing;
    return fail(fmt::format("packing is {}, which is none of HQQ's", quotedName(*said)));
}

/// Size of the packed matrix. A group is a row (axis 1) or a column (axis 0).
struct Grid {
    std::uint64_t rows = 0, columns = 0;
};

Result<Coding> readLayer(const Checkpoint& checkpoint, const std::string& module, const TensorInfo& codes) {
    const Settings settings(checkpoint, module);
    for (const char* nested : {".quant_scale", ".quant_zero"})
        if (checkpoint.find(module + nested)) {
            const auto is = settings.number(nested, DType::U8);
            if (!is) return tl::unexpected(is.error());
            if (*is) return fail("its scales or zero points are quantized themselves, which HQQ no longer writes");
        }
    const auto dtype = computeType(settings);
    if (!dtype) return tl::unexpected(dtype.error());
    const auto packing = packingOf(settings);
    if (!packing) return tl::unexpected(packing.error());
    const auto axis = settings.number(".axis", DType::I32), group = settings.number(".group_size", DType::I32);
    if (!axis) return tl::unexpected(axis.error());
    if (!group) return tl::unexpected(group.error());
    constexpr std::int64_t two = 2;
    const auto shape = checkpoint.field(module + ".shape", {DType::I64}, std::span(&two, 1));
    if (!shape) return tl::unexpected(shape.error());
    const auto sizes = shape->words(0, 4);
    const std::uint64_t outputs = sizes[0] | std::uint64_t(sizes[1]) << 32, inputs = sizes[2] | std::uint64_t(sizes[3])
                                                                                                    << 32;
    std::uint64_t elements = 0;
    if (outputs == 0 || inputs == 0 || __builtin_mul_overflow(outputs, inputs, &elements) || elements >> 56)
        return fail(fmt::format("{} holds {} and {}, which are no sizes of a matrix", quotedName(module + ".shape"),
                                outputs, inputs));
    bool isWhole = false; // one scale for the whole tensor
    if (checkpoint.find(module + ".channel_wise")) {
        const auto is = settings.number(".channel_wise", DType::U8);
        if (!is) return tl::unexpected(is.error());
        isWhole = *is == 0;
    }
    if (*axis > 1) return fail(fmt::format("axis is {}, neither 0 nor 1", std::int32_t(*axis)));
    if (!isWhole && (*group == 0 || *group >> 31 || elements % *group != 0))
        return fail(fmt::format("group_size is {}, of which {} x {} are not whole groups", std::int32_t(*group),
                                outputs, inputs));
    Grid grid{outputs, inputs};
    if (!isWhole) grid = *axis == 1 ? Grid{elements / *group, *group} : Grid{*group, elements / *group};
    Coding coding;
    coding.packing = **packing, coding.dtype = *dtype;
    coding.outputs = std::int64_t(outputs), coding.inputs = std::int64_t(inputs);
    coding.columns = grid.columns;
    coding.packedRows = (grid.rows + coding.packing.perUnit - 1) / coding.packing.perUnit;
    // With 3 bits, rows are padded to whole units; with other bits they must fill whole units.
    if (coding.packing.bits == 3 ? isWhole : grid.rows % coding.packing.perUnit != 0)
        return fail(fmt::format("{} rows are not packed in {} bits by HQQ", grid.rows, coding.packing.bits));

    // Codes are stored as integers, or as the same bytes with a float dtype.
    const DType own = coding.packing.unitBytes == 4 ? DType::I32 : DType::U8;
    const std::uint64_t bytes = coding.packedRows * coding.columns * coding.packing.unitBytes;
    if ((codes.dtype != own && codes.dtype != *dtype) || codes.packed || codes.shape.size() != 2 ||
        codes.shape[0] != std::int64_t(coding.packedRows) || codes.bytes != bytes)
        return fail(fmt::format("{} is {} {}, not {} [{}, {}]", quotedName(codes.name), codes.typeId(),
                                shapeText(codes.shape), info(own).id, coding.packedRows, coding.columns));
    coding.scalesAreOfRows = *axis == 1;
    coding.scales = isWhole ? 1 : coding.scalesAreOfRows ? grid.rows : grid.columns;
    std::vector<std::int64_t> scaleShape;
    if (!isWhole)
        scaleShape = coding.scalesAreOfRows ? std::vector<std::int64_t>{std::int64_t(coding.scales), 1}
                                            : std::vector<std::int64_t>{1, std::int64_t(coding.scales)};
    auto scales = checkpoint.field(module + ".scale", {*dtype}, scaleShape);
    auto zeros = checkpoint.field(module + ".zero", {*dtype}, scaleShape);
    if (!scales) return tl::unexpected(scales.error());
    if (!zeros) return tl::unexpected(zeros.error());
    coding.fields = {checkpoint.field(codes), std::move(*scales), std::move(*zeros)};
    for (const char* name : kSettings)
        if (const TensorInfo* setting = checkpoint.find(module + '.' + name))
            coding.fields.push_back(checkpoint.field(*setting));
    coding.description = fmt::format("HQQ, {} bits, {}", coding.packing.bits,
                                     isWhole ? std::string("one scale and zero point")
                                             : fmt::format("groups of {} along axis {}, zero points", *group, *axis));
    return coding;
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string module = field.name.substr(0, field.name.size() - end.size());
    // SINQ has the same names, without the settings.
    const bool isSaid = packingOf(Settings(checkpoint, module)).has_value();
    checkpoint.take(kHqqConvention, module + ".weight", isSaid ? Evidence::Said : Evidence::Alike,
                    readLayer(checkpoint, module, field).map([](const Coding& coding) -> std::shared_ptr<const Layer> {
                        return std::make_shared<const HqqLayer>(coding);
                    }));
}

} // namespace

const Convention kHqqConvention = {"hqq", "HQQ", "its settings, which are tensors", kTypes, kEnds, take, kMethods};

} // namespace qs
