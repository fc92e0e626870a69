// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// PATH, --spec and --tensor, the same in every command that takes them.

#include "app/cli/option.h"
#include "core/analysis/analysis.h"
#include "core/layouts/layout.h"

namespace qs::cli {

Option addPath(CLI::App& app, std::string& path);
Option addTensorFilters(CLI::App& app, std::vector<std::string>& filters);
/// --decoded: what errors are measured on.
Option addDecoded(CLI::App& app, std::string& decoded);
Result<DecodedAs> decodedAs(const std::string& id);

/// Of this process; every model that open() opens is an input.
RunFiles& runFiles();
/// Opens and passes the model's warnings on to stderr. Fails when an output is one of its files.
Result<std::shared_ptr<const Model>> open(const std::string& path);
/// The same, with what `quantize` stored as the tensors that it decodes to.
Result<std::shared_ptr<const Model>> openServed(const std::string& path);
/// Tensors that any filter takes, in the model's order; none taken is an error.
Result<std::vector<const TensorInfo*>> select(const Model& model, const std::vector<std::string>& filters);
/// What --plugin names must be there; what it is, the worker finds out.
Result<void> pluginsExist(const std::vector<std::string>& paths);
/// One expression for several.
std::string joined(const std::vector<std::string>& filters);

} // namespace qs::cli
