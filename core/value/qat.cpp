// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/qat.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/value/deviation.h"
#include "core/value/product.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace qs::value {
namespace {

constexpr double kMomentum = 0.9, kSquares = 0.99, kTiny = 1e-30;
constexpr double kPi = 3.14159265358979323846;
constexpr double kDiverged = 2; ///< loss / best loss above which the learning rate is too high

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
    return sum;
}

/// Computes E X^T X and the power of E X^T for one X. For many inputs X^T X is computed once.
class OutputError {
public:
    OutputError(const Tensor& x, std::size_t rows, const Job& job)
        : rows_(rows), m_(std::size_t(x.shape[0])), k_(std::size_t(x.shape[1])) {
        if (2 * m_ < k_) {
            projected_.resize(rows_ * m_);
            forth_.emplace(x.values.data(), rows_, m_, k_, false);
            back_.emplace(x.values.data(), rows_, k_, m_, true);
            return;
        }
        std::vector<float> transposed(x.values.size()), gram(k_ * k_);
        for (std::size_t i = 0; i < m_; ++i)
            for (std::size_t j = 0; j < k_; ++j) transposed[j * m_ + i] = x.values[i * k_ + j];
        made_ = product(transposed.data(), x.values.data(), k_, k_, m_, true, gram.data(), job);
        if (made_) back_.emplace(gram.data(), rows_, k_, k_, true);
    }

    /// False if cancelled.
    bool run(const std::vector<float>& error, std::vector<float>& gradient, double& power, const Job& job) {
        if (!made_) return false;
        gradient.resize(error.size());
        if (!forth_) {
            if (!back_->run(error.data(), gradient.data(), job)) return false;
            power = std::max(0.0, dot(error, gradient));
            return true;
        }
        if (!forth_->run(error.data(), projected_.data(), job)) return false;
        power = dot(projected_, projected_);
        return back_->run(projected_.data(), gradient.data(), job);
    }

private:
    std::size_t rows_, m_, k_;
    bool made_ = true;
    std::vector<float> projected_;
    std::optional<PreparedProduct> forth_, back_;
};

/// Adam: running means of the gradient and of its square.
class Moments {
public:
    explicit Moments(std::size_t n) : first_(n), second_(n) {}
    /// One step for all values along 2 * gradient / whole.
    void step(const std::vector<float>& gradient, double whole, double rate, std::vector<float>& values) {
        ++steps_;
        const double m = 1 - std::pow(kMomentum, steps_), s = 1 - std::pow(kSquares, steps_);
        parallelFor(values.size(), 1 << 16, [&](std::size_t begin, std::size_t end, unsigned) {
            for (std::size_t i = begin; i < end; ++i) {
                const double g = 2 * double(gradient[i]) / whole;
                const double a = kMomentum * double(first_[i]) + (1 - kMomentum) * g;
                const double b = kSquares * double(second_[i]) + (1 - kSquares) * g * g;
                first_[i] = float(a), second_[i] = float(b);
                values[i] -= float(rate * (a / m) / (std::sqrt(b / s) + kTiny));
            }
        });
    }

private:
    std::vector<float> first_, second_;
    int steps_ = 0;
};

Result<void> check(const QatPlan& plan) {
    const Shape &w = plan.weight.shape, &x = plan.inputs.shape;
    if (w.empty() || x.size() != 2 || x[1] != w.back())
        return fail(fmt::format("inputs of {} do not fit weights of {}: the last axes must have equal sizes",
                                shapeText(x), shapeText(w)));
    if (plan.weight.values.empty() || plan.inputs.values.empty()) return fail("there is nothing to train on");
    if (plan.steps < 1 || plan.steps > 1000000)
        return fail(fmt::format("the number of steps must be 1 to 1000000, not {}", plan.steps));
    if (!(plan.rate > 0) || plan.rate > 1)
        return fail(fmt::format("the rate must be above 0 and at most 1, not {}", plan.rate));
    return {};
}

} // namespace

MemoryNeed qatNeed(std::uint64_t elements, std::uint64_t columns, std::uint64_t rows) {
    const auto bytes = [elements, k = std::max<std::uint64_t>(1, columns)](std::uint64_t m) {
        const std::uint64_t whole = 2 * m < k ? 4 * (elements / k) * m + 12 * m * k : 12 * k * k + 8 * m * k;
        return 40 * elements + whole;
    };
    return {"Training this tensor", bytes, rows, "rows of inputs"};
}

Result<QatResult> trainQat(const QatPlan& plan, const Job& job, const std::function<bool(const QatStep&)>& onStep) {
    if (auto good = check(plan); !good) return tl::unexpected(good.error());
    // Memory that is loaded already counts as needed but is no longer available: the estimate is on the safe side.
    const auto rows = std::uint64_t(plan.inputs.shape[0]), columns = std::uint64_t(plan.inputs.shape[1]);
    if (auto fits = fitsMemory(qatNeed(plan.weight.values.size(), columns, rows)); !fits)
        return tl::unexpected(fits.error());
    const std::vector<float>& w = plan.weight.values;
    const auto k = std::size_t(plan.weight.shape.back());
    OutputError outputs(plan.inputs, w.size() / k, job);
    std::vector<float> error(w.size()), gradient;
    Moments moments(w.size());
    double whole = 0, power = 0;
    if (!outputs.run(w, gradient, whole, job)) return cancelledError();
    if (!(whole > 0) || !std::isfinite(whole))
        return fail("the layer's output is 0 or not finite on these inputs: its error has no measure");
    double unit = plan.rate * std::sqrt(dot(w, w) / double(w.size()));

    QatResult out;
    out.spec = plan.spec;
    out.latent = plan.weight;
    out.latent.dtype = DType::F32;
    Tensor latent = out.latent;
    const SharedPlan encode = planFor(latent, plan.spec);
    for (int step = 0;; ++step) {
        const auto forward = straightThrough(latent, encode, job);
        if (!forward) return tl::unexpected(forward.error());
        for (std::size_t i = 0; i < w.size(); ++i) error[i] = forward->value.values[i] - w[i];
        if (!outputs.run(error, gradient, power, job)) return cancelledError();
        const double loss = power / whole;
        if (!std::isfinite(loss)) return fail(fmt::format("the loss of step {} is not finite", step));
        if (step == 0) out.startLoss = loss;
        if (step == 0 || loss < out.bestLoss) {
            out.bestLoss = loss, out.bestStep = step, out.latent.values = latent.values;
            out.weightNmse = deviation(w, forward->value.values).nmse();
        }
        out.curve.push_back({step, loss, out.bestLoss});
        job.progress({double(step), double(plan.steps), "Training the latent weights", std::uint64_t(step),
                      std::uint64_t(plan.steps)});
        out.stopped = onStep && !onStep(out.curve.back()) && step < plan.steps;
        if (out.stopped || step == plan.steps) return out;
        if (loss > kDiverged * out.bestLoss) {
            // Continue from the best step with half the learning rate.
            unit /= 2;
            latent.values = out.latent.values;
            moments = Moments(w.size());
            continue;
        }
        // The backward pass of the estimator is the identity: dL/dV = dL/dQ = 2 E X^T X / ||X W^T||^2.
        const double rate = unit * 0.5 * (1 + std::cos(kPi * step / plan.steps));
        moments.step(gradient, whole, rate, latent.values);
    }
}

} // namespace qs::value
