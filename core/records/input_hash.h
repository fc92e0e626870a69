// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Hashes that name the input of a unit, so that a record is used only for the input that it was made from.

#include "core/base/job.h"
#include "core/model/model.h"

#include <string>

namespace qs {

/// What all results depend on besides input and settings: version, formats and instruction set. A line each.
std::string aboutProgram();
/// SHA-256 in lower-case hex.
std::string sha256OfText(const std::string& text);
/// The SHA-256 of the file that holds a tensor; of all files of the model if the values are computed from several.
Result<std::string> hashOfFilesWith(const Model& model, const TensorInfo& tensor, const Job& job);
/// A hash of all files of a model, and of config.json beside them.
Result<std::string> hashOfModel(const Model& model, const Job& job);

} // namespace qs
