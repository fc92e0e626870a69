// SPDX-License-Identifier: GPL-3.0-or-later
// Commands quantize and dequantize. The core library does the work; this file parses options and prints the result.
#include "app/cli/activations.h"
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/base/text.h"
#include "core/export/decoded_tensors.h"
#include "core/export/export_model.h"
#include "core/layouts/serve.h"
#include "core/recipes/resolve.h"
#include "core/solve/row.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

constexpr const char* kLayoutOfEnding = "auto"; ///< the layout is chosen by the file name extension of the output;
                                                ///< default eformer

struct QuantizeOptions {
    std::string path, layout = kLayoutOfEnding, output;
    std::vector<std::string> specs;
    TensorChoice choice;
    std::string recipe, solver, certificate;
    Learning learning;
    OutputFiles rows; ///< the certificate and the rows of the solver, as JSON
    bool skipRefused = false, copyAll = false, allowMissing = false;
};

struct ExportOptions {
    std::string path, recipe, layout, output;
    TensorChoice choice;
    OutputFiles rows; ///< the certificate, as JSON
    UnitOptions units;
    bool skipRefused = false, copyAll = false, allowMissing = false;
};

struct DequantizeOptions {
    std::string path, decode, output;
    bool copyAll = false, allowMissing = false;
};

constexpr double kToldSeconds = 1; ///< seconds of CPU time; shorter runs do not print it

constexpr std::size_t kMostNamed = 20; ///< limit for refused tensors and files on the terminal; JSON has all

/// Files of the source folder that were not copied.
std::string leftOutText(const std::vector<LeftOut>& files) {
    std::string text;
    for (std::size_t i = 0; i < files.size() && i < kMostNamed; ++i)
        text += fmt::format("Left out: {}: {}.\n", escapeForPeople(files[i].name, 200), files[i].why);
    if (files.size() > kMostNamed) text += fmt::format("Left out: {} more files.\n", files.size() - kMostNamed);
    return text;
}

/// A line for each of the first tensors, with its reason.
std::string namedText(const std::vector<SkippedTensor>& tensors) {
    std::string text;
    for (std::size_t i = 0; i < tensors.size() && i < kMostNamed; ++i)
        text += fmt::format("  {}: {}\n", escapeForPeople(tensors[i].name, 80), oneSentence(tensors[i].reason));
    if (tensors.size() > kMostNamed)
        text += fmt::format("  and {} more; --json lists all\n", tensors.size() - kMostNamed);
    return text;
}

/// Tensors that --skip-refused left unchanged.
std::string skippedText(const std::vector<SkippedTensor>& skipped) {
    if (skipped.empty()) return {};
    return fmt::format("{} refused tensors of those copied stay as they are:\n", skipped.size()) + namedText(skipped);
}

/// Prints what was left out or skipped, the warnings, the remarks and the proof.
Result<void> report(const Exported& exported) {
    std::string text = leftOutText(exported.written.leftOut) + skippedText(exported.written.skipped);
    for (const auto& warning : exported.written.warnings) text += "Warning: " + warning + '\n';
    for (const std::string& remark : exported.written.remarks) text += remark + "\n";
    text += fmt::format("Proof: {}\n", summaryText(exported.certificate));
    if (exported.cpuOfWriting + exported.cpuOfProof >= kToldSeconds)
        text += fmt::format("CPU time: {:.2f} s to read, quantize and write, {:.2f} s to prove and hash.\n",
                            exported.cpuOfWriting, exported.cpuOfProof);
    if (!exported.certificatePath.empty())
        text += fmt::format("Certificate: {}\n", escapeForPeople(exported.certificatePath, 300));
    if (const auto& kept = exported.written.kept; !kept.empty())
        text +=
            namedText(kept) + fmt::format("{} stay{} as {} in this layout.\n",
                                          kept.size() == 1 ? "1 matrix of those copied"
                                                           : fmt::format("{} matrices of those copied", kept.size()),
                                          kept.size() == 1 ? "s" : "", kept.size() == 1 ? "it is" : "they are");
    return print(text);
}

Result<void> report(const WrittenFiles& written, const std::string& output, const std::string& verb) {
    std::string text = fmt::format("Wrote {} ({}): {} {}, {} copied.\n", escapeForPeople(output, 300),
                                   bytesText(written.bytes), written.quantizedTensors, verb, written.copiedTensors);
    return print(text);
}

/// Reports layers that were already quantized in the source but not selected. The output stores their decoded values.
Result<void> sayDecoded(const Model& source, const Exported& exported) {
    const auto decoded = decodedTensors(source, exported.certificate);
    if (!decoded) return tl::unexpected(decoded.error());
    if (*decoded == 0) return {};
    return print(
        fmt::format("{} of those copied are stored quantized in the source and written as the values that they "
                    "decode to.\n",
                    *decoded));
}

std::string solvedText(const std::vector<solve::SolveRow>& rows) {
    const Table all = makeTable({}, solve::solveColumns(), rows);
    return tableText(withColumns(all, {"tensor", "nearest_output_db", "output_db", "nearest_nmse", "nmse", "remark"})) +
           fmt::format("\n{} on {}: SQNR of the output X W^T, nearest and solved.\n", rows.front().solver,
                       rows.front().inputs);
}

/// Writes --json: the rows of the solver, or else of the certificate, and then the certificate itself.
Result<void> writeRows(const OutputFiles& files, const Exported& exported, const std::vector<solve::SolveRow>& rows) {
    const auto listed = [](const std::vector<SkippedTensor>& tensors) {
        std::string text;
        for (const auto& [name, reason] : tensors)
            text += fmt::format("{}{{\"tensor\": {}, \"reason\": {}}}", text.empty() ? "" : ", ", jsonString(name),
                                jsonString(reason));
        return text;
    };
    std::string warnings;
    for (const auto& warning : exported.written.warnings)
        warnings += (warnings.empty() ? "" : ", ") + jsonString(warning);
    return files.writeJsonInPieces([&](const OutputFiles::Sink& put) {
        auto done = put("{\"rows\": ");
        if (done)
            done = rows.empty() ? eachCertificateRow(exported.certificate, put)
                                : put(jsonRows(makeTable({}, solve::solveColumns(), rows)));
        if (done)
            done = put(fmt::format(", \"skipped\": [{}], \"kept\": [{}], \"warnings\": [{}], \"certificate\": ",
                                   listed(exported.written.skipped), listed(exported.written.kept), warnings));
        if (done) done = eachCertificatePiece(exported.certificate, put);
        return done ? put("}\n") : done;
    });
}

/// Writes --certificate, in addition to the certificate that the export writes itself.
Result<void> putCertificate(const std::string& path, const Exported& exported) {
    if (path.empty()) return {};
    if (path == "-")
        return eachCertificatePiece(exported.certificate, [](std::string_view piece) { return print(piece); });
    if (auto done = writeCertificate(path, exported.certificate); !done) return done;
    return print(fmt::format("Certificate: {}\n", escapeForPeople(path, 300)));
}

/// Prepares what is decided before writing: a solver, shared codebooks, or codebooks weighted by inputs.
Result<void> prepareSolving(const QuantizeOptions& options, const Model& model, QuantizeRequest& request,
                            std::optional<solve::Settings>& settings, solve::Codebooks& codebooks,
                            std::vector<solve::SolveRow>& rows) {
    if (!options.solver.empty()) {
        auto parsed = solve::parseSettings(options.solver);
        if (!parsed) return tl::unexpected(parsed.error());
        settings = std::move(*parsed);
        const solve::Solver& solver = *solve::findSolver(settings->solver);
        if (auto ok = solver.accepts(request.spec, *settings); !ok) return ok;
        if (options.learning.activations.empty())
            return fail(fmt::format("Solver {} needs calibration inputs: add --activations FILE, or --activations "
                                    "synthetic to try it out.",
                                    solver.id));
        request.columnScales = solver.columnScales;
    }
    Learning learning = options.learning;
    if (auto ready = learning.prepare(std::span(&request.spec, 1), settings.has_value()); !ready) return ready;
    if (settings) {
        request.solve = [&rows, &request, &settings, file = learning.file](const TensorView& view) {
            return solve::solveLayer(view, request.spec, *settings, file.get(), rows, processJob());
        };
    } else if (learning.hasEffect()) {
        auto taken = select(model, request.choice);
        if (!taken) return tl::unexpected(taken.error());
        auto learned = learning.codebooks(model, *taken, request.spec, processJob());
        if (!learned) return tl::unexpected(learned.error());
        codebooks = std::move(*learned);
        request.solve = [&codebooks](const TensorView& view) -> Result<std::shared_ptr<const Solved>> {
            auto solved = std::make_shared<Solved>();
            if (const auto found = codebooks.find(view.info); found != codebooks.end()) solved->levels = found->second;
            return std::shared_ptr<const Solved>(std::move(solved));
        };
    }
    return {};
}

Result<void> checkLayout(const std::string& id) {
    if (id == kLayoutOfEnding || findLayout(id)) return {};
    std::string known;
    for (const auto& layout : layouts()) known += (known.empty() ? "" : ", ") + std::string(layout.id);
    return fail(fmt::format("There is no layout '{}'; the layouts are {}.", escapeForPeople(id), known));
}

/// A recipe, and what is to be said of it: rules that match no tensor are usually mistakes.
struct GivenRecipe {
    Recipe recipe;
    std::vector<std::string> remarks = {};
};
GivenRecipe withRemarks(Recipe recipe, const Model& model) {
    GivenRecipe out{std::move(recipe)};
    for (const auto& rule : unmatchedRules(out.recipe, model))
        out.remarks.push_back(fmt::format("The rule '{}' matches no tensor.", escapeForPeople(rule, 100)));
    return out;
}
/// Reads a recipe from a file in any recipe format.
Result<GivenRecipe> givenRecipe(const std::string& path, const Model& model) {
    auto read = readAndResolve(path, model);
    if (!read) return tl::unexpected(read.error());
    if (read->format == &kOwnRecipes) return withRemarks(std::move(read->recipe), model);
    return GivenRecipe{std::move(read->recipe), std::move(read->resolved.remarks)};
}
Result<void> sayRemarks(const GivenRecipe& given) {
    std::string text;
    for (const std::string& remark : given.remarks) text += remark + "\n";
    return text.empty() ? Result<void>{} : print(text);
}

std::string asWhat(const Recipe& recipe) {
    if (recipe.rules.empty() && recipe.rest) return "tensors as " + specText(*recipe.rest);
    return fmt::format("tensors by {} rules", recipe.rules.size());
}

Result<void> exportAs(const ExportOptions& options) {
    if (auto known = checkLayout(options.layout); !known) return known;
    const auto source = open(options.path);
    if (!source) return tl::unexpected(source.error());
    const auto model = servedModel(*source, processJob());
    if (!model) return tl::unexpected(model.error());
    const auto given = givenRecipe(options.recipe, **model);
    if (!given) return tl::unexpected(given.error());
    const Recipe* recipe = &given->recipe;
    if (auto fine = options.rows.check(); !fine) return fine;
    QuantizeRequest request{{}, options.choice, options.layout, options.output};
    request.skipRefused = options.skipRefused;
    request.copyAll = options.copyAll, request.allowMissing = options.allowMissing;
    recipe->applyTo(request);
    const auto units = options.units.open(options.rows.any());
    if (!units) return tl::unexpected(units.error());
    if (*units)
        if (auto shared = shareFiles(**units, **model, request, processJob()); !shared) return shared;
    auto exported = exportModel(**model, request, processJob());
    if (!exported) return tl::unexpected(exported.error());
    if (const auto end = options.units.end()) return *end;
    if (options.rows.standardOutput()) return writeRows(options.rows, *exported, {});
    if (auto done = sayRemarks(*given); !done) return done;
    if (auto done = report(exported->written, options.output, asWhat(*recipe)); !done) return done;
    if (auto done = sayDecoded(**source, *exported); !done) return done;
    if (auto done = report(*exported); !done) return done;
    return options.rows.any() ? writeRows(options.rows, *exported, {}) : Result<void>{};
}

Result<void> quantize(const QuantizeOptions& options) {
    auto ofSpecs = recipeOfSpecs(options.specs);
    if (!ofSpecs) return tl::unexpected(ofSpecs.error());
    if (!options.recipe.empty() && !options.specs.empty())
        return fail("--recipe and --spec both say which tensor gets which spec; give one of them.");
    if (auto known = checkLayout(options.layout); !known) return known;
    if ((!ofSpecs->rules.empty() || !options.recipe.empty()) &&
        (!options.solver.empty() || options.learning.hasEffect()))
        return fail("Rules are for specs alone: solvers and shared codebooks take one --spec for all tensors.");
    const auto source = open(options.path);
    if (!source) return tl::unexpected(source.error());
    const auto model = servedModel(*source, processJob());
    if (!model) return tl::unexpected(model.error());
    if (auto taken = select(**model, options.choice); !taken) return tl::unexpected(taken.error());
    const auto given = options.recipe.empty() ? Result<GivenRecipe>(withRemarks(std::move(*ofSpecs), **model))
                                              : givenRecipe(options.recipe, **model);
    if (!given) return tl::unexpected(given.error());
    const Recipe* recipe = &given->recipe;
    if (auto fine = options.rows.check(); !fine) return fine;
    if (options.certificate == "-" && options.rows.standardOutput())
        return fail("--certificate and --json both name the standard output; give one of them a file.");
    const std::string layout = options.layout == kLayoutOfEnding ? std::string() : options.layout;
    QuantizeRequest request{{}, options.choice, layout, options.output};
    request.skipRefused = options.skipRefused;
    request.copyAll = options.copyAll, request.allowMissing = options.allowMissing;
    recipe->applyTo(request);
    std::vector<solve::SolveRow> rows;
    std::optional<solve::Settings> settings;
    solve::Codebooks codebooks;
    if (auto ready = prepareSolving(options, **model, request, settings, codebooks, rows); !ready) return ready;
    const bool needsRows = !options.certificate.empty() || options.rows.any() || hasQuantizedTensors(**source);
    auto exported =
        exportModel(**model, request, processJob(), Beside::Nothing, needsRows ? ProofRows::Kept : ProofRows::Counted);
    if (!exported) return tl::unexpected(exported.error());
    if (options.certificate == "-" || options.rows.standardOutput()) {
        if (auto done = putCertificate(options.certificate, *exported); !done) return done;
        return options.rows.any() ? writeRows(options.rows, *exported, rows) : Result<void>{};
    }
    if (!rows.empty())
        if (auto done = print(solvedText(rows)); !done) return done;
    if (auto done = sayRemarks(*given); !done) return done;
    if (auto done = report(exported->written, options.output, asWhat(*recipe)); !done) return done;
    if (auto done = sayDecoded(**source, *exported); !done) return done;
    if (auto done = report(*exported); !done) return done;
    if (auto done = putCertificate(options.certificate, *exported); !done) return done;
    return options.rows.any() ? writeRows(options.rows, *exported, rows) : Result<void>{};
}

Result<void> dequantize(const DequantizeOptions& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    std::optional<Decode> decode;
    if (!options.decode.empty()) decode = options.decode == "poly" ? Decode::Poly : Decode::Table;
    auto written =
        dequantizeModel(**model, decode, options.output, processJob(), options.copyAll, options.allowMissing);
    if (!written) return tl::unexpected(written.error());
    if (auto done = report(*written, options.output, "tensors decoded"); !done) return done;
    std::string text = leftOutText(written->leftOut);
    for (const std::string& remark : written->remarks) text += remark + "\n";
    return print(text);
}

/// What is copied of a folder, and whether a part of it may be missing.
template<class Options> void addCopying(CLI::App& app, Options& options) {
    flag(app, "--copy-all", options.copyAll,
         "Copy the other weights of a folder too: by default they are left out and named");
    flag(app, "--allow-missing", options.allowMissing,
         "Write what there is of a model that lacks shards or tensors: by default it is refused");
}

} // namespace

Run declareQuantize(CLI::App& app) {
    auto options = std::make_shared<QuantizeOptions>();
    addPath(app, options->path);
    const Option specs = option(app, "--spec", options->specs,
                                "What to quantize to, for instance nf4:block=64; see `formats`. More of\n"
                                "the kind REGEX=SPEC or REGEX=keep: the first that matches a name decides")
                             .oneAtATime()
                             .type("SPEC");
    const Option recipe =
        option(app, "--recipe", options->recipe, "A file that says it for each tensor; see `recipe formats`")
            .type("RECIPE")
            .reads();
    requireEither(app, specs, recipe, "--spec or --recipe");
    addTensorChoice(app, options->choice);
    option(app, "--layout", options->layout,
           "How it is stored (default: what writes files that end as OUT does, else that of the dialect\nthat the spec "
           "names, "
           "else the first that holds it); see `layouts`")
        .type("LAYOUT");
    option(app, "--solver", options->solver,
           "Keep the output of each layer on --activations: gptq or awq, with options\n"
           "such as gptq:order=act; see `solvers`")
        .type("SOLVER");
    options->learning.declare(app);
    flag(app, "--skip-refused", options->skipRefused, "Keep tensors that are refused as they are, and name them");
    addCopying(app, *options);
    option(app, "--certificate", options->certificate, "What was proved, with the SHA-256 of every file, as JSON")
        .type("FILE")
        .writes({".json"});
    options->rows.declare(app, {"json"});
    option(app, "-o,--output", options->output, "A .safetensors, .gguf, .h5 or .npz file, or a Hugging Face folder")
        .required()
        .type("OUT")
        .exports();
    return [options] { return quantize(*options); };
}

Run declareExport(CLI::App& app) {
    auto options = std::make_shared<ExportOptions>();
    addPath(app, options->path);
    option(app, "--recipe", options->recipe, "A file that says which tensors get which spec; see `recipe formats`")
        .required()
        .type("RECIPE")
        .reads();
    addTensorChoice(app, options->choice);
    option(app, "--layout", options->layout, "How it is stored; see `layouts`").required().type("LAYOUT");
    flag(app, "--skip-refused", options->skipRefused, "Keep tensors that are refused as they are, and name them");
    addCopying(app, *options);
    options->units.declare(app);
    options->rows.declare(app, {"json"});
    option(app, "-o,--output", options->output, "A .safetensors, .gguf, .h5 or .npz file, or a Hugging Face folder")
        .required()
        .type("OUT")
        .certifies();
    return [options] { return exportAs(*options); };
}

Run declareDequantize(CLI::App& app) {
    auto options = std::make_shared<DequantizeOptions>();
    addPath(app, options->path);
    option(app, "--decode", options->decode, "Decode 4-bit codes by table or by polynomial (default: as the file says)")
        .oneOf({"table", "poly"})
        .type("table|poly");
    addCopying(app, *options);
    option(app, "-o,--output", options->output, "A .safetensors file, or a Hugging Face folder")
        .required()
        .type("OUT")
        .exports();
    return [options] { return dequantize(*options); };
}

} // namespace qs::cli
