// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Operations on rows of hidden states that every part of a layer uses.

#include "core/eval/forward/linear.h"
#include "core/eval/forward/workers.h"
#include "core/eval/network/network.h"
#include "core/eval/network/weight_matrix.h"

#include <span>

namespace qs::eval {

/// y = norm(x) * factor + bias over rows of `width`; `bias` may be empty. Sums are f64.
void normalize(const Network& network, std::span<const float> x, std::size_t width, std::span<const float> factor,
               std::span<const float> bias, float* y);

/// Adds `bias` to `rows` rows of its length; an empty bias adds nothing.
void addBias(std::span<const float> bias, std::size_t rows, float* y);

/// The products of `rows` rows with a matrix, which is released.
Linear prepared(WeightMatrix matrix, std::size_t rows, std::size_t outputs, std::size_t inputs, const Workers& workers);

} // namespace qs::eval
