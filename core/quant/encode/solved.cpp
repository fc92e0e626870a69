// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/solved.h"

#include "core/quant/encode/pass.h"

namespace qs {

Result<TensorPass> passOf(const TensorView& view, SharedPlan plan, const ScaleGrid& grid, const Solved& solved,
                          const Job& job) {
    const TensorView values = solved.values.empty() ? view : solved.view();
    if (!solved.params.empty())
        return TensorPass::given(values, std::move(plan), grid, solved.params, solved.tensorScale, solved.levels);
    return TensorPass::prepare(values, std::move(plan), grid, job, solved.levels);
}

void applyColumnScales(std::span<const float> columnScales, std::uint64_t begin, float* values, std::size_t n) {
    if (columnScales.empty()) return;
    std::size_t column = begin % columnScales.size();
    for (std::size_t i = 0; i < n; ++i, column = column + 1 == columnScales.size() ? 0 : column + 1)
        values[i] /= columnScales[column];
}

} // namespace qs
