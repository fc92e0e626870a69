// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/quantized_nodes.h"

#include "core/model/onnx/packed_weights.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace qs::onnx {
namespace {

constexpr std::size_t kMostNodes = 65'536;
constexpr const char* kMicrosoft = "com.microsoft"; ///< the domain of ONNX Runtime's own operators
constexpr const char* kTensorRt = "trt";            ///< the domain of TensorRT's, which ModelOpt writes

/// The axis along which scales differ.
enum class Along { Attribute, First, Last };

/// An operator with a quantized weight, and the places of its inputs.
struct Operator {
    const char* name;
    const char* domain;
    std::size_t codes, scale, zero;
    Along along;
    bool isProduct; ///< the weight is [in, out], unless transB is set
    Cover cover = Cover::Axis;
    bool hasExponents = false;
};
// Those of TensorRT are DequantizeLinear with types that ONNX had not then (onnx-tensorrt:`onnxOpImporters.cpp`).
constexpr Operator kOperators[] = {
    {"DequantizeLinear", "", 0, 1, 2, Along::Attribute, false},
    {"DequantizeLinear", kMicrosoft, 0, 1, 2, Along::Attribute, false},
    {"TRT_FP8DequantizeLinear", kTensorRt, 0, 1, 2, Along::Attribute, false, Cover::Shapes},
    {"TRT_INT4DequantizeLinear", kTensorRt, 0, 1, 2, Along::Attribute, false, Cover::Shapes},
    {"TRT_MXFP8DequantizeLinear", kTensorRt, 0, 1, 2, Along::Attribute, false, Cover::Shapes, true},
    {"QLinearConv", "", 3, 4, 5, Along::First, false},
    {"QLinearConv", kMicrosoft, 3, 4, 5, Along::First, false},
    {"QLinearMatMul", "", 3, 4, 5, Along::Last, true},
    {"QGemm", kMicrosoft, 3, 4, 5, Along::Last, true},
    {"MatMulIntegerToFloat", kMicrosoft, 1, 3, 5, Along::Last, true},
    {"DynamicQuantizeMatMul", kMicrosoft, 1, 2, 3, Along::Last, true}};

/// An operator whose result is integers: the codes are input 1, the zero point is input 3.
struct IntegerProduct {
    const char* name;
    bool isProduct;
};
constexpr IntegerProduct kIntegerProducts[] = {{"MatMulInteger", true}, {"ConvInteger", false}};
constexpr const char *kCast = "Cast", *kMul = "Mul", *kSub = "Sub", *kGather = "Gather", *kQuantize = "QuantizeLinear",
                     *kQuantizeDynamically = "DynamicQuantizeLinear", *kCastAndMul = "Cast and Mul";
constexpr const char* kArithmetic[] = {kCast, kMul, kSub, kGather, kQuantize, kQuantizeDynamically};

/// Of a number in TensorProto.DataType: FLOAT, FLOAT16 or BFLOAT16.
bool isFloat(std::int64_t type) { return type == 1 || type == 10 || type == 16; }

bool isArithmetic(std::string_view op) { return std::ranges::find(kArithmetic, op) != std::end(kArithmetic); }

const Operator* findOperator(std::string_view op, std::string_view domain) {
    const auto* found =
        std::ranges::find_if(kOperators, [&](const auto& row) { return op == row.name && domain == row.domain; });
    return found == std::end(kOperators) ? nullptr : found;
}

const IntegerProduct* findIntegerProduct(std::string_view op) {
    const auto* found = std::ranges::find_if(kIntegerProducts, [&](const auto& row) { return op == row.name; });
    return found == std::end(kIntegerProducts) ? nullptr : found;
}

std::string at(const std::vector<std::string>& names, std::size_t i) {
    return i < names.size() ? names[i] : std::string();
}

std::uint64_t memoryOf(const Node& node) {
    std::uint64_t bytes = sizeof node + sizeof(Dequantize);
    for (const auto* names : {&node.inputs, &node.outputs}) {
        bytes += ListBudget::heap(names->capacity() * sizeof(std::string));
        for (const std::string& name : *names) bytes += 2 * ListBudget::of(name);
    }
    constexpr std::uint64_t perAttribute = 160;
    bytes += perAttribute * (node.numbers.size() + node.texts.size());
    return bytes;
}

/// Finds nodes of the arithmetic around integer products by the names of their tensors.
class Arithmetic {
public:
    explicit Arithmetic(const std::vector<Node>& nodes) : nodes_(nodes), byOutput_(nodes.size()) {
        std::iota(byOutput_.begin(), byOutput_.end(), 0u);
        for (std::uint32_t i = 0; i < nodes.size(); ++i)
            for (const std::string& input : nodes[i].inputs) readers_.push_back({input, i});
        std::ranges::sort(byOutput_, [&](auto a, auto b) { return output(nodes[a]) < output(nodes[b]); });
        std::ranges::sort(readers_);
    }
    /// The node that makes a tensor; null: none of these.
    const Node* makerOf(std::string_view tensor) const {
        const auto found = std::lower_bound(byOutput_.begin(), byOutput_.end(), tensor,
                                            [&](auto a, std::string_view t) { return output(nodes_[a]) < t; });
        return found != byOutput_.end() && !tensor.empty() && output(nodes_[*found]) == tensor ? &nodes_[*found]
                                                                                               : nullptr;
    }
    /// The first node of an operator that reads a tensor; null: there is none.
    const Node* readerOf(std::string_view tensor, std::string_view op) const {
        auto found = std::lower_bound(readers_.begin(), readers_.end(), std::pair{tensor, 0u});
        for (; found != readers_.end() && found->first == tensor; ++found)
            if (nodes_[found->second].op == op) return &nodes_[found->second];
        return nullptr;
    }
    /// What a number of a formula is before it is cast.
    std::string beforeCast(const std::string& number) const {
        const Node* cast = makerOf(number);
        return cast && cast->op == kCast ? at(cast->inputs, 0) : number;
    }
    /// (codes - zero points) * scales, where the codes, and maybe the zero points, are cast. Without a scale: it is not
    /// found.
    Dequantize castAndMul(const Node& cast) const {
        Dequantize out{at(cast.inputs, 0), "", "", kCastAndMul};
        out.cover = Cover::Broadcast;
        std::string number = at(cast.outputs, 0);
        if (const Node* sub = readerOf(number, kSub); sub && at(sub->inputs, 0) == number)
            out.zero = beforeCast(at(sub->inputs, 1)), number = at(sub->outputs, 0);
        if (const Node* mul = readerOf(number, kMul); mul && mul->inputs.size() == 2)
            out.scale = mul->inputs[mul->inputs[0] == number ? 1 : 0], out.output = at(mul->outputs, 0);
        return out;
    }
    /// The scale of the codes in a tensor, by the node that quantizes it.
    std::string scaleOf(std::string_view codes) const {
        const Node* maker = makerOf(codes);
        if (maker && maker->op == kQuantize) return at(maker->inputs, 1);
        return maker && maker->op == kQuantizeDynamically ? at(maker->outputs, 1) : std::string();
    }
    /// The two numbers that the result of an integer product is multiplied by; empty: not two, or not only these.
    std::vector<std::string> factorsOf(std::string_view result) const {
        const Node* cast = readerOf(result, kCast);
        std::vector<std::string> factors;
        std::string product = cast ? at(cast->outputs, 0) : std::string();
        while (factors.size() < 2) {
            const Node* mul = readerOf(product, kMul);
            if (!mul || mul->inputs.size() != 2) return {};
            const std::string& other = mul->inputs[mul->inputs[0] == product ? 1 : 0];
            const Node* both = makerOf(other);
            if (both && both->op == kMul)
                factors.insert(factors.end(), both->inputs.begin(), both->inputs.end());
            else
                factors.push_back(other);
            product = at(mul->outputs, 0);
        }
        return factors.size() == 2 ? factors : std::vector<std::string>();
    }

private:
    static std::string_view output(const Node& node) {
        return node.outputs.empty() ? std::string_view() : std::string_view(node.outputs.front());
    }
    const std::vector<Node>& nodes_;
    std::vector<std::uint32_t> byOutput_;                             ///< places of nodes_, sorted by name
    std::vector<std::pair<std::string_view, std::uint32_t>> readers_; ///< names of inputs with places of nodes_, sorted
};

} // namespace

bool QuantizedNodes::concern(std::string_view op, std::string_view domain) {
    if (findOperator(op, domain)) return true;
    if (domain.empty()) return findIntegerProduct(op) || isArithmetic(op);
    if (domain.starts_with(kMicrosoft)) return hasPackedWeights(op);
    return !domain.starts_with("ai.onnx"); // an operator of somebody else, which may read codes
}

bool QuantizedNodes::add(Node node, ListBudget& budget) {
    auto& list = findOperator(node.op, node.domain) ? dequantizing_
                 : !node.domain.empty()             ? packed_
                 : findIntegerProduct(node.op)      ? products_
                                                    : arithmetic_;
    if (list.size() >= kMostNodes) return true;
    if (!budget.take(memoryOf(node))) return false;
    list.push_back(std::move(node));
    return true;
}

std::vector<Dequantize> QuantizedNodes::take(const std::set<std::string>& outputLast) {
    std::vector<Dequantize> found;
    const Arithmetic arithmetic(arithmetic_);
    for (const Node& node : dequantizing_) {
        const Operator& row = *findOperator(node.op, node.domain);
        Dequantize one{at(node.inputs, row.codes), at(node.inputs, row.scale), at(node.inputs, row.zero), row.name};
        if (one.codes.empty() || one.scale.empty()) continue;
        one.axis = row.along == Along::Attribute ? node.axis : row.along == Along::First || node.transB ? 0 : -1;
        one.blockSize = row.along == Along::Attribute ? node.blockSize : 0;
        one.cover = row.cover, one.hasExponents = row.hasExponents, one.output = at(node.outputs, 0);
        if (const auto type = node.numbers.find("output_dtype"); type != node.numbers.end())
            one.outputType = type->second;
        one.outputLast = row.isProduct ? !node.transB : outputLast.contains(one.output);
        // Rows of a table may be taken before they are dequantized.
        if (const Node* maker = arithmetic.makerOf(one.codes); maker && maker->op == kGather)
            one.codes = at(maker->inputs, 0), one.cover = Cover::One;
        found.push_back(std::move(one));
    }
    for (const Node& node : products_) {
        const IntegerProduct& row = *findIntegerProduct(node.op);
        const auto inputScale = arithmetic.scaleOf(at(node.inputs, 0));
        auto factors = arithmetic.factorsOf(at(node.outputs, 0));
        const bool isFound = !inputScale.empty() && std::erase(factors, inputScale) == 1 && factors.size() == 1;
        found.push_back({at(node.inputs, 1), isFound ? factors[0] : std::string(), at(node.inputs, 3), row.name,
                         row.isProduct ? -1 : 0, 0, row.isProduct});
    }
    for (const Node& node : arithmetic_) {
        if (node.op == kQuantize)
            for (std::size_t input = 1; input < node.inputs.size(); ++input) scales_.push_back(node.inputs[input]);
        const auto to = node.numbers.find("to");
        if (node.op != kCast || to == node.numbers.end() || !isFloat(to->second)) continue;
        found.push_back(arithmetic.castAndMul(node));
        found.back().outputLast = outputLast.contains(found.back().output);
    }
    return found;
}

} // namespace qs::onnx
