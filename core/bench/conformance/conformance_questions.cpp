// SPDX-License-Identifier: GPL-3.0-or-later
// The questions to a backend before anything is run.
#include "core/bench/conformance/conformance_parts.h"

#include "core/quant/spec/formats.h"
#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::int64_t kM = 3, kN = 33, kK = 130; ///< multiples of neither tiles nor blocks

bool same(const Variant& a, const Variant& b) {
    return a.id == b.id && a.title == b.title && a.note == b.note && a.approx == b.approx && a.baseline == b.baseline &&
           a.nmseLimit == b.nmseLimit && a.levels == b.levels;
}
bool same(const Support& a, const Support& b) {
    return a.level == b.level && a.reason == b.reason &&
           std::equal(a.variants.begin(), a.variants.end(), b.variants.begin(), b.variants.end(),
                      [](const Variant& x, const Variant& y) { return same(x, y); });
}

bool askTwice(Backend& backend, Offer& offer, Checks& checks) {
    const auto first = backend.query(0, offer.operands.problem);
    if (!first) return checks.broke("query", offer.name, first.error()), false;
    const auto again = backend.query(0, offer.operands.problem);
    if (!again) return checks.broke("query", offer.name + ", the second time", again.error()), false;
    if (!same(*first, *again)) return checks.failed("query", offer.name + ": the second answer differs"), false;
    if (first->level == QS_SUPPORT_NO && first->reason.empty())
        return checks.failed("query", offer.name + ": no, without a reason"), false;
    if (first->level != QS_SUPPORT_NO) offer.variants = first->variants;
    return true;
}

} // namespace

Result<std::vector<Offer>> askForOffers(Backend& backend, const ConformancePlan& plan, const Job& job, Checks& checks) {
    auto specs = plan.specs;
    if (specs.empty())
        for (const auto& traits : formats()) specs.push_back(traits.id);
    std::vector<Offer> offers;
    std::size_t asked = 0;
    std::vector<std::string> unspoken; // formats that cannot be passed for some operation
    const auto wordless = [&](const std::string& format) {
        if (unspoken.empty() || unspoken.back() != format) unspoken.push_back(format);
    };
    for (const auto& text : specs) {
        const auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        for (const auto& op : benchOps()) {
            const std::int64_t rows = op.wIsKn ? kK : kN, columns = op.wIsKn ? kN : kK;
            auto values = weightValues(rows, columns, kConformanceSeed, nullptr);
            if (!values) return tl::unexpected(values.error());
            const auto weights = makeWeights(*spec, rows, columns, *values, job, op.wIsKn);
            if (!weights) {
                wordless(text);
                continue;
            }
            for (const auto& act : benchActs()) {
                if (job.cancelled()) return cancelledError();
                const OperandRequest request{&op, &act, kM, kN, kK, false, kConformanceSeed};
                auto operands = makeOperands(request, *weights);
                if (!operands) {
                    wordless(text);
                    break;
                }
                Offer offer{fmt::format("{} {} {}", text, op.id, op.product ? act.id : ""),
                            *spec,
                            request,
                            std::move(*operands),
                            {}};
                ++asked;
                if (!askTwice(backend, offer, checks)) return offers;
                if (!offer.variants.empty()) offers.push_back(std::move(offer));
                if (!op.product) break;
            }
        }
    }
    checks.passed("query",
                  fmt::format("{} problems, of which {} are supported; the same answer twice, a reason for every no{}",
                              asked, offers.size(),
                              unspoken.empty()
                                  ? ""
                                  : fmt::format("; not asked, because the interface cannot describe them: {}",
                                                fmt::join(unspoken, ", "))));
    return offers;
}

void askForTheUnknown(Backend& backend, Checks& checks) {
    Problem problem;
    problem.m = kM, problem.n = kN, problem.k = kK;
    problem.weight = OperandFormat{}, problem.act = OperandFormat{};
    Problem operation = problem, format = problem, packing = problem;
    operation.op = "no_such_operation";
    format.weight->format = "no_such_format", format.weight->bits = 3;
    packing.weight->packing = "no_such_packing", packing.weight->packAxis = 1;
    const std::pair<const char*, const Problem*> strange[] = {
        {"an unknown operation", &operation}, {"an unknown format", &format}, {"an unknown packing", &packing}};
    for (const auto& [what, asked] : strange) {
        const auto support = backend.query(0, *asked);
        if (!support) return checks.broke("declines", what, support.error());
        if (support->level != QS_SUPPORT_NO || support->reason.empty())
            return checks.failed("declines", std::string(what) + " is not declined with a reason");
    }
    checks.passed("declines", "an unknown operation, format and packing, each with a reason");
}

} // namespace qs
