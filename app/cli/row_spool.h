// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Rows of a long table in a file without a name: a million of them take no memory.

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
    /// The same for rows that do not come in their order, 16 bytes of memory each: sort() puts them into that of their
    /// keys; of equal ones the first stays first.
    Result<void> add(std::uint64_t key, const std::vector<Value>& cells);
    void sort();
    std::size_t size() const { return rows_; }
    /// Asked for from the first to the last, any number of times.
    std::vector<Value> row(std::size_t i);
    /// The next `most` rows from `first` on, or fewer at the end.
    std::vector<std::vector<Value>> rows(std::size_t first, std::size_t most);

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    struct Place {
        std::uint64_t key, at;
        auto operator<=>(const Place&) const = default;
    };
    std::unique_ptr<std::FILE, Close> file_; ///< null: there is no room for it
    std::size_t rows_ = 0, next_ = 0;
    std::vector<Place> places_; ///< of the rows with keys; empty where their order is that of the file
};

/// More rows than this are spooled, not kept.
inline constexpr std::size_t kRowsKept = 4096;

/// The columns of these ids, in this order, of a spool whose rows have all of `columns`.
Result<void> printSpool(const std::vector<ColumnInfo>& columns, const std::vector<std::string_view>& ids,
                        RowSpool& spool);
/// Every file that was asked for, as OutputFiles::write() makes it of the report, whose data have no rows: those of JSON
/// and CSV are the spool's.
Result<void> writeSpool(const OutputFiles& outputs, Report report, RowSpool& spool,
                        const std::vector<std::string>& paths);

} // namespace qs::cli
