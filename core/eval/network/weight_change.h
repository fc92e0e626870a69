// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Other values for some weights of a network, to see what they do to its output: quantized and decoded, with noise added,
// or those of another model.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

#include <functional>
#include <memory>

namespace qs::eval {

class LinearServer;
struct LayerWeights;
struct Network;

struct WeightChange {
    std::string name;   ///< for people: the spec, the recipe or the file
    std::string detail; ///< all settings, for provenance
    /// Whether the values of a weight change at all; null: none. The others are used as they are stored.
    std::function<bool(const TensorInfo& tensor)> touches;
    /// The new values, in the stored shape. `stored`: the values as they are.
    std::function<Result<std::vector<float>>(const TensorInfo& tensor, const TensorView& stored, const Job& job)>
        values;
    /// Another network, with its own configuration and weights, in place of this one; the other fields then have no effect.
    std::shared_ptr<const Model> network = nullptr;
    /// Whether the embedding, positions, the head and routers may change too; false: matrices of layers alone.
    bool everywhere = false;
    /// The spec under which a tensor that `touches` takes is quantized; empty: the values come otherwise.
    std::function<const QuantSpec*(const TensorInfo& tensor)> specOf = {};
    /// Whether each index of the first axis may get its new values alone, as a tensor [1, ...] of the same name. Null: never.
    std::function<bool(const TensorInfo& tensor)> byFirstAxis = {};
    /// Computes the products of the matrices of layers that change. Null: our own kernels, with what they decode to.
    std::shared_ptr<LinearServer> server = nullptr;
    /// Puts the weights of a layer in another order, under which the layer computes the same. Null: as they are.
    std::function<void(const Network& network, LayerWeights& weights)> rearranged = {};
};

/// All matrices of the layers quantized under one spec and decoded again.
WeightChange quantizedAs(QuantSpec spec);
/// Every matrix quantized under the spec that `specOf` gives for it, or kept where that is null, with the embedding and
/// the head: what a recipe would export.
WeightChange quantizedBy(std::string name, std::string detail,
                         std::function<const QuantSpec*(const TensorInfo& tensor)> specOf);
/// Another network, of any family, with the same vocabulary.
WeightChange replacedBy(std::shared_ptr<const Model> network, std::string name);

} // namespace qs::eval
