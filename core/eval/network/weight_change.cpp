// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/network/weight_change.h"

#include "core/quant/encode/quantizer.h"

namespace qs::eval {

WeightChange quantizedAs(QuantSpec spec) {
    return {specText(spec), canonicalText(spec), [](const TensorInfo& tensor) { return tensor.shape.size() == 2; },
            [spec = std::move(spec)](const TensorInfo&, const TensorView& stored,
                                     const Job& job) -> Result<std::vector<float>> {
                const auto quantized = quantizeTensor(stored, spec, job);
                if (!quantized) return tl::unexpected(quantized.error());
                return materialize(*quantized);
            }};
}

} // namespace qs::eval
