// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Terminal output: aligned tables, warnings, a progress line, and writes to stdout with error checks.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace qs::cli {

/// A table with aligned columns. Texts longer than `longest` are shortened; on a terminal the rows are fitted to its
/// width.
std::string tableText(const Table& table, std::size_t longest = 120);

/// Prints the same table, but asks for rows one at a time: once for the widths, once for the text. So a long table is
/// never in memory.
Result<void> printTable(const std::vector<ColumnInfo>& columns, std::size_t rows,
                        const std::function<std::vector<Value>(std::size_t)>& row, std::size_t longest = 120);

/// True if standard output is a terminal with fewer than 100 columns. Then leave out less important columns.
bool narrowTerminal();

/// Prints to stdout. A full disk or a closed pipe is an error.
Result<void> print(std::string_view text);
/// Prints one line to stderr.
void warn(std::string_view sentence);
/// The same for a message that is not a warning.
void note(std::string_view sentence);

/// Redraws the progress line on stderr, at most ten times a second, and only on a terminal. Thread-safe.
void showProgress(const Progress& progress);
void clearProgress();

} // namespace qs::cli
