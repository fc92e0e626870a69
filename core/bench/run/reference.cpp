// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/reference.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace qs {
namespace {

constexpr std::int64_t kPanel = 8, kDepth = 512; // a panel of 8 columns x 512 is 32 KiB of f64
constexpr std::uint64_t kSampledProducts = std::uint64_t(1) << 31;
constexpr std::size_t kSampledRows = 32;
constexpr double kMostCancellation = 100;
using Pair = double __attribute__((vector_size(16)));

using Columns8 = std::int64_t[kPanel];
/// Fills panel[k][8] with W of eight result columns; the index -1 gives zeros.
using Fill = std::function<void(const Columns8& columns, std::int64_t k, std::int64_t depth, double* panel)>;

/// sums[rows][columns] of x and W, or of their squares, computed on all cores.
Result<std::vector<double>> products(const Operands& operands, const std::vector<std::int64_t>& rows,
                                     const std::vector<std::int64_t>& columns, const Fill& fill, const Job& job,
                                     bool ofSquares = false) {
    const std::int64_t k = operands.k;
    std::vector<double> out(rows.size() * columns.size());
    parallelFor((columns.size() + kPanel - 1) / kPanel, 1, [&](std::size_t begin, std::size_t end, unsigned) {
        std::vector<double> panel(std::size_t(kPanel * kDepth)), sums(rows.size() * kPanel), squares;
        for (std::size_t block = begin; block < end; ++block) {
            if (job.cancelled()) return;
            Columns8 taken;
            for (std::size_t j = 0; j < std::size_t(kPanel); ++j)
                taken[j] = block * kPanel + j < columns.size() ? columns[block * kPanel + j] : -1;
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::int64_t at = 0; at < k; at += kDepth) {
                const std::int64_t depth = std::min(kDepth, k - at);
                fill(taken, at, depth, panel.data());
                if (ofSquares)
                    for (double& w : panel) w *= w;
                for (std::size_t r = 0; r < rows.size(); ++r) {
                    const double* x = operands.x.data() + rows[r] * k + at;
                    if (ofSquares) {
                        squares.assign(x, x + depth);
                        for (double& value : squares) value *= value;
                        x = squares.data();
                    }
                    Pair a[kPanel / 2] = {};
                    for (std::int64_t d = 0; d < depth; ++d) {
                        const Pair v = {x[d], x[d]};
                        for (int j = 0; j < kPanel / 2; ++j) {
                            const double* p = panel.data() + d * kPanel + 2 * j;
                            a[j] += v * Pair{p[0], p[1]};
                        }
                    }
                    for (int j = 0; j < kPanel / 2; ++j) {
                        sums[r * kPanel + std::size_t(2 * j)] += a[j][0];
                        sums[r * kPanel + std::size_t(2 * j) + 1] += a[j][1];
                    }
                }
            }
            for (std::size_t r = 0; r < rows.size(); ++r)
                for (std::size_t j = 0; j < std::size_t(kPanel) && taken[j] >= 0; ++j)
                    out[r * columns.size() + block * kPanel + j] = sums[r * kPanel + j];
        }
    });
    if (job.cancelled()) return cancelledError();
    return out;
}

/// All of [0, count), or `wanted` of them including the first and the last.
std::vector<std::int64_t> sample(std::int64_t count, std::size_t wanted, std::uint64_t seed) {
    std::vector<std::int64_t> out;
    if (std::uint64_t(count) <= wanted) {
        out.resize(std::size_t(count));
        std::iota(out.begin(), out.end(), 0);
        return out;
    }
    out = {0, count - 1};
    // One from each of equally wide ranges, so that no tile is left out.
    for (std::size_t i = 0; i + 2 < wanted; ++i) {
        const double low = double(count) * double(i) / double(wanted - 2);
        const double high = double(count) * double(i + 1) / double(wanted - 2);
        const auto width = std::uint64_t(std::max(1.0, high - low));
        out.push_back(std::min(count - 1, std::int64_t(low) + std::int64_t(randomBits(seed, kCheckStream, i) % width)));
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// Computes where element k of result column n is in W [N,K] or [K,N].
struct Place {
    bool kn;
    std::int64_t columns;
    std::int64_t row(std::int64_t n, std::int64_t k) const { return kn ? k : n; }
    std::int64_t column(std::int64_t n, std::int64_t k) const { return kn ? n : k; }
    std::size_t index(std::int64_t n, std::int64_t k) const { return std::size_t(row(n, k) * columns + column(n, k)); }
};

template<class Get> Fill filled(Get get) {
    return [get](const Columns8& columns, std::int64_t k, std::int64_t depth, double* panel) {
        for (std::int64_t j = 0; j < kPanel; ++j)
            for (std::int64_t d = 0; d < depth; ++d)
                panel[d * kPanel + j] = columns[j] < 0 ? 0.0 : get(columns[j], k + d);
    };
}

/// One scale for a whole result column: it is a factor of the sum.
bool scaleIsOutside(const BenchWeights& w, bool kn) {
    if (w.quantized.grid.kind == ScaleKind::None || (w.rowStep == 0 && w.blockStep == 0)) return true;
    return kn ? w.rowStep == 0 && w.block == 1 : w.blockStep == 0;
}

bool areIntegers(std::span<const float> levels) {
    return !levels.empty() && std::ranges::all_of(levels, [](float v) { return v == std::nearbyint(v); });
}

/// As many of the checked rows and columns as an eighth of a second allows: indices into the lists.
struct Sampled {
    std::vector<std::size_t> rows, columns;
    std::vector<std::int64_t> m, n;
    Sampled(const Reference& of, std::int64_t k, std::uint64_t seed) {
        const auto pick = [&](std::size_t count, std::size_t wanted) {
            std::vector<std::size_t> at;
            for (const auto i : sample(std::int64_t(count), wanted, seed + 1)) at.push_back(std::size_t(i));
            return at;
        };
        rows = pick(of.checkedRows.size(), kSampledRows);
        const double room = double(kSampledProducts / 4) / (double(rows.size()) * double(k));
        columns = pick(of.checkedColumns.size(), std::size_t(std::clamp(room, 64.0, 1e6)));
        for (const auto r : rows) m.push_back(of.checkedRows[r]);
        for (const auto c : columns) n.push_back(of.checkedColumns[c]);
    }
};

Result<void> evaluateProduct(Reference& out, const Operands& o, std::span<const float> levels, std::uint64_t seed,
                             const Job& job) {
    const BenchWeights& w = *o.weights;
    const Place place{o.problem.wIsKn, o.problem.wIsKn ? o.n : o.k};
    const bool scaled = w.quantized.grid.kind != ScaleKind::None && !w.quantized.scales.empty();
    const auto scaleAt = [&](std::int64_t n, std::int64_t k) {
        return scaled ? w.quantized.scales[w.scaleIndex(place.row(n, k), place.column(n, k))] : 1.0f;
    };
    const bool outside = !levels.empty() && scaleIsOutside(w, o.problem.wIsKn);
    Fill fill;
    if (levels.empty())
        fill = filled([&](std::int64_t n, std::int64_t k) { return double(w.quantized.values[place.index(n, k)]); });
    else if (outside)
        fill = filled(
            [&](std::int64_t n, std::int64_t k) { return double(levels[w.quantized.codes[place.index(n, k)]]); });
    else
        fill = filled([&](std::int64_t n, std::int64_t k) {
            return double(levels[w.quantized.codes[place.index(n, k)]]) * double(scaleAt(n, k));
        });
    auto sums = products(o, out.checkedRows, out.checkedColumns, fill, job);
    if (!sums) return tl::unexpected(sums.error());
    out.y = std::move(*sums);

    const bool integers = o.problem.act && o.problem.act->format == "int8" && areIntegers(levels);
    const bool exact = outside && !o.xScale.empty() && o.bias.empty() && integers;
    if (exact)
        for (auto& list : out.exact) list.resize(out.y.size());
    for (std::size_t r = 0, i = 0; r < out.checkedRows.size(); ++r)
        for (std::size_t c = 0; c < out.checkedColumns.size(); ++c, ++i) {
            const std::int64_t n = out.checkedColumns[c];
            const float sw = outside ? scaleAt(n, 0) : 1.0f;
            const float sx = o.xScale.empty() ? 1.0f : o.xScale[std::size_t(out.checkedRows[r])];
            const double sum = out.y[i];
            out.y[i] = sum * double(sx) * double(sw) + (o.bias.empty() ? 0.0 : double(o.bias[std::size_t(n)]));
            if (!exact) continue;
            const float f = float(sum);
            out.exact[0][i] = (f * sx) * sw;
            out.exact[1][i] = (f * sw) * sx;
            out.exact[2][i] = f * (sx * sw);
            out.exact[3][i] = float(out.y[i]);
        }
    if (exact) return {};

    const Sampled some(out, o.k, seed);
    const auto squares = products(o, some.m, some.n, fill, job, true);
    if (!squares) return tl::unexpected(squares.error());
    double terms = 0, power = 0;
    for (std::size_t r = 0; r < some.m.size(); ++r)
        for (std::size_t c = 0; c < some.n.size(); ++c) {
            const double sw = outside ? scaleAt(some.n[c], 0) : 1.0f;
            const double sx = o.xScale.empty() ? 1.0f : o.xScale[std::size_t(some.m[r])];
            terms += (*squares)[r * some.n.size() + c] * sx * sx * sw * sw;
            const double y = out.y[some.rows[r] * out.checkedColumns.size() + some.columns[c]];
            power += y * y;
        }
    if (power > 0) out.cancellation = std::clamp(terms / power, 1.0, kMostCancellation);
    return {};
}

/// Measures the error of the format, on at most an eighth of a second of products.
Result<void> measureFormat(Reference& out, const Operands& o, std::uint64_t seed, const Job& job) {
    if (o.weights->levels.empty() && o.weights->quantized.spec.format == "f32") {
        out.formatNmse = 0;
        return {};
    }
    const Place place{o.problem.wIsKn, o.problem.wIsKn ? o.n : o.k};
    const Sampled some(out, o.k, seed);
    const auto& [rows, columns, m, n] = some;
    const auto& values = *o.weights->original;
    const auto whole = products(
        o, m, n, filled([&](std::int64_t a, std::int64_t k) { return double(values[place.index(a, k)]); }), job);
    if (!whole) return tl::unexpected(whole.error());
    double error = 0, power = 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const double sx = o.xScale.empty() ? 1.0 : double(o.xScale[std::size_t(m[r])]);
            const double bias = o.bias.empty() ? 0.0 : double(o.bias[std::size_t(n[c])]);
            const double y = (*whole)[r * columns.size() + c] * sx + bias;
            const double e = out.y[rows[r] * out.checkedColumns.size() + columns[c]] - y;
            error += e * e;
            power += y * y;
        }
    if (power > 0) out.formatNmse = error / power;
    return {};
}

/// out[n][k] = level x scale, one f32 multiplication.
void evaluateWeights(Reference& out, const Operands& o, std::span<const float> levels) {
    const BenchWeights& w = *o.weights;
    out.y.resize(out.checked());
    out.exact[0].resize(out.y.size());
    const bool scaled = w.quantized.grid.kind != ScaleKind::None && !w.quantized.scales.empty();
    double error = 0, power = 0;
    for (std::size_t r = 0, i = 0; r < out.checkedRows.size(); ++r)
        for (std::size_t c = 0; c < out.checkedColumns.size(); ++c, ++i) {
            const std::int64_t row = out.checkedRows[r], column = out.checkedColumns[c];
            const auto at = std::size_t(row * o.k + column);
            const float level = levels.empty() ? w.quantized.values[at] : levels[w.quantized.codes[at]];
            const float scale = scaled ? w.quantized.scales[w.scaleIndex(row, column)] : 1.0f;
            out.exact[0][i] = level * scale;
            out.y[i] = double(level) * double(scale);
            const double x = double((*w.original)[at]);
            error += (out.y[i] - x) * (out.y[i] - x);
            power += x * x;
        }
    if (power > 0) out.formatNmse = error / power;
}

} // namespace

Result<Reference> evaluateReference(const Operands& o, std::uint64_t seed, const Job& job, std::uint64_t fullProducts,
                                    std::span<const float> levels) {
    Reference out;
    const std::vector<float>& own = o.weights->levels;
    if (levels.empty()) levels = own;
    if (levels.size() != own.size())
        return fail(fmt::format("The variant gives {} levels for codes of {}.", levels.size(), own.size()));
    const bool product = o.problem.op == "matmul";
    out.rows = product ? o.m : o.n;
    out.columns = product ? o.n : o.k;
    const double work = product ? double(o.m) * double(o.n) * double(o.k) : 0;
    if (!product) {
        // Up to 2^26 elements all of a weight is compared; above, a sample of rows.
        const auto most =
            std::size_t(std::max<std::int64_t>(64, (std::int64_t(1) << 26) / std::max<std::int64_t>(1, o.k)));
        out.checkedRows = sample(o.n, isQuantize(o.problem) ? std::size_t(o.n) : most, seed);
        out.checkedColumns = sample(o.k, std::size_t(o.k), seed);
    } else if (work <= double(fullProducts)) {
        out.checkedRows = sample(o.m, std::size_t(o.m), seed);
        out.checkedColumns = sample(o.n, std::size_t(o.n), seed);
    } else {
        out.checkedRows = sample(o.m, kSampledRows, seed);
        const double room = double(kSampledProducts) / (double(out.checkedRows.size()) * double(o.k));
        out.checkedColumns = sample(o.n, std::size_t(std::clamp(room, 256.0, 1e9)), seed + 2);
    }
    if (isQuantize(o.problem)) {
        Reference part; // the error of the format, on some rows
        part.checkedRows = sample(o.n, kSampledRows, seed);
        part.checkedColumns = out.checkedColumns;
        evaluateWeights(part, o, levels);
        out.formatNmse = part.formatNmse;
        out.integer = true;
        return out;
    }
    if (!product) {
        evaluateWeights(out, o, levels);
        return out;
    }
    if (auto done = evaluateProduct(out, o, levels, seed, job); !done) return tl::unexpected(done.error());
    if (auto done = measureFormat(out, o, seed, job); !done) return tl::unexpected(done.error());
    return out;
}

} // namespace qs
