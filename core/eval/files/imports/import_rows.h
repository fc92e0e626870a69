// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of importFormats() and what they share.

#include "core/eval/files/imports/imports.h"

namespace qs::eval {

extern const ImportFormat kLlamaLog, kLlamaTable, kTensorCsv, kGptqCsv, kGptqLog;

/// A number with its error, such as "6.233 +- 0.038", "0.787 +- 0.004 %" or "99.0%". Percent is converted to a share. A
/// text that does not begin with a number, or has more text behind it, is not such a number.
struct ImportedNumber {
    double value = 0;
    std::optional<double> error;
};
std::optional<ImportedNumber> importedNumber(std::string_view text);
/// A finite number with no other text.
std::optional<double> plainNumber(std::string_view text);

std::string_view trimmed(std::string_view text);
/// Splits a text at a separator and trims the pieces.
std::vector<std::string_view> piecesOf(std::string_view text, char separator);
/// The column for a label that llama-perplexity prints, such as "99.9% KLD"; "" for other texts. `repeated` means that
/// the same label stands above in this block: older versions also print "99.0%" for 95 %.
std::string llamaColumn(std::string_view label, bool repeated);

} // namespace qs::eval
