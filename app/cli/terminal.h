// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What people see: aligned tables, warnings, a progress line; and stdout with its errors noticed.

#include "core/base/column.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace qs::cli {

/// Aligned columns. Texts longer than `longest` are elided, on a terminal also what does not fit its width.
std::string tableText(const Table& table, std::size_t longest = 120);

/// The same of rows that are asked for one by one, to stdout: twice each, for the widths and for the text, so that a
/// long list is never in memory as texts.
Result<void> printTable(const std::vector<ColumnInfo>& columns, std::size_t rows,
                        const std::function<std::vector<Value>(std::size_t)>& row, std::size_t longest = 120);

/// Standard output is a terminal of fewer than 100 columns: leave out what can be looked up.
bool narrowTerminal();

/// To stdout; a full disk or a closed pipe is an error.
Result<void> print(std::string_view text);
/// To stderr, one line.
void warn(std::string_view sentence);

/// Redraws the line on stderr, at most ten times a second and only on a terminal. Thread-safe.
void showProgress(const Progress& progress);
void clearProgress();

} // namespace qs::cli
