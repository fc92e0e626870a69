// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The options PATH, --spec and --tensor, the same in all commands that take them.

#include "app/cli/option.h"
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"

namespace qs::cli {

/// The option PATH, and --as (see addAs).
Option addPath(CLI::App& app, std::string& path);
/// Option --as: the convention that open() reads all models by. For commands without addPath().
Option addAs(CLI::App& app);
/// Sentences about what open() could not decode. The end of a command prints them.
std::vector<std::string>& leftOut();
Option addTensorFilters(CLI::App& app, std::vector<std::string>& filters);
/// Options --tensor and --vectors.
void addTensorChoice(CLI::App& app, TensorChoice& choice);
/// The options as they are typed, for the recorded command line.
std::string choiceText(const TensorChoice& choice);
/// Option --decoded: the dtype of decoded values on which errors are measured.
Option addDecoded(CLI::App& app, std::string& decoded);
Result<DecodedAs> decodedAs(const std::string& id);

/// The files of this process. Each model opened by open() is added as an input.
RunFiles& runFiles();
/// What an output file of this run may replace. It depends on --force.
Replace replaceOf(const std::string& path);
/// Opens a model and prints its warnings to stderr. Fails if an output is one of its files.
Result<std::shared_ptr<const Model>> open(const std::string& path);
/// The same, but tensors stored by `quantize` appear as their decoded tensors.
Result<std::shared_ptr<const Model>> openServed(const std::string& path);
/// The chosen tensors in the order of the model. It is an error if there are none.
Result<std::vector<const TensorInfo*>> select(const Model& model, const TensorChoice& choice);
/// Checks that the files of --plugin exist. The worker process checks whether they are backends.
Result<void> pluginsExist(const std::vector<std::string>& paths);
/// Joins the expressions into one.
std::string joined(const std::vector<std::string>& filters);

} // namespace qs::cli
