// SPDX-License-Identifier: GPL-3.0-or-later
// GPTQ for any spec with codes and scales. Columns are rounded one after another. The error of a column, divided by the
// diagonal of U, times the row of U, is subtracted from the columns after it. U^T U is the inverse of the damped
// Hessian.
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/layouts/measured_tensor.h"
#include "core/model/output_axis.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/encode/encode.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"
#include "core/solve/gram.h"
#include "core/solve/inverse_factor.h"
#include "core/solve/problem.h"
#include "core/value/product.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace qs::solve {
namespace {

constexpr std::size_t kRows = 64; ///< rows that a core rounds at once

/// The scales of the values before anything is rounded.
Result<std::vector<GroupParams>> measured(const TensorView& view, const QuantSpec& spec, Solved& solved,
                                          const Job& job) {
    auto tensor = MeasuredTensor::of(view, spec, job);
    if (!tensor) return tl::unexpected(tensor.error());
    auto decided = std::make_shared<Solved>();
    decided->levels = solved.levels;
    tensor->setSolved(decided);
    const auto pass = tensor->pass();
    if (!pass) return tl::unexpected(pass.error());
    solved.tensorScale = (*pass)->tensorScale();
    if (!(*pass)->shared().empty()) return (*pass)->shared();
    return measureScales(*tensor);
}

class Gptq {
public:
    Gptq(const Problem& problem, const Job& job)
        : problem_(problem), job_(job), spec_(problem.spec), shape_(problem.weight.info->shape),
          grid_(*scaleGrid(spec_, *problem.weight.info)), inputsFirst_(isInputsFirst(*problem.weight.info)),
          k_(std::size_t(inputsOfLayer(*problem.weight.info))), rows_(problem.weight.info->elements / k_),
          w_(outputsFirst(*problem.weight.info, weightsOf(problem.weight))) {}

    Result<Solved> run(std::string& remark) {
        auto levels = weightedLevels(problem_.weight, spec_, meanSquares(problem_.inputs), job_);
        if (!levels) return tl::unexpected(levels.error());
        out_.levels = std::move(*levels);
        out_.info = f32Info(*problem_.weight.info);
        auto hessian = gram(problem_.inputs, 0, k_, job_);
        for (double& h : hessian) h *= 2;
        if (auto ok = decideScales(hessian, remark); !ok) return tl::unexpected(ok.error());
        if (auto ok = factorize(std::move(hessian)); !ok) return tl::unexpected(ok.error());
        if (auto ok = roundAll(); !ok) return tl::unexpected(ok.error());
        return std::move(out_);
    }

private:
    /// Sets columns without input to 0, and measures the scales that are not measured group by group. Scales along
    /// whole rows are those of the weights as they came; those of groups are measured without such columns.
    Result<void> decideScales(std::vector<double>& hessian, std::string& remark) {
        const bool perBlock = grid_.kind == ScaleKind::Block && grid_.contiguous;
        // Groups of a matrix [inputs, outputs] lie along its outputs: one column of the work.
        follows_ = perBlock && !byActivation() && !hasTensorScale(spec_) && !inputsFirst_;
        if (!perBlock)
            if (auto ok = measureAll(); !ok) return ok;
        std::size_t dead = 0;
        for (std::size_t j = 0; j < k_; ++j)
            if (hessian[j * k_ + j] == 0) {
                ++dead, hessian[j * k_ + j] = 1;
                for (std::size_t row = 0; row < rows_; ++row) w_[row * k_ + j] = 0;
            }
        if (dead) remark = fmt::format("{} columns without input set to 0", dead);
        if (follows_) out_.params.resize(std::size_t(grid_.scales));
        return perBlock && !follows_ ? measureAll() : Result<void>();
    }

    /// Puts the columns into the order of the work, and makes U of the damped Hessian.
    Result<void> factorize(std::vector<double> hessian) {
        order_.resize(k_);
        std::iota(order_.begin(), order_.end(), std::size_t(0));
        if (byActivation()) {
            std::ranges::stable_sort(
                order_, [&](std::size_t a, std::size_t b) { return hessian[a * k_ + a] > hessian[b * k_ + b]; });
            permute(hessian);
        }
        double mean = 0;
        for (std::size_t j = 0; j < k_; ++j) mean += hessian[j * k_ + j] / double(k_);
        for (std::size_t j = 0; j < k_; ++j) hessian[j * k_ + j] += problem_.settings.damp.value_or(0.01) * mean;
        const auto factor = inverseFactor(std::move(hessian), k_, job_);
        if (!factor) return tl::unexpected(factor.error());
        factor_.assign(factor->begin(), factor->end());
        return {};
    }

    Result<void> roundAll() {
        out_.values.resize(w_.size());
        encoders_.assign(workerCount(), RunEncoder(problem_.plan, DType::F32));
        run_ = problem_.plan->run();
        if (out_.levels) useLevels(run_, *out_.levels);
        const auto wide = std::size_t(problem_.settings.block.value_or(128));
        for (std::size_t first = 0; first < k_; first += wide) {
            if (job_.cancelled()) return cancelledError();
            job_.progress({double(first), double(k_), "GPTQ of " + escapeForPeople(out_.info.name), first, k_});
            const std::size_t count = std::min(wide, k_ - first);
            std::vector<float> errors(rows_ * count);
            parallelFor((rows_ + kRows - 1) / kRows, 1, [&](std::size_t from, std::size_t to, unsigned worker) {
                for (std::size_t part = from; part < to; ++part)
                    roundBlock(first, count, part * kRows, std::min(rows_, (part + 1) * kRows), errors, worker);
            });
            if (!passOn(first, count, errors)) return cancelledError();
        }
        return {};
    }

    bool byActivation() const { return problem_.settings.byActivation.value_or(false); }

    Result<void> measureAll() {
        TensorInfo info = out_.info;
        const std::vector<float> stored = asStored(info, w_);
        const TensorView view{&info, std::as_bytes(std::span(stored)), nullptr};
        auto params = measured(view, spec_, out_, job_);
        if (!params) return tl::unexpected(params.error());
        out_.params = std::move(*params);
        return {};
    }

    void permute(std::vector<double>& hessian) {
        const auto at = [&](std::size_t i, std::size_t j) { return hessian[std::max(i, j) * k_ + std::min(i, j)]; };
        std::vector<double> h(hessian.size());
        for (std::size_t i = 0; i < k_; ++i)
            for (std::size_t j = 0; j <= i; ++j) h[i * k_ + j] = at(order_[i], order_[j]);
        hessian = std::move(h);
        std::vector<float> line(k_);
        for (std::size_t row = 0; row < rows_; ++row) {
            std::copy_n(&w_[row * k_], k_, line.begin());
            for (std::size_t j = 0; j < k_; ++j) w_[row * k_ + j] = line[order_[j]];
        }
    }

    /// Index of the scale of a weight, given its output and its input.
    std::size_t scaleIndex(std::size_t output, std::size_t input) const {
        if (out_.params.size() == 1) return 0;
        const std::size_t row = inputsFirst_ ? input : output, column = inputsFirst_ ? output : input;
        const std::size_t width = inputsFirst_ ? rows_ : k_;
        if (!grid_.contiguous)
            return std::size_t(stridedScaleIndex(grid_, shape_, std::int64_t(row))) +
                   column / std::size_t(columnsPerScale(grid_));
        const auto group = std::size_t(grid_.group);
        if (grid_.kind == ScaleKind::Block) return row * ((width + group - 1) / group) + column / group;
        return (row * width + column) / group;
    }

    /// Rows [begin, end), columns [first, first + count) in the order of the work; columns of the block lie together.
    void roundBlock(std::size_t first, std::size_t count, std::size_t begin, std::size_t end,
                    std::vector<float>& errors, unsigned worker) {
        const std::size_t n = end - begin;
        const auto group = std::size_t(grid_.group);
        RunEncoder& encoder = encoders_[worker];
        std::vector<float> columns(count * n), decoded(n), error(n);
        std::vector<GroupParams> params(n);
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t i = 0; i < count; ++i) columns[i * n + r] = w_[(begin + r) * k_ + first + i];
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = first + i, column = order_[at];
            float* x = &columns[i * n];
            for (std::size_t r = 0; r < n; ++r) {
                GroupParams& param = out_.params[scaleIndex(begin + r, column)];
                // Scales are measured after the corrections of earlier blocks, as in the program of the authors.
                if (follows_ && at % group == 0)
                    param = encoder.params(run_, &w_[(begin + r) * k_ + at], std::min(group, k_ - at));
                params[r] = param;
                out_.values[inputsFirst_ ? column * rows_ + begin + r : (begin + r) * k_ + column] = x[r];
            }
            Run run = run_;
            run.x = x, run.n = n, run.group = 1, run.given = params.data(), run.givenStride = 1;
            RunOut out;
            out.decoded = decoded.data();
            encoder(run, out);
            const float* factor = &factor_[at * k_ + first];
            for (std::size_t r = 0; r < n; ++r) {
                error[r] = (x[r] - decoded[r]) / factor[i];
                errors[(begin + r) * count + i] = error[r];
            }
            for (std::size_t j = i + 1; j < count; ++j)
                for (std::size_t r = 0; r < n; ++r) columns[j * n + r] -= error[r] * factor[j];
        }
    }

    /// Subtracts the errors of a block from the columns after it.
    bool passOn(std::size_t first, std::size_t count, const std::vector<float>& errors) {
        const std::size_t from = first + count, left = k_ - from;
        if (left == 0) return true;
        std::vector<float> factor(count * left), change;
        for (std::size_t i = 0; i < count; ++i) std::copy_n(&factor_[(first + i) * k_ + from], left, &factor[i * left]);
        const std::size_t slice = std::max<std::size_t>(1, (std::size_t(1) << 22) / left);
        for (std::size_t row = 0; row < rows_; row += slice) {
            const std::size_t n = std::min(slice, rows_ - row);
            change.resize(n * left);
            if (!value::product(&errors[row * count], factor.data(), n, left, count, true, change.data(), job_))
                return false;
            for (std::size_t r = 0; r < n; ++r)
                for (std::size_t j = 0; j < left; ++j) w_[(row + r) * k_ + from + j] -= change[r * left + j];
        }
        return true;
    }

    const Problem& problem_;
    const Job& job_;
    const QuantSpec& spec_;
    const std::vector<std::int64_t>& shape_;
    ScaleGrid grid_;
    bool inputsFirst_;               ///< the weights are stored [inputs, outputs]
    std::size_t k_, rows_;           ///< inputs, outputs
    std::vector<float> w_, factor_;  ///< w_: [outputs, inputs]
    std::vector<std::size_t> order_; ///< columns in the order in which they are rounded
    std::vector<RunEncoder> encoders_;
    Run run_;
    bool follows_ = false; ///< scales are measured group by group while the columns are rounded
    Solved out_;
};

} // namespace

Result<void> gptqAccepts(const QuantSpec& spec, const Settings&) {
    const auto refuse = [&](std::string_view why, std::string_view use) {
        return fail(fmt::format("gptq rounds one column at a time, and {} {}: use {}", specText(spec), why, use));
    };
    if (spec.traits().kind == FormatKind::Identity) return refuse("has no codes", "int4:block=128");
    if (codecOf(spec)) return refuse("encodes blocks as a whole", "int4:block=32:sym=no, or --solver awq");
    if (blocksCrossRows(spec)) return refuse("has blocks that cross rows", "another dialect");
    if (spec.sparsity) return refuse("drops values by their neighbours", "a spec without sparse");
    if (spec.randomSeed()) return refuse("rounds at random", "round=nearest");
    return {};
}

Result<Solved> runGptq(const Problem& problem, std::string& remark, const Job& job) {
    return Gptq(problem, job).run(remark);
}

} // namespace qs::solve
