// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/loaders.h"

#include <algorithm>

namespace qs {
namespace {

using enum Loading;
#include "core/export/loaders.inc" // kLoadersTested, kLoaderCells

bool hasFormat(const LoaderCell& cell, std::span<const std::string> formats) {
    const std::string_view spec = cell.spec;
    return std::ranges::find(formats, spec.substr(0, spec.find(':'))) != formats.end();
}

} // namespace

const char* idOf(Loading loading) {
    switch (loading) {
    case Loads: return "loads";
    case Refused: return "refused";
    case Fails: return "fails";
    case NoLoader: return "no loader";
    }
    return "";
}

std::span<const LoaderCell> loaderCells() { return kLoaderCells; }

const char* loadersTested() { return kLoadersTested; }

std::vector<const LoaderCell*> loaderCellsOf(std::string_view architecture, std::string_view layout,
                                             std::span<const std::string> formats) {
    std::vector<const LoaderCell*> found;
    for (const LoaderCell& cell : kLoaderCells)
        if (architecture == cell.architecture && layout == cell.layout && hasFormat(cell, formats))
            found.push_back(&cell);
    return found;
}

const char* loadersResult(std::span<const LoaderCell* const> cells) {
    if (cells.empty()) return "not tested";
    const auto other = std::ranges::find_if(cells, [](const LoaderCell* cell) { return cell->loading != Loads; });
    return idOf(other == cells.end() ? Loads : (*other)->loading);
}

bool hasLoader(std::string_view layout) {
    return std::ranges::any_of(kLoaderCells, [&](const LoaderCell& cell) { return layout == cell.layout; });
}

} // namespace qs
