// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a sensitivity is measured of: a matrix, a role in all layers, or a layer.

#include "core/eval/network/network_weights.h"

#include <set>

namespace qs::eval {

/// Matrices that change together.
struct Unit {
    std::string name;                  ///< of the tensor; or the role, "down_proj"; or the layer, "layer 3"
    std::vector<LayerMatrix> matrices; ///< in the order of layers
    int layer = -1;                    ///< -1: in several layers, or outside of them
    std::string role;                  ///< empty: several roles

    /// Those of its matrices; one behind the last for the head.
    std::set<std::size_t> layers() const;
    bool hasEmbedding() const;
    std::size_t values() const; ///< of all its matrices
};

struct Grouping {
    const char* id;
    const char* title;
    /// Matrices for which it gives the same text are a unit of this name.
    std::string (*unitOf)(const LayerMatrix& matrix, const TensorPlace& place);
};
std::span<const Grouping> groupings(); ///< the first: every matrix is a unit
/// Null if there is no such grouping.
const Grouping* findGrouping(std::string_view id);

/// In the order of their first matrix.
std::vector<Unit> unitsOf(std::span<const LayerMatrix> matrices, const Grouping& by);

} // namespace qs::eval
