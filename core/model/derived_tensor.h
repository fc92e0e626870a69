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

struct TensorInfo;

class DerivedTensor {
public:
    virtual ~DerivedTensor() = default;

    virtual const char* typeId() const = 0;              ///< as people name it: "bnb-nf4", "GPTQ"
    virtual std::string description() const = 0;         ///< "bitsandbytes nf4, blocks of 64, double quantization"
    virtual std::vector<std::string> fields() const = 0; ///< names of the tensors that hold it
    virtual std::uint64_t storedBytes() const = 0;       ///< of those fields

    /// Those fields as they lie in the model's files, the one with codes first; the model lists them nowhere else. None
    /// where what is read is itself in the list.
    virtual std::span<const TensorInfo> parts() const { return {}; }

    /// Bytes [begin, begin + into.size()) of the elements in the tensor's dtype, C order. Called from several threads
    /// at a time; keeps what it reads alive by itself. A file that fails meanwhile reads as zeros, as mapped ones do.
    virtual void read(std::uint64_t begin, std::span<std::byte> into) const = 0;
    /// A sentence when a file that it reads changed or failed since it was opened.
    virtual Result<void> unchanged() const = 0;
    /// Behind a scan: pages of the fields may leave memory.
    virtual void release() const {}
};

/// Bytes in the files: of the fields where the tensor is computed.
std::uint64_t storedBytes(const TensorInfo& tensor);

} // namespace qs
