// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The loss of a tensor under a spec, by one of several measures. A plan minimizes the sum of the losses.

#include "core/base/common_texts.h"
#include "core/base/rare_values.h"
#include "core/eval/sensitivity/sensitivity.h"

#include <map>

namespace qs::plan {

/// Losses by the names of tensors: what a session file holds.
struct NamedLosses {
    std::vector<QuantSpec> specs;
    std::map<std::string, std::vector<std::optional<eval::Estimate>>> of; ///< one for each spec
};

/// Of every tensor under every spec: its loss with its standard error, or none where it could not be measured. A model
/// may have a million tensors, so the losses are lists of numbers by the index of the tensor in the model.
class Losses {
public:
    /// Sum of single KL over the KL of all at once, by spec; empty where the objective has none.
    std::vector<eval::Additivity> additivity;

    Losses() = default; ///< of no tensor
    Losses(std::shared_ptr<const Model> model, const std::vector<QuantSpec>& specs);
    /// Names that the model does not have are left out.
    Losses(std::shared_ptr<const Model> model, const NamedLosses& named);
    NamedLosses named() const; ///< of tensors that have a loss

    const std::vector<QuantSpec>& specs() const { return specs_; }
    /// Index of the first spec that is equal; none: there is none.
    std::optional<std::size_t> find(const QuantSpec& spec) const;
    /// Its mean and its error by chunk. `tensor` is one of the model, `spec` an index into specs().
    std::optional<eval::Estimate> of(const TensorInfo& tensor, std::size_t spec) const;
    void set(const TensorInfo& tensor, std::size_t spec, const eval::Estimate& loss);
    /// Why a tensor lacks a loss; "": no reason is known.
    const std::string& reason(const TensorInfo& tensor) const { return reasons_.text(reasonOf_[indexOf(tensor)]); }
    void setReason(const TensorInfo& tensor, const std::string& reason); ///< the first one of a tensor counts
    /// Appends the specs of `more`, which is of the same model.
    void append(const Losses& more);

private:
    struct OfSpec {
        std::vector<double> mean; ///< by index of the tensor; not a number: none
        RareValues<double> error; ///< not a number: none
    };
    void add(const QuantSpec& spec);
    std::size_t indexOf(const TensorInfo& tensor) const { return std::size_t(&tensor - model_->tensors.data()); }

    std::shared_ptr<const Model> model_;
    std::vector<QuantSpec> specs_;
    std::vector<OfSpec> of_; ///< of each spec
    RareValues<std::uint32_t> reasonOf_;
    CommonTexts reasons_;
};

/// What to measure losses on.
struct LossRequest {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors;
    std::vector<QuantSpec> specs;
    /// Text, context, chunks, cache and memory, for objectives that need a text; units, for all.
    eval::SensitivityPlan text;
    bool named = false;             ///< see AnalysisPlan::named
    const Layout* layout = nullptr; ///< whose choice of matrices counts; null: that of each spec
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
/// that have one get slope * nmse under specs that no row is of. `nmse` is of the same model.
Losses lossesOf(std::shared_ptr<const Model> model, const std::vector<QuantSpec>& specs,
                std::span<const eval::SensitivityRow> rows, const Losses* nmse = nullptr);
/// Null if there is no such objective.
const Objective* findObjective(std::string_view id);

} // namespace qs::plan
