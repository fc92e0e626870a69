// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// TensorFlow Lite models: the tensors that have data. Quantized ones are F32 tensors of what their codes stand for.

#include "core/model/model.h"

#include <optional>
#include <span>

namespace qs {

namespace tflite {

struct Extent {
    std::uint64_t offset = 0, count = 0; ///< in the file; of scales and zero points, which may be none
};

struct Quantized {
    Extent scales, zeroPoints;
    std::size_t axis = 0; ///< of more than one scale
};

struct Tensor {
    TensorInfo info;   ///< as it lies in the file: name, dtype (U8 of packed integers), shape, place
    unsigned bits = 0; ///< of integers that are packed, low bits first; 0: whole bytes
    bool isSigned = true;
    std::optional<Quantized> quantized;
};

struct File {
    std::vector<Tensor> tensors;
    std::string description;
    std::vector<std::string> warnings; ///< the ends of sentences
};

/// `bytes`: of a file of `fileSize`, from its beginning up to 2 GiB; they do not change meanwhile. `path` only names the
/// place in errors.
Result<File> parse(std::span<const std::byte> bytes, std::uint64_t fileSize, const std::string& path);

/// The tensor of what the codes stand for.
TensorInfo derive(const Tensor& tensor, const std::shared_ptr<MappedFile>& file);

} // namespace tflite

Result<std::shared_ptr<Model>> openTflite(const std::string& path);

} // namespace qs
