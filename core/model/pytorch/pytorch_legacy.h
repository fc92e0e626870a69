// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Checkpoints of before PyTorch 1.6: a magic number, a version, facts about the machine, the state and the keys of its
// storages, each a pickle, then the storages: i64 elements, bytes.

#include "core/model/pytorch/pytorch_state.h"

namespace qs {

class MappedFile;
class Model;

struct TorchLegacy {
    TorchState state;
    std::map<std::string, std::uint64_t, std::less<>> places; ///< of each storage's bytes in the file
};

bool isTorchLegacy(std::span<const std::byte> head);
/// `model`: to which it is added. What is wrong is the end of a sentence.
Result<TorchLegacy> readTorchLegacy(const MappedFile& file, const std::string& name, const Model& model);

} // namespace qs
