// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/base_reference.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {
namespace {

constexpr const char* kHalvesOnly =
    "A base-logits file holds the second half of every chunk, so leave --scored at second-half.";

} // namespace

Result<void> takeReference(EvaluationPlan& plan, std::shared_ptr<const BaseFile> base) {
    const BaseHeader& header = base->header();
    const std::string name = shownPath(base->path());
    if (plan.scored != Scored::SecondHalf) return fail(kHalvesOnly);
    if (plan.context != header.context)
        return fail(fmt::format("{} was made with a context of {} tokens, not {}: use --ctx {}.", name, header.context,
                                plan.context, header.context),
                    base->path());
    const auto tokens = base->tokens();
    if (plan.text.tokens.empty()) plan.text.tokens = tokens;
    const std::size_t common = std::min(tokens.size(), plan.text.tokens.size() / plan.context * plan.context);
    const auto [mine, theirs] =
        std::mismatch(plan.text.tokens.begin(), plan.text.tokens.begin() + std::ptrdiff_t(common), tokens.begin());
    if (theirs != tokens.begin() + std::ptrdiff_t(common))
        return fail(fmt::format("{} was made from another text or with another tokenizer: its token {} is {}, that of "
                                "the text is {}.",
                                name, theirs - tokens.begin() + 1, *theirs, *mine),
                    base->path());
    const std::size_t chunks = common / plan.context;
    plan.chunks = plan.chunks == 0 ? chunks : std::min(plan.chunks, chunks);
    plan.reference = ReferenceRows{header.vocabulary, [base](std::size_t row, std::size_t count, std::span<float> out) {
                                       return base->read(row, count, out);
                                   }};
    return {};
}

Result<BaseSaver> BaseSaver::of(const std::string& path, const EvaluationPlan& plan, Replace replace) {
    if (plan.scored != Scored::SecondHalf) return fail(kHalvesOnly);
    return BaseSaver(path, plan, replace);
}

Result<void> BaseSaver::take(const LogitRows& rows) {
    if (rows.change) return {};
    if (!writer_) {
        std::size_t chunks = plan_->text.tokens.size() / plan_->context;
        if (plan_->chunks > 0) chunks = std::min(chunks, plan_->chunks);
        auto writer = BaseWriter::create(path_, {plan_->context, rows.reference.size() / rows.next.size(), chunks},
                                         plan_->text.tokens, replace_);
        if (!writer) return tl::unexpected(writer.error());
        writer_.emplace(std::move(*writer));
    }
    return writer_->add(rows.reference);
}

Result<void> BaseSaver::finish(const Job& job) {
    if (!writer_) return fail("There were no logits to write.");
    return writer_->finish(job);
}

} // namespace qs::eval
