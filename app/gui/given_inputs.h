// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The layer inputs that metrics such as output error use as weights of the error.

#include "core/analysis/analysis.h"

#include <QString>

namespace qs::gui {

struct GivenInputs {
    /// file with activations, column weights or an importance matrix; null: none
    std::shared_ptr<const Model> file;
    bool synthetic = false; ///< normally distributed inputs with seed 1, as on the command line

    bool any() const { return synthetic || file; }
    QString title() const; ///< "none", "synthetic" or the file's name
    /// The value for AnalysisOptions::inputs; empty when there are no inputs.
    decltype(AnalysisOptions::inputs) ofLayers() const;
};

} // namespace qs::gui
