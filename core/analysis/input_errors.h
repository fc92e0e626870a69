// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"
#include "core/quant/encode/encode_plan.h"
#include "core/solve/solver.h"

namespace qs {

/// The error of a tensor under a spec, weighted by its layer's inputs. `decoded`: the decoded values, if they are
/// known, else empty. Values that are not finite are left out.
Result<InputErrors> errorsOnInputs(const TensorView& view, const SharedPlan& plan, std::span<const float> decoded,
                                   const LayerInputs& inputs, const AnalysisOptions& options, const Job& job);

/// The inputs of a layer from a file of calibration inputs (core/solve/inputs.h), or synthetic inputs without a file.
/// Null if the file has none for this layer.
Result<std::shared_ptr<const LayerInputs>> layerInputs(const Model* file, const TensorInfo& layer);

/// Options of an analysis that measures on the inputs of that file; null: on synthetic ones.
decltype(AnalysisOptions::inputs) layerInputsFrom(std::shared_ptr<const Model> file);
/// The same with codes that a solver chooses on those inputs. `job` must live as long as the function.
decltype(AnalysisOptions::solve) solvedFrom(std::shared_ptr<const Model> file, solve::Settings settings,
                                            const Job& job);

} // namespace qs
