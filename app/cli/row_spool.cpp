// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/row_spool.h"

#include "app/cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace qs::cli {
namespace {

// Format of a row: its key, the number of its cells, then the cells. Format of a cell: one byte for its kind, then its bytes. A text starts with its length (64 bits).
template<class T> bool spoolBytes(std::FILE* file, const T& value) {
    return std::fwrite(&value, sizeof value, 1, file) == 1;
}
template<class T> T spooledBytes(std::FILE* file) {
    T value{};
    if (std::fread(&value, sizeof value, 1, file) != 1) value = T{};
    return value;
}

bool spoolCell(std::FILE* file, const Value& cell) {
    if (!spoolBytes(file, std::uint8_t(cell.index()))) return false;
    if (const auto* flag = std::get_if<bool>(&cell)) return spoolBytes(file, *flag);
    if (const auto* count = std::get_if<std::int64_t>(&cell)) return spoolBytes(file, *count);
    if (const auto* figure = std::get_if<double>(&cell)) return spoolBytes(file, *figure);
    const auto* text = std::get_if<std::string>(&cell);
    if (!text) return true;
    return spoolBytes(file, std::uint64_t(text->size())) &&
           std::fwrite(text->data(), 1, text->size(), file) == text->size();
}

Value spooledCell(std::FILE* file) {
    const auto kind = spooledBytes<std::uint8_t>(file);
    if (kind == Value(false).index()) return spooledBytes<bool>(file);
    if (kind == Value(std::int64_t(0)).index()) return spooledBytes<std::int64_t>(file);
    if (kind == Value(0.0).index()) return spooledBytes<double>(file);
    if (kind != Value(std::string()).index()) return {};
    std::string text(std::size_t(spooledBytes<std::uint64_t>(file)), '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
}

} // namespace

RowSpool::RowSpool() : file_(std::tmpfile()) {}

Result<void> RowSpool::add(const std::vector<Value>& cells) { return add(rows_, cells); }

Result<void> RowSpool::add(std::uint64_t key, const std::vector<Value>& cells) {
    if (places_.empty() && key < last_) findPlaces();
    if (!places_.empty()) places_.push_back({key, std::uint64_t(::ftello(file_.get()))});
    last_ = key;
    bool fine = file_ && spoolBytes(file_.get(), key) && spoolBytes(file_.get(), std::uint64_t(cells.size()));
    for (const auto& cell : cells) fine = fine && spoolCell(file_.get(), cell);
    if (!fine)
        return fail(fmt::format("Rows do not fit into the folder for temporary files: {}.", std::strerror(errno)));
    ++rows_;
    return {};
}

void RowSpool::findPlaces() {
    std::rewind(file_.get());
    for (std::size_t i = 0; i < rows_; ++i) {
        const auto at = std::uint64_t(::ftello(file_.get()));
        places_.push_back({spooledBytes<std::uint64_t>(file_.get()), at});
        readCells();
    }
    ::fseeko(file_.get(), 0, SEEK_END);
}

void RowSpool::sort() { std::ranges::sort(places_); } // rows with equal keys keep their order

std::vector<Value> RowSpool::readCells() {
    std::vector<Value> cells(std::size_t(spooledBytes<std::uint64_t>(file_.get())));
    for (auto& cell : cells) cell = spooledCell(file_.get());
    return cells;
}

std::vector<Value> RowSpool::row(std::size_t i) {
    if (!places_.empty()) ::fseeko(file_.get(), off_t(places_[i].at), SEEK_SET), next_ = i;
    if (i == 0 && places_.empty()) std::rewind(file_.get()), next_ = 0;
    std::vector<Value> cells;
    for (; next_ <= i && next_ < rows_; ++next_) {
        spooledBytes<std::uint64_t>(file_.get()); // the key
        cells = readCells();
    }
    return cells;
}

std::vector<std::vector<Value>> RowSpool::rows(std::size_t first, std::size_t most) {
    std::vector<std::vector<Value>> out;
    for (std::size_t i = first; i < rows_ && out.size() < most; ++i) out.push_back(row(i));
    return out;
}

Result<void> printSpool(const std::vector<ColumnInfo>& columns, const std::vector<std::string_view>& ids,
                        RowSpool& spool) {
    std::vector<ColumnInfo> shown;
    std::vector<std::size_t> picked;
    for (const auto id : ids)
        for (std::size_t c = 0; c < columns.size(); ++c)
            if (columns[c].id == id) picked.push_back(c), shown.push_back(columns[c]);
    return printTable(shown, spool.size(), [&](std::size_t r) {
        const auto cells = spool.row(r);
        std::vector<Value> row;
        for (const auto c : picked) row.push_back(cells[c]);
        return row;
    });
}

namespace {

/// Writes the report with the spooled rows. The text around the rows is what the writer makes of an empty table.
Result<void> putRows(const char* id, const Report& around, const OutputFiles& outputs, RowSpool& spool,
                     const std::vector<std::string>& paths, const OutputFiles::Sink& put) {
    constexpr std::size_t atOnce = 1024;
    const bool isJson = std::string_view(id) == "json";
    const auto text = findReportWriter(id)->render(around);
    if (!text) return tl::unexpected(text.error());
    const auto rows = isJson ? text->find("[]") + 1 : text->size();
    auto done = put(std::string_view(*text).substr(0, rows));
    for (std::size_t first = 0; done && first < spool.size(); first += atOnce) {
        Report some;
        some.data.columns = around.data.columns;
        some.data.rows = spool.rows(first, atOnce);
        const Report piece = outputs.shown(std::move(some), paths);
        if (isJson) {
            const auto objects = jsonRows(piece.data);
            done = put((first ? "," : "") + objects.substr(1, objects.size() - 3)); // without the brackets
        } else if (const auto lines = findReportWriter(id)->render(piece); lines)
            done = put(std::string_view(*lines).substr(lines->find("\r\n") + 2));
    }
    const bool any = isJson && spool.size() > 0;
    return done ? put((any ? "\n" : "") + text->substr(rows)) : done;
}

} // namespace

Result<void> writeSpool(const OutputFiles& outputs, Report report, RowSpool& spool,
                        const std::vector<std::string>& paths) {
    for (const auto& row : report.data.rows) // of layers that are left out
        if (auto kept = spool.add(row); !kept) return kept;
    report.data.rows.clear();
    const Report shown = outputs.shown(std::move(report), paths);
    for (const auto& writer : reportWriters()) {
        const std::string_view id = writer.id;
        auto done = outputs.writeInPieces(id, [&](const OutputFiles::Sink& put) -> Result<void> {
            if (id == "json" || id == "csv") return putRows(writer.id, shown, outputs, spool, paths, put);
            const auto whole = writer.render(shown);
            return whole ? put(*whole) : tl::unexpected(whole.error());
        });
        if (!done) return done;
    }
    return {};
}

} // namespace qs::cli
