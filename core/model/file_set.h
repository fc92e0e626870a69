// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Steps shared by the loaders of single files, sharded sets and folders.

#include "core/model/model.h"

#include <filesystem>
#include <string>

namespace qs {

/// Absolute path without "." and "..", and without a slash at the end.
std::string absolutePath(const std::string& path);
/// Title of a folder. For .../models--org--name/snapshots/<hash> it is "org/name"; otherwise the folder's name.
std::string titleOfFolder(const std::filesystem::path& folder);

/// An empty model with path, format and title set.
std::shared_ptr<Model> newModel(const std::string& path, const char* format);
/// Reads the header of a safetensors file and adds its tensors to the model. `opened`: the file, or why it is not
/// opened. `part`: null means all tensors.
Result<void> addSafetensors(Model& model, const std::string& path, Result<std::shared_ptr<MappedFile>> opened,
                            const ModelPart* part = nullptr);
/// Appends tensors to the model. If the model has no list yet, not even an empty one with room, the list is moved.
void addTensors(Model& model, std::vector<TensorInfo> tensors);
/// Stable; digits inside names compare as numbers.
void sortByName(Model& model);
/// If several tensors have the same name, keeps the first one and adds a warning. The list must be sorted.
void dropDuplicates(Model& model);
/// Gives tensors with the same name different ones ("w", "w #2"), adds a warning, and sorts the list.
void nameApart(Model& model);

} // namespace qs
