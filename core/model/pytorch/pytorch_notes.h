// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Counts what a PyTorch checkpoint contains besides the tensors that are shown, and describes it for warnings.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace qs {

struct TorchNotes {
    struct Count {
        std::size_t n = 0;
        std::string first; ///< name of the first one
    };
    std::map<std::string, Count> classes; ///< objects of classes that are not loaded, by class name
    std::size_t otherClasses = 0;         ///< objects of classes beyond those in `classes`
    std::size_t keys = 0;                 ///< values whose keys are not text or integers; the first is in `firstKeys`
    std::string firstKeys;
    /// Conjugate or negative views; tensors that are quantized; storages without a shape; plain values; parts met again.
    Count views, quantized, bare, plain, again;

    std::vector<std::string> sentences() const; ///< the ends of sentences that start with the path
};

} // namespace qs
