// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/noise.h"

#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/quant/encode/quantizer.h"

#include <cmath>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr std::size_t kNoiseGrain = 1u << 14;

bool isNoisy(const TensorInfo& tensor) { return tensor.shape.size() >= 2; }

/// A stream of random numbers for a tensor: FNV-1a of its name.
std::uint64_t streamOf(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ std::uint64_t(static_cast<unsigned char>(c))) * 0x100000001b3u;
    return hash;
}

std::vector<float> valuesOf(const TensorInfo& tensor, const TensorView& stored) {
    std::vector<float> out(tensor.elements);
    loadF32(stored, 0, out.size(), out.data());
    return out;
}

/// Sum of squares of finite values, in order.
double powerOf(std::span<const float> values) {
    double sum = 0;
    for (const float value : values)
        if (std::isfinite(value)) sum += double(value) * double(value);
    return sum;
}

Result<std::vector<float>> noisy(const TensorInfo& tensor, const TensorView& stored, double nmse, const Job& job) {
    auto values = valuesOf(tensor, stored);
    std::vector<float> noise(values.size());
    const std::uint64_t stream = streamOf(tensor.name);
    parallelFor(noise.size(), kNoiseGrain, [&](std::size_t begin, std::size_t end, unsigned) {
        if (job.cancelled()) return;
        for (std::size_t i = begin; i < end; ++i) noise[i] = normalVariate(kNoiseSeed, stream, i);
    });
    if (job.cancelled()) return cancelledError();
    const double power = powerOf(noise);
    const double factor = power > 0 ? std::sqrt(nmse * powerOf(values) / power) : 0;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(double(values[i]) + factor * double(noise[i]));
    return values;
}

} // namespace

WeightChange withNoise(double nmse) {
    WeightChange change;
    change.name = fmt::format("noise {}", nmse);
    change.detail = fmt::format("normal noise of {:a} of the squared weights, seed {}", nmse, kNoiseSeed);
    change.touches = isNoisy, change.everywhere = true;
    change.values = [nmse](const TensorInfo& tensor, const TensorView& stored, const Job& job) {
        return noisy(tensor, stored, nmse, job);
    };
    return change;
}

Result<SquaredError> squaredError(const TensorInfo& tensor, const TensorView& stored, const WeightChange& change,
                                  const Job& job) {
    const auto values = valuesOf(tensor, stored);
    const auto changed = change.values(tensor, stored, job);
    if (!changed) return tl::unexpected(changed.error());
    SquaredError out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) continue;
        const double error = double((*changed)[i]) - double(values[i]);
        out.error += error * error, out.power += double(values[i]) * double(values[i]);
    }
    return out;
}

} // namespace qs::eval
