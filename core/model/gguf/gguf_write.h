// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A GGUF file made from another: its keys as they are, its tensors in their order, each in any type of ggml.

#include "core/model/safetensors/safetensors.h"

namespace qs {

/// Keys whose values are other ones in the new file, added where the source has none.
using GgufNumbers = std::map<std::string, std::uint32_t>;

/// Keys are copied byte for byte from the first file of `source`, but those of `changed` and those that say how it was
/// split. Tensors come in the order of the source. As writeSafetensors() otherwise.
Result<std::uint64_t> writeGguf(const std::string& path, std::vector<TensorToWrite> tensors, const Model& source,
                                const GgufNumbers& changed, const Job& job, const Naming& naming = {});

/// The number of an element type or a block type in GGUF files; null: ggml has none.
struct GgmlType;
const GgmlType* ggmlTypeOf(const TensorToWrite& tensor);

} // namespace qs
