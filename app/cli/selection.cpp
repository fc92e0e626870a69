// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/selection.h"

#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"

#include <filesystem>
#include <fmt/format.h>
#include <unordered_set>

namespace qs::cli {

RunFiles& runFiles() {
    static RunFiles files;
    return files;
}

Option addPath(CLI::App& app, std::string& path) {
    return option(app, "PATH", path, "A weight file, a sharded index, or a Hugging Face folder")
        .required()
        .type("")
        .reads();
}

Option addTensorFilters(CLI::App& app, std::vector<std::string>& filters) {
    return option(app, "--tensor", filters,
                  "Only tensors whose name matches; may be given several times\n"
                  "(default: every float tensor of rank 2 or more)")
        .type("REGEX")
        .oneAtATime();
}

Result<std::shared_ptr<const Model>> open(const std::string& path) {
    auto model = [&] {
        const EndsAtOnce reading;
        return openModel(path);
    }();
    if (!model) return model;
    runFiles().reads(**model);
    if (auto fine = runFiles().apart(); !fine) return tl::unexpected(fine.error());
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

Result<std::vector<const TensorInfo*>> select(const Model& model, const std::vector<std::string>& filters) {
    std::vector<const TensorInfo*> taken;
    if (filters.empty()) {
        auto all = selectTensors(model, {});
        if (!all) return all;
        taken = std::move(*all);
        if (taken.empty())
            return fail(
                fmt::format("{} holds no float tensor of rank 2 or more; choose among its {} tensors with --tensor.",
                            escapeForPeople(model.path), model.tensors.size()),
                model.path);
        return taken;
    }
    std::unordered_set<const TensorInfo*> any;
    for (const auto& filter : filters) {
        auto matched = selectTensors(model, filter);
        if (!matched) return matched;
        any.insert(matched->begin(), matched->end());
    }
    for (const auto& tensor : model.tensors)
        if (any.count(&tensor)) taken.push_back(&tensor);
    if (taken.empty())
        return fail(fmt::format("No tensor of {} matches --tensor {}; inspect lists its {} tensors.",
                                escapeForPeople(model.path), escapeForPeople(filters.front()), model.tensors.size()),
                    model.path);
    return taken;
}

std::string joined(const std::vector<std::string>& filters) {
    if (filters.size() == 1) return filters.front();
    std::string out;
    for (const auto& filter : filters) out += (out.empty() ? "(?:" : "|(?:") + filter + ")";
    return out;
}

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
