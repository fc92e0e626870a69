// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Figures that other programs measured, out of their logs and tables. A registry: a row says what a format is, recognizes
// its text and reads it. "Not measured" is kept apart from 0.

#include "core/base/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs::eval {

struct ImportedFigure {
    std::string tensor;                 ///< as the file names it; empty: the whole model
    std::string spec;                   ///< the type, as the file names it; empty: not said
    std::string column;                 ///< an id of evaluationColumns() where it is such a figure; shares, not percent
    std::optional<double> value, error; ///< none: not measured; `error`: what the file prints behind +-
};

struct ImportFormat {
    const char* id;
    const char* title;
    bool (*looksLike)(std::string_view text);
    /// `name`: of the file, for formats that say there which figure they hold. Errors are sentences without the file.
    Result<std::vector<ImportedFigure>> (*read)(std::string_view text, const std::string& name);
};
std::span<const ImportFormat> importFormats();

constexpr std::size_t kMostImportBytes = std::size_t(64) << 20;
/// Reads a text by the first format that it looks like. Errors name the file: no known format, no figures.
Result<std::vector<ImportedFigure>> importFigures(std::string_view text, const std::string& path);
Result<std::vector<ImportedFigure>> importFile(const std::string& path);

/// The part of the figures that all tensors of a file share, because the reference was quantized too.
struct ImportedFloor {
    double value = 0;         ///< the 5th percentile over tensors
    double shareOfMedian = 0; ///< of the median over tensors; near 1: the figures say little
};
/// Estimates it, for files that do not say it. Nothing if fewer than 20 tensors have this column and spec.
std::optional<ImportedFloor> estimatedFloor(std::span<const ImportedFigure> figures, std::string_view column,
                                            std::string_view spec);

} // namespace qs::eval
