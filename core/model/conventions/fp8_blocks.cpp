// SPDX-License-Identifier: GPL-3.0-or-later
// DeepSeek's FP8 layers: 8-bit floats with one scale per block of rows and columns.
#include "core/model/conventions/checkpoint.h"
#include "core/model/conventions/convention.h"
#include "core/model/conventions/row_coded.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"

#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::string_view kEnds[] = {"_scale_inv"};
constexpr const char* kTypes[] = {"fp8-blocks"};

Result<std::shared_ptr<const Layer>> readLayer(const Checkpoint& checkpoint, const std::string& name) {
    const TensorInfo* codes = checkpoint.find(name);
    if (!codes) return fail(fmt::format("{} is missing", quotedName(name)));
    const std::size_t rank = codes->shape.size();
    if (codes->dtype != DType::F8_E4M3 || (rank != 2 && rank != 3) || codes->elements == 0)
        return fail(fmt::format("{} is {} {}, not a matrix of F8_E4M3", quotedName(name), codes->typeId(),
                                shapeText(codes->shape)));
    std::int64_t rows = 128, columns = 128;
    const auto& config = checkpoint.config().quantization;
    if (const auto said = config.is_object() ? config.find("weight_block_size") : config.end(); said != config.end()) {
        const auto isSize = [&](std::size_t i) {
            return (*said)[i].is_number_unsigned() && (*said)[i] > 0 && (*said)[i] <= std::uint64_t(1) << 31;
        };
        if (!said->is_array() || said->size() != 2 || !isSize(0) || !isSize(1))
            return fail(fmt::format("weight_block_size of {} is not two sizes", checkpoint.config().file));
        rows = std::int64_t((*said)[0]), columns = std::int64_t((*said)[1]);
    }
    std::vector<std::int64_t> scaleShape = codes->shape;
    scaleShape[rank - 2] = groupsOf(scaleShape[rank - 2], rows);
    scaleShape[rank - 1] = groupsOf(scaleShape[rank - 1], columns);
    auto scales = checkpoint.field(name + "_scale_inv",
                                   {DType::F32, DType::BF16, DType::F16, DType::U8, DType::F8_E8M0}, scaleShape);
    if (!scales) return tl::unexpected(scales.error());
    RowCoding coding;
    coding.type = kTypes[0];
    coding.description = fmt::format("8-bit floats, a scale for each {} x {}", rows, columns);
    coding.dtype = checkpoint.config().dtype.value_or(DType::BF16);
    coding.shape = codes->shape;
    coding.rowBytes = std::uint64_t(codes->shape.back());
    coding.levels = e4m3Levels();
    coding.group = std::uint64_t(columns);
    coding.rowsPerScale = std::uint64_t(rows);
    if (scales->info.dtype == DType::U8 || scales->info.dtype == DType::F8_E8M0) coding.scaleCoding = ScaleCoding::E8m0;
    coding.fields = {checkpoint.field(*codes), *scales};
    return rowCodedLayer(std::move(coding));
}

void take(Checkpoint& checkpoint, const TensorInfo& field, std::string_view end) {
    const std::string name = field.name.substr(0, field.name.size() - end.size());
    checkpoint.take(kFp8BlocksConvention, name, readLayer(checkpoint, name));
}

} // namespace

const Convention kFp8BlocksConvention = {"fp8-blocks", "fp8 in blocks (DeepSeek)", kTypes, kEnds, take};

} // namespace qs
