// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What an ONNX model says of its tensors: initializers of the graph and of graphs in its nodes (If, Loop, Scan, functions),
// tensors in attributes (Constant). Fields by their numbers in onnx.proto.

#include "core/base/result.h"
#include "core/model/onnx/tensor.h"

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace qs::onnx {

/// A DequantizeLinear node by the tensors that it reads, as the model lists them; `zero` may be empty.
struct Dequantize {
    std::string codes, scale, zero;
    std::int64_t axis = 1, blockSize = 0;
};

struct File {
    std::vector<Dequantize> dequantized;
    std::deque<Tensor> tensors; ///< taken from the front while the list of the model is made
    std::map<std::string, std::string> metadata;
    std::set<std::string> outputLast; ///< names that MatMul or Gemm multiply by as [in, out]
    std::vector<std::string> unread;  ///< sentences' ends: what is in the model and not among the tensors
};

/// `path` only names the place in errors.
Result<File> parse(std::uint64_t fileSize, const ReadBytes& read, const std::string& path);
/// The first fields of a ModelProto.
bool looksLikeModel(std::span<const std::byte> head);

} // namespace qs::onnx
