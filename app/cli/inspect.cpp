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

struct InspectOptions {
    std::string path;
    bool statistics = false;
    OutputFiles outputs;
};

/// The data of the tensor table. Rows are built one at a time.
class Listing {
public:
    explicit Listing(const Model& model) : model_(model) {}

    Result<void> measure() {
        double done = 0;
        for (const auto& tensor : model_.tensors) {
            processJob().progress({done, double(model_.totalBytes()), "Measuring " + tensor.name, measured_.size() + 1,
                                   model_.tensors.size()});
            done += double(tensor.bytes);
            auto& row = measured_.emplace_back();
            if (!info(tensor.dtype).quantizable)
                row.reason = fmt::format("statistics are taken of float tensors, not of {}", tensor.typeId());
            else if (auto measured = measureStatistics(model_, tensor, processJob()))
                row.statistics = *measured;
            else if (measured.error().cancelled)
                return tl::unexpected(measured.error());
            else
                row.reason = measured.error().sentence();
        }
        return {};
    }
    std::size_t size() const { return model_.tensors.size(); }
    std::vector<Value> row(std::size_t i, const Columns<InspectRow>& columns) const {
        InspectRow row{model_.tensors[i], {}, {}, {}};
        if (i < measured_.size()) row.statistics = measured_[i].statistics, row.reason = measured_[i].reason;
        std::vector<Value> cells;
        for (const auto& column : columns) cells.push_back(column.value(row));
        return cells;
    }

private:
    struct Measured {
        std::optional<TensorStatistics> statistics;
        std::string reason;
    };
    const Model& model_;
    std::vector<Measured> measured_; ///< one entry per tensor; empty without --stats
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

Result<void> putTensors(const Sink& put, const Listing& listing, const Columns<InspectRow>& columns) {
    std::vector<std::string> keys;
    for (const auto& column : columns) keys.push_back(jsonString(column.id) + ": ");
    for (std::size_t r = 0; r < listing.size(); ++r) {
        const auto cells = listing.row(r, columns);
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

Result<void> printAll(const Model& model, const Listing& listing, bool statistics) {
    Columns<InspectRow> shown;
    for (const auto& column : inspectColumns(statistics))
        if (column.id != "inf" && column.id != "conversion_error" && column.id != "reason") shown.push_back(column);
    const auto count = [](std::size_t n, const char* what) {
        return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    const std::string total =
        fmt::format("\n{}, {}, {} ({})\n", count(model.tensors.size(), "tensor"), bytesText(model.totalBytes()),
                    count(model.files.size(), "file"), titleOfFormat(model));
    auto done =
        printTable({shown.begin(), shown.end()}, listing.size(), [&](std::size_t r) { return listing.row(r, shown); });
    if (done) done = print(derivedText(model));
    if (done) done = withMetadata(model, printMetadata);
    return done ? print(total) : done;
}

Result<void> runInspect(const InspectOptions& options) {
    auto model = open(options.path);
    if (!model) return tl::unexpected(model.error());
    if (auto fine = options.outputs.check(); !fine) return fine;
    Listing listing(**model);
    if (options.statistics)
        if (auto measured = listing.measure(); !measured) return measured;

    if (!options.outputs.standardOutput())
        if (auto done = printAll(**model, listing, options.statistics); !done) return done;
    if (!options.outputs.any()) return {};
    return options.outputs.writeJsonInPieces([&](const Sink& put) {
        const auto& columns = inspectColumns(options.statistics);
        auto done = put(fmt::format("{{\"format\": {}, \"metadata\": ", jsonString((*model)->format)));
        if (done) done = withMetadata(**model, [&](const Metadata& metadata) { return putMetadata(put, metadata); });
        if (done) done = put(", \"tensors\": ");
        if (done) done = putTensors(put, listing, columns);
        if (done) done = putDerived(put, **model);
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
