// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rotary position embeddings (Su et al. 2021) with the scalings of transformers' modeling_rope_utils.py.

#include "core/eval/network/config.h"
#include "core/eval/network/network.h"

#include <nlohmann/json_fwd.hpp>

namespace qs::eval {

/// `dimensions`: of a head that are turned, an even number. Reads rope_theta and ropeObject().
/// `theta`: what holds without a key. Types: a registry in rope.cpp; others are refused by name.
/// `layers`: "full_attention" or "sliding_attention", where rope_parameters differ between these.
Rope readRope(Config& config, std::int64_t dimensions, double theta, const char* layers = "full_attention");
/// What the configuration says of angles: rope_scaling where it says anything, else rope_parameters, as transformers
/// 5.23 takes them (modeling_rope_utils.py, convert_rope_params_to_dict). An empty object where there is neither.
const nlohmann::json& ropeObject(Config& config);
/// Whether they are given for windowed layers apart.
bool hasWindowRope(Config& config);
/// frequency[i] = theta^(-2i / dimensions).
Rope plainRope(std::int64_t dimensions, double theta);

/// Turns the pairs of one head in place. `values`: head size, of which the first 2 * frequencies are turned.
/// `sines`, `cosines`: of position * frequency, times Rope::scale, rounded to f32.
void turn(float* values, const float* sines, const float* cosines, std::size_t frequencies, bool pairsAreNeighbours);

} // namespace qs::eval
