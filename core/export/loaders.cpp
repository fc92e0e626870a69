// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/export/loaders.h"

#include "core/layouts/layout.h"

#include <algorithm>

namespace qs {
namespace {

using enum Loading;
#include "core/export/loaders.inc" // kLoadersTested, kLoaderCells

bool isIn(const std::vector<std::string>& texts, std::string_view text) {
    return std::ranges::find(texts, text) != texts.end();
}

std::string_view formatOf(std::string_view spec) { return spec.substr(0, spec.find(':')); }

std::vector<std::string> wordsOf(std::string_view second) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < second.size();) {
        const auto end = std::min(second.find(", ", at), second.size());
        words.emplace_back(second.substr(at, end - at));
        at = end + 2;
    }
    return words;
}

bool standsFor(const LoaderCell& cell, const ExportedSpecs& exported) {
    if (!isIn(exported.formats, formatOf(cell.spec))) return false;
    const Layout* layout = findLayout(cell.layout);
    if (!layout || !layout->config) return true; // no settings name layers: each tensor says how it is stored
    const auto words = wordsOf(cell.second);
    const auto isSpec = [&](const std::string& word) { return isIn(exported.formats, formatOf(word)); };
    if (exported.isMixture && std::ranges::none_of(words, isSpec)) return false;
    return isIn(words, "keep") ||
           std::ranges::all_of(exported.kept, [&](const std::string& what) { return isIn(words, what); });
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
                                             const ExportedSpecs& exported) {
    std::vector<const LoaderCell*> found;
    for (const LoaderCell& cell : kLoaderCells)
        if (architecture == cell.architecture && layout == cell.layout && standsFor(cell, exported))
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
