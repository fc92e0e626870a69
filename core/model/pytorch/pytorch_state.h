// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the tensors in the pickle of a PyTorch checkpoint. A few classes of torch and Python are understood by name.
// Objects of any other class are reported but not loaded.

#include "core/model/dtype.h"
#include "core/model/pytorch/pickle.h"

#include <deque>
#include <map>
#include <optional>

namespace qs {

class ListBudget;

/// A storage: the array of elements that tensors are views of.
struct TorchStorage {
    std::string className;
    std::optional<DType> dtype; ///< empty: a type that cannot be shown
    std::uint64_t elements = 0, bytes = 0;
};

struct TorchTensor {
    std::string name, storage; ///< `storage`: key in TorchState::storages
    DType dtype = DType::F32;
    std::uint64_t offset = 0;                 ///< first element in the storage, in elements of `dtype`
    std::vector<std::int64_t> shape, strides; ///< strides in elements
    std::string unread; ///< why it cannot be read, as the end of a sentence; then only name and shape are set
};

struct TorchState {
    std::map<std::string, TorchStorage, std::less<>> storages; ///< all storages that the pickle names, by key
    std::deque<TorchTensor> tensors;
    /// What torchao says of its tensors in the metadata of safetensors, by their names.
    std::map<std::string, std::string> metadata;
    std::vector<std::string> notes; ///< ends of sentences: what the pickle contains that is not shown, and why
};

/// Limit for the memory of the values of a pickle of `bytes` bytes.
constexpr std::uint64_t torchPickleMemory(std::uint64_t bytes) { return (std::uint64_t(24) << 20) + bytes; }

/// `name`: name of the tensor if the root value is a tensor itself. `prefix`: put before all names. `budget`, if given,
/// is charged for the tensors here and for the rows made of them later. The error is the end of a sentence.
Result<TorchState> readTorchState(const Pickle& pickle, const std::string& name, const std::string& prefix = {},
                                  ListBudget* budget = nullptr);

} // namespace qs
