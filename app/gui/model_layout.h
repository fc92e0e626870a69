// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How a model's tensors stand to each other: names, groups, layers and roles. Made once, beside opening, on a worker
// thread, because 100,000 names take longer than a frame; then shared and never changed.

#include "core/model/model.h"

#include <QString>
#include <QStringList>

#include <memory>
#include <vector>

namespace qs::gui {

using Weights = std::vector<const TensorInfo*>;

/// Groups of tensors. A list may have a million rows in a file that is not much larger: what can be said of a tensor when
/// it is shown is not kept, and a model without layers has no groups.
struct TensorOutline {
    struct Group {
        QString title; ///< "layers.3"
        std::vector<int> tensors;
        quint64 bytes = 0;
    };
    std::vector<Group> groups;
    std::vector<int> order; ///< in which the model works: a tensor that stands alone, or ~ a group; none without groups
    std::vector<int> rowOf; ///< per tensor: where it is in `order`; none without groups
    std::vector<int> weights;  ///< per tensor: which of the weights it is, -1: kept as it is; none without weights
    std::vector<bool> isBrief; ///< per tensor: nothing else is called as it is in short; none without groups
    std::size_t count = 0;     ///< of tensors

    int weightOf(int tensor) const { return weights.empty() ? -1 : weights[std::size_t(tensor)]; }
    bool standsAlone(int tensor) const { return order.empty() || order[std::size_t(rowOf[std::size_t(tensor)])] >= 0; }
    static QString name(const TensorInfo& tensor);      ///< for people
    QString role(const Model& model, int tensor) const; ///< within its group, or in short
};
TensorOutline outlineOf(const Model& model);

/// Where each weight stands in a layer x role map. Several weights may share a cell (experts); tensors outside the
/// stack stand in the last column. A model without layers is laid out in reading order.
struct RoleGrid {
    QStringList roles, layers; ///< labels of rows and columns; `layers` is empty for a model without layers
    int rows = 0, columns = 0;
    std::vector<std::vector<int>> cells; ///< row-major, indices into the weights
    std::vector<int> rowOf, columnOf;    ///< per weight
    std::vector<QString> shown;          ///< per weight, for people
    std::vector<QString> brief;          ///< without what nearly every name begins and ends with
};
RoleGrid roleGrid(const Weights& weights);

struct ModelLayout {
    Weights weights; ///< float tensors of rank >= 2, name order
    TensorOutline outline;
    RoleGrid grid;

    /// The first weight in the order of the outline; null: none.
    const TensorInfo* firstWeight(const Model& model) const;
};
std::shared_ptr<const ModelLayout> layoutOf(const Model& model);

} // namespace qs::gui
