// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/eval_changes.h"
#include "app/cli/eval_embeddings.h"
#include "app/cli/evidence_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/serving_options.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/base/byte_count.h"
#include "core/base/text.h"
#include "core/eval/run/base_reference.h"
#include "core/eval/run/evaluate.h"
#include "core/eval/run/llama_text.h"
#include "core/eval/run/report.h"
#include "core/eval/run/self_noise.h"
#include "core/eval/trust/trust_report.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::cli {
namespace {

struct EvalOptions {
    std::string path, text, tokens, base, saveBase, memory, scored = "second-half";
    std::vector<std::string> specs, recipes, others, filters;
    std::string layout;
    unsigned context = 512, chunks = 0;
    bool contextGiven = false, llama = false, noFloor = false;
    ServingOptions serving;
    ImportOptions imports;
    OutputFiles outputs;
    UnitOptions units;
    std::string commandLine;
};

constexpr const char* kSecondHalf = "second-half";
constexpr const char* kAll = "all";
constexpr std::size_t kPrintedPairs = 10; ///< the files have all

Result<void> printRows(const std::vector<eval::EvaluationRow>& rows, const eval::EvaluationPlan& plan,
                       const eval::Evaluation& result) {
    std::string text;
    if (!rows.empty())
        text = tableText(withColumns(eval::evaluationTable({}, rows),
                                     {"spec", "recipe", "against", "served_by", "matrices", "bytes", "bpw", "kl_mean",
                                      "kl_se_chunk", "kl_p99", "top1", "ppl", "ppl_ref"}));
    for (const auto& row : rows) {
        if (!row.reason.empty()) text += fmt::format("{}: {}\n", row.label(), row.reason);
        if (row.summary && row.summary->notFinite > 0)
            text += fmt::format("{}: {} more tokens have logits that are not finite and are in no figure.\n",
                                row.label(), row.summary->notFinite);
        if (row.belowFloor())
            text += fmt::format("{}: the mean KL is below twice the noise floor: no difference shows.\n", row.label());
    }
    auto pairs = eval::pairedOf(plan, result);
    if (const std::size_t all = pairs.size(); all > 0) {
        pairs.resize(std::min(all, kPrintedPairs));
        text += "\nPaired by token, errors by chunk:\n" +
                tableText(withColumns(
                    makeTable({}, eval::pairedColumns(), pairs),
                    {"first", "second", "kl_difference", "kl_difference_low", "kl_difference_high", "better"}));
        if (all > pairs.size()) text += fmt::format("and {} more pairs; --json has all\n", all - pairs.size());
    }
    if (!text.empty()) text += "\n";
    if (result.floor)
        text +=
            fmt::format("Noise floor: {:.2g} nats, the mean KL of the unchanged model, its sums in another order.\n",
                        *result.floor);
    if (const std::string remark = eval::referenceRemark(result); !remark.empty()) text += remark + "\n";
    const bool isServed = std::ranges::any_of(rows, [](const auto& row) { return !row.servedBy.empty(); });
    text += fmt::format("{} tokens in {} chunks; f32 activations: the effect of the weights alone{}.\n", result.tokens,
                        result.chunks, isServed ? ", but for the rows with products by a backend" : "");
    return print(text);
}

/// Every spec and recipe, and once more on the backend that was asked for.
Result<std::vector<eval::WeightChange>> changesOf(const EvalOptions& options, const Model& model) {
    std::vector<eval::WeightChange> changes;
    std::shared_ptr<eval::LinearServer> server;
    const auto add = [&](eval::WeightChange change) {
        changes.push_back(change);
        if (server) changes.push_back(serve::servedBy(server, std::move(change)));
    };
    if (options.serving.given()) {
        auto opened = options.serving.open(processJob());
        if (!opened) return tl::unexpected(opened.error());
        server = std::move(*opened);
    }
    const auto scope = eval::scopeOf(model, options.filters, options.layout);
    if (!scope) return tl::unexpected(scope.error());
    for (const auto& text : options.specs) {
        auto spec = parseSpec(text);
        if (!spec) return tl::unexpected(spec.error());
        auto scopeOfThis = eval::scopeOfSpec(model, *scope, *spec);
        if (!scopeOfThis && options.specs.size() > 1) return failAt(text, scopeOfThis.error());
        if (!scopeOfThis) return tl::unexpected(scopeOfThis.error());
        add(eval::quantizedAs(std::move(*spec), std::move(*scopeOfThis)));
    }
    auto byRecipes = changesByRecipes(options.recipes, model, options.filters, *scope);
    if (!byRecipes) return tl::unexpected(byRecipes.error());
    for (auto& change : *byRecipes) add(std::move(change));
    auto byModels = changesByModels(options.others);
    if (!byModels) return tl::unexpected(byModels.error());
    for (auto& change : *byModels) changes.push_back(std::move(change));
    if (auto done = eval::measureSizes(model, changes, processJob()); !done) return tl::unexpected(done.error());
    return changes;
}

/// The text, or the tokens of a base file; with the base file as the reference.
Result<void> readTexts(const EvalOptions& options, const Model& model, eval::EvaluationPlan& plan) {
    const EndsAtOnce reading; // tokenizers work on the whole text, step after step
    if (!options.text.empty() || !options.tokens.empty()) {
        auto text = options.tokens.empty() ? eval::textFromFile(model, options.text, processJob())
                                           : eval::textFromTokens(options.tokens, processJob());
        if (!text) return tl::unexpected(text.error());
        plan.text = std::move(*text);
    }
    if (options.base.empty()) return {};
    auto base = eval::BaseFile::open(options.base);
    if (!base) return tl::unexpected(base.error());
    if (!options.contextGiven) plan.context = base->header().context;
    if (plan.text.tokens.empty()) {
        auto hash = sha256OfFile(options.base, processJob());
        if (!hash) return tl::unexpected(hash.error());
        plan.text.path = options.base, plan.text.sha256 = std::move(*hash);
        plan.text.first = eval::firstTokenOf(model);
    }
    return eval::takeReference(plan, std::make_shared<const eval::BaseFile>(std::move(*base)));
}

/// Figures of the weights under each spec. Nothing for too few specs.
Result<std::vector<eval::SpecProxies>> proxiesOf(const EvalOptions& options, const std::shared_ptr<const Model>& model,
                                                 UnitRun* units) {
    if (options.specs.size() < kLeastItems) return std::vector<eval::SpecProxies>();
    std::vector<QuantSpec> specs;
    for (const auto& text : options.specs) specs.push_back(*parseSpec(text));
    return eval::specProxies(model, specs, units, processJob());
}

Result<void> checkOptions(const EvalOptions& options) {
    const int texts = int(!options.text.empty()) + int(!options.tokens.empty());
    if (texts == 2 || (texts == 0 && options.base.empty()))
        return fail("eval needs one text: use --text FILE, --tokens FILE for one that is token ids already, or --base "
                    "FILE for the tokens of a base-logits file.");
    if (options.specs.empty() && options.recipes.empty() && options.others.empty() && options.saveBase.empty())
        return fail("eval needs something to compare with the reference: use --spec SPEC, --recipe FILE or --against "
                    "MODEL.");
    if (!options.base.empty() && !options.saveBase.empty())
        return fail("--save-base writes what this model says, and --base takes the place of that: use one of them.");
    if (options.llama && options.scored != kSecondHalf)
        return fail("llama.cpp scores the second half of every chunk, so --llama-cpp needs --scored second-half.");
    if (options.serving.given() && options.specs.empty() && options.recipes.empty())
        return fail("A backend needs something to serve: use --spec SPEC or --recipe FILE.");
    if (auto fine = options.serving.check(); !fine) return fine;
    return options.outputs.check();
}

Result<void> runEval(const EvalOptions& options) {
    if (auto fine = checkOptions(options); !fine) return fine;
    auto model = openServed(options.path);
    if (!model) return tl::unexpected(model.error());
    const auto units = options.units.open(options.outputs.any());
    if (!units) return tl::unexpected(units.error());
    if (*units && (options.llama || !options.saveBase.empty()))
        return fail(
            "--save-base and --llama-cpp need all logits, which records do not hold: use them without --records.");
    if (!*units) stoppedWith("stopped; nothing was written. With --records DIR, what is finished is kept.");
    auto changes = changesOf(options, **model);
    if (!changes) return tl::unexpected(changes.error());
    eval::EvaluationPlan plan;
    plan.changes = std::move(*changes), plan.units = *units;
    plan.context = options.context, plan.chunks = options.chunks;
    if (!options.memory.empty()) {
        const auto bytes = parseByteCount(options.memory);
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes == 0) return fail("--memory must be above 0.");
        plan.memory = *bytes;
    }
    plan.scored = options.scored == kAll ? eval::Scored::All : eval::Scored::SecondHalf;
    const auto imported = options.imports.read(*model);
    if (!imported) return tl::unexpected(imported.error());
    if (auto done = readTexts(options, **model, plan); !done) return done;
    if (makesEmbeddings(**model) && !imported->empty())
        return fail("--import takes figures of predicted tokens, and an encoder predicts none.", options.path);
    if (makesEmbeddings(**model))
        return evaluateAndPrintEmbeddings(*model, plan, options.outputs, options.units, options.commandLine);

    std::optional<eval::BaseSaver> saver;
    if (!options.saveBase.empty()) {
        auto made = eval::BaseSaver::of(options.saveBase, plan, replaceOf(options.saveBase));
        if (!made) return tl::unexpected(made.error());
        saver.emplace(std::move(*made));
    }
    eval::LlamaText llama(plan);
    if (options.llama || saver)
        plan.compared = [&](const eval::LogitRows& rows) -> Result<void> {
            if (options.llama) llama.take(rows);
            return saver ? saver->take(rows) : Result<void>();
        };
    auto result = eval::evaluate(*model, plan, processJob());
    if (!result) return tl::unexpected(result.error());
    if (saver)
        if (auto done = saver->finish(processJob()); !done) return done;
    if (saver && !options.outputs.standardOutput())
        if (auto done = print(fmt::format("Wrote {}.\n", escapeForPeople(options.saveBase, 300))); !done) return done;
    if (!options.noFloor && !plan.changes.empty()) {
        const auto floor = eval::selfNoise(*model, plan, processJob());
        if (!floor) return tl::unexpected(floor.error());
        result->floor = *floor;
    }
    const auto proxies = proxiesOf(options, *model, *units);
    if (!proxies) return tl::unexpected(proxies.error());
    if (const auto end = options.units.end()) return *end;
    const auto rows = eval::evaluationRows(plan, *result);
    const auto trust = eval::specTrustRows(*proxies, rows, *imported);
    if (!options.outputs.standardOutput()) {
        if (auto done = printRows(rows, plan, *result); !done) return done;
        if (auto done = print(importedText(*imported) + trustText(trust)); !done) return done;
        for (std::size_t i = 0; options.llama && i < rows.size(); ++i)
            if (auto done = print(fmt::format("\n{} as llama-perplexity prints it:\n{}", rows[i].spec, llama.text(i)));
                !done)
                return done;
    }
    if (options.outputs.any()) {
        auto report = eval::evaluationReport(**model, plan, *result, options.commandLine, processJob());
        if (!report) return tl::unexpected(report.error());
        eval::addTrust(trust, *imported, *report);
        auto paths = pathsOf(model->get());
        paths.push_back(options.path), paths.push_back(plan.text.path);
        paths.insert(paths.end(), options.imports.files.begin(), options.imports.files.end());
        for (const auto* given : {&options.recipes, &options.others})
            paths.insert(paths.end(), given->begin(), given->end());
        if (auto done = options.outputs.write(std::move(*report), paths); !done) return done;
    }
    return outcomeOf(plan.changes, result->reasons, options.path);
}

} // namespace

Run declareEval(CLI::App& app) {
    auto options = std::make_shared<EvalOptions>();
    addPath(app, options->path);
    option(app, "--spec", options->specs,
           "What all matrices are quantized as, those that quantize takes: with the embedding and the\n"
           "head; may be given several times")
        .type("SPEC")
        .oneAtATime();
    option(app, "--recipe", options->recipes, "A recipe as export takes it; may be given several times")
        .type("FILE")
        .reads()
        .oneAtATime();
    addTensorFilters(app, options->filters);
    option(
        app, "--layout", options->layout,
        "Leave out what this layout keeps as it is, and take the values that its readers\ngive and the bytes that it "
        "stores; see `layouts`")
        .type("LAYOUT");
    option(app, "--against", options->others,
           "Another model with the same vocabulary, of any family and file format; may be given\nseveral times")
        .type("PATH")
        .reads()
        .oneAtATime();
    option(
        app, "--text", options->text,
        "A text in UTF-8, which the model's tokenizer.json turns into tokens; one newline at\nits end does not count")
        .type("FILE")
        .reads();
    option(app, "--tokens", options->tokens,
           "The text as token ids: an array of integers (.npy), or whole numbers in a text file")
        .type("FILE")
        .reads();
    option(app, "--base", options->base,
           "A base-logits file of llama.cpp, which takes the place of the model as the reference; its\ntokens are the "
           "text where there is no other")
        .type("FILE")
        .reads();
    option(app, "--save-base", options->saveBase, "Write what the model says as such a file")
        .type("FILE")
        .writes({".bin", ".dat", ".kld", ".logits"}, {".bin", ".dat", ".kld", ".logits"});
    flag(app, "--llama-cpp", options->llama,
         "Print the figures of llama-perplexity's KL divergence too, by its own definitions");
    flag(app, "--no-floor", options->noFloor,
         "Do not measure the noise floor: the reference against itself in another order of sums");
    const Option context = option(app, "--ctx", options->context, "Tokens of a chunk; positions start at 0 in each")
                               .type("N")
                               .showDefault()
                               .range(2u, 1u << 20);
    option(app, "--chunks", options->chunks, "Chunks to evaluate at most (default: all)").type("N");
    option(app, "--memory", options->memory,
           "What the evaluation may hold, such as 1GiB (default: half of what is free). It decides\nwhich chunks go "
           "together and changes no figure; a layer, the head and a chunk are held\nin any case")
        .type("SIZE")
        .role(OptionRole::NoEffect);
    option(app, "--scored", options->scored,
           "Which predictions count: those of the second half of a chunk, as llama.cpp\ndoes, or all")
        .type("RANGE")
        .showDefault()
        .oneOf({kSecondHalf, kAll});
    options->serving.declare(app);
    options->imports.declare(app);
    options->units.declare(app);
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options, context] {
        options->contextGiven = context.given();
        std::string line = "quantscope-cli eval " + options->path;
        for (const auto& spec : options->specs) line += " --spec " + spec;
        for (const auto& path : options->recipes) line += " --recipe " + path;
        for (const auto& path : options->others) line += " --against " + path;
        for (const auto& filter : options->filters) line += " --tensor " + filter;
        if (!options->layout.empty()) line += " --layout " + options->layout;
        if (!options->text.empty()) line += " --text " + options->text;
        if (!options->tokens.empty()) line += " --tokens " + options->tokens;
        if (!options->base.empty()) line += " --base " + options->base;
        if (!options->saveBase.empty()) line += " --save-base " + options->saveBase;
        if (options->llama) line += " --llama-cpp";
        if (options->noFloor) line += " --no-floor";
        if (options->base.empty() || options->contextGiven) line += fmt::format(" --ctx {}", options->context);
        if (options->chunks > 0) line += fmt::format(" --chunks {}", options->chunks);
        if (!options->memory.empty()) line += " --memory " + options->memory;
        if (options->scored != kSecondHalf) line += " --scored " + options->scored;
        line += options->serving.commandLine() + options->imports.commandLine();
        options->commandLine = line;
        return runEval(*options);
    };
}

} // namespace qs::cli
