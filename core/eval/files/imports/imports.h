// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads figures that other programs measured from their logs and tables. There is a registry of formats; a row
// recognizes a text and reads it. A figure that was not measured is never read as 0.

#include "core/base/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs::eval {

struct ImportedFigure {
    std::string tensor;                 ///< its name in the file; "" for the whole model
    std::string spec;                   ///< the name of the type in the file; "" if the file has none
    std::string column;                 ///< an id of evaluationColumns() if it is such a figure; shares, not percent
    std::optional<double> value, error; ///< empty: not measured; `error` is what the file prints after +-
};

struct ImportFormat {
    const char* id;
    const char* title;
    bool (*looksLike)(std::string_view text);
    /// `name` is the file's name, because in some formats it says which figure the file holds. Errors do not name the
    /// file.
    Result<std::vector<ImportedFigure>> (*read)(std::string_view text, const std::string& name);
};
std::span<const ImportFormat> importFormats();

constexpr std::size_t kMostImportBytes = std::size_t(64) << 20;
/// Reads a text with the first format that recognizes it. Errors name the file: its format is not known, or it has no
/// figures.
Result<std::vector<ImportedFigure>> importFigures(std::string_view text, const std::string& path);
Result<std::vector<ImportedFigure>> importFile(const std::string& path);

/// The part of the figures that all tensors of a file share, because the reference was quantized too.
struct ImportedFloor {
    double value = 0;         ///< the 5th percentile over tensors
    double shareOfMedian = 0; ///< floor / median over tensors; near 1 the figures say little
};
/// Estimates the floor for files that do not give it. Nullopt if fewer than 20 tensors have this column and spec.
std::optional<ImportedFloor> estimatedFloor(std::span<const ImportedFigure> figures, std::string_view column,
                                            std::string_view spec);

} // namespace qs::eval
