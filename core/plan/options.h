// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a plan chooses from: for every unit and every spec, the bytes that the layout stores and the loss.

#include "core/export/export_plan.h"
#include "core/plan/knapsack.h"
#include "core/plan/losses.h"

namespace qs::plan {

/// Tensors that get one spec together.
struct PlanUnit {
    std::string name; ///< of its tensor, or of the first with the number of the others
    std::vector<const TensorInfo*> tensors;
    std::string lock; ///< the rule that decides for it; empty: the plan does
};

/// A spec for a unit. `spec` is an index into Options::specs.
struct UnitOption {
    std::size_t spec = 0;
    std::uint64_t bytes = 0; ///< as the layout stores the unit
    double loss = 0;
};

struct Options {
    std::shared_ptr<const Model> model; ///< that the tensors of the units are of
    std::vector<QuantSpec> specs;
    std::vector<PlanUnit> units;
    std::vector<std::vector<UnitOption>> of;   ///< of each unit; never empty
    std::uint64_t fixedBytes = 0;              ///< of all other tensors of the file
    std::uint64_t elements = 0;                ///< of all tensors of the file
    std::uint64_t matched = 0;                 ///< elements of the units
    std::vector<std::string> remarks;          ///< tensors and specs that could not be chosen, and why: sentences
    const Layout* layout = nullptr;            ///< whose bytes they are
    bool isEverywhere(std::size_t spec) const; ///< every unit can take the spec
    std::uint64_t leastBytes() const;          ///< of the whole file at the smallest choices
    std::uint64_t mostBytes() const;           ///< at the largest
};

struct OptionRequest {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors; ///< to plan; the others stay as they are
    std::vector<QuantSpec> specs;           ///< to choose from
    std::string layout;                     ///< id; "" is the first layout that takes all specs, else the first
    /// Rules for tensors that the plan does not decide. The first that matches wins.
    std::vector<TensorRule> locks;
    /// Regular expressions. Tensors whose names are equal without what the expression matches get one spec:
    /// "(q|k|v)_proj" joins the three of each layer.
    std::vector<std::string> groups;
};

/// Units of the request in the order of the model, locked ones left out, and what each spec stores of them. Errors: no
/// tensor to plan, an expression that is none, no spec that the layout takes, those of planExport().
Result<Options> planOptions(const OptionRequest& request, const Losses& losses, const Job& job);

} // namespace qs::plan
