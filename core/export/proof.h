// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The proof of an export: the written files are opened by readers that share no code with the writers. Every value is
// compared with the value that analysis computes for the spec.

#include "core/export/proof_list.h"
#include "core/layouts/layout.h"

namespace qs {

struct Proof {
    ProofList tensors; ///< in the order of the model
    std::uint64_t bytesPredicted = 0, bytesWritten = 0;
    std::uint64_t quantized = 0;         ///< number of quantized tensors
    std::uint64_t quantizedElements = 0; ///< their elements
    std::uint64_t quantizedBytes = 0;    ///< their bytes in the written files
    std::uint64_t elements = 0;          ///< elements of all tensors
    std::uint64_t equal = 0, copied = 0, notCompared = 0;
    std::string whyNotCompared; ///< reason of the first tensor that was not compared
    void add(TensorProof one);
    void count(const TensorProof& one);                                ///< like add(), but does not store the row
    std::uint64_t all() const { return equal + copied + notCompared; } ///< number of tensors
    bool proved() const { return notCompared == 0; }
};

/// Whether the list Proof::tensors is filled. If not, only the sums of the proof are set.
enum class ProofRows { Kept, Counted };
/// Proves a file or folder that was just written. An error says which tensor differs, and where. `atOnce`: tensors of the
/// original whose written tensors are listed at the same time, because a list of all would take too much memory.
Result<Proof> prove(const Model& original, const WrittenModel& what, const std::string& path, const Job& job,
                    ProofRows rows = ProofRows::Kept, std::size_t atOnce = std::size_t(1) << 16);

} // namespace qs
