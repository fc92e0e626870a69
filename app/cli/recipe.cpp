// SPDX-License-Identifier: GPL-3.0-or-later
// Command recipe: recipes of other programs, for people to read and for other programs to take.
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/model/output/atomic_file.h"
#include "core/recipes/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::cli {
namespace {

struct RecipeOptions {
    std::string path, model, to, output;
    OutputFiles outputs;
};

Result<std::shared_ptr<const Model>> modelOf(const RecipeOptions& options) {
    if (options.model.empty()) return std::shared_ptr<const Model>();
    return openServed(options.model);
}

std::string jsonTexts(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + jsonString(text);
    return "[" + out + "]";
}

Result<void> resolve(const RecipeOptions& options) {
    if (auto fine = options.outputs.check(); !fine) return fine;
    const auto recipe = readForeignRecipe(options.path);
    if (!recipe) return tl::unexpected(recipe.error());
    const auto model = modelOf(options);
    if (!model) return tl::unexpected(model.error());
    const auto resolved = *model ? resolveRecipe(*recipe, **model) : Result<ResolvedRecipe>(rulesAlone(*recipe));
    if (!resolved) return failAt(shownPath(options.path), resolved.error());
    const Table tensors = makeTable({}, resolvedColumns(), resolved->tensors);
    const Table rules = makeTable({}, ruleColumns(), resolved->rules);
    const RecipeFormat& format = *recipe->format;
    const std::string rest = askedText(recipe->rest, recipe->restProblem);
    if (!options.outputs.standardOutput()) {
        std::vector<std::string_view> ids = {"tensor", "spec", "matched_by", "also", "note"};
        std::string text = *model ? tableText(withColumns(tensors, ids))
                                  : tableText(withColumns(rules, {"rule", "pattern", "matching", "spec"}));
        text += fmt::format("\n{}: {}.\nWhat no rule matches: {}.\n", format.title, format.matching, rest);
        for (const std::string& remark : resolved->remarks) text += remark + "\n";
        if (resolved->problems > 0)
            text += fmt::format("For {} of {} tensors it asks for what no spec says.\n", resolved->problems,
                                resolved->tensors.size());
        if (!*model) text += "With --model every matrix of a model is listed with the rule that decides for it.\n";
        if (auto done = print(text); !done) return done;
    }
    if (!options.outputs.any()) return {};
    return options.outputs.writeJson(fmt::format(
        "{{\"rows\": {}, \"rules\": {}, \"format\": {}, \"matching\": {}, \"rest\": {}, \"remarks\": {}}}\n",
        *model ? jsonRows(tensors) : jsonRows(rules), jsonRows(rules), jsonString(format.id),
        jsonString(format.matching), jsonString(rest), jsonTexts(resolved->remarks)));
}

/// How the file of a recipe may be called: "mine.json", or "mine.maxtext".
std::vector<std::string> endingsOf(const RecipeFormat& format) { return {format.ending, std::string(".") + format.id}; }

Result<void> convert(const RecipeOptions& options) {
    const auto recipe = readForeignRecipe(options.path);
    if (!recipe) return tl::unexpected(recipe.error());
    const auto model = modelOf(options);
    if (!model) return tl::unexpected(model.error());
    const RecipeFormat& to = *findRecipeFormat(options.to);
    const auto written = convertRecipe(*recipe, to, model->get());
    if (!written) return failAt(shownPath(options.path), written.error());
    if (options.output != "-")
        if (auto fine = checkEnding(options.output, fmt::format("-o of --to {}", to.id), endingsOf(to)); !fine)
            return fine;
    if (options.output == "-") {
        for (const std::string& remark : written->remarks) note(remark);
        return print(written->text);
    }
    if (auto done = writeWholeFile(options.output, written->text, replaceOf(options.output)); !done) return done;
    std::string text =
        fmt::format("Wrote {}: {}. Read back, it says the same.\n", escapeForPeople(options.output, 300), to.title);
    for (const std::string& remark : written->remarks) text += remark + "\n";
    return print(text);
}

Result<void> list(const RecipeOptions& options) {
    if (auto fine = options.outputs.check(); !fine) return fine;
    using Row = const RecipeFormat*;
    const auto text = [](const char* id, const char* title, Value (*value)(const Row&)) {
        return Column<Row>{{id, title, "", Show::Text, 0, Direction::None, ""}, value};
    };
    const Columns<Row> columns = {
        text("id", "Id", [](const Row& r) -> Value { return std::string(r->id); }),
        text("title", "Title", [](const Row& r) -> Value { return std::string(r->title); }),
        text("names", "Names", [](const Row& r) -> Value { return std::string(nameSpaceText(r->names)); }),
        text("matching", "Matching", [](const Row& r) -> Value { return std::string(r->matching); }),
        text("summary", "Summary", [](const Row& r) -> Value { return std::string(r->summary); }),
    };
    const auto all = recipeFormats();
    const Table table = makeTable({}, columns, std::vector<Row>(all.begin(), all.end()));
    if (!options.outputs.standardOutput())
        if (auto done = print(tableText(withColumns(table, {"id", "title", "matching"}))); !done) return done;
    if (!options.outputs.any()) return {};
    return options.outputs.writeJson(fmt::format("{{\"rows\": {}}}\n", jsonRows(table)));
}

void addRecipe(CLI::App& app, RecipeOptions& options, const char* model) {
    option(app, "FILE", options.path, "A recipe of any of `recipe formats`").required().type("").reads();
    addAs(app);
    option(app, "--model", options.model, model).type("PATH").reads();
}

} // namespace

Run declareRecipe(CLI::App& app) {
    auto resolving = std::make_shared<RecipeOptions>(), converting = std::make_shared<RecipeOptions>(),
         listing = std::make_shared<RecipeOptions>();
    CLI::App& one = subcommand(app, "resolve", "List every matrix of a model with its spec and the rule that decides");
    addRecipe(one, *resolving, "The model whose tensors it is for (default: its rules are listed)");
    resolving->outputs.declare(one, {"json"});
    CLI::App& two = subcommand(app, "convert", "Write a recipe as another program reads it");
    addRecipe(two, *converting, "The model whose tensors it is for; needed where rules are patterns");
    std::vector<std::string> ids, endings;
    for (const RecipeFormat* row : recipeFormats()) {
        ids.emplace_back(row->id);
        for (std::string& ending : endingsOf(*row)) addOnce(endings, std::move(ending));
    }
    option(two, "--to", converting->to, "Whose recipe to write; see `recipe formats`").required().type("ID").oneOf(ids);
    option(two, "-o,--output", converting->output, "The file to write").required().type("OUT").writes(endings, endings);
    CLI::App& three = subcommand(app, "formats", "List the formats of recipes and how their rules match");
    listing->outputs.declare(three, {"json"});
    return [=, &one, &two] {
        return isParsed(one) ? resolve(*resolving) : isParsed(two) ? convert(*converting) : list(*listing);
    };
}

} // namespace qs::cli
