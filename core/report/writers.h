// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/report/report.h"

namespace qs {

// Each returns the bytes of the whole file.
Result<std::string> renderJson(const Report& report);
Result<std::string> renderCsv(const Report& report);
Result<std::string> renderHtml(const Report& report);
Result<std::string> renderMarkdown(const Report& report);
Result<std::string> renderPdf(const Report& report);

/// A cell for people: cellText(), then escapeForPeople(), because it may contain names from files.
std::string shownText(const ColumnInfo& column, const Value& value, std::size_t maxChars = 160);
/// Replaces & < > " and ' by entities of XML.
std::string xmlEscaped(std::string_view text);

/// The number of rows of a table that HTML and PDF show. They also say how many rows there are.
inline constexpr std::size_t kHtmlRows = 5000, kPdfRows = 1000;

extern const char* const kHtmlStyle;
extern const char* const kHtmlScript;

} // namespace qs
