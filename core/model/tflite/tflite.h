// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Opens TensorFlow Lite models: the tensors that have data. Quantized tensors are shown dequantized, as F32.

#include "core/model/model.h"

#include <optional>
#include <span>

namespace qs {

namespace tflite {

/// A range in the file.
struct Extent {
    /// `offset` in bytes; `count` in elements, or in bytes for data; 0 if there are none.
    std::uint64_t offset = 0, count = 0;
};

struct Quantized {
    Extent scales, zeroPoints;
    std::size_t axis = 0; ///< axis of the channels, if there is more than one scale
    /// Elements of a row that share a scale; 0: the scales are as above. Else they are tensors of their own.
    std::uint64_t block = 0;
    TensorInfo blockScales, blockZeros; ///< `blockZeros` has no elements if there are none
};

struct Tensor {
    std::string unread; ///< why it cannot be read, as the end of a sentence; then only name and shape are set
    TensorInfo info;    ///< as stored: name, dtype (U8 for packed integers), shape, place
    unsigned bits = 0;  ///< of packed integers, lowest bits first; 0: elements are whole bytes
    bool isSigned = true;
    std::optional<Quantized> quantized;
};

struct File {
    std::vector<Tensor> tensors;
    std::string description;
    std::vector<std::string> warnings; ///< ends of sentences
    std::vector<UndecodedLayer> undecoded;
};

/// Parses a model of `fileSize` bytes. `bytes`: the file from its start, up to 2 GiB; a copy that does not change.
/// `path` is used only in messages.
Result<File> parse(std::span<const std::byte> bytes, std::uint64_t fileSize, const std::string& path);

/// The dequantized tensor.
TensorInfo derive(const Tensor& tensor, const std::shared_ptr<MappedFile>& file);

} // namespace tflite

Result<std::shared_ptr<Model>> openTflite(const std::string& path);

} // namespace qs
