// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What was decided for a tensor before it is encoded: by a solver, or a codebook that several tensors share.

#include "core/quant/codebook/learn.h"
#include "core/quant/encode/encode_plan.h"
#include "core/quant/encode/quantizer.h"

namespace qs {

struct Solved {
    TensorInfo info; ///< of the values: F32, in memory
    /// C order; rounding them under `params` gives the solver's codes. Empty: the tensor's own values.
    std::vector<float> values;
    std::vector<GroupParams> params; ///< as TensorPass::shared(); empty: measured from the values
    float tensorScale = 1;
    std::shared_ptr<const LearnedLevels> levels; ///< of a spec that learns its codebook
    /// Per index of the last axis: what the values were multiplied by, and decoded values are divided by. Empty: 1.
    std::vector<float> columnScales;
    TensorView view() const { return {&info, std::as_bytes(std::span(values)), nullptr}; }
};

class TensorPass;
/// Over the decided values, or over `view` where there are none.
Result<TensorPass> passOf(const TensorView& view, SharedPlan plan, const ScaleGrid& grid, const Solved& solved,
                          const Job& job);
/// As quantizeTensor(). materialize() does not know of column scales: see applyColumnScales().
Result<QuantizedTensor> quantizeSolved(const TensorView& view, const QuantSpec& spec, const Solved& solved,
                                       const Job& job);
/// With the plan of this tensor's own spec: see forTensor().
Result<QuantizedTensor> quantizeSolved(const TensorView& view, const SharedPlan& plan, const Solved& solved,
                                       const Job& job);
/// Divides `n` decoded values from flat index `begin` on.
void applyColumnScales(std::span<const float> columnScales, std::uint64_t begin, float* values, std::size_t n);

} // namespace qs
