// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/evidence_options.h"

#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/text.h"
#include "core/eval/trust/evidence_files.h"
#include "core/report/report.h"

#include <charconv>
#include <fmt/format.h>

namespace qs::cli {
namespace {

constexpr const char* kEstimate = "estimate";

Result<std::optional<double>> floorFrom(const std::string& text) {
    if (text == kEstimate) return std::optional<double>();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0))
        return fail(fmt::format("--import-floor takes a number from 0 on, or \"{}\"; \"{}\" is none.", kEstimate,
                                escapeForPeople(text, 40)));
    return std::optional(value);
}

} // namespace

void ImportOptions::declare(CLI::App& app) {
    option(app, "--import", files,
           "Figures of another program, as proxies: a log or table of llama-perplexity, a log of GPTQ,\na CSV of "
           "GGUF-Tool-Suite with a figure a tensor; may be given several times")
        .type("FILE")
        .reads()
        .oneAtATime();
    option(app, "--import-spec", specs,
           "The spec of a file that does not say it; the n-th belongs to the n-th --import")
        .type("SPEC")
        .oneAtATime();
    option(
        app, "--import-floor", floors,
        "What all tensors of a file have in common because its reference was itself quantized, or\nestimate: the 5th "
        "percentile over tensors (default: estimate); the n-th belongs to the\nn-th --import")
        .type("NATS")
        .oneAtATime();
}

Result<std::vector<eval::ImportedColumn>> ImportOptions::read(const std::shared_ptr<const Model>& model) const {
    if (specs.size() > files.size() || floors.size() > files.size())
        return fail("--import-spec and --import-floor belong to an --import each, and there are fewer of it.");
    std::vector<eval::ImportedColumn> out;
    for (std::size_t i = 0; i < files.size(); ++i) {
        eval::ImportWish wish{files[i], i < specs.size() ? specs[i] : std::string(), {}};
        if (i < floors.size()) {
            const auto floor = floorFrom(floors[i]);
            if (!floor) return tl::unexpected(floor.error());
            wish.floor = *floor;
        }
        auto columns = eval::importColumns(model, wish);
        if (!columns) return tl::unexpected(columns.error());
        std::move(columns->begin(), columns->end(), std::back_inserter(out));
    }
    return out;
}

std::string ImportOptions::commandLine() const {
    std::string line;
    for (const auto& file : files) line += " --import " + file;
    for (const auto& spec : specs) line += " --import-spec " + spec;
    for (const auto& floor : floors) line += " --import-floor " + floor;
    return line;
}

void EvidenceOption::declare(CLI::App& app) {
    option(
        app, "--evidence", files,
        "What is known of the model's output, as figures beside those of the weights: JSON that\nsensitivity or eval "
        "wrote, or figures of another program; may be given several times")
        .type("FILE")
        .reads()
        .oneAtATime();
}

Result<std::shared_ptr<const OutputEffects>> EvidenceOption::read(const std::shared_ptr<const Model>& model) const {
    if (files.empty()) return nullptr;
    auto effects = std::make_shared<OutputEffects>();
    for (const auto& file : files)
        if (auto added = eval::addEvidenceFile(model, file, *effects); !added) return tl::unexpected(added.error());
    return effects;
}

std::string EvidenceOption::commandLine() const {
    std::string line;
    for (const auto& file : files) line += " --evidence " + file;
    return line;
}

std::string importedText(const std::vector<eval::ImportedColumn>& columns) {
    if (columns.empty()) return {};
    std::string text = "\nImported:\n" + tableText(makeTable({}, eval::importedColumns(), columns));
    for (const auto& column : columns)
        if (column.saysLittle())
            text += fmt::format("{}: the floor is more than half of the median; its figures say little of single "
                                "tensors.\n",
                                escapeForPeople(column.title(), 120));
    return text;
}

std::string trustText(const std::vector<eval::TrustRow>& rows) {
    if (rows.empty()) return {};
    return "\nTrust in proxies:\n" + tableText(makeTable({}, eval::trustColumns(), rows)) + eval::kTrustText + "\n";
}

} // namespace qs::cli
