// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Tensors that are stored in blocks. A block holds the codes and scales of a fixed number of elements.

#include "core/model/dtype.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace qs {

struct TensorInfo;

/// A block type. Rows of a tensor consist of whole blocks. If `decode` is set, the tensor has dtype F32 for all
/// callers, and they decode ranges of it.
struct PackedType {
    const char* id;                        ///< "Q4_K"
    std::uint32_t elements = 1, bytes = 1; ///< elements in a block; size of a block in bytes
    /// Decodes whole blocks to f32; null if the type is only listed.
    void (*decode)(const std::uint8_t* in, std::size_t blocks, float* out) = nullptr;
};

/// A ggml type with its number in GGUF files. It is one of our dtypes or a block type.
struct GgmlType {
    unsigned number;
    DType dtype = DType::F32; ///< F32 for a block type with `decode`; U8, which no metric measures, for one without
    PackedType packed{};      ///< `id` is null for a plain dtype
};
std::span<const GgmlType> ggmlTypes();
const GgmlType* findGgmlType(std::uint32_t number); ///< null if unknown or removed from the format

/// A pointer to the block type of a row of ggmlTypes(), or null, in one byte.
class PackedTypeRef {
public:
    PackedTypeRef(const PackedType* type = nullptr); // NOLINT(google-explicit-constructor): it is used like the pointer
    operator const PackedType*() const;              // NOLINT(google-explicit-constructor)
    const PackedType* operator->() const { return *this; }

private:
    std::uint8_t row_ = 0; ///< counted from 1; 0: null
};

/// A range of bytes in the data of a tensor.
struct ByteRange {
    std::uint64_t begin = 0, end = 0;
};
/// The bytes that hold elements [begin, end). For a block type: whole blocks; `begin` must be the start of a block.
ByteRange bytesOfElements(const TensorInfo& tensor, std::uint64_t begin, std::uint64_t end);

} // namespace qs
