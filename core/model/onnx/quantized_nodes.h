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
    std::string op;
    std::vector<std::string> inputs, outputs;
    std::int64_t axis = 1, blockSize = 0;             ///< attributes
    bool transB = false;                              ///< attribute: the second matrix of a product is [out, in]
    std::map<std::string, std::int64_t> numbers = {}; ///< all attributes that are whole numbers
    std::map<std::string, std::string> texts = {};    ///< and those that are short texts
};

/// A quantized weight: value = (code - zero point) * scale. `zero` is empty if there are no zero points; `scale` is empty
/// if the scale of an integer product was not found.
struct Dequantize {
    std::string codes, scale, zero;
    const char* op = "";                  ///< the operator that reads the codes
    std::int64_t axis = 1, blockSize = 0; ///< as of DequantizeLinear; a negative axis counts from the last one
    bool outputLast = false;              ///< the weight of a product, as [in, out]
};

class QuantizedNodes {
public:
    /// The number of inputs that are looked at.
    static constexpr std::size_t kInputs = 16;
    /// True if add() has a use for nodes of this operator. An empty domain is that of ONNX.
    static bool concern(std::string_view op, std::string_view domain);
    /// False if a list grows over the budget.
    bool add(Node node, ListBudget& budget);
    /// The weights. MatMulInteger and ConvInteger know no scale: it is found among the factors of their result.
    /// `outputLast`: names of the second matrices of MatMul and Gemm, as [in, out].
    std::vector<Dequantize> take(const std::set<std::string>& outputLast);
    /// The nodes that packedWeights() reads.
    std::vector<Node> takePacked() { return std::move(packed_); }

private:
    std::vector<Node> dequantizing_, products_, packed_;
    std::vector<Node> arithmetic_; ///< what comes before and after integer products
};

} // namespace qs::onnx
