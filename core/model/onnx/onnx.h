// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens ONNX models. Tensors are in the protobuf file, or in files in its folder that it names.

#include "core/model/derived_tensor.h"
#include "core/model/model.h"
#include "core/model/onnx/graph.h"

namespace qs {

/// Elements that must be decoded: integers stored as varints, and elements of 4 or 2 bits.
class OnnxValues final : public DerivedTensor {
public:
    /// `offset`: of the packed elements in the source of `read`; unused if the tensor has `values`. `file`: checked by
    /// unchanged(); may be null.
    OnnxValues(ReadBytes read, std::shared_ptr<MappedFile> file, const onnx::Tensor& tensor, std::uint64_t offset);

    const char* typeId() const override;
    std::string description() const override;
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override { return storedBytes_; }
    void read(std::uint64_t begin, std::span<std::byte> into) const override;
    Result<void> unchanged() const override;

private:
    void packed(std::uint64_t begin, std::span<std::byte> into) const; ///< the bytes that raw_data would contain
    ReadBytes read_;
    std::shared_ptr<MappedFile> file_;
    const onnx::ElementType& type_;
    std::uint64_t offset_, rawBytes_, storedBytes_;
    std::shared_ptr<const onnx::FieldValues> values_;
};

Result<std::shared_ptr<Model>> openOnnx(const std::string& path);

} // namespace qs
