// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the layers of the opened model are given, for the metrics that weigh the error by it.

#include "core/analysis/analysis.h"

#include <QString>

namespace qs::gui {

struct GivenInputs {
    std::shared_ptr<const Model> file; ///< activations, column weights or an importance matrix
    bool synthetic = false;            ///< normal ones of seed 1, as those of the command line

    bool any() const { return synthetic || file; }
    QString title() const; ///< "none", "synthetic" or the file's name
    /// Of AnalysisOptions; empty while there are none.
    decltype(AnalysisOptions::inputs) ofLayers() const;
};

} // namespace qs::gui
