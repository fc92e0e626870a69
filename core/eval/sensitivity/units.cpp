// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/sensitivity/units.h"

#include "core/base/rows.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

std::string tensorUnit(const LayerMatrix& matrix, const TensorPlace&) { return matrix.tensor->name; }
std::string roleUnit(const LayerMatrix&, const TensorPlace& place) { return place.role; }
std::string layerUnit(const LayerMatrix& matrix, const TensorPlace&) {
    return matrix.isOutside() ? std::string("outside of the layers") : fmt::format("layer {}", matrix.layer);
}
int layerOf(const LayerMatrix& matrix) { return matrix.isOutside() ? -1 : int(matrix.layer); }

constexpr Grouping kGroupings[] = {{"tensor", "Every matrix", tensorUnit},
                                   {"role", "Matrices of a role in all layers", roleUnit},
                                   {"layer", "All matrices of a layer", layerUnit}};

} // namespace

std::set<std::size_t> Unit::layers() const {
    std::set<std::size_t> out;
    for (const LayerMatrix& matrix : matrices)
        if (matrix.role != WeightRole::Embedding) out.insert(matrix.layer);
    return out;
}

bool Unit::hasEmbedding() const {
    return std::ranges::any_of(matrices, [](const LayerMatrix& one) { return one.role == WeightRole::Embedding; });
}

std::size_t Unit::values() const {
    std::size_t out = 0;
    for (const LayerMatrix& matrix : matrices) out += matrix.tensor->elements;
    return out;
}

std::span<const Grouping> groupings() { return kGroupings; }

const Grouping* findGrouping(std::string_view id) { return rowOf(kGroupings, id); }

std::vector<Unit> unitsOf(std::span<const LayerMatrix> matrices, const Grouping& by) {
    std::vector<Unit> out;
    for (const LayerMatrix& matrix : matrices) {
        const TensorPlace place = placeOf(matrix.tensor->name);
        const std::string name = by.unitOf(matrix, place);
        auto unit = std::ranges::find_if(out, [&](const Unit& u) { return u.name == name; });
        if (unit == out.end()) {
            out.push_back({name, {}, layerOf(matrix), place.role});
            unit = out.end() - 1;
        }
        if (unit->layer != layerOf(matrix)) unit->layer = -1;
        if (unit->role != place.role) unit->role.clear();
        unit->matrices.push_back(matrix);
    }
    return out;
}

} // namespace qs::eval
