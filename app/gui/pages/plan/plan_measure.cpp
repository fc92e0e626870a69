// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/pages/plan/plan_measure.h"

#include "core/eval/network/architecture.h"

#include <algorithm>

namespace qs::gui {

Result<plan::MeasuredPlan> measurePlan(const MeasureRequest& request, const Job& job) {
    const PlanAnswer& answer = *request.answer;
    const auto& model = answer.ground->model;
    const auto network = eval::readNetwork(*model);
    if (!network) return tl::unexpected(network.error());
    auto text = request.text.ids ? eval::textFromTokens(request.text.path, job)
                                 : eval::textFromFile(*model, request.text.path, job);
    if (!text) return tl::unexpected(text.error());
    std::size_t context = request.text.context;
    if (network->positions > 0) context = std::min(context, std::size_t(network->positions));
    auto plan = plan::heldOut(*text, context, answer.ground->lossChunks, kProofChunks);
    if (!plan) return tl::unexpected(plan.error());
    plan->scored = request.text.scored;
    const plan::ProofRequest asked{model,          answer.options.get(), answer.recipe->lines.own, answer.plan,
                                   answer.whole(), request.draws,        std::move(*plan),         answer.start,
                                   request.most};
    const auto& before = request.before;
    const bool goesOn = before && before->textSha256 == text->sha256 && before->context == context &&
                        before->lossChunks == answer.ground->lossChunks;
    auto proof = goesOn ? plan::moreDraws(asked, *before->proof, job) : plan::provePlan(asked, job);
    if (!proof) return tl::unexpected(proof.error());
    plan::MeasuredPlan out;
    out.objective = answer.ground->objective->id, out.budget = answer.budget;
    out.textPath = text->path, out.textSha256 = text->sha256;
    out.context = context, out.lossChunks = answer.ground->lossChunks;
    out.proof = std::make_shared<const plan::PlanProof>(std::move(*proof));
    return out;
}

} // namespace qs::gui
