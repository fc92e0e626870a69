// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads PyTorch checkpoints. Since PyTorch 1.6 they are ZIP archives with a pickle and one file per storage; so is
// TorchScript. Older ones are pickles followed by the storages. No code in them is executed (see pickle.h).

#include "core/model/model.h"

namespace qs {

/// `head`: the first bytes of the file, up to 4096.
bool looksLikePytorch(std::span<const std::byte> head);
Result<std::shared_ptr<Model>> openPytorch(const std::string& path);
/// Adds the tensors of one file to the model, unsorted. `opened`: the file, or why it is not opened.
Result<void> addPytorch(Model& model, const std::string& path, Result<std::shared_ptr<MappedFile>> opened);

} // namespace qs
