// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A row of a sensitivity: a matrix (or a role, or a layer) under a spec.

#include "core/base/column.h"
#include "core/eval/scores/score_summary.h"

namespace qs::eval {

struct SensitivityRow {
    std::string unit;                 ///< the tensor's name, the role, or "layer 3"; see groupings()
    bool isTensor = true;             ///< the unit is one tensor
    std::vector<std::string> tensors; ///< all of the unit
    int layer = -1;                   ///< -1: in several layers
    std::string role;                 ///< "down_proj"; empty: several roles
    std::string spec;                 ///< as it was given; empty: the row holds for any spec (a slope)
    std::string how;                  ///< id of a row of sensitivityHows()

    std::optional<double> nmse; ///< ||V - W||^2 / ||W||^2 of the unit's weights under the spec
    /// KL to the reference of the network that `how` makes, nats a token. Of "spared" it is the KL that is left.
    std::optional<Estimate> divergence;
    std::optional<Estimate> gain; ///< spared: KL of all quantized minus the KL that is left, paired by token
    std::optional<double> largestDivergence, sameTop;
    std::optional<Estimate> nllChange; ///< ln of PPL / PPL of the reference
    std::optional<Estimate> slope;     ///< KL a unit of nmse, by a fit through 0
    std::optional<double> bend;        ///< KL / nmse at the larger noise over that at the smaller; 1: linear
    std::optional<Estimate> predicted; ///< slope * nmse of the spec
    std::optional<Estimate> outputNmse, weightedNmse; ///< on the layers' inputs in the text
    std::size_t tokens = 0, notFinite = 0;            ///< scored; notFinite are left out of the means
    std::string reason;                               ///< why there are no figures
    bool isKept = false;                              ///< the spec is for none of its matrices
    std::optional<ChangedSize> size; ///< of the unit under the spec, its own matrices alone; none: without a spec

    /// The figure by which units are ranked, the worst first: KL alone, gain, predicted KL or slope, output NMSE.
    std::optional<Estimate> rank() const;
};
const Columns<SensitivityRow>& sensitivityColumns();

/// What single figures add up to, beside the same spec on all units at once. Floors are subtracted.
struct Additivity {
    std::string spec, how;              ///< how: id of a row of sensitivityHows()
    std::size_t units = 0, missing = 0; ///< `missing`: units without a figure, which the sum lacks
    double sum = 0;                     ///< of KL alone, or of predictions
    std::optional<Estimate> all;        ///< KL with all units at once; none: it failed
    double floor = 0;                   ///< KL of the reference against itself in another order of sums
    /// (sum - units * floor) / (all - floor) of measured runs, sum / (all - floor) of predictions; none: nothing is left.
    std::optional<double> ratio;
    std::string reason; ///< why `all` is missing
};
const Columns<Additivity>& additivityColumns();

} // namespace qs::eval
