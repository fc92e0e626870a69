// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Serving: the weights of a checkpoint that `quantize` wrote, as products read them.

#include "core/base/job.h"
#include "core/model/model.h"

#include <map>
#include <memory>
#include <string>

namespace qs {

/// Whether metadata of the model tells of tensors that are stored in fields.
bool hasStoredTensors(const Model& model);
/// The tensors that hold stored ones, and which one each is a part of.
std::map<std::string, std::string> storedFields(const Model& model);
/// The tensors that the served model would have, without their bytes; only names, dtypes and shapes are of use.
Result<Model> servedListing(const Model& model);
/// One of them, alone in a model where it had to be decoded; else the model itself.
Result<std::shared_ptr<const Model>> servedTensor(std::shared_ptr<const Model> model, const std::string& name,
                                                  const Job& job);
/// The model itself, or one with its stored tensors decoded under their own names; the copy on disk goes with it, and
/// its files are called what was opened.
Result<std::shared_ptr<const Model>> servedModel(std::shared_ptr<const Model> model, const Job& job);

} // namespace qs
