// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/product_lab.h"

#include "core/base/text.h"
#include "core/value/figure.h"
#include "core/value/product.h"
#include "core/value/shape_operations.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::value {
namespace {

// fp8 and int8 have scales per channel by default, as in qwix and AQT.
constexpr LabPreset kPresets[] = {
    {"fp8_full",
     "fp8_full (qwix)",
     "Weights and activations e4m3, gradients e5m2; the backward products use the forward's quantized X and W.",
     {"fp8_e4m3", "fp8_e4m3", "fp8_e5m2", "forward", "forward", "fp8_e5m2"}},
    {"aqt_fp8_full",
     "fp8_full (AQT)",
     "Forward e4m3, both backward products e5m2, one scale per tensor.",
     {"fp8_e4m3:scale=tensor", "fp8_e4m3:scale=tensor", "fp8_e5m2:scale=tensor", "fp8_e5m2:scale=tensor",
      "fp8_e5m2:scale=tensor", "fp8_e5m2:scale=tensor"}},
    {"aqt_fp8",
     "fp8 forward (AQT)",
     "Only the forward product, e4m3.",
     {"fp8_e4m3", "fp8_e4m3", "keep", "keep", "keep", "keep"}},
    {"int8",
     "int8 (AQT)",
     "Forward and dX in int8, dW kept, as MaxText's int8 without local shards.",
     {"int8", "int8", "int8", "int8", "keep", "keep"}},
    {"int8_stochastic",
     "int8, stochastic gradients",
     "All three products in int8; gradients are rounded stochastically.",
     {"int8", "int8", "int8:round=stochastic,1", "int8", "int8", "int8:round=stochastic,2"}},
    {"int8_tensor",
     "int8, per-tensor scales",
     "All six operands with one scale per tensor.",
     {"int8:axis=0,1", "int8:axis=0,1", "int8:axis=0,1", "int8:axis=0,1", "int8:axis=0,1", "int8:axis=0,1"}},
    {"constant_bounds",
     "fp8, constant bounds",
     "fp8_full with a fixed bound for each operand instead of a measured one; edit the bounds to the model.",
     {"fp8_e4m3:scale=tensor:calib=fixed,32", "fp8_e4m3:scale=tensor:calib=fixed,1",
      "fp8_e5m2:scale=tensor:calib=fixed,0.02", "fp8_e5m2:scale=tensor:calib=fixed,1",
      "fp8_e5m2:scale=tensor:calib=fixed,32", "fp8_e5m2:scale=tensor:calib=fixed,0.02"}},
    {"w4a8",
     "int4 weights, int8 activations",
     "Serving: weights in blocks of 64, activations per token.",
     {"int8", "int4", "keep", "keep", "keep", "keep"}},
    {"nf4",
     "nf4 weights only",
     "QLoRA: nf4 weights in both products that read them.",
     {"keep", "nf4", "keep", "forward", "keep", "keep"}},
};

constexpr const char* kTitles[] = {"Y: X", "Y: W", "dX: G", "dX: W", "dW: X", "dW: G"};

struct Quantized {
    Tensor value;
    std::optional<Deviation> error; ///< nullopt: the operand is not quantized
    std::string refused;
};

Tensor transposed(const Tensor& x) { return *transpose(x, std::vector{1, 0}); }

Quantized quantizedOperand(const Tensor& x, const std::string& choice, const Quantized* forward, bool turned,
                           const Job& job) {
    if (choice == "keep") return {x, std::nullopt, {}};
    if (choice == "forward") {
        if (!forward) return {{}, {}, "there is no forward value of this operand: use keep or a spec"};
        if (!forward->refused.empty()) return {{}, {}, forward->refused};
        return {turned ? transposed(forward->value) : forward->value, forward->error, {}};
    }
    const auto spec = parseSpec(choice);
    if (!spec) return {{}, {}, spec.error().sentence()};
    const auto codes = quantized(x, *spec, job);
    if (!codes) return {{}, {}, codes.error().sentence()};
    Tensor value = materialized(*codes);
    const Deviation error = deviation(x.values, value.values);
    return {std::move(value), error, {}};
}

} // namespace

const char* title(LabOperand operand) { return kTitles[int(operand)]; }
std::span<const LabPreset> labPresets() { return kPresets; }
LabChoices choicesOf(const LabPreset& preset) {
    LabChoices out;
    for (std::size_t i = 0; i < kLabOperands; ++i) out[i] = preset.choices[i];
    return out;
}

const Columns<LabRow>& labColumns() {
    using R = LabRow;
    constexpr auto none = Direction::None, lower = Direction::LowerIsBetter;
    const auto nmse = [](const char* id, const char* title, const char* tip, std::optional<Deviation> R::*field) {
        return columnOf<R>({id, title, "", Show::Significant, 3, lower, tip},
                           [field](const R& r) { return figureOf(r.*field, &Deviation::nmse); });
    };
    static const Columns<R> columns = {
        columnOf<R>({"product", "Product", "", Show::Text, 0, none, "Which of the layer's three products"},
                    &R::product),
        columnOf<R>({"formula", "Formula", "", Show::Text, 0, none, "X [M,K], W [N,K], G [M,N]"}, &R::formula),
        columnOf<R>({"lhs", "Left", "", Show::Text, 0, none, "The left operand's spec"}, &R::lhs),
        columnOf<R>({"rhs", "Right", "", Show::Text, 0, none, "The right operand's spec"}, &R::rhs),
        nmse("lhs_nmse", "Left NMSE", "sum E^2 / sum W^2 of the left operand", &R::lhsError),
        nmse("rhs_nmse", "Right NMSE", "sum E^2 / sum W^2 of the right operand", &R::rhsError),
        nmse("nmse", "NMSE", "of the product against the f32 one", &R::error),
        columnOf<R>(
            {"sqnr_db", "SQNR", "dB", Show::Fixed, 2, Direction::HigherIsBetter, "-10 log10 NMSE of the product"},
            [](const R& r) { return figureOf(r.error, &Deviation::sqnrCell); }),
        columnOf<R>({"max_abs", "Max |error|", "", Show::Significant, 3, lower, "largest |E| of the product"},
                    [](const R& r) { return r.error ? Value(r.error->maxAbs) : Value(); }),
        columnOf<R>({"reason", "Reason", "", Show::Text, 0, none, "Why it was not measured"}, &R::reason),
        columnOf<R>({"kernel", "Kernel", "", Show::Text, 0, none,
                     "Which of our f32 kernels multiplied: the fastest here, by a measurement"},
                    &R::kernel),
    };
    return columns;
}

MemoryNeed labNeed(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
    const auto bytes = [n, k](std::uint64_t rows) {
        const std::uint64_t each = rows * k + n * k + rows * n, largest = std::max({rows * k, n * k, rows * n});
        return 20 * each + 12 * largest;
    };
    return {"These products", bytes, m, "rows"};
}

Result<std::vector<LabRow>> runLab(const LabPlan& plan, const Job& job) {
    const Tensor &x = plan.x, &w = plan.w, &g = plan.g;
    if (x.rank() != 2 || w.rank() != 2 || g.rank() != 2 || x.shape[1] != w.shape[1] || g.shape[0] != x.shape[0] ||
        g.shape[1] != w.shape[0])
        return fail(fmt::format("X {}, W {} and G {} do not fit: X is [M,K], W [N,K], G [M,N]", shapeText(x.shape),
                                shapeText(w.shape), shapeText(g.shape)));
    const auto need = labNeed(std::uint64_t(x.shape[0]), std::uint64_t(w.shape[0]), std::uint64_t(w.shape[1]));
    if (auto fits = fitsMemory(need); !fits) return tl::unexpected(fits.error());
    const Tensor xt = transposed(x), wt = transposed(w), gt = transposed(g);
    const auto& c = plan.choices;
    std::array<Quantized, kLabOperands> q;
    q[0] = quantizedOperand(x, c[0], nullptr, false, job);
    q[1] = quantizedOperand(w, c[1], nullptr, false, job);
    q[2] = quantizedOperand(g, c[2], nullptr, false, job);
    q[3] = quantizedOperand(wt, c[3], &q[1], true, job);
    q[4] = quantizedOperand(xt, c[4], &q[0], true, job);
    q[5] = quantizedOperand(gt, c[5], nullptr, false, job);
    struct Case {
        const char *product, *formula;
        const Tensor *lhs, *rhs;
        int left, right;
    };
    const Case cases[] = {{"Forward", "Y = X Wᵀ", &x, &w, 0, 1},
                          {"Input gradient", "dX = G W", &g, &wt, 2, 3},
                          {"Weight gradient", "dW = Gᵀ X", &gt, &xt, 5, 4}};
    std::vector<LabRow> rows;
    for (const Case& each : cases) {
        if (job.cancelled()) return cancelledError();
        const Quantized &left = q[std::size_t(each.left)], &right = q[std::size_t(each.right)];
        LabRow row{each.product,
                   each.formula,
                   c[std::size_t(each.left)],
                   c[std::size_t(each.right)],
                   left.error,
                   right.error,
                   std::nullopt,
                   {},
                   {}};
        row.reason = left.refused.empty() ? right.refused : left.refused;
        if (row.reason.empty()) {
            const auto m = std::size_t(each.lhs->shape[0]), n = std::size_t(each.rhs->shape[0]);
            const auto k = std::size_t(each.lhs->shape[1]);
            std::vector<float> should(m * n), is(m * n);
            if (!product(each.lhs->values.data(), each.rhs->values.data(), m, n, k, false, should.data(), job,
                         &row.kernel) ||
                !product(left.value.values.data(), right.value.values.data(), m, n, k, false, is.data(), job))
                return cancelledError();
            row.error = deviation(should, is);
            if (row.error->exact()) row.reason = "nothing is quantized: the product is exact";
        }
        rows.push_back(std::move(row));
        job.progress({double(rows.size()), 3, "Multiplying", rows.size(), 3});
    }
    return rows;
}

} // namespace qs::value
