// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The steps that opening one file, a sharded set and a folder share.

#include "core/model/model.h"

#include <filesystem>
#include <string>

namespace qs {

std::string absolutePath(const std::string& path);
/// models--org--name/snapshots/<hash> is called org/name; other folders by their own name.
std::string titleOfFolder(const std::filesystem::path& folder);

std::shared_ptr<Model> newModel(const std::string& path, const char* format);
/// Maps a safetensors file, reads its header and adds its tensors.
Result<void> addSafetensors(Model& model, const std::string& path);
/// Without a second list where the model has none yet.
void addTensors(Model& model, std::vector<TensorInfo> tensors);
void sortByName(Model& model);
/// Keeps the first of tensors with one name (the list is sorted) and says so in a warning.
void dropDuplicates(Model& model);
/// Numbers tensors that have the name of another ("w", "w #2"), says so in a warning, and sorts the list.
void nameApart(Model& model);

} // namespace qs
