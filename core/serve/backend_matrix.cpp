// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/serve/serving.h"

#include "kernels/small_float.h"

#include <cstring>
#include <limits>

namespace qs::serve {

BackendMatrix::~BackendMatrix() {
    if (kernel_ && serving_->backend()) serving_->backend()->destroy(*kernel_);
}

bool BackendMatrix::prepare(std::size_t rows) {
    problem_.m = std::int64_t(rows);
    const auto taken = serving_->take(problem_);
    if (!taken) return false;
    if (!taken->declined.empty()) {
        serving_->fail({RowState::Declined, taken->declined});
        return false;
    }
    const auto kernel = serving_->backend()->prepare(0, problem_, taken->variant, weights_);
    if (!kernel) {
        serving_->fail(kernel.error());
        return false;
    }
    kernel_ = kernel->handle;
    used_->insert(taken->variant);
    weights_.clear();
    return true;
}

bool BackendMatrix::run(const float* x, std::size_t rows, float* y, const Job& job) {
    if (job.cancelled() || !serving_->backend()) return false;
    if (!kernel_ && !prepare(rows)) return false;
    auto act = serving_->shared("act", act_.dtype, {problem_.m, problem_.k});
    auto out = serving_->shared("out", "f32", {problem_.m, problem_.n});
    for (const auto* tensor : {&act, &out})
        if (!*tensor) {
            serving_->fail({RowState::Failed, tensor->error().sentence()});
            return false;
        }
    const std::size_t values = rows * inputs();
    if (std::string_view(act_.dtype) == "bf16")
        for (std::size_t i = 0; i < values; ++i) {
            const std::uint16_t half = f32ToBf16(x[i]);
            std::memcpy(act->data() + i * sizeof half, &half, sizeof half);
        }
    else
        std::memcpy(act->data(), x, values * sizeof(float));
    // Outputs that the backend does not write stay NaN, and are counted as not finite.
    std::fill_n(reinterpret_cast<float*>(out->data()), rows * outputs(), std::numeric_limits<float>::quiet_NaN());
    const auto done = serving_->backend()->execute(*kernel_, std::span(&*act, 1), std::span(&*out, 1));
    if (!done) {
        serving_->fail(done.error());
        return false;
    }
    std::memcpy(y, out->data(), rows * outputs() * sizeof(float));
    return true;
}

} // namespace qs::serve
