// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Elements that lie in their file as blocks of codes and scales, not one after the other.

#include "core/model/dtype.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace qs {

struct TensorInfo;

/// A row of a tensor is whole blocks. The values of a tensor with `decode` are F32 to everything that takes tensors.
struct PackedType {
    const char* id; ///< "Q4_K"
    std::uint32_t elements = 1, bytes = 1;
    void (*decode)(const std::uint8_t* in, std::size_t blocks, float* out) = nullptr; ///< null: only listed
};

/// A type of ggml, by its number in GGUF files: one of ours, or a packed one.
struct GgmlType {
    unsigned number;
    DType dtype = DType::F32; ///< U8, which nothing measures, where a packed type has no decoder
    PackedType packed{};      ///< id null: elements lie one after the other
};
std::span<const GgmlType> ggmlTypes();
const GgmlType* findGgmlType(std::uint32_t number); ///< null: unknown, or removed from the format

/// The bytes of a tensor that hold elements [begin, end).
struct ByteRange {
    std::uint64_t begin = 0, end = 0;
};
ByteRange bytesOfElements(const TensorInfo& tensor, std::uint64_t begin, std::uint64_t end);

} // namespace qs
