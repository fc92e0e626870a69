// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/bench_plan.h"

#include "core/base/lists.h"
#include "core/base/rows.h"
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

constexpr std::array<BenchOp, 5> kOps = {{
    {"matmul_t", "y = x Wᵀ", "Product with W [N,K], the layout of a linear layer", "matmul", false, true},
    {"matmul", "y = x W", "Product with W [K,N]", "matmul", true, true},
    {"dequantize", "Dequantize", "Decode W [N,K] to f32", "dequantize", false, false},
    {"quantize", "Quantize", "Quantize an f32 W [N,K] to codes and scales", "quantize", false, false},
    {"quantize_stats", "Quantize and measure", "Quantize an f32 W [N,K] and sum its errors: MSE, SQNR, largest error",
     "quantize_stats", false, false},
}};

constexpr std::array<BenchAct, 4> kActs = {{
    {"f32", "f32 activations", "f32", false},
    {"bf16", "bf16 activations", "bf16", false},
    {"int8", "int8 activations, quantized per row during the run", "f32", true},
    {"fp8_e4m3", "fp8 (e4m3) activations, quantized per row during the run", "f32", true},
}};

constexpr std::uint64_t kLeastMemory = 1 << 20;

} // namespace

std::span<const BenchOp> benchOps() { return kOps; }
const BenchOp* findBenchOp(std::string_view id) { return rowOf(kOps, id); }

std::span<const BenchAct> benchActs() { return kActs; }
const BenchAct* findBenchAct(std::string_view id) { return rowOf(kActs, id); }

const char* cacheText(CacheState cache) { return cache == CacheState::Cold ? "cold" : "warm"; }

Result<BenchShape> parseShape(std::string_view text) {
    std::array<std::int64_t, 3> sizes{};
    std::string_view rest = text;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto cut = i < 2 ? rest.find('x') : rest.size();
        const auto part = rest.substr(0, cut);
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), sizes[i]);
        if (cut == std::string_view::npos || error != std::errc{} || end != part.data() + part.size() || sizes[i] < 1 ||
            sizes[i] > 0x7fffffff)
            return fail(fmt::format("The shape '{}' is not MxNxK with whole numbers from 1 to 2147483647; write for "
                                    "instance 1x4096x4096.",
                                    escapeForPeople(text, 60)));
        if (i < 2) rest.remove_prefix(cut + 1);
    }
    return BenchShape{sizes[0], sizes[1], sizes[2], {}};
}

std::string shapeKey(const BenchShape& shape) { return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k); }

Result<void> checkPlan(const BenchmarkPlan& plan) {
    for (const auto& op : plan.ops)
        if (!findBenchOp(op))
            return fail(fmt::format("There is no operation '{}'; the operations are {}.", escapeForPeople(op, 60),
                                    fmt::join(idsOf(kOps), ", ")));
    for (const auto& act : plan.acts)
        if (!findBenchAct(act))
            return fail(fmt::format("There is no activation type '{}'; the types are {}.", escapeForPeople(act, 60),
                                    fmt::join(idsOf(kActs), ", ")));
    if (plan.ops.empty() || plan.acts.empty() || plan.caches.empty() || plan.backends.empty())
        return fail("The benchmark has nothing to run: choose at least one operation, activation type, cache state and "
                    "backend.");
    if (plan.specs.empty()) return fail("The benchmark has no spec; give one, for instance nf4:block=64.");
    if (plan.shapes.empty()) return fail("The benchmark has no shape; give one, for instance 1x4096x4096.");
    if (!(plan.secondsPerRow > 0) || plan.secondsPerRow > 3600)
        return fail("The time for a row must be above 0 and at most 3600 seconds.");
    if (plan.memoryBytes && plan.memoryBytes < kLeastMemory)
        return fail(fmt::format("The memory limit is {}; give at least {}.", bytesText(plan.memoryBytes),
                                bytesText(kLeastMemory)));
    for (const auto& shape : plan.shapes) {
        const double bytes = 4 * (double(shape.n) * double(shape.k) + double(shape.m) * double(shape.k + shape.n));
        if (bytes > 64.0 * 1024 * 1024 * 1024)
            return fail(fmt::format("The shape {} needs {} of operands in f32; take a smaller one.", shapeKey(shape),
                                    bytesText(std::uint64_t(bytes))));
    }
    std::set<std::string> seen;
    for (const auto& source : plan.backends)
        if (!seen.insert(source.id + "\n" + source.path).second)
            return fail(fmt::format("The backend {} is given twice.", escapeForPeople(source.id)));
    return {};
}

} // namespace qs
