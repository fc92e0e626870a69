// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/llama_text.h"

#include "core/base/parallel.h"
#include "core/eval/files/base_logits.h"

namespace qs::eval {
namespace {

/// ln p as it is read back from a base file: [rows, vocabulary].
void throughBaseFile(const LogitRows& rows, std::size_t vocabulary, std::vector<float>& out) {
    out.resize(rows.reference.size());
    parallelFor(rows.next.size(), 1, [&](std::size_t begin, std::size_t end, unsigned) {
        std::vector<std::uint16_t> row(baseRowWords(vocabulary));
        for (std::size_t i = begin; i < end; ++i) {
            encodeBaseRow(rows.reference.subspan(i * vocabulary, vocabulary), row);
            decodeBaseRow(row, rows.next[i], std::span(out).subspan(i * vocabulary, vocabulary));
        }
    });
}

} // namespace

LlamaText::LlamaText(const EvaluationPlan& plan) : plan_(&plan), figures_(plan.changes.size()) {}

void LlamaText::take(const LogitRows& rows) {
    const std::size_t count = rows.next.size(), vocabulary = rows.reference.size() / count;
    if (!rows.change) {
        if (plan_->reference)
            base_.assign(rows.reference.begin(), rows.reference.end());
        else
            throughBaseFile(rows, vocabulary, base_);
        return;
    }
    std::vector<LlamaScore> scores(count);
    parallelFor(count, 1, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i)
            scores[i] = scoreAsLlama(std::span(base_).subspan(i * vocabulary, vocabulary),
                                     rows.other.subspan(i * vocabulary, vocabulary), rows.next[i]);
    });
    Figures& figures = figures_[*rows.change];
    const std::size_t ofChunk = plan_->context - 1 - plan_->context / 2;
    for (const LlamaScore& score : scores) {
        figures.statistics.add(score);
        if (figures.statistics.count() % ofChunk == 0)
            figures.lines += figures.statistics.chunkLine(figures.statistics.count() / ofChunk - 1);
    }
}

std::string LlamaText::text(std::size_t change) const {
    const Figures& figures = figures_[change];
    if (figures.statistics.count() == 0) return {};
    return LlamaStatistics::chunkHeader() + figures.lines + "\n" + figures.statistics.summary();
}

} // namespace qs::eval
