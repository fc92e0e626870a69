// SPDX-License-Identifier: GPL-3.0-or-later
// Dequantized values under the tensor's own name, in its own dtype (floats of 8 bits as BF16); f32, f16 and bf16 in
// theirs.
#include "core/layouts/layouts.h"

#include "core/layouts/fields.h"
#include "core/model/computed_type.h"

namespace qs {
namespace {

Result<void> accepts(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    if (auto grid = scaleGrid(spec, shape); !grid) return tl::unexpected(grid.error());
    return {};
}

DType storedDtype(const QuantSpec& spec, DType source) {
    if (spec.format == "f32") return DType::F32;
    if (spec.format == "f16") return DType::F16;
    return spec.format == "bf16" ? DType::BF16 : computedType(source);
}

Result<OutputFields> fields(MeasuredTensor& tensor) {
    const DType dtype = storedDtype(tensor.spec(), tensor.info().dtype);
    return OutputFields{.list = {codeField(tensor.info().name, dtype, tensor.info().shape, valueCoder(tensor, dtype))},
                        .readType = dtype};
}

} // namespace

Layout plainLayout() {
    return {.id = "plain",
            .title = "Plain",
            .summary =
                "The dequantized values under the tensor's name, in its original dtype; f32, f16 and bf16 in theirs.",
            .takes = "every spec",
            .accepts = accepts,
            .fields = fields,
            .columnScales = true,
            .ownFields = OwnFields::Eformer};
}

} // namespace qs
