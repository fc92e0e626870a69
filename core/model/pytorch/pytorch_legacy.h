// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads checkpoints of PyTorch before 1.6. They consist of five pickles: a magic number, a version, facts about the
// machine, the state, and the keys of its storages. The storages follow: i64 number of elements, then the bytes.

#include "core/model/pytorch/pytorch_state.h"

namespace qs {

class MappedFile;
class Model;

struct TorchLegacy {
    TorchState state;
    std::map<std::string, std::uint64_t, std::less<>> places; ///< offset of each storage's bytes in the file
};

/// `head`: the first bytes of the file; 32 are enough.
bool isTorchLegacy(std::span<const std::byte> head);
/// `model`: the model that the file is added to, for its memory budget. `name`: see readTorchState(). The error is the
/// end of a sentence.
Result<TorchLegacy> readTorchLegacy(const MappedFile& file, const std::string& name, const Model& model);

} // namespace qs
