// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a plan chooses from: for every unit and every spec, the bytes that the layout stores and the loss.

#include "core/plan/latency.h"
#include "core/plan/losses.h"
#include "core/plan/option_table.h"
#include "core/plan/sizes.h"
#include "core/plan/target.h"
#include "core/plan/units.h"

namespace qs::plan {

struct Options {
    std::shared_ptr<const Model> model; ///< that the tensors of the units are of
    std::vector<QuantSpec> specs;       ///< to choose from; behind them those of locks and limits
    std::size_t choices = 0;            ///< how many of `specs` are to choose from
    PlanUnits units;
    OptionTable of;                             ///< of each unit; never empty, one if it is locked
    std::uint64_t fixedBytes = 0;               ///< of all other tensors of the file
    std::uint64_t elements = 0;                 ///< of all tensors of the file
    std::uint64_t matched = 0;                  ///< elements of the units
    std::vector<std::string> remarks;           ///< tensors and specs that could not be chosen, and why: sentences
    const Layout* layout = nullptr;             ///< whose bytes they are
    std::shared_ptr<const Latencies> latencies; ///< null: no times are known
    std::shared_ptr<const Target> target;       ///< null: any backend
    std::uint64_t fixedNs = 0;                  ///< of products that are of no unit
    Interval fixedNsRange = {};
    std::size_t fixedUntimed = 0;          ///< products of no unit whose time is not known
    std::vector<std::size_t> untimedSpecs; ///< specs that some unit has no time under
    std::vector<QuantSpec> toChooseFrom() const { return {specs.begin(), specs.begin() + std::ptrdiff_t(choices)}; }
    bool isEverywhere(std::size_t spec) const;                ///< every unit that is not locked can take the spec
    std::uint64_t leastBytes() const;                         ///< of the whole file at the smallest choices
    std::uint64_t mostBytes() const;                          ///< at the largest
    std::uint64_t leastNs() const;                            ///< of one pass at the fastest choices
    std::uint64_t mostNs() const;                             ///< at the slowest
    const QuantSpec* specOf(const UnitOption& option) const { ///< null: the unit is kept
        return option.spec == kKeep ? nullptr : &specs[option.spec];
    }
};

/// Tensors whose names match take no fewer, or no more, bytes than under the spec.
struct SizeLimit {
    std::string regex;
    QuantSpec spec;
    bool isLeast = true;
    bool operator==(const SizeLimit&) const = default;
};
/// "REGEX>=SPEC": at least the bytes of SPEC; "REGEX<=SPEC": at most. Errors: neither, or no such spec.
Result<SizeLimit> parseLimit(std::string_view text);
std::string limitText(const SizeLimit& limit);

struct OptionRequest {
    std::shared_ptr<const Model> model;
    std::vector<const TensorInfo*> tensors; ///< to plan; the others stay as they are
    std::vector<QuantSpec> specs;           ///< to choose from
    std::string layout;                     ///< id; "" is the first layout that takes the most of the specs
    /// Rules for tensors that the plan does not decide. The first that matches wins.
    std::vector<TensorRule> locks;
    /// Regular expressions. Tensors whose names are equal without what the expression matches get one spec:
    /// "(q|k|v)_proj" joins the three of each layer. Layout::joins comes in by itself, and so do
    /// tensors that are one and the same stored data.
    std::vector<std::string> groups;
    std::vector<SizeLimit> limits = {};
    std::shared_ptr<const Latencies> latencies = {}; ///< null: times do not matter
    bool needsTimes = false;                         ///< a spec without a measured time is no choice
    std::shared_ptr<const Target> target = {};       ///< null: specs that no backend takes are choices too
    /// Every spec of the request: to choose from, of locks and of limits.
    std::vector<QuantSpec> allSpecs() const;
};

/// Groups that are often wanted.
struct UsualGroup {
    const char* id;
    const char* title; ///< for people: "q, k, v"
    const char* regex; ///< for OptionRequest::groups
};
std::span<const UsualGroup> usualGroups();

/// Units of the request in the order of the model, and what each spec stores of them. A lock of one tensor is one of its
/// whole unit. Errors: no tensor to plan, an expression that is none, no spec that the layout takes.
Result<Options> planOptions(OptionRequest request, const StoredSizes& sizes, const Losses& losses);

} // namespace qs::plan
