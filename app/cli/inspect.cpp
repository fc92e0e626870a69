// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"
#include "app/cli/interrupt.h"
#include "app/cli/output_files.h"
#include "app/cli/row_spool.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/analysis/analysis.h"
#include "core/base/text.h"
#include "core/model/derived_tensor.h"
#include "core/model/file_format.h"
#include "core/quant/encode/float_values.h"
#include "core/report/report.h"

#include <fmt/format.h>
#include <map>

namespace qs::cli {
namespace {

struct InspectOptions {
    std::string path;
    bool statistics = false;
    OutputFiles outputs;
};

/// The data of the tensor table. Rows are made one at a time; those with statistics lie in a temporary file.
class Listing {
public:
    Listing(const Model& model, bool statistics) : model_(model), columns_(inspectColumns(statistics)) {}

    Result<void> measure() {
        const auto total = double(model_.totalBytes());
        double done = 0;
        for (const auto& tensor : model_.tensors) {
            processJob().progress({done, total, "Measuring " + tensor.name, measured_.size() + 1, size()});
            done += double(tensor.bytes);
            InspectRow row{tensor, {}, {}, {}};
            if (!hasFloats(tensor))
                row.reason = fmt::format("statistics are taken of float tensors, not of {}", tensor.typeId());
            else if (auto measured = measureStatistics(model_, tensor, processJob()))
                row.statistics = *measured;
            else if (measured.error().cancelled)
                return tl::unexpected(measured.error());
            else
                row.reason = measured.error().sentence();
            if (auto kept = measured_.add(cellsOf(row)); !kept) return kept;
        }
        return {};
    }
    std::size_t size() const { return model_.tensors.size(); }
    const Columns<InspectRow>& columns() const { return columns_; }
    /// A cell for each of columns(). Ask for rows from first to last.
    std::vector<Value> row(std::size_t i) {
        return measured_.size() > 0 ? measured_.row(i) : cellsOf({model_.tensors[i], {}, {}, {}});
    }

private:
    std::vector<Value> cellsOf(const InspectRow& row) const {
        std::vector<Value> cells;
        for (const auto& column : columns_) cells.push_back(column.value(row));
        return cells;
    }
    const Model& model_;
    const Columns<InspectRow>& columns_;
    RowSpool measured_; ///< one row per tensor; empty without --stats
};

using Metadata = std::map<std::string, std::string>;

/// Calls `use` with the metadata of the model. The metadata of a single file is not copied.
template<class Use> Result<void> withMetadata(const Model& model, const Use& use) {
    return model.files.size() == 1 ? use(model.files.front().metadata) : use(metadataOf(model));
}

Result<void> printMetadata(const Metadata& metadata) {
    if (metadata.empty()) return {};
    std::vector<ColumnInfo> columns(2);
    columns[0].title = "Key", columns[1].title = "Value";
    if (auto done = print("\n"); !done) return done;
    // printTable asks for the rows twice, each time from first to last.
    std::size_t at = 0;
    auto entry = metadata.begin();
    return printTable(columns, metadata.size(), [&](std::size_t r) {
        if (r == 0) at = 0, entry = metadata.begin();
        for (; at < r; ++at) ++entry;
        return std::vector<Value>{entry->first, escapeForPeople(entry->second, 100)};
    });
}

using Sink = OutputFiles::Sink;

/// Writes a quoted and escaped JSON string in pieces, because a value can be as long as a file.
Result<void> putString(const Sink& put, std::string_view text) {
    constexpr std::size_t piece = 65'536;
    if (auto done = put("\""); !done) return done;
    while (!text.empty()) {
        std::size_t end = std::min(piece, text.size());
        for (int back = 0; back < 3 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
             ++back)
            --end; // do not cut inside a UTF-8 character
        const auto quoted = jsonString(text.substr(0, end));
        if (auto done = put(std::string_view(quoted).substr(1, quoted.size() - 2)); !done) return done;
        text.remove_prefix(end);
    }
    return put("\"");
}

Result<void> putMetadata(const Sink& put, const Metadata& metadata) {
    bool isFirst = true;
    for (const auto& [key, value] : metadata) {
        auto done = put(isFirst ? "{\n  " : ",\n  ");
        if (done) done = putString(put, key);
        if (done) done = put(": ");
        if (done) done = putString(put, value);
        if (!done) return done;
        isFirst = false;
    }
    return put(isFirst ? "{}" : "\n}");
}

Result<void> putTensors(const Sink& put, Listing& listing) {
    const auto& columns = listing.columns();
    std::vector<std::string> keys;
    for (const auto& column : columns) keys.push_back(jsonString(column.id) + ": ");
    for (std::size_t r = 0; r < listing.size(); ++r) {
        const auto cells = listing.row(r);
        std::string line = r ? ",\n  {" : "[\n  {";
        for (std::size_t c = 0; c < columns.size(); ++c)
            line += (c ? ", " : "") + keys[c] + jsonText(columns[c], cells[c]);
        if (auto done = put(line + '}'); !done) return done;
    }
    return put(listing.size() == 0 ? "[]" : "\n]");
}

/// Explains the type of each dequantized tensor: one line per distinct type.
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

/// Writes each dequantized tensor with the names of the stored tensors it is computed from.
Result<void> putDerived(const Sink& put, const Model& model) {
    bool isFirst = true;
    for (const auto& tensor : model.tensors) {
        if (!tensor.derived) continue;
        std::string parts;
        for (const auto& part : tensor.derived->parts())
            parts += fmt::format("{}\n    {{\"name\": {}, \"dtype\": {}, \"shape\": {}, \"bytes\": {}}}",
                                 parts.empty() ? "" : ",", jsonString(part.name), jsonString(part.typeId()),
                                 wholeShapeText(part.shape), part.bytes);
        auto done =
            put(fmt::format("{}\n  {{\"name\": {}, \"values\": {}, \"description\": {}, \"parts\": [{}]}}",
                            isFirst ? ", \"computed\": [" : ",", jsonString(tensor.name),
                            jsonString(info(tensor.dtype).id), jsonString(tensor.derived->description()), parts));
        if (!done) return done;
        isFirst = false;
    }
    return isFirst ? Result<void>() : put("\n]");
}

/// Writes each quantized layer that is not decoded, with the names of its parts.
Result<void> putUndecoded(const Sink& put, const Model& model) {
    bool isFirst = true;
    const auto list = [](const auto& items, const auto& text) {
        std::string out;
        for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
        return out;
    };
    for (const UndecodedLayer& layer : model.undecoded) {
        const auto parts = list(layer.parts, [](const std::string& name) { return jsonString(name); });
        const auto candidates = list(layer.candidates, [](const ConventionCandidate& one) {
            return fmt::format("{{\"convention\": {}, \"plausibility\": {:.3f}, \"reason\": {}}}",
                               jsonString(one.convention), one.plausibility, jsonString(one.reason));
        });
        auto done = put(fmt::format("{}\n  {{\"layer\": {}, \"why\": {}, \"parts\": [{}], \"candidates\": [{}]}}",
                                    isFirst ? ", \"undecoded\": [" : ",", jsonString(layer.name), jsonString(layer.why),
                                    parts, candidates));
        if (!done) return done;
        isFirst = false;
    }
    return isFirst ? Result<void>() : put("\n]");
}

/// The layers that are not decoded, a line each, with their parts under them.
std::string undecodedText(const Model& model) {
    constexpr std::size_t most = 10;
    std::string text;
    for (std::size_t i = 0; i < model.undecoded.size() && i < most; ++i) {
        const UndecodedLayer& layer = model.undecoded[i];
        text += fmt::format("\n{}: {}\n", escapeForPeople(layer.name, 100), escapeForPeople(layer.why, 200));
        for (const std::string& part : layer.parts) text += fmt::format("  {}\n", escapeForPeople(part, 120));
        for (const ConventionCandidate& one : layer.candidates)
            text += fmt::format("  could be {} ({:.2f}): {}\n", one.convention, one.plausibility, one.reason);
    }
    if (model.undecoded.empty()) return text;
    const std::size_t more = model.undecoded.size() > most ? model.undecoded.size() - most : 0;
    return "\nQuantized layers that are not decoded, and their parts:\n" + text +
           (more > 0 ? fmt::format("\nand {} more; --json lists all\n", more) : "");
}

Result<void> printAll(const Model& model, Listing& listing) {
    std::vector<ColumnInfo> shown;
    std::vector<std::size_t> picked;
    for (std::size_t c = 0; c < listing.columns().size(); ++c) {
        const ColumnInfo& column = listing.columns()[c];
        if (column.id == "inf" || column.id == "conversion_error" || column.id == "reason") continue;
        shown.push_back(column), picked.push_back(c);
    }
    const auto count = [](std::size_t n, const char* what) {
        return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    const std::string total =
        fmt::format("\n{}, {}, {} ({})\n", count(model.tensors.size(), "tensor"), bytesText(model.totalBytes()),
                    count(model.files.size(), "file"), titleOfFormat(model));
    auto done = printTable(shown, listing.size(), [&](std::size_t r) {
        auto cells = listing.row(r);
        std::vector<Value> row;
        for (const std::size_t c : picked) row.push_back(std::move(cells[c]));
        return row;
    });
    if (done) done = print(derivedText(model));
    if (done) done = print(undecodedText(model));
    if (done) done = withMetadata(model, printMetadata);
    return done ? print(total) : done;
}

Result<void> runInspect(const InspectOptions& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    Listing listing(**model, options.statistics);
    if (options.statistics)
        if (auto measured = listing.measure(); !measured) return measured;

    if (!options.outputs.standardOutput())
        if (auto done = printAll(**model, listing); !done) return done;
    if (!options.outputs.any()) return {};
    return options.outputs.writeJsonInPieces([&](const Sink& put) {
        auto done = put(fmt::format("{{\"format\": {}, \"metadata\": ", jsonString((*model)->format)));
        if (done) done = withMetadata(**model, [&](const Metadata& metadata) { return putMetadata(put, metadata); });
        if (done) done = put(", \"tensors\": ");
        if (done) done = putTensors(put, listing);
        if (done) done = putDerived(put, **model);
        if (done) done = putUndecoded(put, **model);
        return done ? put("}\n") : done;
    });
}

} // namespace

Run declareInspect(CLI::App& app) {
    auto options = std::make_shared<InspectOptions>();
    addPath(app, options->path);
    flag(app, "--stats", options->statistics,
         "Also mean, std, min, max, kurtosis, outlier rows and columns and NaN of float tensors");
    options->outputs.declare(app, {"json"});
    return [options] { return runInspect(*options); };
}

} // namespace qs::cli
