// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor whose elements are computed from bytes that lie elsewhere: the values of a layer that a file holds quantized,
// a strided view. To everything that takes tensors it is one of its dtype, read range by range (TensorView::read).

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qs {

class DerivedTensor {
public:
    virtual ~DerivedTensor() = default;

    virtual const char* typeId() const = 0;              ///< as people name it: "bnb-nf4", "GPTQ"
    virtual std::string description() const = 0;         ///< "bitsandbytes nf4, blocks of 64, double quantization"
    virtual std::vector<std::string> fields() const = 0; ///< names of the tensors that hold it
    virtual std::uint64_t storedBytes() const = 0;       ///< of those fields

    /// Bytes [begin, begin + into.size()) of the elements in the tensor's dtype, C order. Called from several threads
    /// at a time; keeps what it reads alive by itself. A file that fails meanwhile reads as zeros, as mapped ones do.
    virtual void read(std::uint64_t begin, std::span<std::byte> into) const = 0;
    /// A sentence when a file that it reads changed or failed since it was opened.
    virtual Result<void> unchanged() const = 0;
};

} // namespace qs
