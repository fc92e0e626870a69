// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/quantized_walk.h"

#include <fmt/format.h>
#include <unordered_set>

namespace qs::onnx {
namespace {

constexpr std::size_t kMostAttributes = 32, kMostProducts = 65'536; ///< that are kept of a node, and of a model
constexpr int kDeepestCall = 10;                                    ///< functions that call functions
constexpr std::size_t kMostNodesOfCalls = std::size_t(1) << 18;     ///< nodes of functions, counted in each call

using enum Wire;

/// Where the nodes of a body find their tensors.
struct Scope {
    const Body* body;
    std::string own; ///< prefix of names that the body itself makes
    const std::map<std::string, std::string>* formals =
        nullptr;                ///< of a call: the function's inputs and outputs, as the caller names them
    const Node* call = nullptr; ///< of a call: its attributes
    int depth = 0;
};

class QuantizedWalk {
public:
    QuantizedWalk(const ReadBytes& read, const Bodies& bodies, ListBudget& budget, File& file)
        : read_(read), bodies_(bodies), budget_(budget), file_(file) {
        for (const Tensor& tensor : file.tensors) constants_.insert(tensor.name);
        for (const Unreadable& tensor : file.unreadable) constants_.insert(tensor.name);
    }

    bool walk() {
        constexpr int kNodeOfGraph = 1;
        for (const Body& graph : bodies_.graphs)
            if (!nodes({&graph, graph.prefix}, kNodeOfGraph)) return false;
        if (nodesOfCalls_ > kMostNodesOfCalls)
            file_.unread.push_back(
                fmt::format("its functions are called so often that only the first {} of their nodes "
                            "are looked at",
                            kMostNodesOfCalls));
        file_.dequantized = quantized_.take(file_.outputLast);
        file_.packed = quantized_.takePacked(), file_.scales = quantized_.takeScales();
        return true;
    }

private:
    bool nodes(const Scope& scope, int field) {
        Message message(read_, scope.body->range);
        for (Field f; message.next(f);) {
            if (f.number != field || f.wire != Length) continue;
            if (scope.call && ++nodesOfCalls_ > kMostNodesOfCalls) return true;
            if (!node(f.range, scope)) return false;
        }
        return true;
    }

    bool node(Range range, const Scope& scope) {
        Message names(read_, range);
        Range op, domain, overload;
        std::vector<Range> inputs, outputs; // the first ones
        for (Field f; names.next(f);) {
            if (f.wire != Length) continue;
            if (f.number == 1 && inputs.size() < QuantizedNodes::kInputs) inputs.push_back(f.range);
            if (f.number == 2 && outputs.size() < 2) outputs.push_back(f.range);
            if (f.number == 4) op = f.range;
            if (f.number == 7) domain = f.range;
            if (f.number == 8) overload = f.range;
        }
        Node node;
        node.op = labelOf(read_, op, "node"), node.domain = labelOf(read_, domain, "");
        if (node.domain == "ai.onnx") node.domain.clear();
        const auto function = bodies_.functions.find(functionKey(node.domain, node.op, labelOf(read_, overload, "")));
        const bool isCall = function != bodies_.functions.end();
        const bool isProduct = node.domain.empty() && (node.op == "MatMul" || node.op == "Gemm") && inputs.size() > 1;
        if (!isCall && !isProduct && !QuantizedNodes::concern(node.op, node.domain)) return true;
        for (const Range& one : inputs) node.inputs.push_back(resolved(one, scope));
        for (const Range& one : outputs) node.outputs.push_back(resolved(one, scope));
        attributes(range, scope, node);
        if (isCall) return call(function->second, node, scope);
        if (!isProduct) return quantized_.add(std::move(node), budget_);
        if (!node.transB && !node.inputs[1].empty() && file_.outputLast.size() < kMostProducts &&
            budget_.take(64 + ListBudget::of(node.inputs[1])))
            file_.outputLast.insert(std::move(node.inputs[1]));
        return true;
    }

    /// Walks over the nodes of a function, as one call of it runs them.
    bool call(const Body& function, const Node& node, const Scope& scope) {
        if (scope.depth == kDeepestCall) return true;
        std::map<std::string, std::string> formals;
        std::size_t inputs = 0, outputs = 0;
        Node given = node;
        Message message(read_, function.range);
        for (Field f; message.next(f);) {
            if (f.wire != Length) continue;
            if (f.number == 4) {
                formals.emplace(labelOf(read_, f.range, "", kMostName),
                                inputs < node.inputs.size() ? node.inputs[inputs] : "");
                ++inputs;
            }
            if (f.number == 5 && outputs < node.outputs.size())
                formals.emplace(labelOf(read_, f.range, "", kMostName), node.outputs[outputs++]);
            if (f.number == 11) attribute(f.range, scope, given); // its default, which the call may have set
        }
        constexpr int kNodeOfFunction = 7;
        return nodes({&function, fmt::format("{}{}:", function.prefix, ++calls_), &formals, &given, scope.depth + 1},
                     kNodeOfFunction);
    }

    /// The name of a tensor in the model: of the first body around the node that has this constant.
    std::string resolved(Range range, const Scope& scope) const {
        const auto name = labelOf(read_, range, "", kMostName);
        if (name.empty()) return name;
        if (scope.formals)
            if (const auto given = scope.formals->find(name); given != scope.formals->end()) return given->second;
        for (const Body* body = scope.body; body; body = body->outer)
            if (auto full = body->prefix + name; constants_.contains(full)) return full;
        return scope.own + name;
    }

    void attributes(Range node, const Scope& scope, Node& out) const {
        Message message(read_, node);
        for (Field f; message.next(f);)
            if (f.number == 5 && f.wire == Length) attribute(f.range, scope, out);
    }

    /// Keeps an attribute that is a whole number or a short text. In a function it may be one of the call.
    void attribute(Range range, const Scope& scope, Node& out) const {
        Message attribute(read_, range);
        std::string name, text, ofCall;
        std::optional<std::int64_t> number;
        for (Field a; attribute.next(a);) {
            if (a.number == 1 && a.wire == Length) name = labelOf(read_, a.range, "");
            if (a.number == 3 && a.wire == Varint) number = std::int64_t(a.value);
            if (a.number == 4 && a.wire == Length) text = labelOf(read_, a.range, "");
            if (a.number == 21 && a.wire == Length) ofCall = labelOf(read_, a.range, "");
        }
        if (!ofCall.empty() && scope.call) {
            if (const auto found = scope.call->numbers.find(ofCall); found != scope.call->numbers.end())
                number = found->second;
            if (const auto found = scope.call->texts.find(ofCall); found != scope.call->texts.end())
                text = found->second;
        }
        if (out.numbers.contains(name) || out.numbers.size() + out.texts.size() >= kMostAttributes) return;
        if (number)
            out.numbers[name] = *number;
        else if (!text.empty())
            out.texts.emplace(name, text);
        if (!number) return;
        if (name == "axis") out.axis = *number;
        if (name == "block_size") out.blockSize = *number;
        if (name == "transB") out.transB = *number != 0;
    }

    const ReadBytes& read_;
    const Bodies& bodies_;
    ListBudget& budget_;
    File& file_;
    QuantizedNodes quantized_;
    std::unordered_set<std::string_view> constants_;
    std::size_t calls_ = 0, nodesOfCalls_ = 0;
};

} // namespace

std::string functionKey(const std::string& domain, const std::string& name, const std::string& overload) {
    return domain + '\n' + name + '\n' + overload;
}

bool findQuantizedNodes(const ReadBytes& read, const Bodies& bodies, ListBudget& budget, File& file) {
    return QuantizedWalk(read, bodies, budget, file).walk();
}

} // namespace qs::onnx
