// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/graph.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"
#include "core/model/onnx/onnx.h"
#include "core/model/onnx/quantized_walk.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace qs::onnx {
namespace {

constexpr int kMostNested = 10; ///< depth of graphs in nodes of graphs
constexpr std::size_t kMostTensors = 65'536, kMostPrefix = 250, kMostMetadata = 10'000;
// Bytes of memory per tensor (as parsed and in the list), and for the object that decodes its elements.
// The name of each tensor is found by a hash while quantized weights are looked for.
constexpr std::uint64_t kPerTensor = sizeof(Tensor) + sizeof(TensorInfo) + 48,
                        kPerBody = sizeof(Body) + 2 * kMostPrefix, kPerValues = sizeof(OnnxValues) + 64;

using enum Wire;

/// Walks over the messages of a model. Each step returns false after the first error.
class GraphWalk {
public:
    GraphWalk(std::uint64_t size, const ReadBytes& read) : size_(size), read_(read), budget_(size) {}
    File file;
    std::string why;
    std::uint64_t place = 0;

    bool model() {
        Message message(read_, {0, size_});
        bool hasGraph = false;
        int trainings = 0;
        for (Field f; message.next(f);) {
            const bool isPart = f.wire == Length;
            bool ok = true;
            if (f.number == 1 && f.wire == Varint)
                tell("ir_version", std::to_string(f.value));
            else if (isPart && f.number >= 2 && f.number <= 6) {
                static constexpr const char* kKeys[] = {"producer_name", "producer_version", "domain", "",
                                                        "doc_string"};
                tell(kKeys[f.number - 2], shortText(read_, f.range));
            } else if (isPart && f.number == 7) {
                hasGraph = true;
                ok = graph(f.range, "", 0);
            } else if (isPart && f.number == 8)
                ok = opset(f.range);
            else if (isPart && f.number == 14)
                ok = metadata(f.range);
            else if (isPart && f.number == 20)
                ok = training(f.range, trainings++);
            else if (isPart && f.number == 25)
                ok = function(f.range);
            if (!ok) return false;
        }
        if (!good(message)) return false;
        if (!hasGraph) return refuse(0, "it has no graph");
        sayWhatIsUnread();
        return findQuantizedNodes(read_, bodies_, budget_, file) ||
               refuse(0, budget_.why("its list of quantized weights"));
    }

private:
    struct Unread {
        std::size_t count = 0;
        std::string first;
    };

    bool refuse(std::uint64_t at, std::string what) {
        why = std::move(what), place = at;
        return false;
    }
    bool good(const Message& message) { return !message.failed() || refuse(message.at(), message.why()); }
    void leave(const char* reason, const std::string& name) {
        auto& unread = unread_[reason];
        if (unread.count++ == 0) unread.first = quotedName(name);
    }
    void sayWhatIsUnread() {
        for (const auto& [reason, unread] : unread_)
            file.unread.push_back(unread.count == 1 ? fmt::format("{} {}", unread.first, reason)
                                                    : fmt::format("{} tensors are not shown: the first, {}, {}",
                                                                  unread.count, unread.first, reason));
    }
    void tell(const std::string& key, std::string value) {
        if (file.metadata.size() < kMostMetadata && !value.empty()) file.metadata[key] = std::move(value);
    }
    std::string label(Range range, const std::string& otherwise, std::size_t most = kMostLabel) const {
        return labelOf(read_, range, otherwise, most);
    }
    static std::string below(const std::string& prefix, const std::string& name) {
        if (prefix.size() > kMostPrefix) return prefix.ends_with("…/") ? prefix : prefix + "…/";
        return prefix + name + "/";
    }

    bool opset(Range range) {
        Message message(read_, range);
        std::string domain = "ai.onnx";
        std::uint64_t version = 0;
        for (Field f; message.next(f);) {
            if (f.number == 1 && f.wire == Length && f.range.size() > 0) domain = label(f.range, "?");
            if (f.number == 2 && f.wire == Varint) version = f.value;
        }
        tell("opset " + domain, std::to_string(version));
        return good(message);
    }

    bool metadata(Range range) {
        Message message(read_, range);
        std::string key, value;
        for (Field f; message.next(f);)
            if (f.wire == Length && (f.number == 1 || f.number == 2))
                (f.number == 1 ? key : value) = shortText(read_, f.range);
        if (!key.empty()) tell(key, std::move(value));
        return good(message);
    }

    bool training(Range range, int number) {
        Message message(read_, range);
        for (Field f; message.next(f);)
            if (f.wire == Length && (f.number == 1 || f.number == 2) &&
                !graph(f.range, fmt::format("training_{}/{}/", number, f.number == 1 ? "initialization" : "algorithm"),
                       1))
                return false;
        return good(message);
    }

    bool function(Range range) {
        Message names(read_, range);
        std::string name = fmt::format("function_{}", functions_++), domain, overload;
        for (Field f; names.next(f);) {
            if (f.number == 1 && f.wire == Length) name = label(f.range, name);
            if (f.number == 10 && f.wire == Length) domain = label(f.range, "");
            if (f.number == 13 && f.wire == Length) overload = label(f.range, "");
        }
        if (!good(names)) return false;
        if (!budget_.take(kPerBody)) return refuse(range.begin, budget_.why("its list of functions"));
        bodies_.functions.emplace(functionKey(domain, name, overload), Body{range, below("", name)});
        Message message(read_, range);
        std::size_t nodes = 0;
        for (Field f; message.next(f);)
            if (f.number == 7 && f.wire == Length && !node(f.range, below("", name), nodes++, 1)) return false;
        return good(message);
    }

    bool graph(Range range, const std::string& prefix, int depth) {
        if (depth > kMostNested)
            return refuse(range.begin, fmt::format("it has graphs within graphs more than {} deep", kMostNested));
        if (!budget_.take(kPerBody)) return refuse(range.begin, budget_.why("its list of graphs"));
        bodies_.graphs.push_back({range, prefix, graph_});
        const Body* around = std::exchange(graph_, &bodies_.graphs.back());
        const bool isRead = readGraph(range, prefix, depth);
        graph_ = around;
        return isRead;
    }

    bool readGraph(Range range, const std::string& prefix, int depth) {
        Message message(read_, range);
        std::size_t nodes = 0, unnamed = 0;
        for (Field f; message.next(f);) {
            if (f.wire != Length) continue;
            bool ok = true;
            if (f.number == 1)
                ok = node(f.range, prefix, nodes++, depth);
            else if (f.number == 2 && depth == 0)
                tell("graph", shortText(read_, f.range));
            else if (f.number == 5)
                ok = tensor(f.range, prefix, "", unnamed++);
            else if (f.number == 15)
                ok = sparse(f.range, prefix);
            if (!ok) return false;
        }
        return good(message);
    }

    bool node(Range range, const std::string& prefix, std::size_t index, int depth) {
        // Attributes may come before the names in the file. So read the names first, then the attributes.
        Message names(read_, range);
        Range name, op, domain, output; // the first output
        bool hasAttributes = false, hasOutput = false;
        for (Field f; names.next(f);) {
            if (f.wire != Length) continue;
            if (f.number == 2 && !std::exchange(hasOutput, true)) output = f.range;
            if (f.number == 3) name = f.range;
            if (f.number == 4) op = f.range;
            if (f.number == 5) hasAttributes = true;
            if (f.number == 7) domain = f.range;
        }
        if (!good(names)) return false;
        if (!hasAttributes) return true;
        const auto opName = label(op, "node"), domainName = label(domain, "");
        const bool isConstant = opName == "Constant" && (domainName.empty() || domainName == "ai.onnx");
        const auto own = label(name, fmt::format("{}_{}", opName, index));
        Message message(read_, range);
        for (Field f; message.next(f);)
            if (f.number == 5 && f.wire == Length &&
                !attribute(f.range, prefix, own, isConstant ? output : Range{}, depth))
                return false;
        return good(message);
    }

    bool attribute(Range range, const std::string& prefix, const std::string& node, Range constant, int depth) {
        Message first(read_, range);
        std::string name = "attribute";
        Range one;
        bool hasTensor = false, hasGraph = false, hasFloat = false, hasInt = false, hasFloats = false, hasInts = false;
        for (Field f; first.next(f);) {
            if (f.number == 1 && f.wire == Length) name = label(f.range, name);
            hasFloat |= f.number == 2 && f.wire == Fixed32;
            hasInt |= f.number == 3 && f.wire == Varint;
            hasTensor |= f.wire == Length && (f.number == 5 || f.number == 10);
            hasGraph |= f.wire == Length && (f.number == 6 || f.number == 11);
            hasFloats |= f.number == 7;
            hasInts |= f.number == 8;
            if (f.wire == Length && (f.number == 22 || f.number == 23)) one = f.range;
        }
        if (!good(first)) return false;
        const bool isConstant = constant.end > 0;
        if (one.end > 0 && !sparse(one, prefix)) return false;
        if (isConstant && !hasTensor) {
            const auto called = label(constant, node, kMostName);
            if (name == "value_float" && hasFloat) return numbers(range, prefix + called, *findElementType(1), 2, true);
            if (name == "value_int" && hasInt) return numbers(range, prefix + called, *findElementType(7), 3, true);
            if (name == "value_floats" && hasFloats)
                return numbers(range, prefix + called, *findElementType(1), 7, false);
            if (name == "value_ints" && hasInts) return numbers(range, prefix + called, *findElementType(7), 8, false);
        }
        if (!hasTensor && !hasGraph) return true;
        Message message(read_, range);
        int tensors = 0, graphs = 0;
        for (Field f; message.next(f);) {
            if (f.wire != Length) continue;
            bool ok = true;
            if (f.number == 5 || f.number == 10) {
                auto called = isConstant ? label(constant, node, kMostName) : node + "." + name;
                if (f.number == 10) called += fmt::format(".{}", tensors++);
                ok = tensor(f.range, prefix, called, 0);
            } else if (f.number == 6)
                ok = graph(f.range, below(below(prefix, node), name), depth + 1);
            else if (f.number == 11)
                ok = graph(f.range, below(below(prefix, node), fmt::format("{}.{}", name, graphs++)), depth + 1);
            if (!ok) return false;
        }
        return good(message);
    }

    /// Adds the numbers of an attribute as a tensor: a scalar or a list.
    bool numbers(Range range, const std::string& name, const ElementType& type, int field, bool isScalar) {
        Tensor tensor;
        tensor.name = name;
        tensor.type = &type;
        tensor.at = range.begin;
        auto values = std::make_shared<FieldValues>(read_, range, field, type.wire);
        if (!values->why().empty()) return refuse(range.begin, values->why());
        if (isScalar && values->count() != 1)
            return refuse(range.begin,
                          fmt::format("the constant {} has its value {} times", quotedName(name), values->count()));
        tensor.elements = values->count();
        if (!isScalar) tensor.shape = {std::int64_t(tensor.elements)};
        tensor.keep(std::move(values));
        return add(std::move(tensor));
    }

    bool add(Tensor tensor) {
        if (file.tensors.size() + file.unreadable.size() == kMostTensors)
            return refuse(tensor.at, fmt::format("it has more than {} tensors", kMostTensors));
        // Two texts for the name, because nameApart() may change it.
        const auto names =
            2 * ListBudget::of(tensor.name) + (tensor.external ? ListBudget::of(tensor.external->location) : 0);
        const auto values = tensor.values           ? kPerValues + tensor.values->memory()
                            : tensor.type->bits < 8 ? kPerValues
                                                    : 0;
        if (!budget_.take(kPerTensor + names + values + ListBudget::heap(tensor.shape.capacity() * 8)))
            return refuse(tensor.at, budget_.why("its list of tensors"));
        file.tensors.push_back(std::move(tensor));
        return true;
    }

    bool sparse(Range range, const std::string& prefix) {
        Message message(read_, range);
        std::string name;
        for (Field f; message.next(f);) {
            if (f.number != 1 || f.wire != Length) continue;
            Message values(read_, f.range);
            for (Field v; values.next(v);)
                if (v.number == 8 && v.wire == Length) name = label(v.range, "");
            if (!good(values)) return false;
        }
        leave("is sparse (values and their indices), which is not read", prefix + name);
        return good(message);
    }

    bool tensor(Range range, const std::string& prefix, const std::string& called, std::size_t unnamed) {
        auto parsed = parseTensor(read_, range, prefix, called, unnamed);
        if (!parsed.wrong.empty()) return refuse(parsed.at, std::move(parsed.wrong));
        if (!parsed.unread.empty()) {
            Tensor& t = parsed.tensor;
            if (file.tensors.size() + file.unreadable.size() == kMostTensors)
                return refuse(parsed.at, fmt::format("it has more than {} tensors", kMostTensors));
            if (!budget_.take(kPerTensor + 2 * ListBudget::of(t.name) + ListBudget::of(parsed.unread) +
                              ListBudget::heap(t.shape.capacity() * 8)))
                return refuse(parsed.at, budget_.why("its list of tensors"));
            file.unreadable.push_back({std::move(t.name), std::move(parsed.unread), std::move(t.shape), parsed.at});
            return true;
        }
        if (parsed.left) {
            leave(parsed.left, parsed.tensor.name);
            return true;
        }
        return add(std::move(parsed.tensor));
    }

    std::uint64_t size_;
    const ReadBytes& read_;
    ListBudget budget_;
    Bodies bodies_;
    const Body* graph_ = nullptr; ///< that is read
    std::size_t functions_ = 0;
    std::map<std::string, Unread> unread_;
};

} // namespace

Result<File> parse(std::uint64_t fileSize, const ReadBytes& read, const std::string& path) {
    const auto shown = shownPath(path);
    if (fileSize > std::uint64_t(std::numeric_limits<int>::max()))
        return fail(
            fmt::format("{}: an ONNX model has at most 2 GiB (a limit of protobuf), this has {} bytes; larger ones "
                        "keep their tensors in files beside them.",
                        shown, fileSize),
            path, 0);
    GraphWalk walk(fileSize, read);
    if (!walk.model())
        return fail(fmt::format("{}: {} (byte {} of an ONNX model).", shown, walk.why, walk.place), path,
                    static_cast<long long>(walk.place));
    return std::move(walk.file);
}

bool looksLikeModel(std::span<const std::byte> head) {
    const auto byte = [&](std::size_t i) { return i < head.size() ? unsigned(head[i]) : 256u; };
    // All writers put ir_version first. Another field of ModelProto follows: producer_name to domain, model_version,
    // doc_string, graph, opset_import or metadata_props.
    if (byte(0) != 0x08 || byte(1) == 0 || byte(1) > 100) return false;
    static constexpr unsigned kTags[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72};
    return std::find(std::begin(kTags), std::end(kTags), byte(2)) != std::end(kTags);
}

} // namespace qs::onnx
