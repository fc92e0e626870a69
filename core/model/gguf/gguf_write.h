// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes a GGUF file from another one. Keys are copied, tensors keep their order, and each may have any ggml type.

#include "core/model/safetensors/safetensors.h"

namespace qs {

/// The key that says that this program wrote a GGUF file. It stands among the first.
inline constexpr const char* kGgufMark = "quantscope_gguf";

/// Keys that get another value (as u32) in the new file. A key that the source does not have is added.
using GgufNumbers = std::map<std::string, std::uint32_t>;

/// Copies keys byte for byte from the first file of `source`, except those in `changed`, kGgufMark and those that start
/// with "split.". The changed ones come first, so that the mark is in the first bytes. Tensors keep the order of the
/// source. Returns the size of the file in bytes. Errors: as for writeSafetensors().
Result<std::uint64_t> writeGguf(const std::string& path, TensorsToWrite tensors, const Model& source,
                                const GgufNumbers& changed, const Job& job, const Naming& naming = {});

/// The ggml type for a tensor's dtype or block type; null if ggml has none.
struct GgmlType;
const GgmlType* ggmlTypeOf(const TensorsToWrite::Kind& kind);

} // namespace qs
