// SPDX-License-Identifier: GPL-3.0-or-later
// Seeded operands that are the same on every machine and for every number of threads.
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/bench/operands.h"

#include <fmt/format.h>

namespace qs {
namespace {

// splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

} // namespace

std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return mixed(mixed(mixed(seed) ^ stream) ^ index);
}

float normalVariate(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    std::int64_t sum = 0;
    for (std::uint64_t word = 0; word < 3; ++word) {
        const std::uint64_t bits = randomBits(seed, stream, 3 * index + word);
        sum += std::int64_t((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    }
    // Twelve uniforms in [0, 65535]: the mean is 12 * 65535 / 2, the unit 1 / 65536.
    return float(2 * sum - 12 * 65535) / 131072.0f;
}

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
