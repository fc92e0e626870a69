// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_format.h"
#include "core/report/report.h"

#include <fmt/format.h>
#include <map>

namespace qs::cli {
namespace {

struct Options {
    std::string path;
    bool statistics = false;
    OutputFiles outputs;
};

Result<std::vector<InspectRow>> rowsOf(const Model& model, bool statistics) {
    std::vector<InspectRow> rows;
    rows.reserve(model.tensors.size());
    double done = 0;
    for (const auto& tensor : model.tensors) {
        InspectRow row{
            tensor, tensor.file < model.files.size() ? model.files[tensor.file].path : std::string(), {}, {}};
        if (statistics) {
            processJob().progress(
                {done, double(model.totalBytes()), "Measuring " + tensor.name, rows.size() + 1, model.tensors.size()});
            done += double(tensor.bytes);
            if (!info(tensor.dtype).quantizable)
                row.reason = fmt::format("statistics are taken of float tensors, not of {}", tensor.typeId());
            else if (auto measured = measureStatistics(model, tensor, processJob()))
                row.statistics = *measured;
            else if (measured.error().cancelled)
                return tl::unexpected(measured.error());
            else
                row.reason = measured.error().message;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

using Metadata = std::map<std::string, std::string>;

std::string metadataText(const Metadata& metadata) {
    if (metadata.empty()) return {};
    Table table;
    table.columns.resize(2);
    table.columns[0].title = "Key", table.columns[1].title = "Value";
    for (const auto& [key, value] : metadata) table.rows.push_back({key, escapeForPeople(value, 100)});
    return "\n" + tableText(table);
}

std::string metadataJson(const Metadata& metadata) {
    std::string text;
    for (const auto& [key, value] : metadata)
        text += fmt::format("{}\n  {}: {}", text.empty() ? "" : ",", jsonString(key), jsonString(value));
    return text.empty() ? "{}" : "{" + text + "\n}";
}

/// What the types of computed tensors mean, one line for each that differs.
std::string derivedText(const Model& model) {
    std::map<std::pair<std::string, std::string>, std::size_t> kinds;
    for (const auto& tensor : model.tensors)
        if (tensor.derived)
            ++kinds[{tensor.typeId(),
                     fmt::format("{}; values in {}", tensor.derived->description(), info(tensor.dtype).id)}];
    if (kinds.empty()) return {};
    Table table;
    table.columns.resize(3);
    table.columns[0].title = "Type", table.columns[1].title = "Tensors", table.columns[2].title = "Stored as";
    for (const auto& [kind, count] : kinds)
        table.rows.push_back({kind.first, std::to_string(count), escapeForPeople(kind.second, 100)});
    return "\n" + tableText(table);
}

/// Computed tensors with the tensors of the file that hold them.
std::string derivedJson(const Model& model) {
    std::string text;
    for (const auto& tensor : model.tensors) {
        if (!tensor.derived) continue;
        std::string parts;
        for (const auto& part : tensor.derived->parts())
            parts += fmt::format("{}\n    {{\"name\": {}, \"dtype\": {}, \"shape\": {}, \"bytes\": {}}}",
                                 parts.empty() ? "" : ",", jsonString(part.name), jsonString(part.typeId()),
                                 wholeShapeText(part.shape), part.bytes);
        text += fmt::format("{}\n  {{\"name\": {}, \"values\": {}, \"description\": {}, \"parts\": [{}]}}",
                            text.empty() ? "" : ",", jsonString(tensor.name), jsonString(info(tensor.dtype).id),
                            jsonString(tensor.derived->description()), parts);
    }
    return text.empty() ? text : fmt::format(", \"computed\": [{}\n]", text);
}

Result<void> run(const Options& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(model->get()); !fine) return fine;
    auto rows = rowsOf(**model, options.statistics);
    if (!rows) return tl::unexpected(rows.error());

    const auto metadata = metadataOf(**model);
    const Table table = makeTable({}, inspectColumns(options.statistics), *rows);
    if (!options.outputs.standardOutput()) {
        const auto count = [](std::size_t n, const char* what) {
            return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
        };
        const std::string total = fmt::format("\n{}, {}, {} ({})\n", count((*model)->tensors.size(), "tensor"),
                                              bytesText((*model)->totalBytes()), count((*model)->files.size(), "file"),
                                              titleOfFormat(**model));
        const Table shown = options.statistics ? withColumns(table, {"name", "dtype", "shape", "bytes", "mean", "std",
                                                                     "min", "max", "kurtosis", "outliers", "nan"})
                                               : withColumns(table, {"name", "dtype", "shape", "bytes"});
        if (auto done = print(tableText(shown) + derivedText(**model) + metadataText(metadata) + total); !done)
            return done;
    }
    if (options.outputs.any())
        return options.outputs.writeJson(fmt::format("{{\"format\": {}, \"metadata\": {}, \"tensors\": {}{}}}\n",
                                                     jsonString((*model)->format), metadataJson(metadata),
                                                     jsonRows(table), derivedJson(**model)));
    return {};
}

} // namespace

Run declareInspect(CLI::App& app) {
    auto options = std::make_shared<Options>();
    addPath(app, options->path);
    flag(app, "--stats", options->statistics,
         "Also mean, std, min, max, kurtosis, outlier channels and NaN of float tensors");
    options->outputs.declare(app, {"json"});
    return [options] { return run(*options); };
}

} // namespace qs::cli
