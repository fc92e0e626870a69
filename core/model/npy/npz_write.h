// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// NumPy's .npz as savez writes it: a ZIP archive of stored .npy members, which np.load and a mapping open.

#include "core/model/safetensors/safetensors.h"

namespace qs {

/// Tensors over 64 MiB are produced twice, because the checksum comes before the bytes. As writeSafetensors() otherwise.
Result<std::uint64_t> writeNpz(const std::string& path, std::vector<TensorToWrite> tensors, const Model* opened,
                               const Job& job, const Naming& naming = {});
/// How NumPy names a type: "<f4"; null: it has none.
const char* npyType(DType dtype);

} // namespace qs
