// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a call is given besides the weights: calibration inputs of layers, a solver, and figures of other programs.

#include "app/python/commands.h"
#include "core/analysis/analysis.h"
#include "core/eval/files/imports/imported_columns.h"
#include "core/layouts/layout.h"
#include "core/solve/row.h"

namespace qs::python {

/// Calibration inputs, and the solver that uses them.
struct Calibration {
    std::string activations; ///< a file, "synthetic", or empty
    std::string solver;      ///< "gptq:order=act", or empty

    /// Opens the file and reads the solver's settings. Fault: a solver without inputs.
    void open();
    bool given() const { return !activations.empty(); }
    /// Errors on the inputs, and the solver's codes.
    void fill(AnalysisPlan& plan, const Job& job) const;
    /// The solver's codes. `rows` gets a row for each tensor.
    void fill(QuantizeRequest& request, std::vector<solve::SolveRow>& rows, const Job& job) const;
    void addInputs(std::vector<std::string>& inputs) const;

private:
    std::shared_ptr<const Model> file_;
    std::optional<solve::Settings> settings_;
};

/// (file, spec or "", floor or none)
using Imports = std::vector<std::tuple<std::string, std::string, std::optional<double>>>;
std::vector<eval::ImportedColumn> importedFrom(const Imports& imports, const std::shared_ptr<const Model>& model);

void addFiles(const Imports& imports, std::vector<std::string>& inputs);

} // namespace qs::python
