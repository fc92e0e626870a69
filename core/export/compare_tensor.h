// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Compares a tensor of written files with its source, value by value. Errors name the first element that differs.

#include "core/layouts/layout.h"
#include "core/layouts/model_fields.h"

#include <functional>
#include <optional>

namespace qs {

/// A tensor of the written files, plain or decoded.
struct Reading {
    DType dtype = DType::F32;
    std::string type;
    std::vector<std::int64_t> shape;
    /// Reads `n` elements from `begin` on, in the type `dtype`. Several threads may call it.
    std::function<void(std::uint64_t begin, std::size_t n, std::byte* into)> read;
    std::function<Result<void>()> unchanged; ///< fails if its file has changed; null: ask the files of the model
};

/// Nullopt if no reader of this program decodes this layout.
Result<std::optional<Reading>> readingOf(const Model& written, const std::string& name);

/// Values of a tensor that differ from those of a spec.
struct Differences {
    std::uint64_t compared = 0, differing = 0;
    std::uint64_t first = 0; ///< the first element that differs; valid if differing > 0
};
/// Counts the differences on all cores, in at most `mostUnits` units of the pass (see TensorPass).
Result<Differences> countDifferences(TensorInLayout& source, const Layout& layout, const Reading& there,
                                     const Model& written, std::uint64_t mostUnits = ~std::uint64_t(0));
/// Compares values computed from the source with values decoded from the files, on all cores.
Result<void> compareValues(TensorInLayout& source, const Layout& layout, const Reading& there, const Model& written,
                           const std::string& name);
/// Compares the bytes of a copy, or its values if the file holds another type.
Result<void> compareCopies(const TensorView& from, const TensorView& there, bool decoded, const Model& written,
                           const Job& job, const std::string& name);
/// Frees the pages of files that were compared.
void dropPages(const Model& written);

} // namespace qs
