// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The proof of an export: the written files are opened by readers that share no code with the writers. Every value is
// compared with the value that analysis computes for the spec.

#include "core/base/shared_text.h"
#include "core/layouts/layout.h"

namespace qs {

enum class Comparison {
    Equal,      ///< every value is what was analysed
    Copied,     ///< byte for byte what the source holds
    NotCompared ///< no reader of this program decodes it, so it is not proved
};

const char* idOf(Comparison result); ///< text in certificates: "equal", "copied", "not compared"

struct TensorProof {
    std::string name;
    SharedText spec, specFull; ///< "" if the tensor was copied
    SharedText dtype;          ///< dtype in the source
    SharedText readAs;         ///< the reader's name for its type: "bnb-nf4"
    TensorShape shape;
    std::uint64_t elements = 0;
    std::uint64_t bytesPredicted = 0, bytesWritten = 0;
    Comparison result = Comparison::NotCompared;
    std::string reason; ///< why it was not compared
    double bitsPerWeight() const { return elements ? 8.0 * double(bytesWritten) / double(elements) : 0; }
};

struct Proof {
    std::vector<TensorProof> tensors; ///< in the order of the model
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
/// Proves a file or folder that was just written. An error says which tensor differs, and where.
Result<Proof> prove(const Model& original, const WrittenModel& what, const std::string& path, const Job& job,
                    ProofRows rows = ProofRows::Kept);

} // namespace qs
