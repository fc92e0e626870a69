// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The weights of a checkpoint that `quantize` wrote, decoded.

#include "core/base/job.h"
#include "core/model/model.h"

#include <map>
#include <memory>
#include <string>

namespace qs {

/// Whether the metadata of the model describes tensors that are stored in fields.
bool hasStoredTensors(const Model& model);
/// From the name of a field to the name of the stored tensor that it belongs to.
std::map<std::string, std::string> storedFields(const Model& model);
/// The tensors of the decoded model: names, dtypes and shapes, without bytes.
Result<Model> servedListing(const Model& model);
/// A model with the tensor `name`: a decoded copy of that tensor alone, or the model itself if nothing must be decoded.
Result<std::shared_ptr<const Model>> servedTensor(std::shared_ptr<const Model> model, const std::string& name,
                                                  const Job& job);
/// The model with its stored tensors decoded, or the model itself if it has none. The copy on disk is removed with the
/// last user. Its files keep the paths that the user opened.
Result<std::shared_ptr<const Model>> servedModel(std::shared_ptr<const Model> model, const Job& job);

} // namespace qs
