// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the page plan computes, on a worker: the ground (bytes and losses of every tensor under every spec) takes a pass
// over the model; an answer (the plan at a budget, with locks and groups) takes milliseconds.

#include "app/gui/model_rows.h"
#include "app/gui/output_text.h"
#include "app/gui/session_recipe.h"
#include "core/plan/frontier.h"
#include "core/plan/heuristic.h"
#include "core/plan/known_recipe.h"
#include "core/plan/report.h"

namespace qs::gui {

struct PlanSettings {
    std::vector<QuantSpec> specs;    ///< to choose from
    std::string layout;              ///< id; "": the first that takes the most of the specs
    std::string objective;           ///< id
    std::vector<std::string> groups; ///< see plan::OptionRequest
    std::string target = {};         ///< id of a backend; "": specs that no kernel takes are choices too
    std::int64_t targetRows = 1;     ///< M: rows of x that the target is asked about
    std::vector<plan::SizeLimit> limits = {};
    bool operator==(const PlanSettings&) const = default;
};

struct PlanGround {
    std::shared_ptr<const Model> model;
    Weights weights;
    PlanSettings settings;
    const plan::Objective* objective = nullptr;
    std::shared_ptr<const plan::StoredSizes> sizes;
    std::shared_ptr<const plan::Losses> losses, nmse;
    std::size_t lossChunks = 0;                 ///< of the text, on which losses were measured
    std::shared_ptr<const plan::Target> target; ///< null: the settings have none
};

struct GroundRequest {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const ModelLayout> layout;
    PlanSettings settings;
    std::vector<QuantSpec> locked;                     ///< specs of locks and limits, which need bytes and losses too
    std::vector<QuantSpec> shown;                      ///< specs of recipes: bytes, and losses where they are known
    std::vector<std::pair<QuantSpec, ModelRows>> rows; ///< what the session has measured
    OutputText text;
    std::vector<BackendSource> backends;      ///< that a target is one of
    std::shared_ptr<const PlanGround> before; ///< what is known from the last time; may be null
};
/// Errors: cancelled, files that changed, a layout or an objective that does not exist, no sensitivities for it.
Result<std::shared_ptr<const PlanGround>> planGround(const GroundRequest& request, const Job& job);

struct PlanQuestion {
    std::shared_ptr<const PlanGround> ground;
    std::shared_ptr<const SessionRecipe> recipe; ///< its own rules are the locks
    std::optional<double> bpw;                   ///< the budget; none: kUsualBudget, or the middle
    PlanStart start = {};                        ///< stands beside the plan
    /// Of the last answer, where ground, locks and times are the same.
    std::shared_ptr<const plan::Options> options = {};
    std::shared_ptr<const plan::Latencies> latencies = {}; ///< null: nothing was timed
    std::optional<std::uint64_t> ns = {};                  ///< the budget of time; counts with `latencies`
};
constexpr double kUsualBudget = 4.5; ///< bits per weight of the whole file

struct PlanAnswer {
    std::shared_ptr<const PlanGround> ground;
    std::shared_ptr<const SessionRecipe> recipe;
    std::shared_ptr<const plan::Options> options;
    plan::Mixture plan;
    std::uint64_t budget = 0;        ///< bytes of the whole file
    std::optional<std::uint64_t> ns; ///< of the products of one pass; none: any time
    plan::Budget whole() const;      ///< both
    std::vector<plan::FrontierPoint> frontier;
    std::vector<plan::Mixture> uniform;    ///< all sizes
    std::vector<plan::Mixture> heuristics; ///< within the budget
    std::optional<plan::Mixture> current;  ///< the recipe of the session
    std::vector<plan::KnownRecipe> start;  ///< the recipe that the plan began from; empty: none, or `startProblem`
    std::string startProblem;              ///< a sentence
    std::vector<plan::MixtureRow> rows;    ///< of the plan
    double milliseconds = 0;               ///< that it took
};
/// Errors: a budget below the smallest choices, those of planOptions().
Result<std::shared_ptr<const PlanAnswer>> answerPlan(const PlanQuestion& question, const Job& job);

/// The predicted losses of random plans at sizes from the smallest to the largest.
struct PlanBand {
    struct Point {
        std::uint64_t bytes = 0;
        double least = 0, largest = 0;
    };
    std::vector<Point> points;
};
constexpr std::size_t kBandDraws = 19;
Result<PlanBand> randomBand(const std::shared_ptr<const PlanAnswer>& answer, const Job& job);

/// The record of core, for reports. `measured`: of this plan; `speed`: what was timed. Both may be null.
std::shared_ptr<const plan::PlanRecord> recordOf(const PlanAnswer& answer, const plan::MeasuredPlan* measured,
                                                 std::shared_ptr<const plan::SpeedMap> speed);

/// The rules of a session with those of the plan in place of an earlier plan's.
RuleLines plannedLines(const PlanAnswer& answer, RuleLines lines);
bool areSame(const std::vector<TensorRule>& a, const std::vector<TensorRule>& b);

} // namespace qs::gui
