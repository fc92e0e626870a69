// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/list_budget.h"
#include "core/model/tfjs/tfjs.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace qs {
namespace tfjs {
namespace {

constexpr int kMostDeep = 64; ///< depth of nested JSON; layers models can contain models
constexpr std::size_t kMostRank = 64, kMostShards = 6'000, kLongestPath = 4'096;
constexpr std::uint64_t kMost = std::uint64_t(std::numeric_limits<std::int64_t>::max()) / 16;
constexpr std::uint64_t kPerAffine = 1'200; ///< bytes of memory for the decoder, besides the row
constexpr std::size_t kLeastWeight = sizeof(R"({"name":"","shape":[],"dtype":"bool"},)") - 1;

struct Type {
    const char* id;
    DType dtype;
};
constexpr Type kTypes[] = {{"float32", DType::F32},  {"float16", DType::F16}, {"int32", DType::I32},
                           {"uint8", DType::U8},     {"uint16", DType::U16},  {"bool", DType::Bool},
                           {"complex64", DType::C64}};

std::optional<DType> typeOf(std::string_view id) {
    for (const auto& type : kTypes)
        if (id == type.id) return type.dtype;
    return std::nullopt;
}

constexpr const char* kRootKeys[] = {"weightsManifest", "format", "generatedBy", "convertedBy", "modelTopology"};
constexpr const char* kGroupKeys[] = {"paths", "weights"};
constexpr const char* kWeightKeys[] = {"name", "shape", "dtype", "quantization"};
constexpr const char* kQuantizationKeys[] = {"dtype", "scale", "min"};

class Visitor final : public JsonVisitor {
public:
    explicit Visitor(std::uint64_t length) : budget_(length, length) {
        mostDeep = kMostDeep;
        manifest.weights.reserve(length / kLeastWeight + 1); // pages that are never written use no memory
    }
    Manifest manifest;
    bool hasManifest = false;

    bool beginObject() override { return begin(true); }
    bool beginArray() override { return begin(false); }
    bool endArray() override { return end(); }
    bool endObject() override { return end(); }

    bool key(std::string& text) override {
        key_ = std::move(text);
        which_ = -1;
        switch (in()) {
        case In::Root: return known(kRootKeys, rootSeen_, "the model");
        case In::Group: return known(kGroupKeys, groupSeen_, groupLabel());
        case In::Weight: return known(kWeightKeys, weightSeen_, label());
        case In::Quantization: return known(kQuantizationKeys, quantizationSeen_, "the quantization of " + label());
        default: return true;
        }
    }

    bool string(std::string& text) override {
        switch (in()) {
        case In::Nothing: return refuse("it is a text, not a model of TensorFlow.js");
        case In::Root:
            if (which_ == 0) return refuse("weightsManifest is a text, not a list");
            if (which_ < 1 || which_ > 3) return true;
            if (!budget_.takeEntry(key_, text)) return refuse(budget_.why("what it says of itself"));
            manifest.metadata[key_] = std::move(text);
            return true;
        case In::Paths: return path(text);
        case In::Weight:
            if (which_ == 0) return name_ = std::move(text), true;
            if (which_ == 2) return dtype_ = std::move(text), true;
            return wrongKind("a text");
        case In::Quantization:
            if (which_ == 0) return codeType_ = std::move(text), true;
            return wrongKind("a text");
        default: return wrongKind("a text");
        }
    }
    bool count(std::uint64_t value) override {
        if (in() == In::Shape) {
            if (shape_.size() == kMostRank)
                return refuse(fmt::format("{} has more than {} dimensions", label(), kMostRank));
            if (value > kMost) return refuse(fmt::format("the shape of {} overflows", label()));
            shape_.push_back(std::int64_t(value));
            return true;
        }
        return number(double(value), "a number");
    }
    bool number(double value, const char* kind) override {
        if (in() != In::Quantization || which_ < 1) return wrongKind(kind);
        (which_ == 1 ? scale_ : min_) = value;
        return true;
    }
    bool other(const char* kind) override {
        // Python writers may store null for a weight that is not quantized.
        if (in() == In::Weight && which_ == 3 && std::string_view(kind) == "null") return true;
        return wrongKind(kind);
    }

private:
    enum class In { Nothing, Root, Manifest, Group, Paths, Weights, Weight, Shape, Quantization, Skipped };

    In in() const { return stack_.empty() ? In::Nothing : stack_.back(); }

    template<std::size_t N> bool known(const char* const (&keys)[N], unsigned& seen, const std::string& of) {
        for (std::size_t i = 0; i < N; ++i)
            if (key_ == keys[i]) {
                which_ = int(i);
                if (seen & 1u << i) return refuse(fmt::format("{} has {} twice", of, key_));
                seen |= 1u << i;
            }
        return true;
    }

    std::string groupLabel() const { return fmt::format("group {} of weightsManifest", manifest.groups.size()); }
    std::string label() const {
        return name_ ? "weight " + quotedName(*name_)
                     : fmt::format("weight {} of group {}", weightsInGroup_ + 1, manifest.groups.size());
    }

    /// The error for a value whose JSON type does not fit its place.
    bool wrongKind(const char* kind) {
        switch (in()) {
        case In::Nothing: return refuse(fmt::format("it is {}, not a model of TensorFlow.js", kind));
        case In::Root: return which_ == 0 ? refuse(fmt::format("weightsManifest is {}, not a list", kind)) : true;
        case In::Manifest:
            return refuse(
                fmt::format("group {} of weightsManifest is {}, not an object", manifest.groups.size() + 1, kind));
        case In::Group:
            return which_ < 0 ? true : refuse(fmt::format("{} of {} is {}, not a list", key_, groupLabel(), kind));
        case In::Paths: return refuse(fmt::format("a path of {} is {}, not a text", groupLabel(), kind));
        case In::Weights: return refuse(fmt::format("{} is {}, not an object", label(), kind));
        case In::Weight: return which_ < 0 ? true : refuse(fmt::format("the {} of {} is {}", key_, label(), kind));
        case In::Shape: return refuse(fmt::format("the shape of {} holds {}, not a size", label(), kind));
        case In::Quantization:
            return which_ < 0 ? true
                              : refuse(fmt::format("the {} in the quantization of {} is {}", key_, label(), kind));
        case In::Skipped: return true;
        }
        return true;
    }

    bool begin(bool isObject) {
        const char* kind = isObject ? "an object" : "a list";
        In next = In::Skipped;
        switch (in()) {
        case In::Nothing:
            next = isObject ? In::Root : In::Manifest;
            hasManifest = !isObject;
            break;
        case In::Root:
            if (which_ != 0) break;
            if (isObject) return wrongKind(kind);
            next = In::Manifest;
            hasManifest = true;
            break;
        case In::Manifest:
            if (!isObject) return wrongKind(kind);
            next = In::Group;
            if (!budget_.take(sizeof(Group))) return refuse(budget_.why("the list of its groups"));
            manifest.groups.emplace_back();
            groupSeen_ = 0, weightsInGroup_ = 0;
            break;
        case In::Group:
            if (which_ < 0) break;
            if (isObject) return wrongKind(kind);
            next = which_ == 0 ? In::Paths : In::Weights;
            break;
        case In::Weights:
            if (!isObject) return wrongKind(kind);
            next = In::Weight;
            weightSeen_ = quantizationSeen_ = 0;
            hasQuantization_ = false;
            name_.reset();
            shape_.clear();
            break;
        case In::Weight:
            if (which_ < 0) break;
            if (which_ == 1 && !isObject)
                next = In::Shape;
            else if (which_ == 3 && isObject)
                next = In::Quantization;
            else
                return wrongKind(kind);
            hasQuantization_ |= next == In::Quantization;
            break;
        case In::Quantization:
            if (which_ >= 0) return wrongKind(kind);
            break;
        case In::Paths:
        case In::Shape: return wrongKind(kind);
        case In::Skipped: break;
        }
        stack_.push_back(next);
        return true;
    }

    bool end() {
        const In ended = in();
        stack_.pop_back();
        which_ = -1;
        if (ended == In::Weight) return weight();
        if (ended != In::Group) return true;
        for (std::size_t i = 0; i < std::size(kGroupKeys); ++i)
            if (!(groupSeen_ & 1u << i)) return refuse(fmt::format("{} has no {}", groupLabel(), kGroupKeys[i]));
        manifest.groups.back().end = manifest.weights.size();
        return true;
    }

    bool path(std::string& text) {
        if (text.empty()) return refuse(fmt::format("{} has a path that is empty", groupLabel()));
        if (text.size() > kLongestPath)
            return refuse(fmt::format("{} has a path of more than {} bytes", groupLabel(), kLongestPath));
        if (shards_++ == kMostShards) return refuse(fmt::format("it names more than {} shards", kMostShards));
        if (!budget_.take(4 * (sizeof text + ListBudget::heap(text.size() + 1))))
            return refuse(budget_.why("the list of its shards"));
        manifest.groups.back().paths.push_back(std::move(text));
        return true;
    }

    bool weight() {
        for (const int i : {0, 1, 2})
            if (!(weightSeen_ & 1u << i)) return refuse(fmt::format("{} has no {}", label(), kWeightKeys[i]));
        Weight weight;
        if (const auto why = coding(weight); !why.empty()) return refuse(fmt::format("{} {}", label(), why));
        std::uint64_t elements = 1, most = 1;
        for (const auto size : shape_) {
            elements *= std::uint64_t(size);
            if (__builtin_mul_overflow(most, std::uint64_t(std::max<std::int64_t>(size, 1)), &most) || most > kMost)
                return refuse(fmt::format("the shape of {} overflows", label()));
        }
        weight.info.elements = elements;
        if (weight.coding != Coding::Text)
            weight.info.bytes = elements * std::uint64_t(info(weight.info.dtype).bits) / 8;
        weight.info.name = std::move(*name_);
        weight.info.shape = std::vector<std::int64_t>(shape_.begin(), shape_.end());
        std::uint64_t more = sizeof weight;
        if (weight.coding == Coding::Affine) more += kPerAffine + 3 * ListBudget::of(weight.info);
        if (!budget_.take(weight.info, more)) return refuse(budget_.why("its list of weights"));
        manifest.weights.push_back(std::move(weight));
        ++weightsInGroup_;
        name_.reset();
        return true;
    }

    /// Sets the coding of a weight. Returns the error, or "".
    std::string coding(Weight& weight) const {
        if (dtype_ == "string") {
            if (hasQuantization_) return "is a string and says how it is quantized";
            weight.coding = Coding::Text;
            return {};
        }
        const auto dtype = typeOf(dtype_);
        if (!dtype) return fmt::format("has the dtype {}, which TensorFlow.js does not know", quotedName(dtype_));
        weight.info.dtype = *dtype;
        if (!hasQuantization_) return {};
        if (!(quantizationSeen_ & 1u)) return "is quantized, and does not say as what (dtype)";
        const bool isHalf = codeType_ == "float16";
        if (!isHalf && codeType_ != "uint8" && codeType_ != "uint16")
            return fmt::format("is quantized as {}; TensorFlow.js has uint8, uint16 and float16",
                               quotedName(codeType_));
        if (*dtype != DType::F32 && (isHalf || *dtype != DType::I32))
            return fmt::format("is quantized as {}, which {} cannot be", codeType_, dtype_);
        weight.info.dtype = *typeOf(codeType_);
        if (isHalf) return {};
        if ((quantizationSeen_ & 6u) != 6u) return "is quantized without a scale and a min";
        weight.isRounded = *dtype == DType::I32;
        weight.coding = weight.isRounded ? Coding::Plain : Coding::Affine;
        weight.scale = scale_, weight.min = min_;
        return {};
    }

    ListBudget budget_;
    std::vector<In> stack_;
    std::string key_;
    int which_ = -1; ///< index of the current key among the known keys; -1: an unknown key
    unsigned rootSeen_ = 0, groupSeen_ = 0, weightSeen_ = 0, quantizationSeen_ = 0;
    std::size_t weightsInGroup_ = 0, shards_ = 0;
    std::optional<std::string> name_;
    std::string dtype_, codeType_;
    std::vector<std::int64_t> shape_;
    bool hasQuantization_ = false;
    double scale_ = 0, min_ = 0;
};

} // namespace

Result<Manifest> parseManifest(std::string_view text, const std::string& path) {
    constexpr std::size_t kMostText = 100'000'000;
    const std::string shown = shownPath(path);
    if (text.size() > kMostText)
        return fail(
            fmt::format("{}: a model of {} bytes of JSON is over the limit of {}.", shown, text.size(), kMostText),
            path);
    Visitor visitor(text.size());
    if (auto read = readStrictJson(text, path, 0, visitor); !read) return tl::unexpected(read.error());
    if (!visitor.hasManifest)
        return fail(fmt::format("{}: there is no weightsManifest: it names no weights.", shown), path, 0);
    std::vector<std::string> shards;
    for (const auto& group : visitor.manifest.groups)
        for (const auto& shard : group.paths)
            shards.push_back(std::filesystem::path(shard).lexically_normal().string());
    std::ranges::sort(shards);
    if (const auto twice = std::adjacent_find(shards.begin(), shards.end()); twice != shards.end())
        return fail(fmt::format("{}: weightsManifest names the shard {} twice.", shown, quotedName(*twice)), path, 0);
    return std::move(visitor.manifest);
}

} // namespace tfjs

bool looksLikeTfjs(std::string_view head) {
    const auto begin = head.find_first_not_of(" \t\r\n");
    if (begin == head.npos) return false;
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    if (head[begin] == '[') return has("\"weights\"") && (has("\"paths\"") || has("\"dtype\""));
    return head[begin] == '{' && (has("\"modelTopology\"") || has("\"weightsManifest\"") || has("\"layers-model\"") ||
                                  has("\"graph-model\""));
}

} // namespace qs
