// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/row_spool.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace qs::cli {
namespace {

// A cell: a byte that says which kind it is, then its bytes; a text has its length before it.
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

Result<void> RowSpool::add(const std::vector<Value>& cells) {
    bool fine = file_ && spoolBytes(file_.get(), std::uint64_t(cells.size()));
    for (const auto& cell : cells) fine = fine && spoolCell(file_.get(), cell);
    if (!fine)
        return fail(fmt::format("Rows do not fit into the folder for temporary files: {}.", std::strerror(errno)));
    ++rows_;
    return {};
}

std::vector<Value> RowSpool::row(std::size_t i) {
    if (i == 0) std::rewind(file_.get()), next_ = 0;
    std::vector<Value> cells;
    for (; next_ <= i && next_ < rows_; ++next_) {
        cells.resize(std::size_t(spooledBytes<std::uint64_t>(file_.get())));
        for (auto& cell : cells) cell = spooledCell(file_.get());
    }
    return cells;
}

std::vector<std::vector<Value>> RowSpool::rows(std::size_t first, std::size_t most) {
    std::vector<std::vector<Value>> out;
    for (std::size_t i = first; i < rows_ && out.size() < most; ++i) out.push_back(row(i));
    return out;
}

} // namespace qs::cli
