// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"
#include "core/quant/encode/encode_plan.h"

namespace qs {

/// The error of a tensor under a spec, weighted by its layer's inputs. `decoded`: the decoded values, if they are
/// known, else empty. Values that are not finite are left out.
Result<InputErrors> errorsOnInputs(const TensorView& view, const SharedPlan& plan, std::span<const float> decoded,
                                   const LayerInputs& inputs, const AnalysisOptions& options, const Job& job);

/// The inputs of a layer from a file of calibration inputs (core/solve/inputs.h), or synthetic inputs without a file.
/// Null if the file has none for this layer.
Result<std::shared_ptr<const LayerInputs>> layerInputs(const Model* file, const TensorInfo& layer);

} // namespace qs
