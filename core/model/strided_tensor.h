// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor that lies in a file, or in memory unpacked from one, with strides of its own: a transposed or sliced view,
// an array in Fortran order, numbers with their bytes in the other order.

#include "core/model/derived_tensor.h"
#include "core/model/dtype.h"

#include <memory>

namespace qs {

class MappedFile;
struct TensorInfo;

struct StridedLayout {
    DType dtype = DType::F32;                 ///< of whole bytes
    std::vector<std::int64_t> shape, strides; ///< in elements, not negative
    std::uint64_t offset = 0;                 ///< of element 0, in bytes
    bool isBigEndian = false;

    bool isContiguous() const;
    /// Bytes from element 0 to the end of the last one; 0 without elements. Nothing where that overflows or a stride
    /// is negative.
    Result<std::uint64_t> extent() const;
    static std::vector<std::int64_t> contiguousStrides(const std::vector<std::int64_t>& shape);
};

class StridedTensor final : public DerivedTensor {
public:
    /// offset + extent() lies inside the file.
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

/// Puts `layout` into `tensor`: as bytes of file `tensor.file` where they lie there in order, else as a derived one.
/// Dimensions and strides come from a file: what is wrong is the end of a sentence.
Result<void> placeStrided(TensorInfo& tensor, std::shared_ptr<MappedFile> file, StridedLayout layout, bool isMemory);

} // namespace qs
