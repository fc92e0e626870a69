// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor with its own strides, in a file or in memory unpacked from one. Examples are a transposed or sliced view, an
// array in Fortran order, and big-endian numbers.

#include "core/model/derived_tensor.h"
#include "core/model/dtype.h"

#include <memory>

namespace qs {

class MappedFile;
struct TensorInfo;

struct StridedLayout {
    DType dtype = DType::F32;                 ///< bits must be a multiple of 8
    std::vector<std::int64_t> shape, strides; ///< one entry per axis; strides in elements, 0 or more
    std::uint64_t offset = 0;                 ///< of element 0, in bytes from the start of the file
    bool isBigEndian = false;

    /// True if the elements are in C order without gaps.
    bool isContiguous() const;
    /// Bytes from the start of element 0 to the end of the last element; 0 if there are no elements. Fails if a size or
    /// a stride is negative, or if the sum overflows.
    Result<std::uint64_t> extent() const;
    /// Strides of an array in C order, in elements.
    static std::vector<std::int64_t> contiguousStrides(const std::vector<std::int64_t>& shape);
};

/// Reads the elements in C order and in little-endian byte order.
class StridedTensor final : public DerivedTensor {
public:
    /// offset + extent() must lie inside the file.
    StridedTensor(std::shared_ptr<MappedFile> file, StridedLayout layout);

    const char* typeId() const override;
    std::string description() const override;
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override { return stored_; }
    void read(std::uint64_t begin, std::span<std::byte> into) const override;
    Result<void> unchanged() const override;

private:
    void gather(std::uint64_t element, std::span<std::byte> into) const;
    std::shared_ptr<MappedFile> file_;
    StridedLayout layout_;
    std::size_t item_;
    std::uint64_t stored_;
    bool isContiguous_;
};

/// Sets dtype, shape, size and place of `tensor` from `layout`. If the elements are contiguous in the file, they are
/// read from file `tensor.file`; otherwise, or if `isMemory`, through a StridedTensor. Sizes and strides come from a
/// file and are checked. The error is the end of a sentence.
Result<void> placeStrided(TensorInfo& tensor, std::shared_ptr<MappedFile> file, StridedLayout layout, bool isMemory);

} // namespace qs
