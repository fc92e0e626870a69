// SPDX-License-Identifier: GPL-3.0-or-later
// Compares one result with its reference.
#include "core/bench/run/gate.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

constexpr std::uint32_t kUnwritten = 0x7fc0dead; // a NaN that no arithmetic gives
constexpr std::byte kGuard{0xa5};
constexpr std::size_t kGuardBytes = 64; // keeps the result aligned

/// A single wrong output hardly changes the mean of millions: the limit for each is this many times the accepted error.
constexpr double kMostOff = 8;
constexpr double kMostNmse = 1e-3; // upper limit for every variant

Check wrong(double nmse, std::string reason) { return {false, nmse, std::move(reason)}; }

/// A sum in f32 over a thousand values is within 1e-6 of the sum in f64.
Check checkSums(const Operands& operands, const HostTensor& made) {
    static constexpr std::array<const char*, 4> names = {"sum of squared errors", "sum of squares", "largest error",
                                                         "largest magnitude"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        double value = 0;
        std::memcpy(&value, made.data() + i * sizeof value, sizeof value);
        const double wanted = operands.sums[i], room = 1e-6 * wanted + (i == 0 ? 1e-14 * operands.sums[1] : 0.0);
        if (!(std::fabs(value - wanted) <= room))
            return wrong(std::numeric_limits<double>::infinity(),
                         fmt::format("the {} is {:.9g} instead of {:.9g}", names[i], value, wanted));
    }
    return {true, 0, {}};
}

Check checkBytes(const Operands& operands, const GuardedOutput& output) {
    for (std::size_t t = 0; t < output.tensors().size(); ++t) {
        const auto& made = output.tensors()[t];
        if (made.role == "out_sums") { // the last output
            if (const Check sums = checkSums(operands, made); !sums.passed) return sums;
            break;
        }
        const auto& wanted = operands.weights->inputs[t];
        if (std::memcmp(made.data(), wanted.data(), made.bytes) == 0) continue;
        const std::byte *begin = made.data(), *end = begin + made.bytes;
        const auto at =
            std::uint64_t(std::mismatch(begin, end, static_cast<const std::byte*>(wanted.data())).first - begin);
        return wrong(std::numeric_limits<double>::infinity(),
                     fmt::format("{} differs from the format's definition first at byte {} of {}: {:#04x} instead of "
                                 "{:#04x}",
                                 made.role == "out" ? "the codes" : "the scale", at, made.bytes,
                                 std::to_integer<unsigned>(made.data()[at]),
                                 std::to_integer<unsigned>(wanted.data()[at])));
    }
    return {true, 0, {}};
}

/// Checks every output, also those that are not compared with the reference.
std::optional<std::string> notFinite(const float* y, const Reference& reference) {
    const std::uint64_t count = reference.outputs();
    for (std::uint64_t i = 0; i < count; ++i) {
        if (std::isfinite(y[i])) continue;
        const auto place =
            fmt::format("[{}, {}]", i / std::uint64_t(reference.columns), i % std::uint64_t(reference.columns));
        return std::bit_cast<std::uint32_t>(y[i]) == kUnwritten
                   ? fmt::format("the output {} was not written", place)
                   : fmt::format("the output {} is {}", place, std::isnan(y[i]) ? "NaN" : "infinite");
    }
    return std::nullopt;
}

bool isExact(const Reference& reference, std::size_t i, float y) {
    for (const auto& list : reference.exact)
        if (!list.empty() && list[i] == y) return true;
    return false;
}

} // namespace

Result<GuardedOutput> GuardedOutput::create(const std::vector<HostTensor>& like) {
    GuardedOutput out;
    for (const auto& tensor : like) {
        auto buffer = SharedBuffer::create(tensor.bytes + 2 * kGuardBytes);
        if (!buffer) return tl::unexpected(buffer.error());
        out.tensors_.push_back(tensor);
        out.tensors_.back().buffer = std::move(*buffer);
        out.tensors_.back().offset = kGuardBytes;
    }
    out.refill();
    return out;
}

void GuardedOutput::refill() {
    for (const auto& tensor : tensors_) {
        std::fill_n(tensor.buffer->data(), tensor.bytes + 2 * kGuardBytes, kGuard);
        if (tensor.dtype != "f32") continue;
        auto* values = reinterpret_cast<std::uint32_t*>(tensor.data());
        std::fill_n(values, tensor.bytes / 4, kUnwritten);
    }
}

std::optional<std::string> GuardedOutput::overrun() const {
    for (const auto& tensor : tensors_) {
        const std::byte* before = tensor.buffer->data();
        const std::byte* after = tensor.data() + tensor.bytes;
        for (std::size_t i = 0; i < kGuardBytes; ++i) {
            if (before[i] != kGuard)
                return fmt::format("{} bytes before the tensor '{}' were overwritten", kGuardBytes - i, tensor.role);
            if (after[i] != kGuard) return fmt::format("byte {} after the tensor '{}' was overwritten", i, tensor.role);
        }
    }
    return std::nullopt;
}

double nmseLimitFor(const Variant& variant, const Problem& problem) {
    if (variant.nmseLimit < 0 || isQuantize(problem)) return 0;
    if (variant.nmseLimit > 0) return std::min(variant.nmseLimit, kMostNmse);
    static constexpr std::array<std::pair<std::string_view, double>, 6> limits = {
        {{"i8", 1e-12}, {"f32", 1e-9}, {"bf16", 1e-5}, {"tf32", 1e-5}, {"f16", 1e-5}, {"fp8_e4m3", kMostNmse}}};
    const std::string& type = !problem.compute.empty()             ? problem.compute
                              : problem.act && !problem.dynamicAct ? problem.act->format
                                                                   : std::string("f32");
    for (const auto& [id, limit] : limits)
        if (id == type) return limit;
    return 1e-9;
}

double nmseLimitHere(double limit, const Reference& reference) {
    return std::max(limit, std::min(kMostNmse, limit * reference.cancellation));
}

Check checkOutput(const Operands& operands, const Reference& reference, const GuardedOutput& output, double limit) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (const auto over = output.overrun()) return wrong(infinity, *over);
    if (reference.integer) return checkBytes(operands, output);
    const auto* y = reinterpret_cast<const float*>(output.tensors()[0].data());
    if (const auto fault = notFinite(y, reference)) return wrong(infinity, *fault);

    const bool exact = limit == 0 && !reference.exact[0].empty();
    if (limit == 0 && !exact) limit = 1e-12; // sums of floats, or scales inside the sum: only rounding may differ
    if (!exact) limit = nmseLimitHere(limit, reference);
    double error = 0, power = 0;
    std::size_t worst = 0;
    double worstShare = -1;
    const std::size_t columns = reference.checkedColumns.size();
    const auto made = [&](std::size_t i) {
        return y[reference.checkedRows[i / columns] * reference.columns + reference.checkedColumns[i % columns]];
    };
    std::optional<std::size_t> inexact;
    for (std::size_t r = 0; r < reference.checkedRows.size(); ++r) {
        double rowPower = 0;
        for (std::size_t i = r * columns; i < (r + 1) * columns; ++i) rowPower += reference.y[i] * reference.y[i];
        const double rms = std::sqrt(rowPower / double(std::max<std::size_t>(1, columns)));
        for (std::size_t i = r * columns; i < (r + 1) * columns; ++i) {
            const double e = double(made(i)) - reference.y[i];
            error += e * e;
            const double size = rms + std::fabs(reference.y[i]);
            const double share = size > 0 ? std::fabs(e) / size : e == 0 ? 0 : infinity;
            if (share > worstShare) worstShare = share, worst = i;
            if (exact && !inexact && !isExact(reference, i, made(i))) inexact = i;
        }
        power += rowPower;
    }
    const double nmse = power > 0 ? error / power : error == 0 ? 0 : infinity;
    const auto at = [&](std::size_t i) {
        return fmt::format("the output [{}, {}] is {:.9g} instead of {:.9g}", reference.checkedRows[i / columns],
                           reference.checkedColumns[i % columns], made(i), reference.y[i]);
    };
    if (inexact) return wrong(nmse, at(*inexact) + ", and the variant claims to be exact");
    if (exact) return {true, nmse, {}};
    if (!(nmse <= limit))
        return wrong(nmse, fmt::format("NMSE {} is above {}; {}", significantText(nmse, 3), significantText(limit, 3),
                                       at(worst)));
    if (!(worstShare <= kMostOff * std::sqrt(limit)))
        return wrong(nmse,
                     fmt::format("{}, far more than an NMSE of {} explains", at(worst), significantText(limit, 3)));
    return {true, nmse, {}};
}

} // namespace qs
