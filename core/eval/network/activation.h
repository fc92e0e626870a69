// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The functions between the two products of an MLP, under the names that config.json has for them.

#include <cstddef>
#include <span>
#include <string_view>

namespace qs::eval {

struct Activation {
    std::span<const std::string_view> names; ///< the first is its id
    /// y = activation(x) * factor over n values; a null factor is 1. y may be x.
    void (*apply)(const float* x, const float* factor, std::size_t n, float* y);
};
std::span<const Activation> activations();
/// Null: no row has the name.
const Activation* findActivation(std::string_view name);

} // namespace qs::eval
