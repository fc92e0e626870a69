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
    NotCompared ///< no reader here decodes it: not proved
};

const char* idOf(Comparison result); ///< in certificates: "equal", "copied", "not compared"

struct TensorProof {
    std::string name;
    SharedText spec, specFull; ///< "" of a tensor that was copied
    SharedText dtype;          ///< of the source
    SharedText readAs;         ///< what the reader calls it: "bnb-nf4"
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
    std::uint64_t quantized = 0;         ///< tensors
    std::uint64_t quantizedElements = 0; ///< of them
    std::uint64_t quantizedBytes = 0;    ///< as written
    std::uint64_t elements = 0;          ///< of all tensors
    std::uint64_t equal = 0, copied = 0, notCompared = 0;
    std::string whyNotCompared; ///< of the first
    void add(TensorProof one);
    void count(const TensorProof& one);                                ///< add(), but the row is not kept
    std::uint64_t all() const { return equal + copied + notCompared; } ///< tensors
    bool proved() const { return notCompared == 0; }
};

/// `path`: a file or folder that was just written. An error says which tensor differs, and where.
Result<Proof> prove(const Model& original, const WrittenModel& what, const std::string& path, const Job& job);

} // namespace qs
