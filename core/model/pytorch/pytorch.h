// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// PyTorch's checkpoints: ZIP archives of one pickle and a file for each storage (since 1.6, TorchScript too), and the
// pickles with storages behind them of before. Nothing in them is executed (see pickle.h).

#include "core/model/model.h"

namespace qs {

bool looksLikePytorch(std::span<const std::byte> head);
Result<std::shared_ptr<Model>> openPytorch(const std::string& path);
/// Maps one file and adds its tensors, unsorted.
Result<void> addPytorch(Model& model, const std::string& path);

} // namespace qs
