// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded operands that are equal on every machine and for every number of threads.
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/bench/run/operands.h"

#include <fmt/format.h>

namespace qs {
Result<std::shared_ptr<const std::vector<float>>> weightValues(std::int64_t rows, std::int64_t columns,
                                                               std::uint64_t seed, const TensorView* tensor) {
    auto values = std::make_shared<std::vector<float>>(std::size_t(rows) * std::size_t(columns));
    constexpr std::size_t grain = std::size_t(1) << 16;
    if (tensor) {
        const auto& shape = tensor->info->shape;
        if (shape.size() != 2 || shape[0] != rows || shape[1] != columns || !info(tensor->info->dtype).quantizable)
            return fail(fmt::format("The tensor '{}' of shape {} is not a float matrix of [{}, {}].",
                                    escapeForPeople(tensor->info->name), shapeText(shape), rows, columns));
        parallelFor(values->size(), grain, [&](std::size_t begin, std::size_t end, unsigned) {
            loadF32(*tensor, begin, end - begin, values->data() + begin);
        });
        return values;
    }
    parallelFor(values->size(), grain, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i) (*values)[i] = 0.02f * normalVariate(seed, kWeightStream, i);
    });
    return values;
}

} // namespace qs
