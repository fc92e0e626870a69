// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The loss of a tensor under a spec, by one of several measures. A plan minimizes the sum of the losses.

#include "core/eval/sensitivity/sensitivity.h"

#include <map>

namespace qs::plan {

/// Of every tensor under every spec: its loss with its standard error, or none where it could not be measured.
struct Losses {
    std::vector<QuantSpec> specs;
    std::map<std::string, std::vector<std::optional<eval::Estimate>>> of; ///< by name of the tensor; one for each spec
    std::map<std::string, std::string> reasons;                           ///< why a tensor lacks a loss
    /// Sum of single KL over the KL of all at once, by spec; empty where the objective has none.
    std::vector<eval::Additivity> additivity;
};

/// What to measure losses on.
struct LossRequest {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors;
    std::vector<QuantSpec> specs;
    /// Text, context, chunks, cache and memory, for objectives that need a text; units, for all.
    eval::SensitivityPlan text;
};

/// A row of the registry of objectives.
struct Objective {
    const char* id;
    const char* title;
    const char* summary; ///< one sentence for people: what is summed, with its unit
    bool isProxy;        ///< it is computed without the output of the model
    bool needsText;
    const eval::SensitivityHow* how; ///< null: none of the network
    bool isDivergence;               ///< the sum predicts the KL of the plan, in nats a token
    /// Errors: cancelled, a file that changed, those of sensitivity().
    Result<Losses> (*measure)(const Objective& objective, const LossRequest& request, const Job& job);
};
std::span<const Objective> objectives();
/// Losses of rows that were measured before, without their additivity. A slope holds for any spec: with `nmse`, tensors
/// that have one get slope * nmse under specs that no row is of.
Losses lossesOf(const std::vector<QuantSpec>& specs, std::span<const eval::SensitivityRow> rows,
                const Losses* nmse = nullptr);
/// Null if there is no such objective.
const Objective* findObjective(std::string_view id);

} // namespace qs::plan
