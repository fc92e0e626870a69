// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The order of a model's tensors: names, groups, layers and roles. Built once on a worker thread while the model opens,
// because 100,000 names take longer than a frame; then shared and never changed.

#include "core/model/model.h"
#include "core/model/quantized_source.h"

#include <QString>
#include <QStringList>

#include <memory>
#include <vector>

namespace qs::gui {

using Weights = std::vector<const TensorInfo*>;

/// Groups of tensors. A small file can list a million tensors, so that texts for a tensor are made when it is shown and
/// not stored. A model without layers has no groups.
struct TensorOutline {
    struct Group {
        QString title; ///< "layers.3"
        std::vector<int> tensors;
        quint64 bytes = 0;
    };
    std::vector<Group> groups;
    std::vector<int> order; ///< data-flow order; entry >= 0: a single tensor, ~entry: a group. Empty without groups
    std::vector<int> rowOf; ///< per tensor: its row in `order`. Empty without groups
    /// per tensor: its index in the weights, or -1 for a tensor that is not quantized. Empty without weights
    std::vector<int> weights;
    std::vector<bool> isBrief; ///< per tensor: its short name is unique. Empty without groups
    std::size_t count = 0;     ///< number of tensors

    int weightOf(int tensor) const { return weights.empty() ? -1 : weights[std::size_t(tensor)]; }
    bool standsAlone(int tensor) const { return order.empty() || order[std::size_t(rowOf[std::size_t(tensor)])] >= 0; }
    static QString name(const TensorInfo& tensor);      ///< escaped for display
    QString role(const Model& model, int tensor) const; ///< the role within its group, else a short name
};
TensorOutline outlineOf(const Model& model);

/// The cell of each weight in a map of layers x roles. Several weights may share a cell (experts); tensors outside the
/// layers are in the last column. A model without layers is laid out in reading order.
struct RoleGrid {
    QStringList roles, layers; ///< labels of rows and columns; `layers` is empty for a model without layers
    int rows = 0, columns = 0;
    std::vector<std::vector<int>> cells; ///< row-major, indices into the weights
    std::vector<int> rowOf, columnOf;    ///< per weight
    std::vector<QString> shown;          ///< per weight, escaped for display
    std::vector<QString> brief;          ///< the same without the beginning and end that nearly all names share
};
RoleGrid roleGrid(const Weights& weights);

struct ModelLayout {
    Weights weights; ///< float tensors of rank >= 2, sorted by name
    TensorOutline outline;
    RoleGrid grid;
    QuantizedSource source; ///< whether the weights are stored quantized already

    /// The first weight in the order of the outline; null: there are no weights.
    const TensorInfo* firstWeight(const Model& model) const;
    int indexOf(const TensorInfo* tensor) const; ///< in the weights; -1: the tensor is not a weight
    /// The weight `step` places behind a tensor, within the list; the first one if the tensor is not a weight.
    const TensorInfo* neighbour(const TensorInfo* tensor, int step) const;
    /// The weight with the same role `layerStep` layers on; null: there is none.
    const TensorInfo* sameRole(const TensorInfo& tensor, int layerStep) const;
};
std::shared_ptr<const ModelLayout> layoutOf(const Model& model);

} // namespace qs::gui
