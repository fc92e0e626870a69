// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/eval_embeddings.h"

#include "app/cli/eval_changes.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"
#include "core/eval/run/embeddings.h"
#include "core/eval/run/report.h"

#include <fmt/format.h>

namespace qs::cli {

bool makesEmbeddings(const Model& model) {
    const auto network = eval::readNetwork(model);
    return network && network->isEncoder;
}

Result<void> evaluateAndPrintEmbeddings(std::shared_ptr<const Model> model, const eval::EvaluationPlan& plan,
                                        const OutputFiles& outputs, const UnitOptions& units,
                                        const std::string& commandLine) {
    const auto result = eval::evaluateEmbeddings(model, plan, processJob());
    if (!result) return tl::unexpected(result.error());
    if (const auto end = units.end()) return *end;
    const auto rows = eval::embeddingRows(plan, *result);
    if (!outputs.standardOutput()) {
        const std::vector<std::string_view> ids = {"spec",       "matrices",    "bytes",
                                                   "bpw",        "mean_cosine", "mean_cosine_error",
                                                   "min_cosine", "cosine_10",   "median_cosine"};
        std::string text = tableText(withColumns(makeTable({}, eval::embeddingColumns(), rows), ids));
        for (const auto& row : rows)
            if (!row.reason.empty()) text += fmt::format("{}: {}\n", row.spec, row.reason);
        text += fmt::format("\n{} tokens in {} chunks, each with the mean of its tokens as embedding; f32 activations: "
                            "the effect of the weights alone.\n",
                            result->tokens, result->chunks);
        if (const std::string remark = eval::referenceRemark(result->matrices, result->quantizedMatrices);
            !remark.empty())
            text += remark + "\n";
        if (auto done = print(text); !done) return done;
    }
    if (outputs.any()) {
        auto report = eval::embeddingReport(*model, plan, *result, commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        auto paths = pathsOf(model.get());
        paths.push_back(plan.text.path);
        if (auto done = outputs.write(std::move(*report), paths); !done) return done;
    }
    return outcomeOf(plan.changes, result->reasons, model->path);
}

} // namespace qs::cli
