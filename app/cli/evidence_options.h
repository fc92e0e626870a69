// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What other runs and other programs know of the model's output: --import with its spec and floor, and --evidence.

#include "app/cli/option.h"
#include "core/eval/trust/trust_tables.h"

namespace qs::cli {

/// --import FILE, --import-spec SPEC, --import-floor NATS: the n-th of each belong together.
struct ImportOptions {
    std::vector<std::string> files, specs, floors;

    /// `this` must outlive parsing.
    void declare(CLI::App& app);
    Result<std::vector<eval::ImportedColumn>> read(const std::shared_ptr<const Model>& model) const;
    std::string commandLine() const;
};

/// --evidence FILE.
struct EvidenceOption {
    std::vector<std::string> files;

    /// `this` must outlive parsing.
    void declare(CLI::App& app);
    /// Null where none was given.
    Result<std::shared_ptr<const OutputEffects>> read(const std::shared_ptr<const Model>& model) const;
    std::string commandLine() const;
};

/// For the terminal: a table of what was imported, and a sentence for each column that says little. Empty: nothing was.
std::string importedText(const std::vector<eval::ImportedColumn>& columns);
/// A table of how far proxies rank as what was measured does. Empty: nothing can be compared.
std::string trustText(const std::vector<eval::TrustRow>& rows);

} // namespace qs::cli
