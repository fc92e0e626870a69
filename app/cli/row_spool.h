// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Stores the rows of a long table in an unnamed temporary file, so that a million rows take no memory.

#include "app/cli/output_files.h"
#include "core/base/column.h"
#include "core/base/result.h"

#include <cstdio>
#include <memory>
#include <string_view>

namespace qs::cli {

class RowSpool {
public:
    RowSpool();
    Result<void> add(const std::vector<Value>& cells);
    /// For rows that come in any order: sort() puts them in the order of their keys. Equal keys keep their order. Once a
    /// row has come too late, each row takes 16 bytes of memory.
    Result<void> add(std::uint64_t key, const std::vector<Value>& cells);
    void sort();
    std::size_t size() const { return rows_; }
    /// Reads one row. Ask for rows from first to last; the file can be read any number of times.
    std::vector<Value> row(std::size_t i);
    /// Reads at most `most` rows from `first` on.
    std::vector<std::vector<Value>> rows(std::size_t first, std::size_t most);

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    struct Place {
        std::uint64_t key, at;
        auto operator<=>(const Place&) const = default;
    };
    void findPlaces(); ///< of the rows that are in the file
    std::vector<Value> readCells();

    std::unique_ptr<std::FILE, Close> file_; ///< null if the file could not be created
    std::size_t rows_ = 0, next_ = 0;
    std::uint64_t last_ = 0;    ///< key of the last row
    std::vector<Place> places_; ///< keys and file offsets; empty while the rows are in order
};

/// Tables with more rows are spooled instead of kept in memory.
inline constexpr std::size_t kRowsKept = 4096;

/// Prints the columns `ids`, in this order. The spooled rows have all of `columns`.
Result<void> printSpool(const std::vector<ColumnInfo>& columns, const std::vector<std::string_view>& ids,
                        RowSpool& spool);
/// Writes every requested file, as OutputFiles::write() does. JSON and CSV have the rows of the spool, then those of
/// `report`.
Result<void> writeSpool(const OutputFiles& outputs, Report report, RowSpool& spool,
                        const std::vector<std::string>& paths);

} // namespace qs::cli
