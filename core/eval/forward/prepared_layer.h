// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// One layer of a network, ready to run: its matrices are held once, repacked for products.

#include "core/eval/forward/attention.h"
#include "core/eval/forward/experts.h"
#include "core/eval/forward/feed_forward.h"

#include <optional>

namespace qs::eval {

class PreparedLayer {
public:
    /// Passes must use rooms with the same sizes and workers as `room`. Rows of positions below `first` are not
    /// computed; the last layer of a network uses this, because nothing reads these rows. With `keepsExperts` the
    /// experts that a pass has loaded stay in memory for the next pass.
    PreparedLayer(const Network& network, LayerWeights weights, const LayerPlan& plan, const PassRoom& room,
                  std::size_t first = 0, bool keepsExperts = false);
    PreparedLayer(const PreparedLayer&) = delete;
    PreparedLayer& operator=(const PreparedLayer&) = delete;

    /// Changes `x`, [tokens, hidden], in place. It holds whole chunks, but the last one may be shorter. Rows that are
    /// not needed do not change. Errors: the job is cancelled, or an expert cannot be loaded.
    Result<void> operator()(std::span<float> x, PassRoom& room, const Job& job, const InputTap& tap = {}) const;

private:
    bool attend(float* x, std::size_t tokens, PassRoom& room, const Job& job, const InputTap& tap) const;
    Result<void> mix(std::span<float> x, PassRoom& room, const Job& job, const InputTap& tap) const;
    void enter(const float* x, std::size_t tokens, std::span<const float> norm, std::span<const float> bias,
               const PassRoom& room, std::span<float> into) const;
    void leave(std::span<float> results, std::span<const float> norm, std::span<const float> bias, const PassRoom& room,
               float* x) const;
    const Network& net_;
    LayerWeights w_; ///< norms and biases; the matrices were moved out
    Tail tail_;
    Attention attention_;
    std::optional<FeedForward> feedForward_;
    std::optional<Experts> experts_; ///< in place of feedForward_
};

} // namespace qs::eval
