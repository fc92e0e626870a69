// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/selection.h"

#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/layouts/select.h"
#include "core/layouts/serve.h"
#include "core/model/conventions/convention.h"

#include <filesystem>
#include <fmt/format.h>

namespace qs::cli {

RunFiles& runFiles() {
    static RunFiles files;
    return files;
}

Replace replaceOf(const std::string& path) { return runFiles().replace(path, part().force); }

std::string& asConvention() {
    static std::string id;
    return id;
}

std::vector<std::string>& leftOut() {
    static std::vector<std::string> sentences;
    return sentences;
}

Option addAs(CLI::App& app) {
    return option(app, "--as", asConvention(),
                  "Read layers that can be read so as stored by this convention, whatever the\n"
                  "files say (ids: command conventions)")
        .type("CONVENTION")
        .check([](const std::string& id) { return findConvention(id) ? std::string() : unknownConvention(id); });
}

Option addPath(CLI::App& app, std::string& path) {
    addAs(app);
    return option(app, "PATH", path, "A weight file, a sharded index, or a Hugging Face folder")
        .required()
        .type("")
        .reads();
}

Option addTensorFilters(CLI::App& app, std::vector<std::string>& filters) {
    return option(app, "--tensor", filters,
                  "Only matrices whose name matches, or a tensor by its full name; may be given several times\n"
                  "(default: all but routers, tables of positions, state matrices and norms)")
        .type("REGEX")
        .oneAtATime();
}

void addTensorChoice(CLI::App& app, TensorChoice& choice) {
    addTensorFilters(app, choice.filters);
    flag(app, "--vectors", choice.vectors, "Norms, biases and other tensors with one axis too");
}

std::string choiceText(const TensorChoice& choice) {
    std::string text;
    for (const auto& filter : choice.filters) text += " --tensor " + filter;
    return text + (choice.vectors ? " --vectors" : "");
}

Result<std::shared_ptr<const Model>> open(const std::string& path) {
    auto model = [&] {
        const EndsAtOnce reading;
        return openModel(path, {.as = asConvention()});
    }();
    if (!model) return model;
    runFiles().reads(**model);
    if (auto fine = runFiles().apart(); !fine) return tl::unexpected(fine.error());
    for (auto sentence : {leftOutSentence(**model), missingSentence(**model)})
        if (!sentence.empty()) addOnce(leftOut(), std::move(sentence));
    constexpr std::size_t most = 10;
    const auto& warnings = (*model)->warnings;
    for (std::size_t i = 0; i < warnings.size() && i < most; ++i) warn(warnings[i]);
    if (warnings.size() > most) warn(fmt::format("{} more warnings of this kind.", warnings.size() - most));
    return model;
}

Result<std::shared_ptr<const Model>> openServed(const std::string& path) {
    auto model = open(path);
    return model ? servedModel(*model, processJob()) : std::move(model);
}

Result<std::vector<const TensorInfo*>> select(const Model& model, const TensorChoice& choice) {
    return selectAny(model, choice);
}

std::string joined(const std::vector<std::string>& filters) { return joinedFilters(filters); }

Result<void> pluginsExist(const std::vector<std::string>& paths) {
    std::error_code error;
    for (const auto& path : paths)
        if (!std::filesystem::is_regular_file(path, error))
            return fail(fmt::format("The plugin {} is not a file{}.", escapeForPeople(path),
                                    error ? ": " + error.message() : std::string()),
                        path);
    return {};
}

Option addDecoded(CLI::App& app, std::string& decoded) {
    return option(app, "--decoded", decoded,
                  "What errors are measured on: the f32 values that codes decode to\n"
                  "(default), or those values as a file of the source's type holds them")
        .oneOf({"f32", "source"})
        .type("f32|source");
}

Result<DecodedAs> decodedAs(const std::string& id) {
    for (const auto& choice : decodedAsChoices())
        if (id == choice.id) return choice.value;
    return fail(fmt::format("--decoded is f32 or source, not '{}'.", escapeForPeople(id, 40)));
}

} // namespace qs::cli
