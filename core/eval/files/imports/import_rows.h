// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of importFormats() and what they share.

#include "core/eval/files/imports/imports.h"

namespace qs::eval {

extern const ImportFormat kLlamaLog, kLlamaTable, kTensorCsv, kGptqCsv, kGptqLog;

/// "6.233 +- 0.038", "0.787 +- 0.004 %", "99.0%": percent become shares. Nothing where no number stands first, or more
/// stands behind.
struct ImportedNumber {
    double value = 0;
    std::optional<double> error;
};
std::optional<ImportedNumber> importedNumber(std::string_view text);
/// A number by itself, finite.
std::optional<double> plainNumber(std::string_view text);

std::string_view trimmed(std::string_view text);
/// Pieces between separators, trimmed.
std::vector<std::string_view> piecesOf(std::string_view text, char separator);
/// The column for a label of llama-perplexity, "99.9%   KLD"; empty: it is none. `repeated`: the label came before in this
/// block; older versions printed "99.0%" for 95 % too.
std::string llamaColumn(std::string_view label, bool repeated);

} // namespace qs::eval
