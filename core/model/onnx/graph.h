// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the tensors of an ONNX model: initializers of the graph, of graphs inside nodes (If, Loop, Scan) and of
// functions, and tensors in attributes (Constant). Field numbers are those of onnx.proto.

#include "core/base/result.h"
#include "core/model/onnx/quantized_nodes.h"
#include "core/model/onnx/tensor.h"

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace qs::onnx {

/// A tensor that is listed although it cannot be read.
struct Unreadable {
    std::string name, why; ///< `why`: the end of a sentence
    std::vector<std::int64_t> shape;
    std::uint64_t at = 0; ///< offset of its message in the file
};

struct File {
    std::vector<Dequantize> dequantized;
    std::vector<Node> packed;        ///< nodes with packed weights, see packed_weights.h, and unknown ones
    std::vector<std::string> scales; ///< names of tensors that are scales or zero points of what a node quantizes
    std::deque<Unreadable> unreadable;
    std::deque<Tensor> tensors; ///< a deque, so that the caller can free entries while it builds the list of the model
    std::map<std::string, std::string> metadata;
    std::set<std::string> outputLast; ///< names of weights that MatMul or Gemm uses as [in, out]
    std::vector<std::string> unread;  ///< ends of sentences: tensors that are in the model but not read
};

/// Parses a model of `fileSize` bytes. `path` is used only in messages.
Result<File> parse(std::uint64_t fileSize, const ReadBytes& read, const std::string& path);
/// True if the bytes start like a ModelProto.
bool looksLikeModel(std::span<const std::byte> head);

} // namespace qs::onnx
