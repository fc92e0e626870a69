// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/trust/evidence_files.h"

#include "core/base/json_tree.h"
#include "core/base/text.h"
#include "core/eval/files/imports/imported_columns.h"
#include "core/eval/trust/trust_tables.h"
#include "core/model/mapped_file.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs::eval {
namespace {

using nlohmann::json;

std::optional<double> numberAt(const json& row, const char* key) {
    const json& value = valueAt(row, key);
    return value.is_number() && std::isfinite(value.get<double>()) ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<Estimate> estimateAt(const json& row, const char* key, const char* error) {
    const auto mean = numberAt(row, key);
    return mean ? std::optional(Estimate{*mean, {}, numberAt(row, error)}) : std::nullopt;
}

std::optional<OutputFigure> figureOf(const std::optional<Estimate>& estimate) {
    return estimate ? std::optional(OutputFigure{estimate->mean, estimate->byChunk}) : std::nullopt;
}

/// An empty text for an empty text; nullopt if the text is not a spec.
std::optional<std::string> canonicalOf(const std::string& text) {
    if (text.empty()) return std::string();
    const auto spec = parseSpec(text);
    return spec ? std::optional(canonicalText(*spec)) : std::nullopt;
}

SensitivityRow rowFrom(const json& row) {
    SensitivityRow out;
    out.unit = textAt(row, "tensor"), out.spec = textAt(row, "spec");
    out.divergence = estimateAt(row, "kl", "kl_se_chunk"), out.gain = estimateAt(row, "gain", "gain_se_chunk");
    out.slope = estimateAt(row, "slope", "slope_se");
    out.outputNmse = estimateAt(row, "output_nmse", "output_nmse_se");
    out.weightedNmse = estimateAt(row, "weighted_nmse", "weighted_nmse_se");
    return out;
}

/// Whether the files that a report was made of are as long as those of the model.
bool isOfModel(const json& provenance, const Model& model) {
    std::uint64_t bytes = 0;
    for (const auto& file : model.files) bytes += file.size;
    const std::string said = textAt(provenance, "input_bytes");
    return said.empty() || said == std::to_string(bytes);
}

Result<void> addReport(const Model& model, std::string_view text, const std::string& path, OutputEffects& into) {
    const std::string name = shownPath(path);
    const auto tree = readJsonTree(text, kMostImportBytes);
    if (!tree) return fail(fmt::format("{} {}.", name, tree.error().message), path);
    if (!isOfModel(valueAt(*tree, "provenance"), model))
        return fail(fmt::format("{} was measured on another model: the sizes of the files differ.", name), path);
    const json& rows = valueAt(*tree, "rows");
    std::vector<SensitivityRow> sensitivities;
    std::size_t models = 0;
    for (const json& row : rows.is_array() ? rows : json::array()) {
        if (!textAt(row, "tensor").empty()) {
            sensitivities.push_back(rowFrom(row));
            if (!model.find(sensitivities.back().unit))
                return fail(fmt::format("{} was measured on another model: this one has no tensor \"{}\".", name,
                                        escapeForPeople(sensitivities.back().unit, 100)),
                            path);
        }
        const auto spec = canonicalOf(textAt(row, "spec"));
        const auto kl = estimateAt(row, "kl_mean", "kl_se_chunk");
        const std::string server = textAt(row, "served_by"); // backends round activations: not the weights alone
        if (!spec || spec->empty() || !kl || (!server.empty() && server != kOwnProducts)) continue;
        into.addModel(*spec, *figureOf(kl)), ++models;
    }
    if (sensitivities.empty() && models == 0)
        return fail(
            fmt::format("{} holds no figures of tensors or specs, as --json of sensitivity and eval has them.", name),
            path);
    addEffects(sensitivities, into);
    return {};
}

} // namespace

void addEffects(std::span<const SensitivityRow> rows, OutputEffects& into) {
    std::map<std::string, std::optional<std::string>> specs;
    for (const SensitivityRow& row : rows) {
        const auto [known, fresh] = specs.try_emplace(row.spec);
        if (fresh) known->second = canonicalOf(row.spec);
        const auto& spec = known->second;
        if (!row.isTensor || !row.reason.empty() || !spec) continue;
        OutputEffect effect;
        if (isAlone(row)) effect.alone = figureOf(row.divergence);
        effect.saved = figureOf(row.gain);
        effect.outputNmse = figureOf(row.outputNmse), effect.weightedNmse = figureOf(row.weightedNmse);
        if (effect.alone || effect.saved || effect.outputNmse) into.add(row.unit, *spec, effect);
        OutputEffect any;
        if ((any.slope = figureOf(row.slope))) into.add(row.unit, {}, any);
    }
}

void addEffects(const EvaluationRecord& record, OutputEffects& into) {
    for (const RecordedChange& change : record.changes) {
        const auto& row = change.row;
        const auto spec = row.kind == RowKind::Spec && row.servedBy.empty() ? canonicalOf(row.spec) : std::nullopt;
        if (spec && !spec->empty() && row.summary) into.addModel(*spec, *figureOf(row.summary->divergence));
    }
}

Result<void> addEvidenceFile(const std::shared_ptr<const Model>& model, const std::string& path, OutputEffects& into) {
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    std::vector<std::byte> scratch;
    const std::uint64_t size = (*file)->size();
    const auto first = (*file)->read(0, std::min<std::uint64_t>(size, 1), scratch);
    if (first.empty() || char(first.front()) != '{') {
        const auto columns = importColumns(model, {path, {}, {}});
        if (!columns) return tl::unexpected(columns.error());
        addEffects(*columns, into);
        return {};
    }
    if (size > kMostImportBytes)
        return fail(fmt::format("{} is longer than the 64 MiB that a report may have.", shownPath(path)), path);
    const auto bytes = (*file)->read(0, size, scratch);
    auto done = addReport(*model, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, into);
    if (auto same = (*file)->unchanged(); !same) return same;
    return done;
}

} // namespace qs::eval
