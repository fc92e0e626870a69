// SPDX-License-Identifier: GPL-3.0-or-later
// optimum-quanto: W._data and W._scale (8 bits), or W._data._data, W._scale and W._shift (4 and 2 bits, in groups along
// the rows). value = scale * data, or scale * data - shift, each operation rounded to the type of the scales; with whole
// shifts scale * (data - shift) (optimum-quanto 0.2.7, tensor/qbits.py and packed.py).
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "kernels/small_float.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"._data._data", "._data"};
constexpr const char* kTypes[] = {"quanto-int8", "quanto-fp8", "quanto-int4", "quanto-int2"};
constexpr std::string_view kMethods[] = {"quanto"};

bool isFloatOf16Or32(DType type) { return type == DType::F32 || type == DType::BF16 || type == DType::F16; }

/// Groups of `group` elements of the flattened tensor, each with a scale and a shift. The codes lie in `rows` rows of
/// `group`: those of the first part of the rows in the lowest bits of the bytes, those of the next part in the next bits.
class QuantoBitsLayer final : public Layer {
public:
    QuantoBitsLayer(std::vector<std::int64_t> shape, std::vector<Field> fields, unsigned bits, std::uint64_t group,
                    std::uint64_t rows)
        : Layer({kTypes[bits == 4 ? 2 : 3], fmt::format("optimum-quanto, {} bits, groups of {}", bits, group),
                 fields[1].info.dtype, std::move(shape), std::move(fields)}),
          bits_(bits), group_(group), byteRows_((rows + 8 / bits - 1) / (8 / bits)) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        const bool isWhole = !isFloatOf16Or32(field(2).info.dtype);
        while (n > 0) {
            const std::uint64_t row = begin / group_, first = begin % group_;
            const auto part = std::size_t(std::min<std::uint64_t>(n, group_ - first));
            const auto bytes = field(0).octets(row % byteRows_ * group_ + first, part);
            const unsigned shift = unsigned(row / byteRows_) * bits_, mask = (1u << bits_) - 1;
            const float scale = field(1).floats(row, 1)[0], offset = field(2).floats(row, 1)[0];
            for (std::size_t i = 0; i < part; ++i) {
                const float code = float(bytes[i] >> shift & mask);
                out[i] = isWhole ? scale * (code - offset) : rounded(scale * code) - offset;
            }
            begin += part, n -= part, out += part;
        }
    }

private:
    float rounded(float value) const {
        if (dtype() == DType::F16) return f16ToF32(f32ToF16(value));
        return dtype() == DType::BF16 ? bf16ToF32(f32ToBf16(value)) : value;
    }
    unsigned bits_;
    std::uint64_t group_, byteRows_;
};

/// Scales of activations lie beside the weight, which does not need them: they are parts of its layer.
void addScalesOfActivations(const Checkpoint& checkpoint, const std::string& name, std::vector<Field>& fields) {
    for (const char* end : {"input_scale", "output_scale"})
        if (const TensorInfo* more = checkpoint.find(name.substr(0, name.rfind('.') + 1) + end))
            fields.push_back(checkpoint.field(*more));
}

Result<std::shared_ptr<const Layer>> readBytes(const Checkpoint& checkpoint, const std::string& name,
                                               const TensorInfo& codes) {
    const bool isFloat = codes.dtype == DType::F8_E4M3 || codes.dtype == DType::F8_E5M2;
    const std::size_t rank = codes.shape.size();
    if ((codes.dtype != DType::I8 && !isFloat) || rank < 2 || codes.elements == 0)
        return fail(fmt::format("{} is {} {}", quotedName(codes.name), codes.typeId(), shapeText(codes.shape)));
    const TensorInfo* scale = checkpoint.find(name + "._scale");
    const bool isOne = scale && scale->elements == 1;
    std::vector<std::int64_t> wanted(rank, 1);
    wanted.front() = codes.shape.front();
    if (isOne) wanted.assign(scale->shape.begin(), scale->shape.end());
    auto scales = checkpoint.field(name + "._scale", {DType::F32, DType::BF16, DType::F16}, wanted);
    if (!scales) return tl::unexpected(scales.error());
    RowCoding coding;
    coding.type = kTypes[isFloat], coding.dtype = scales->info.dtype, coding.shape = codes.shape;
    if (rank > 2) { // a kernel of a convolution: a row for each output
        coding.shown = codes.shape;
        coding.shape = {codes.shape.front(), std::int64_t(codes.elements) / codes.shape.front()};
    }
    coding.rowBytes = coding.group = std::uint64_t(coding.shape.back());
    coding.rowsPerScale = isOne ? std::uint64_t(codes.shape.front()) : 1;
    coding.levels = codes.dtype == DType::I8        ? signedByteLevels()
                    : codes.dtype == DType::F8_E5M2 ? e5m2Levels()
                                                    : e4m3Levels();
    coding.description = fmt::format("optimum-quanto, {}, {}", isFloat ? "8-bit floats" : "8 bits",
                                     isOne ? "one scale" : "a scale for each row");
    coding.fields = {checkpoint.field(codes), std::move(*scales)};
    addScalesOfActivations(checkpoint, name, coding.fields);
    return rowCodedLayer(std::move(coding));
}

/// The file does not say the shape: the rows are those of the bias; without one, the groups.
std::vector<std::int64_t> quantoShape(const Checkpoint& checkpoint, const std::string& name, std::int64_t rows,
                                      std::int64_t group) {
    const auto dot = name.rfind('.');
    const TensorInfo* bias = dot == name.npos ? nullptr : checkpoint.find(name.substr(0, dot) + ".bias");
    const bool fits = bias && bias->shape.size() == 1 && bias->elements > 0 && rows % bias->shape.front() == 0;
    return fits ? std::vector{bias->shape.front(), rows / bias->shape.front() * group} : std::vector{rows, group};
}

Result<std::shared_ptr<const Layer>> readBits(const Checkpoint& checkpoint, const std::string& name,
                                              const TensorInfo& codes) {
    const TensorInfo* scale = checkpoint.find(name + "._scale");
    if (!scale) return fail(fmt::format("{} is missing", quotedName(name + "._scale")));
    if (codes.dtype != DType::U8 || codes.shape.size() != 2 || scale->shape.size() != 2 || codes.elements == 0)
        return fail(fmt::format("{} is {} {}", quotedName(codes.name), codes.typeId(), shapeText(codes.shape)));
    if (scale->shape.back() != 1) return fail("groups along the columns are not read");
    const std::int64_t rows = scale->shape.front(), byteRows = codes.shape.front(), group = codes.shape.back();
    const unsigned bits = groupsOf(rows, 2) == byteRows ? 4 : groupsOf(rows, 4) == byteRows ? 2 : 0;
    if (bits == 0) return fail(fmt::format("{} rows of codes hold neither 4 nor 2 bits for {} scales", byteRows, rows));
    auto scales =
        checkpoint.field(name + "._scale", {DType::F32, DType::BF16, DType::F16}, std::vector{rows, std::int64_t(1)});
    if (!scales) return tl::unexpected(scales.error());
    auto shifts = checkpoint.field(name + "._shift", {DType::F32, DType::BF16, DType::F16, DType::I8, DType::U8},
                                   std::vector{rows, std::int64_t(1)});
    if (!shifts) return tl::unexpected(shifts.error());
    std::vector<Field> fields{checkpoint.field(codes), std::move(*scales), std::move(*shifts)};
    addScalesOfActivations(checkpoint, name, fields);
    return std::make_shared<const QuantoBitsLayer>(quantoShape(checkpoint, name, rows, group), std::move(fields), bits,
                                                   std::uint64_t(group), std::uint64_t(rows));
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string name = field.name.substr(0, field.name.size() - end.size());
    if (!checkpoint.find(name + "._scale")) return; // of another program
    checkpoint.take(kQuantoConvention, name, Evidence::Shaped,
                    end == kEnds[0] ? readBits(checkpoint, name, field) : readBytes(checkpoint, name, field));
}

} // namespace

const Convention kQuantoConvention = {
    "quanto", "optimum-quanto", "names that only optimum-quanto gives: W._data and W._scale", kTypes, kEnds,
    take,     kMethods};

} // namespace qs
