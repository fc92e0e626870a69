// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/run/report.h"

#include "core/eval/run/record.h"
#include "core/eval/scores/chunk_rows.h"
#include "core/eval/tokenizer/tokenizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::eval {

std::vector<EvaluationRow> evaluationRows(const EvaluationPlan& plan, const Evaluation& result) {
    std::vector<EvaluationRow> rows;
    for (std::size_t i = 0; i < plan.changes.size(); ++i) {
        const WeightChange& change = plan.changes[i];
        const std::string& reason = result.reasons[i];
        rows.push_back({change.name, summarize(result.scores[i]), reason.empty() ? change.remark : reason,
                        change.network    ? RowKind::Against
                        : change.isRecipe ? RowKind::Recipe
                                          : RowKind::Spec,
                        result.floor, result.servedBy[i], change.size});
    }
    return rows;
}

std::vector<PairedRow> pairedOf(const EvaluationPlan& plan, const Evaluation& result) {
    std::vector<std::string> names;
    for (const EvaluationRow& row : evaluationRows(plan, result)) names.push_back(row.label());
    return pairedRows(names, result.scores);
}

std::string activationsRemark(const std::vector<EvaluationRow>& rows) {
    const auto isServed = [](const EvaluationRow& row) { return !row.servedBy.empty(); };
    if (std::ranges::none_of(rows, isServed))
        return "Activations are f32: the figures show the effect of the quantized weights alone.";
    return "Rows with products by a backend show the network as it would be served: its activations and sums included. "
           "In "
           "the others activations are f32: the effect of the quantized weights alone.";
}

std::string referenceRemark(std::size_t matrices, std::size_t quantized) {
    if (quantized == 0) return {};
    return fmt::format(
        "The reference is itself quantized: {} of the {} matrices of its layers are stored quantized, and "
        "every figure is relative to what they decode to.",
        quantized, matrices);
}

std::string referenceRemark(const Evaluation& result) {
    return referenceRemark(result.matrices, result.quantizedMatrices);
}

Result<Provenance> evaluationProvenance(const Model& model, const EvaluationPlan& plan, std::size_t chunks,
                                        const std::string& commandLine, const Job& job) {
    std::string details;
    for (const WeightChange& change : plan.changes) details += (details.empty() ? "" : "; ") + change.detail;
    auto out = modelProvenance(model, details, commandLine, job);
    if (!out) return out;
    if (auto done = addTextProvenance(plan.text, plan.context, chunks, *out, job); !done)
        return tl::unexpected(done.error());
    return out;
}

Result<void> addTextProvenance(const EvaluationText& text, std::size_t context, std::size_t chunks, Provenance& into,
                               const Job& job) {
    into.emplace_back("text_file", text.path);
    into.emplace_back("text_sha256", text.sha256);
    into.emplace_back("context", std::to_string(context));
    into.emplace_back("chunks", std::to_string(chunks));
    into.emplace_back("tokenizer", text.tokenizer.empty() ? "none: the text is token ids" : text.tokenizer);
    if (!text.tokenizer.empty()) {
        auto hash = sha256OfFile(text.tokenizer, job);
        if (!hash) return tl::unexpected(hash.error());
        into.emplace_back("tokenizer_sha256", std::move(*hash));
    }
    into.emplace_back("template", "none");
    if (text.first) into.emplace_back("first_token", std::to_string(*text.first));
    return {};
}

void addScoredProvenance(Scored scored, Provenance& into) {
    into.emplace_back("scored", scored == Scored::All ? "all" : "second half of every chunk");
}

namespace {

std::vector<ChunkRow> chunkRowsOf(const EvaluationPlan& plan, const Evaluation& result) {
    std::vector<ChunkRow> rows;
    const auto named = evaluationRows(plan, result);
    for (std::size_t i = 0; i < named.size(); ++i) appendChunkRows(named[i].label(), result.scores[i], rows);
    return rows;
}

/// The curves and the worst tokens of every change. Tokens that no tokenizer can spell stand as ids.
EvaluationRecord profiledRecord(const Model& model, const EvaluationPlan& plan, const Evaluation& result) {
    std::vector<ScoreProfile> profiles;
    for (const auto& scores : result.scores) {
        ProfileGatherer gatherer(plan.context);
        gatherer.add(scores);
        profiles.push_back(gatherer.profile());
    }
    const auto tokenizer =
        !plan.text.tokenizer.empty() ? tokenizerOf(model) : Result<std::shared_ptr<const Tokenizer>>();
    return recordOf(plan, result, std::move(profiles), tokenizer ? tokenizer->get() : nullptr);
}

/// Adds the curves and the worst tokens as a section, and as tables for programs.
void addProfile(const EvaluationRecord& record, Report& report) {
    std::vector<WorstTokenRow> worst;
    for (const auto& change : record.changes)
        for (auto& row : worstTokenRows(change)) worst.push_back(std::move(row));
    report.more.emplace_back("worst_tokens", makeTable("Tokens with the largest KL", worstTokenColumns(), worst));
    report.more.emplace_back("positions", makeTable("Positions", positionColumns(), positionRows(record)));
    report.sections.push_back(profileSection(record));
}

Section pairsSection(Table pairs) {
    Section section;
    section.title = "Pairs";
    section.brief = true;
    section.text =
        "The difference of the KL of two candidates at the same tokens. Chunks are independent; the interval "
        "is Student's, with one degree of freedom less than there are chunks.";
    section.tables.push_back(std::move(pairs));
    return section;
}

Section chunksSection(Table chunks) {
    Section section;
    section.title = "Chunks";
    section.text = "The figures of every chunk of the text by itself.";
    section.tables.push_back(std::move(chunks));
    return section;
}

} // namespace

Result<Report> evaluationReport(const Model& model, const EvaluationPlan& plan, const Evaluation& result,
                                const std::string& commandLine, const Job& job) {
    auto provenance = evaluationProvenance(model, plan, result.chunks, commandLine, job);
    if (!provenance) return tl::unexpected(provenance.error());
    addScoredProvenance(plan.scored, *provenance);
    for (const WeightChange& change : plan.changes) {
        if (!change.network) continue;
        const auto other = modelProvenance(*change.network, {}, {}, job);
        if (!other) return tl::unexpected(other.error());
        for (const auto& [key, value] : *other)
            if (key == "input_sha256") provenance->emplace_back("against_sha256", value);
    }
    for (const WeightChange& change : plan.changes)
        if (change.server) provenance->emplace_back("served_by", change.server->title());
    if (result.floor) provenance->emplace_back("noise_floor", fmt::format("{}", *result.floor));

    Report report;
    report.title = model.title;
    report.subtitle = fmt::format("The output of the network under {} specs, over {} tokens in {} chunks",
                                  plan.changes.size(), result.tokens, result.chunks);
    report.provenance = std::move(*provenance);
    report.data = evaluationTable({}, evaluationRows(plan, result));
    Section section;
    section.title = "Evaluation";
    section.brief = true;
    section.note = activationsRemark(evaluationRows(plan, result));
    if (const std::string remark = referenceRemark(result); !remark.empty()) section.note += " " + remark;
    section.text = "KL is the divergence of the quantized network's next-token distribution from that of the "
                   "reference. Errors by chunk treat chunks as independent; errors by token are too small, because "
                   "neighbouring tokens are alike.";
    section.tables.push_back(report.data);
    section.tables.front().title = "Specs";
    report.sections.push_back(std::move(section));
    if (auto pairs = makeTable("Pairs", pairedColumns(), pairedOf(plan, result)); !pairs.rows.empty()) {
        report.more.emplace_back("pairs", pairs);
        report.sections.push_back(pairsSection(std::move(pairs)));
    }
    auto chunks = makeTable("Chunks", chunkColumns(), chunkRowsOf(plan, result));
    report.more.emplace_back("chunks", chunks);
    addProfile(profiledRecord(model, plan, result), report);
    report.sections.push_back(chunksSection(std::move(chunks)));
    addLeftOut(model, {}, report);
    return report;
}

} // namespace qs::eval
