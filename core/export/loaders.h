// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which exports were loaded by the programs that a layout is made for. The table of docs/layouts.md and this one come
// from the same run of tests/peers/compare_loaders.py.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qs {

enum class Loading {
    Loads,    ///< loaded, and its outputs are those of layout plain with the same specs
    Refused,  ///< QuantScope does not write it
    Fails,    ///< written, but the program does not load it, or computes something else
    NoLoader, ///< the program does not know the network
};
const char* idOf(Loading loading); ///< "loads"

/// One export of a tiny network of a family, and what its loader made of it.
struct LoaderCell {
    const char* network;      ///< "llama, tied"
    const char* architecture; ///< model_type in config.json: "llama"
    const char* layout;       ///< id of the layout
    const char* spec;
    /// What the second layer has, a spec or "keep"; "experts=keep": experts stay; "refused=keep": what the layout refuses
    /// stays (--skip-refused); "": only `spec`.
    const char* second;
    Loading loading;
    const char* measure;  ///< "kl" (nats a token) or "error" (relative squared error of the outputs); "": none
    double apart;         ///< of the outputs, by `measure`
    const char* programs; ///< "transformers 5.23.0, bitsandbytes 0.50.2"
    const char* reason;   ///< a sentence without its full stop; "" if it loads
};
std::span<const LoaderCell> loaderCells();
const char* loadersTested(); ///< date of the run: "2026-11-28"

/// What of an export decides on which cells it stands.
struct ExportedSpecs {
    std::vector<std::string> formats; ///< of its quantized tensors
    bool isMixture = false;           ///< they have several specs
    /// What was asked to stay, in the words of LoaderCell::second.
    std::vector<std::string> kept;
};
/// The cells on which an export stands: same architecture and layout, a format that is in the export. Of a mixture, or
/// where something was asked to stay, only cells in which that was measured, if settings name layers (Layout::config).
std::vector<const LoaderCell*> loaderCellsOf(std::string_view architecture, std::string_view layout,
                                             const ExportedSpecs& exported);
/// "loads" if all cells do, else what the first other one says; "not tested" without cells.
const char* loadersResult(std::span<const LoaderCell* const> cells);
/// True if a foreign program loads the layout: the table has a column for it.
bool hasLoader(std::string_view layout);

} // namespace qs
