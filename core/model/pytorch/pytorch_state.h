// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a PyTorch checkpoint's pickle says of its tensors. A few classes of torch and Python are known by their names; any
// other is an object that is named and not loaded.

#include "core/model/dtype.h"
#include "core/model/pytorch/pickle.h"

#include <deque>
#include <map>
#include <optional>

namespace qs {

class ListBudget;

struct TorchStorage {
    std::string className;
    std::optional<DType> dtype; ///< nothing: of a kind that cannot be shown
    std::uint64_t elements = 0, bytes = 0;
};

struct TorchTensor {
    std::string name, storage; ///< `storage`: a key
    DType dtype = DType::F32;
    std::uint64_t offset = 0; ///< in the storage, in elements of dtype
    std::vector<std::int64_t> shape, strides;
};

struct TorchState {
    std::map<std::string, TorchStorage, std::less<>> storages; ///< all that the pickle names
    std::deque<TorchTensor> tensors;
    std::vector<std::string> notes; ///< ends of sentences: what is in it and not shown, and why
};

/// What the values of a pickle of so many bytes may take.
constexpr std::uint64_t torchPickleMemory(std::uint64_t bytes) { return (std::uint64_t(24) << 20) + bytes; }

/// `name`: of a root that is a tensor itself; `prefix`: before all names. What is wrong is the end of a sentence.
/// `budget`, where given, is charged for the tensors, for what they become too.
Result<TorchState> readTorchState(const Pickle& pickle, const std::string& name, const std::string& prefix = {},
                                  ListBudget* budget = nullptr);

} // namespace qs
