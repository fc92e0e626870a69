// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// NumPy's .npz as savez writes it: a ZIP archive of stored .npy members, which np.load and a mapping open.

#include "core/model/safetensors.h"

namespace qs {

/// A tensor is put together in memory, because its checksum comes before it. As writeSafetensors() otherwise.
Result<std::uint64_t> writeNpz(const std::string& path, std::vector<TensorToWrite> tensors, const Model* opened,
                               const Job& job, const std::function<Result<void>(const std::string& path)>& check = {});
/// How NumPy names a type: "<f4"; null: it has none.
const char* npyType(DType dtype);

} // namespace qs
