// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Nodes of an ONNX graph that read quantized weights: DequantizeLinear, and operators that compute with codes.

#include "core/model/list_budget.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qs::onnx {

/// A node, with names of tensors. An input that is left out has the name "".
struct Node {
    std::string op, domain; ///< an empty domain is that of ONNX
    std::vector<std::string> inputs, outputs;
    std::int64_t axis = 1, blockSize = 0;             ///< attributes
    bool transB = false;                              ///< attribute: the second matrix of a product is [out, in]
    std::map<std::string, std::int64_t> numbers = {}; ///< all attributes that are whole numbers
    std::map<std::string, std::string> texts = {};    ///< and those that are short texts
};

/// How the scales and zero points of a weight lie along its axes.
enum class Cover {
    Axis,      ///< one, one for each index of `axis`, or one for each `blockSize` elements along `axis`
    Shapes,    ///< as Axis; without a block size, the shape of the scales says it
    Broadcast, ///< as numpy broadcasts their shape
    One        ///< one only
};

/// A quantized weight: value = (code - zero point) * scale. `zero` is empty if there are no zero points; `scale` is empty
/// if the scale was not found.
struct Dequantize {
    std::string codes, scale, zero;
    const char* op = "";                  ///< the operator that reads the codes
    std::int64_t axis = 1, blockSize = 0; ///< as of DequantizeLinear; a negative axis counts from the last one
    bool outputLast = false;              ///< the weight of a product, as [in, out]
    Cover cover = Cover::Axis;
    bool hasExponents = false;   ///< scales of bytes are 2^(byte - 127)
    std::int64_t outputType = 0; ///< of the values, by its number in TensorProto.DataType; 0: that of the scales
    std::string output = {};     ///< the tensor that is made; another node may have it as its scale
};

class QuantizedNodes {
public:
    /// The number of inputs that are looked at.
    static constexpr std::size_t kInputs = 16;
    /// True if add() has a use for nodes of this operator. An empty domain is that of ONNX.
    static bool concern(std::string_view op, std::string_view domain);
    /// False if a list grows over the budget.
    bool add(Node node, ListBudget& budget);
    /// The weights. MatMulInteger and ConvInteger know no scale: it is found among the factors of their result. So it is
    /// of codes that are cast, and of those that Gather takes rows of. `outputLast`: names of the second matrices of MatMul and Gemm, as [in, out].
    std::vector<Dequantize> take(const std::set<std::string>& outputLast);
    /// The nodes that packedWeights() reads, and those of domains that are not known.
    std::vector<Node> takePacked() { return std::move(packed_); }
    /// Names of the scales and zero points of QuantizeLinear. After take().
    std::vector<std::string> takeScales() { return std::move(scales_); }

private:
    std::vector<Node> dequantizing_, products_, packed_;
    std::vector<Node> arithmetic_; ///< what comes before and after codes
    std::vector<std::string> scales_;
};

} // namespace qs::onnx
