// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Matches imported figures with a model: figures of tensors by the names of the model, figures of whole models by spec.
// Each column has its floor.

#include "core/analysis/output_effects.h"
#include "core/base/column.h"
#include "core/eval/files/imports/imports.h"
#include "core/model/model.h"

#include <map>

namespace qs::eval {

enum class FloorSource { Unknown, Estimated, Given };

/// One kind of figure under one spec.
struct ImportedColumn {
    std::string file;                      ///< last part of the path of the file
    std::string column;                    ///< ImportedFigure::column
    std::string spec;                      ///< ImportedFigure::spec
    std::map<std::string, double> tensors; ///< name in the model -> figure
    std::optional<OutputFigure> whole;     ///< figure of the whole model, with the error that the file prints
    std::size_t notMeasured = 0;           ///< tensors of the model that the file names without a figure
    std::size_t others = 0;                ///< tensors that the model does not have
    std::optional<ImportedFloor> floor;
    FloorSource floorIs = FloorSource::Unknown;

    std::string title() const; ///< "kl_mean, q4_K (file.csv)"
    /// True if most figures are near the floor. They then say little about single tensors.
    bool saysLittle() const { return floor && floor->shareOfMedian > 0.5; }
};
const Columns<ImportedColumn>& importedColumns();
/// The spec for a type of another program such as "q4_K", as canonicalText(); "" if there is none.
std::string canonicalOfType(std::string type);

/// A file to import, and what the user says about it.
struct ImportWish {
    std::string path;
    std::string spec;            ///< spec for figures to which the file gives none; "" if it is not known
    std::optional<double> floor; ///< the floor; without it the floor is estimated if possible
};
/// Errors: those of importFile(); the spec cannot be parsed; the floor is below 0; no figure belongs to this model.
Result<std::vector<ImportedColumn>> importColumns(const std::shared_ptr<const Model>& model, const ImportWish& wish);
/// Adds the figures of tensors and of whole models to `into`, under the specs that they match.
void addEffects(const std::vector<ImportedColumn>& columns, OutputEffects& into);

} // namespace qs::eval
