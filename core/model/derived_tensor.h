// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor whose elements are computed from other bytes: the dequantized values of a quantized layer, or a strided
// view. Callers use it as an ordinary tensor of its dtype and read ranges of it (TensorView::read).

#include "core/base/result.h"
#include "core/model/dtype.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qs {

struct TensorInfo;

/// How a quantized layer is stored, as far as it says how it was quantized.
struct LayerCoding {
    enum class Levels { Integers, Nf4, Fp4, E2m1, E2m3, E4m3, E5m2 };
    enum class Scales { Floats, Exponents, E4m3 }; ///< Exponents: powers of two in a byte
    Levels levels = Levels::Integers;
    unsigned bits = 0;
    std::uint64_t columns = 0;    ///< columns that share a scale; if isFlat, elements of the flattened tensor
    std::uint64_t rows = 1;       ///< rows that share a scale
    bool isFlat = false;          ///< true: a group may continue in the next row
    bool hasOffsets = false;      ///< true: it has zero points or biases
    bool hasTensorScale = false;  ///< true: one number multiplies or divides all scales
    bool hasNestedScales = false; ///< true: the scales are themselves quantized
    Scales scales = Scales::Floats;
    DType scaleType = DType::F32; ///< type of the scales, for Scales::Floats
};

class DerivedTensor {
public:
    virtual ~DerivedTensor() = default;

    virtual const char* typeId() const = 0;              ///< type to show to the user: "bnb-nf4", "GPTQ"
    virtual std::string description() const = 0;         ///< "bitsandbytes nf4, blocks of 64, double quantization"
    virtual std::vector<std::string> fields() const = 0; ///< names of the stored tensors that it is computed from
    virtual std::uint64_t storedBytes() const = 0;       ///< sum of the sizes of those tensors in their files

    /// The stored tensors that it is computed from, with the codes first. The model lists them nowhere else. Empty if
    /// it is computed from a tensor that the model lists itself.
    virtual std::span<const TensorInfo> parts() const { return {}; }

    /// Writes bytes [begin, begin + into.size()) of the computed elements, in the tensor's dtype and C order.
    /// Thread-safe. The object keeps the files that it reads open. If a file fails, its bytes read as zero, as in
    /// MappedFile.
    virtual void read(std::uint64_t begin, std::span<std::byte> into) const = 0;
    /// Fails with one sentence if a file that it reads changed or failed since it was opened.
    virtual Result<void> unchanged() const = 0;
    /// Called after a scan: frees the pages of the stored tensors.
    virtual void release() const {}
    /// Nullopt if it is not a quantized layer, or if its groups follow no simple rule.
    virtual std::optional<LayerCoding> coding() const { return {}; }
};

/// Bytes that the tensor takes in its files. For a computed tensor: the bytes it is computed from.
std::uint64_t storedBytes(const TensorInfo& tensor);

} // namespace qs
