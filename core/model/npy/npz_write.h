// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes NumPy's .npz as numpy.savez does: a ZIP archive of uncompressed .npy members. np.load can open and map it.

#include "core/model/safetensors/safetensors.h"

namespace qs {

/// The comment of the last member, which says that this program wrote the archive.
inline constexpr const char* kNpzMark = "quantscope_npz";

/// Returns the size of the file in bytes. Errors: as for writeSafetensors(). A tensor over 64 MiB is produced twice,
/// because its checksum is written before its bytes.
Result<std::uint64_t> writeNpz(const std::string& path, TensorsToWrite tensors, const Model* opened, const Job& job,
                               const Naming& naming = {});
/// NumPy's name of a dtype, such as "<f4"; null if NumPy has none.
const char* npyType(DType dtype);

} // namespace qs
