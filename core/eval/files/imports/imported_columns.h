// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Imported figures beside a model: those of single tensors under the names of the model, those of whole models by spec,
// each column with its floor.

#include "core/analysis/output_effects.h"
#include "core/base/column.h"
#include "core/eval/files/imports/imports.h"
#include "core/model/model.h"

#include <map>

namespace qs::eval {

enum class FloorSource { Unknown, Estimated, Given };

/// One kind of figure under one spec.
struct ImportedColumn {
    std::string file;                      ///< last part of its path
    std::string column;                    ///< as ImportedFigure::column
    std::string spec;                      ///< as ImportedFigure::spec
    std::map<std::string, double> tensors; ///< by their names in the model
    std::optional<OutputFigure> whole;     ///< of the whole model; its error as the file prints it
    std::size_t notMeasured = 0;           ///< tensors of the model that the file names without a figure
    std::size_t others = 0;                ///< tensors that the model does not have
    std::optional<ImportedFloor> floor;
    FloorSource floorIs = FloorSource::Unknown;

    std::string title() const; ///< "kl_mean, q4_K (file.csv)"
    /// Whether most of the figures are near the floor: they say little of single tensors.
    bool saysLittle() const { return floor && floor->shareOfMedian > 0.5; }
};
const Columns<ImportedColumn>& importedColumns();
/// The spec that a type of another program is, "q4_K": canonicalText(); empty: none.
std::string canonicalOfType(std::string type);

/// A file and what its reader says of it.
struct ImportWish {
    std::string path;
    std::string spec;            ///< of figures that the file gives no spec; empty: none is known
    std::optional<double> floor; ///< none: estimated where that can be done
};
/// Errors: those of importFile(); a spec that none can parse; a floor below 0; no figure is of this model.
Result<std::vector<ImportedColumn>> importColumns(const std::shared_ptr<const Model>& model, const ImportWish& wish);
/// Adds figures of tensors, and those of whole models, under the specs that they can be matched with.
void addEffects(const std::vector<ImportedColumn>& columns, OutputEffects& into);

} // namespace qs::eval
