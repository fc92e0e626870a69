// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/pytorch/pytorch_state.h"

#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/model/list_budget.h"
#include "core/model/pytorch/pytorch_classes.h"
#include "core/model/pytorch/pytorch_notes.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

/// Attributes of tensor classes that say how their values are computed.
constexpr std::string_view kSubclassSettings[] = {"block_size", "orig_dtype", "elem_dtype", "is_swizzled_scales"};

using Ref = Pickle::Ref;
using Kind = Pickle::Kind;

constexpr std::size_t kDeepest = 200, kDeepestShape = 64, kMostClasses = 3, kLongestKey = 65536, kLongestStorage = 1024,
                      kLongestPart = 100;
// Bytes of memory per tensor (as parsed, in the list, with strides) and per storage (in both maps).
constexpr std::uint64_t kPerTensor = sizeof(TorchTensor) + sizeof(TensorInfo) + 224, kPerStorage = 352;
constexpr std::uint64_t kMostNames = std::uint64_t(64) << 20, kMostElements = std::uint64_t(1) << 59;

/// Walks over the values of a pickle without recursion and collects tensors.
class StateWalk {
public:
    StateWalk(const Pickle& pickle, const std::string& prefix, ListBudget* budget)
        : p_(pickle), prefix_(prefix), seen_(pickle.values()), budget_(budget) {}

    Result<TorchState> read(const std::string& name) {
        for (Ref value = 0; value < p_.values(); ++value)
            if (p_.kind(value) == Kind::Persistent && !addStorage(value)) return fail(std::move(why_));
        frames_.push_back({0, 0, Pickle::kNone, -1});
        rootName_ = name;
        if (!visit(p_.root(), {0, Pickle::kNone, -1}, true)) return fail(std::move(why_));
        while (!open_.empty()) {
            const auto next = open_.back();
            open_.pop_back();
            if (!expand(next)) return fail(std::move(why_));
        }
        out_.notes = notes_.sentences();
        return std::move(out_);
    }

private:
    struct Frame { ///< a container: its key or index in the container that holds it
        std::uint32_t parent, depth;
        Ref key;
        std::int64_t index;
    };
    struct Place { ///< the place of a value in a container
        std::uint32_t frame;
        Ref key;
        std::int64_t index; ///< -1: the value has a key, or no name of its own
    };
    struct Open {
        Ref value;
        std::uint32_t frame;
    };

    bool wrong(std::string what) {
        why_ = std::move(what);
        return false;
    }
    bool take(std::uint64_t bytes) {
        return !budget_ || budget_->take(bytes) || wrong(budget_->why("its list of tensors"));
    }
    /// A text, or bytes that are valid UTF-8, because Python 2 stored text as bytes.
    std::optional<std::string_view> textOf(Ref value) const {
        const auto kind = p_.kind(value);
        if (kind != Kind::Text && kind != Kind::Bytes) return std::nullopt;
        const auto text = p_.text(value);
        if (kind == Kind::Bytes && invalidUtf8(text) != text.npos) return std::nullopt;
        return text;
    }
    bool isKey(Ref value) const {
        const auto text = textOf(value);
        return text ? text->size() <= kLongestKey : p_.kind(value) == Kind::Int;
    }
    std::optional<std::uint64_t> countOf(Ref value) const {
        if (p_.kind(value) != Kind::Int || p_.number(value) < 0) return std::nullopt;
        return std::uint64_t(p_.number(value));
    }
    /// Name of a class. In old checkpoints a class can be pickled with its source: ('module', class, file, text).
    std::string classOf(Ref value) const {
        if (p_.kind(value) == Kind::Persistent) {
            const Ref id = p_.persistentId(value);
            if (p_.kind(id) == Kind::Tuple && p_.itemCount(id) > 1) return p_.className(p_.item(id, 1));
        }
        return p_.className(value);
    }

    bool isStorage(Ref value) const {
        if (p_.kind(value) != Kind::Persistent) return false;
        const Ref id = p_.persistentId(value);
        return p_.kind(id) == Kind::Tuple && p_.itemCount(id) >= 5 && textOf(p_.item(id, 0)) == "storage";
    }
    bool addStorage(Ref value) {
        if (!isStorage(value)) return true;
        const Ref id = p_.persistentId(value);
        const auto key = textOf(p_.item(id, 2));
        const auto elements = countOf(p_.item(id, 4));
        if (!key || key->size() > kLongestStorage || !elements)
            return wrong("its pickle has a storage without a key or a size");
        TorchStorage storage;
        storage.className = p_.className(p_.item(id, 1));
        const auto element = torchElement(storage.className);
        if (!element)
            return wrong(fmt::format("its storage {} is a {}, whose size is not known", quotedName(*key),
                                     quotedName(storage.className)));
        storage.dtype = element->dtype;
        if (*elements > kMostElements)
            return wrong(fmt::format("its storage {} has {} elements", quotedName(*key), *elements));
        storage.elements = *elements;
        storage.bytes = *elements * element->bytes;
        const auto [at, isNew] = out_.storages.try_emplace(std::string(*key), storage);
        if (isNew && !take(kPerStorage + 2 * key->size())) return false;
        if (!isNew && (at->second.bytes != storage.bytes || at->second.className != storage.className))
            return wrong(fmt::format("its storage {} has two kinds or sizes", quotedName(*key)));
        return true;
    }

    std::string nameOf(const Place& place) const {
        std::vector<std::string> parts;
        const auto add = [&](Ref key, std::int64_t index) {
            if (index >= 0)
                parts.push_back(std::to_string(index));
            else if (const auto text = textOf(key))
                parts.emplace_back(*text);
            else if (p_.kind(key) == Kind::Int)
                parts.push_back(std::to_string(p_.number(key)));
        };
        add(place.key, place.index);
        for (auto f = place.frame; f != 0; f = frames_[f].parent) add(frames_[f].key, frames_[f].index);
        std::string name = prefix_;
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
            if (!name.empty() || part != parts.rbegin()) name += '.';
            name += *part;
        }
        return parts.empty() ? name + rootName_ : name;
    }

    void count(TorchNotes::Count& count, const Place& place) {
        if (count.n++ == 0) count.first = nameOf(place);
    }

    /// Handles a single value at once. A container is only noted, and opened later. Each is opened once; if it is met
    /// again, it is counted.
    bool visit(Ref value, const Place& place, bool countsPlain) {
        switch (p_.kind(value)) {
        case Kind::None: return true;
        case Kind::Tuple: return p_.itemCount(value) == 0 || open(value, place);
        case Kind::List:
        case Kind::Dict: return open(value, place);
        case Kind::Object: return visitObject(value, place);
        case Kind::Persistent:
            if (isStorage(value)) count(notes_.bare, place);
            return true;
        case Kind::Class:
            if (!isPlainClass(p_.className(value))) countClass(p_.className(value), place);
            return true;
        default:
            if (countsPlain) count(notes_.plain, place);
            return true;
        }
    }

    bool open(Ref value, const Place& place) {
        if (seen_[value]) {
            if (p_.kind(value) != Kind::Tuple) count(notes_.again, place);
            return true;
        }
        seen_[value] = true;
        const auto depth = frames_[place.frame].depth + 1;
        if (depth > kDeepest) return wrong(fmt::format("its pickle is nested deeper than {}", kDeepest));
        std::uint32_t frame = place.frame;
        if (place.index >= 0 || place.key != Pickle::kNone) {
            if (!take(sizeof(Frame) + sizeof(Open))) return false;
            frame = std::uint32_t(frames_.size());
            frames_.push_back({place.frame, depth, place.key, place.index});
        }
        open_.push_back({value, frame});
        return true;
    }

    void countClass(const std::string& name, const Place& place) {
        const auto known = notes_.classes.find(name);
        if (known == notes_.classes.end() && notes_.classes.size() == kMostClasses)
            ++notes_.otherClasses;
        else
            count(notes_.classes[name], place);
    }

    bool visitObject(Ref value, const Place& place) {
        // Follows wrappers of objects. The number of steps is limited, because a wrapper can contain itself.
        for (std::size_t n = 0; n < kDeepest; ++n) {
            if (p_.kind(value) != Kind::Object) return visit(value, place, true);
            const auto& object = p_.object(value);
            const auto args = object.args;
            const std::size_t argc = p_.itemCount(args);
            const std::string name = classOf(object.callable);
            const auto is = [&](std::string_view known) { return name == known; };
            if ((is("torch._utils._rebuild_parameter") || is("torch._utils._rebuild_parameter_with_state") ||
                 is("torch.nn.parameter.Parameter") || name.starts_with("torch.jit._pickle.")) &&
                argc > 0) {
                value = p_.item(args, 0);
                continue;
            }
            // Arguments: the function, the type, and the arguments of the function.
            if (is("torch._tensor._rebuild_from_type_v2") && argc > 3 &&
                p_.className(p_.item(args, 0)) == "torch._utils._rebuild_wrapper_subclass")
                return visitSubclass(p_.item(args, 2), p_.item(args, 3), place);
            if (is("torch._tensor._rebuild_from_type_v2") && argc > 2)
                return visitRebuilt(p_.className(p_.item(args, 0)), p_.item(args, 2), place);
            if (name.starts_with("torch._utils._rebuild_")) return visitRebuilt(name, args, place);
            if (isDictionaryClass(name)) return open(value, place);
            if (isPlainClass(name)) {
                count(notes_.plain, place);
                return true;
            }
            countClass(name, place);
            return open(value, place);
        }
        return wrong(fmt::format("its pickle is nested deeper than {}", kDeepest));
    }

    /// A tensor whose class keeps its data in attributes that are tensors: torchao's. `made`: class, dtype and size, among
    /// others; `state`: the attributes. The parts of P.W get the names that torchao itself gives them in safetensors,
    /// P._W_qdata, and the metadata says what torchao's does.
    bool visitSubclass(Ref made, Ref state, const Place& place) {
        const std::string name = nameOf(place);
        const auto argument = [&](std::size_t i) {
            return p_.kind(made) == Kind::Tuple && p_.itemCount(made) > i ? p_.item(made, i) : Pickle::kNone;
        };
        const std::string className = p_.className(argument(0)), dtype = p_.className(argument(1));
        if (p_.kind(state) != Kind::Dict || name.empty()) {
            countClass(className, place);
            return true;
        }
        const auto dot = name.rfind('.');
        const std::string stem = dot == name.npos ? "_" + name : name.substr(0, dot + 1) + "_" + name.substr(dot + 1);
        nlohmann::json data;
        data["dtype"]["_data"] = lastPart(dtype);
        const auto pairs = p_.pairs(state);
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const auto key = textOf(pairs[i]);
            if (!key || key->size() > kLongestPart) continue;
            const Ref value = pairs[i + 1];
            if (p_.kind(value) == Kind::Object) {
                const auto& object = p_.object(value);
                const std::string function = classOf(object.callable);
                if (!function.starts_with("torch._utils._rebuild_tensor")) continue;
                partName_ = fmt::format("{}_{}", stem, *key);
                const bool ok = visitRebuilt(function, object.args, place);
                partName_.clear();
                if (!ok) return false;
            } else if (std::ranges::find(kSubclassSettings, *key) != std::end(kSubclassSettings)) {
                data[*key] = settingOf(value);
            }
        }
        const nlohmann::json all = {{"_type", lastPart(className)}, {"_data", data}};
        std::string text = all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        if (!take(256 + name.size() + text.size())) return false;
        out_.metadata[name] = std::move(text);
        return true;
    }
    /// As torchao's metadata says it; null: a value of another kind.
    nlohmann::json settingOf(Ref value) const {
        switch (p_.kind(value)) {
        case Kind::Bool: return p_.number(value) != 0;
        case Kind::Int: return countOf(value).value_or(0);
        case Kind::Class: return {{"_data", lastPart(p_.className(value))}};
        case Kind::List:
        case Kind::Tuple: return sizesOf(value);
        default: return nullptr;
        }
    }
    static std::string lastPart(const std::string& name) { return name.substr(name.rfind('.') + 1); }
    /// The whole numbers of a list or tuple, at most as many as a shape has.
    std::vector<std::uint64_t> sizesOf(Ref value) const {
        std::vector<std::uint64_t> out;
        if (p_.kind(value) != Kind::List && p_.kind(value) != Kind::Tuple) return out;
        if (p_.itemCountAtMost(value, kDeepestShape) > kDeepestShape) return out;
        for (const Ref item : p_.items(value)) out.push_back(countOf(item).value_or(0));
        return out;
    }

    bool visitRebuilt(const std::string& function, Ref args, const Place& place) {
        const bool isV3 = function == "torch._utils._rebuild_tensor_v3",
                   isQuantized = function == "torch._utils._rebuild_qtensor";
        if (!isV3 && !isQuantized && function != "torch._utils._rebuild_tensor" &&
            function != "torch._utils._rebuild_tensor_v2") {
            countClass(function, place);
            return true;
        }
        const std::string name = partName_.empty() ? nameOf(place) : partName_;
        names_ += name.size();
        if (names_ > kMostNames)
            return wrong(fmt::format("the names of its tensors have more than {} bytes", kMostNames));
        TorchTensor tensor;
        tensor.name = name;
        const auto leave = [&](std::string why) {
            tensor.unread = std::move(why);
            return keep(std::move(tensor));
        };
        const auto broken = [&] { return leave("it is not made as tensors are"); };
        if (p_.kind(args) != Kind::Tuple || p_.itemCount(args) < (isV3 ? 7u : 4u) || !isStorage(p_.item(args, 0)))
            return broken();
        const auto id = p_.persistentId(p_.item(args, 0));
        tensor.storage = std::string(textOf(p_.item(id, 2)).value_or(std::string_view()));
        const auto& storage = out_.storages.find(tensor.storage)->second;
        const auto offset = countOf(p_.item(args, 1));
        if (!offset || !readSizes(p_.item(args, 2), tensor.shape) || !readSizes(p_.item(args, 3), tensor.strides))
            return broken();
        tensor.offset = *offset;
        // Old checkpoints can have views of storages: (key, offset, size).
        if (p_.itemCount(id) > 5 && p_.kind(p_.item(id, 5)) == Kind::Tuple) {
            const Ref view = p_.item(id, 5);
            constexpr auto none = std::numeric_limits<std::uint64_t>::max();
            const bool isView = p_.itemCount(view) == 3;
            const auto begin = isView ? countOf(p_.item(view, 1)).value_or(none) : none;
            const auto size = isView ? countOf(p_.item(view, 2)).value_or(none) : none;
            if (begin > storage.elements || size > storage.elements - begin || tensor.offset > size) return broken();
            tensor.offset += begin;
        }
        auto dtype = storage.dtype;
        std::string unshown = storage.className;
        if (isV3) {
            unshown = p_.className(p_.item(args, 6));
            dtype = torchType(unshown);
        }
        if (!dtype) return leave(fmt::format("it is of {}", quotedName(unshown)));
        // Flags of views that are computed only when they are read: conjugate and negative.
        const std::size_t metadata = isV3 ? 7 : 6;
        if (!isQuantized && p_.itemCount(args) > metadata && p_.hasPairs(p_.item(args, metadata))) {
            count(notes_.views, place);
            return true;
        }
        if (isQuantized) count(notes_.quantized, place);
        tensor.dtype = *dtype;
        return keep(std::move(tensor));
    }

    bool keep(TorchTensor tensor) {
        if (!take(kPerTensor + 2 * ListBudget::of(tensor.name) + ListBudget::of(tensor.storage) +
                  2 * ListBudget::heap(tensor.shape.capacity() * 8) +
                  2 * ListBudget::heap(tensor.strides.capacity() * 8)))
            return false;
        out_.tensors.push_back(std::move(tensor));
        return true;
    }

    /// False if a size is none; `sizes` may then hold those before it.
    bool readSizes(Ref value, std::vector<std::int64_t>& sizes) const {
        if (p_.kind(value) == Kind::Object && p_.itemCount(p_.object(value).args) == 1) // torch.Size
            value = p_.item(p_.object(value).args, 0);
        if (p_.kind(value) != Kind::Tuple || p_.itemCount(value) > kDeepestShape) return false;
        for (const Ref item : p_.items(value)) {
            if (!countOf(item)) return false;
            sizes.push_back(p_.number(item));
        }
        return true;
    }

    bool expand(const Open& at) {
        const auto kind = p_.kind(at.value);
        if (kind == Kind::Dict) return visitPairs(p_.pairs(at.value), at.frame, true);
        if (kind != Kind::Object) return visitItems(p_.items(at.value), at.frame, true);
        const auto& object = p_.object(at.value);
        if (isDictionaryClass(classOf(object.callable))) {
            // The constructor's argument: a dictionary or a list of pairs. Other objects may share it, so it is walked
            // only once.
            const Ref from = p_.itemCount(object.args) > 0 ? p_.item(object.args, 0) : Pickle::kNone;
            if ((p_.kind(from) == Kind::List || p_.kind(from) == Kind::Dict) && !seen_[from]) {
                seen_[from] = true;
                std::vector<Ref> pairs = p_.pairs(from);
                for (const Ref pair : p_.items(from)) { // empty for a dictionary
                    if (p_.itemCountAtMost(pair, 2) != 2) continue;
                    const auto two = p_.items(pair);
                    pairs.insert(pairs.end(), two.begin(), two.end());
                }
                if (!visitPairs(pairs, at.frame, true)) return false;
            }
            return visitPairs(p_.pairs(at.value), at.frame, true);
        }
        return visitState(object.state, at.frame) && visitPairs(p_.pairs(at.value), at.frame, false) &&
               visitItems(p_.items(at.value), at.frame, false);
    }

    /// The attributes of an object: a dictionary, or a tuple of two dictionaries if the class has slots. A module keeps
    /// its parameters, buffers and submodules in three attributes. Names in state_dict() do not contain these
    /// attributes.
    bool visitState(Ref state, std::uint32_t frame) {
        if (p_.kind(state) == Kind::Tuple) {
            for (std::size_t i = 0; i < std::min<std::size_t>(p_.itemCount(state), 2); ++i)
                if (p_.kind(p_.item(state, i)) == Kind::Dict && !visitAttributes(p_.item(state, i), frame))
                    return false;
            return true;
        }
        return p_.kind(state) != Kind::Dict || visitAttributes(state, frame);
    }
    bool visitAttributes(Ref dictionary, std::uint32_t frame) {
        if (seen_[dictionary]) return true;
        seen_[dictionary] = true;
        const auto pairs = p_.pairs(dictionary);
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
            if (!isKey(pairs[i])) continue;
            const auto key = textOf(pairs[i]);
            const bool isInner = key == "_parameters" || key == "_buffers" || key == "_modules";
            if (!visit(pairs[i + 1], {frame, isInner ? Pickle::kNone : pairs[i], -1}, false)) return false;
        }
        return true;
    }

    bool visitPairs(const std::vector<Ref>& pairs, std::uint32_t frame, bool countsPlain) {
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
            if (!isKey(pairs[i])) {
                if (notes_.keys++ == 0) notes_.firstKeys = nameOf({frame, Pickle::kNone, -1});
                continue;
            }
            if (!visit(pairs[i + 1], {frame, pairs[i], -1}, countsPlain)) return false;
        }
        return true;
    }
    bool visitItems(const std::vector<Ref>& items, std::uint32_t frame, bool countsPlain) {
        for (std::size_t i = 0; i < items.size(); ++i)
            if (!visit(items[i], {frame, Pickle::kNone, std::int64_t(i)}, countsPlain)) return false;
        return true;
    }

    const Pickle& p_;
    const std::string prefix_;
    std::string rootName_;
    std::string partName_; ///< of the tensor within a tensor that is read now; "": the names of its place
    TorchState out_;
    std::vector<bool> seen_;
    std::deque<Frame> frames_; // deques, because they need no second copy to grow
    std::deque<Open> open_;
    TorchNotes notes_;
    std::uint64_t names_ = 0;
    ListBudget* budget_;
    std::string why_;
};

} // namespace

Result<TorchState> readTorchState(const Pickle& pickle, const std::string& name, const std::string& prefix,
                                  ListBudget* budget) {
    return StateWalk(pickle, prefix, budget).read(name);
}

} // namespace qs
