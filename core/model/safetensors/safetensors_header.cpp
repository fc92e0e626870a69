// SPDX-License-Identifier: GPL-3.0-or-later
// Parses the header of a safetensors file. No number in it is trusted.
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/model/gguf/unknown_type.h"
#include "core/model/list_budget.h"
#include "core/model/safetensors/safetensors.h"
#include "core/model/unread.h"

#include "core/base/text.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace qs {
namespace {

constexpr std::size_t kMaxRank = 64; // limit of NumPy 2; real weights have far fewer axes
// JSON readers that store numbers as doubles cannot represent sizes above 2^53 exactly.
constexpr std::uint64_t kMaxDim = std::uint64_t(1) << 53;

// Least bytes of an entry as writers produce it: `"":{"dtype":"U8","shape":[],"data_offsets":[0,0]},`
constexpr std::size_t kLeastEntry = 50;

/// While the header is parsed, these fields of TensorInfo hold other values: data_offsets, and the position after the
/// name.
std::uint64_t& beginOf(TensorInfo& entry) { return entry.offset; }
std::uint64_t& endOf(TensorInfo& entry) { return entry.bytes; }
std::uint64_t& keyAtOf(TensorInfo& entry) { return entry.elements; }

/// Sets elements and bytes of an entry. `refused`: sizes that cannot be counted. Returns why its values cannot be read:
/// shape, dtype and data_offsets do not agree; else "".
std::string sizes(TensorInfo& entry, std::string& refused) {
    std::uint64_t elements = 1, bits = 0;
    for (const auto dim : entry.shape)
        if (__builtin_mul_overflow(elements, std::uint64_t(dim), &elements))
            refused = "the number of elements overflows 64 bits";
    if (__builtin_mul_overflow(elements, std::uint64_t(info(entry.dtype).bits), &bits) && refused.empty())
        refused = "the number of bits overflows 64 bits";
    entry.elements = elements;
    const std::uint64_t given = endOf(entry) - beginOf(entry);
    const bool isFit = bits % 8 == 0 && given == bits / 8;
    entry.bytes = given;
    if (isFit || entry.packed) return {};
    const char* dtype = info(entry.dtype).id;
    entry.packed = unknownType(dtype), entry.dtype = DType::U8;
    if (bits % 8 != 0)
        return fmt::format("{} elements of {} end inside a byte (shape {})", elements, dtype, shapeText(entry.shape));
    return fmt::format("shape {} of {} takes {} bytes, but data_offsets spans {}", shapeText(entry.shape), dtype,
                       bits / 8, given);
}

class HeaderVisitor final : public JsonVisitor {
public:
    HeaderVisitor(std::size_t length, ListBudget budget, const ModelPart* part) : budget_(budget), part_(part) {
        entries.reserve(length / kLeastEntry + 1); // pages that are never written use no memory
    }
    /// Whether all tensors, those outside the part too, follow each other without gaps and overlaps up to `end`.
    bool isWithoutGaps(std::uint64_t end) const {
        std::uint64_t ends = ends_ + mixed(0), begins = begins_ + mixed(end);
        for (const TensorInfo& entry : entries) begins += mixed(entry.offset), ends += mixed(entry.bytes);
        return begins == ends;
    }
    std::vector<TensorInfo> entries;
    std::map<std::string, std::string> metadata;
    UnreadTensors unread;
    std::string unknownField; // of the first tensor with such a field: the tensor and the field, for a warning
    std::size_t withUnknownField = 0;

    bool beginObject() override {
        switch (where_) {
        case Where::Start: where_ = Where::Root; return true;
        case Where::Root: return beginEntry();
        case Where::Entry: return field_ == Field::Unknown ? enterUnknown() : wrongKind("an object");
        case Where::Shape:
        case Where::Offsets: return wrongKind("an object");
        case Where::Metadata: return refuse(fmt::format("__metadata__ {} is an object, not text", quotedName(key_)));
        case Where::Unknown: ++unknownDepth_; return true;
        }
        return false;
    }
    bool endObject() override {
        switch (where_) {
        case Where::Unknown: leaveUnknown(); return true;
        case Where::Entry: return endEntry();
        // The end of __metadata__ or of the header; nothing may follow the header.
        default: where_ = Where::Root; return true;
        }
    }
    bool beginArray() override {
        switch (where_) {
        case Where::Start: return refuse("the header is an array, not an object of tensors");
        case Where::Root: return refuse(entryIs("an array"));
        case Where::Metadata: return refuse(fmt::format("__metadata__ {} is an array, not text", quotedName(key_)));
        case Where::Entry:
            if (field_ == Field::Unknown) return enterUnknown();
            if (field_ == Field::Dtype) return wrongKind("an array");
            where_ = field_ == Field::Shape ? Where::Shape : Where::Offsets;
            shape_.clear();
            return true;
        case Where::Shape:
        case Where::Offsets: return wrongKind("an array of arrays");
        case Where::Unknown: ++unknownDepth_; return true;
        }
        return false;
    }
    bool endArray() override {
        if (where_ == Where::Unknown) return leaveUnknown(), true;
        if (where_ == Where::Offsets && offsetCount_ != 2)
            return refuse(fmt::format("tensor {}: data_offsets has {} items instead of 2", name(), offsetCount_));
        if (where_ == Where::Shape) entries.back().shape = shape_;
        where_ = Where::Entry;
        return true;
    }
    bool key(std::string& text) override {
        switch (where_) {
        case Where::Root: return rootKey(text);
        case Where::Metadata:
            key_ = std::move(text);
            if (metadata.contains(key_)) return refuse(fmt::format("__metadata__ has {} twice", quotedName(key_)));
            return true;
        case Where::Entry: return entryKey(text);
        default: return true; // inside an unknown field
        }
    }
    bool string(std::string& text) override {
        switch (where_) {
        case Where::Start: return refuse("the header is text, not an object of tensors");
        case Where::Root: return refuse(entryIs("text"));
        case Where::Metadata:
            if (!budget_.takeEntry(key_, text)) return refuse(budget_.why("its metadata"));
            if (part_ && !part_->hasMetadata(key_)) return true;
            metadata.emplace(key_, text); // copied, because the parser's string has spare capacity
            return true;
        case Where::Entry:
            if (field_ == Field::Unknown) return true;
            return field_ == Field::Dtype ? takeDtype(text) : wrongKind("text");
        case Where::Shape:
        case Where::Offsets: return wrongKind("text");
        case Where::Unknown: return true;
        }
        return false;
    }
    bool count(std::uint64_t value) override {
        if (where_ == Where::Shape) {
            if (shape_.size() == kMaxRank)
                return refuse(fmt::format("tensor {}: more than {} dimensions", name(), kMaxRank));
            if (value > kMaxDim)
                return refuse(fmt::format("tensor {}: dimension {} of the shape is {}, beyond 2^53", name(),
                                          shape_.size(), value));
            shape_.push_back(std::int64_t(value));
            return true;
        }
        if (where_ == Where::Offsets) {
            if (offsetCount_ < 2) (offsetCount_ ? endOf(entries.back()) : beginOf(entries.back())) = value;
            ++offsetCount_;
            return true;
        }
        return other("a number");
    }
    bool other(const char* kind) override {
        switch (where_) {
        case Where::Start: return refuse(fmt::format("the header is {}, not an object of tensors", kind));
        case Where::Root:
            // Accepted, as in the reference implementation: no metadata.
            if (inMetadataKey_ && std::string_view(kind) == "null") return true;
            return refuse(entryIs(kind));
        case Where::Metadata: return refuse(fmt::format("__metadata__ {} is {}, not text", quotedName(key_), kind));
        case Where::Entry: return field_ == Field::Unknown || wrongKind(kind);
        case Where::Shape:
        case Where::Offsets: return wrongKind(kind);
        case Where::Unknown: return true;
        }
        return false;
    }

private:
    enum class Where { Start, Root, Metadata, Entry, Shape, Offsets, Unknown };
    enum class Field { Dtype, Shape, Offsets, Unknown };

    std::string name() const { return quotedName(entries.back().name); }
    std::string entryIs(const char* kind) const {
        return inMetadataKey_ ? fmt::format("__metadata__ is {} instead of an object", kind)
                              : fmt::format("tensor {} is {} instead of an object", name(), kind);
    }
    bool wrongKind(const char* kind) {
        if (field_ == Field::Dtype) return refuse(fmt::format("tensor {}: dtype is {}, not text", name(), kind));
        return refuse(fmt::format("tensor {}: {} {} {}, not whole numbers from 0", name(),
                                  field_ == Field::Shape ? "shape" : "data_offsets",
                                  where_ == Where::Entry ? "is" : "holds", kind));
    }
    bool enterUnknown() {
        where_ = Where::Unknown;
        unknownDepth_ = 1;
        return true;
    }
    void leaveUnknown() {
        if (--unknownDepth_ == 0) where_ = Where::Entry;
    }
    bool rootKey(std::string& text) {
        inMetadataKey_ = text == "__metadata__";
        if (inMetadataKey_) {
            if (hasMetadata_) return refuse("__metadata__ is there twice");
            hasMetadata_ = true;
            return true;
        }
        if (text.find('\0') != std::string::npos)
            return refuse(fmt::format("the name of tensor {} holds a NUL", quotedName(text)));
        auto& entry = entries.emplace_back();
        entry.name = text; // copied, because the parser's string has spare capacity
        isInPart_ = !part_ || part_->hasTensor(text);
        keyAtOf(entry) = position;
        return true;
    }
    bool beginEntry() {
        where_ = inMetadataKey_ ? Where::Metadata : Where::Entry;
        seen_[0] = seen_[1] = seen_[2] = unknownHere_ = false;
        offsetCount_ = 0;
        return true;
    }
    bool endEntry() {
        static constexpr const char* ids[] = {"dtype", "shape", "data_offsets"};
        for (int i = 0; i < 3; ++i)
            if (!seen_[i]) return refuse(fmt::format("tensor {} has no {}", name(), ids[i]));
        where_ = Where::Root;
        if (isInPart_) return budget_.take(entries.back()) || refuse(budget_.why("its list of tensors"));
        TensorInfo& entry = entries.back();
        const std::uint64_t begin = beginOf(entry), end = endOf(entry);
        if (begin > end) return refuse(fmt::format("tensor {}: data_offsets is reversed", name()));
        std::string refused;
        (void)sizes(entry, refused);
        if (!refused.empty()) return refuse(fmt::format("tensor {}: {}", name(), refused));
        begins_ += mixed(begin), ends_ += mixed(end);
        entries.pop_back();
        return true;
    }
    /// A number that only equal offsets have, as good as surely. Source: the finalizer of SplitMix64.
    static std::uint64_t mixed(std::uint64_t offset) {
        offset = (offset ^ offset >> 30) * 0xbf58476d1ce4e5b9;
        offset = (offset ^ offset >> 27) * 0x94d049bb133111eb;
        return offset ^ offset >> 31;
    }
    bool entryKey(const std::string& text) {
        field_ = text == "dtype"          ? Field::Dtype
                 : text == "shape"        ? Field::Shape
                 : text == "data_offsets" ? Field::Offsets
                                          : Field::Unknown;
        if (field_ == Field::Unknown) {
            if (unknownField.empty()) unknownField = fmt::format("tensor {} has {}", name(), quotedName(text));
            withUnknownField += !unknownHere_;
            unknownHere_ = true;
            return true;
        }
        bool& seen = seen_[int(field_)];
        if (seen) return refuse(fmt::format("tensor {}: {} is there twice", name(), text));
        return seen = true;
    }
    static bool isOfTypeName(char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '.';
    }
    bool takeDtype(const std::string& text) {
        if (const auto dtype = dtypeFromId(text)) {
            entries.back().dtype = *dtype;
            return true;
        }
        std::string upper = text.substr(0, 32);
        for (char& c : upper)
            if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
        const bool nearly = text.size() < 32 && dtypeFromId(upper);
        if (text.empty() || text.size() > 32 || !std::ranges::all_of(text, isOfTypeName))
            return refuse(fmt::format("tensor {}: dtype {} is not one of safetensors'", name(), quotedName(text)));
        entries.back().dtype = DType::U8, entries.back().packed = unknownType(text);
        if (isInPart_)
            unread.add(entries.back().name, fmt::format("dtype {} is not one of safetensors'{}", quotedName(text),
                                                        nearly ? "; the spelling is " + upper : ""));
        return true;
    }

    Where where_ = Where::Start;
    Field field_ = Field::Unknown;
    bool seen_[3] = {}, unknownHere_ = false, hasMetadata_ = false, inMetadataKey_ = false;
    int offsetCount_ = 0, unknownDepth_ = 0;
    std::string key_;
    std::vector<std::int64_t> shape_; ///< of the current tensor
    ListBudget budget_;
    const ModelPart* part_; ///< null: all tensors
    bool isInPart_ = true;  ///< the current tensor
    /// Sums over the tensors outside the part, which are not kept. Where each tensor begins another one ends, and the
    /// other way round, so that both sums are equal over all of them.
    std::uint64_t begins_ = 0, ends_ = 0;
};

/// The second of two tensors with the same name, or null. Sorts by hash and name; it does not use a hash table, because
/// a hostile file could contain names whose hashes collide.
TensorInfo* nameTwice(std::vector<TensorInfo>& entries) {
    struct Hashed {
        std::uint32_t hash, entry;
    };
    std::vector<Hashed> byHash;
    byHash.reserve(entries.size());
    for (const auto& entry : entries)
        byHash.push_back({std::uint32_t(std::hash<std::string_view>()(entry.name)), std::uint32_t(byHash.size())});
    const auto name = [&](const Hashed& item) { return entries[item.entry].name.view(); };
    std::ranges::sort(byHash, [&](const Hashed& a, const Hashed& b) {
        return a.hash != b.hash ? a.hash < b.hash : name(a) < name(b);
    });
    const auto at = std::adjacent_find(byHash.begin(), byHash.end(), [&](const Hashed& a, const Hashed& b) {
        return a.hash == b.hash && name(a) == name(b);
    });
    if (at == byHash.end()) return nullptr;
    TensorInfo &a = entries[at->entry], &b = entries[at[1].entry];
    return keyAtOf(a) > keyAtOf(b) ? &a : &b;
}

std::uint64_t lengthField(std::span<const std::byte> head) {
    std::uint64_t length = 0;
    if (head.size() >= 8)
        for (int i = 7; i >= 0; --i) length = length << 8 | std::uint64_t(head[std::size_t(i)]);
    return length;
}

} // namespace

std::uint64_t safetensorsHeaderLength(std::span<const std::byte> start) {
    return std::min<std::uint64_t>(lengthField(start), kMostHeaderBytes + 1);
}

Result<SafetensorsHeader> parseSafetensorsHeader(std::span<const std::byte> head, std::uint64_t fileSize,
                                                 const std::string& path, const ListBudget* budget,
                                                 const std::function<void(std::uint64_t)>& passed,
                                                 const ModelPart* part) {
    const auto refusal = [&](const std::string& why, std::uint64_t byte) {
        constexpr auto most = std::uint64_t(std::numeric_limits<long long>::max());
        return fail(fmt::format("{}: {} (at byte {}).", shownPath(path), why, byte), path,
                    static_cast<long long>(std::min(byte, most)));
    };
    if (fileSize < 8)
        return refusal(
            fmt::format("{} bytes are too few for a safetensors file, which begins with a length of 8 bytes", fileSize),
            0);
    const std::uint64_t length = lengthField(head);
    if (length > kMostHeaderBytes)
        return refusal(
            fmt::format("the header length is given as {} bytes, over the limit of {}", length, kMostHeaderBytes), 0);
    if (length > fileSize - 8)
        return refusal(
            fmt::format("the header length is given as {} bytes, but only {} follow; the file is cut short or "
                        "not safetensors",
                        length, fileSize - 8),
            0);
    if (length == 0) return refusal("the header is empty", 8);

    HeaderVisitor visitor(std::size_t(length), budget ? *budget : ListBudget(fileSize), part);
    assert(head.size() >= 8 + length);
    const std::string_view text(reinterpret_cast<const char*>(head.data()) + 8, length);
    visitor.passed = passed;
    if (auto read = readStrictJson(text, path, 8, visitor); !read) return tl::unexpected(read.error());

    auto& entries = visitor.entries;
    if (auto* twice = nameTwice(entries))
        return refusal(fmt::format("tensor {} is there twice", quotedName(twice->name)), keyAtOf(*twice) - 1);
    sortStably(entries, [](TensorInfo& a, TensorInfo& b) {
        return std::pair(beginOf(a), endOf(a)) < std::pair(beginOf(b), endOf(b));
    });
    const std::uint64_t data = 8 + length;
    const std::uint64_t available = fileSize - data;
    if (part && !visitor.isWithoutGaps(available))
        return refusal("the tensors do not follow each other without gaps and overlaps up to the end", data);
    std::uint64_t expected = 0;
    const TensorInfo* cut = nullptr; // first tensor whose data lies beyond the end of the file
    for (TensorInfo& entry : entries) {
        const std::uint64_t begin = beginOf(entry), end = endOf(entry);
        const auto wrong = [&](const std::string& why) {
            return refusal(fmt::format("tensor {}: {}", quotedName(entry.name), why),
                           data + std::min(expected, available));
        };
        if (!part && begin != expected)
            return wrong(fmt::format("data_offsets begins at {} where {} is expected: tensors must follow each other "
                                     "without {}",
                                     begin, expected, begin < expected ? "overlap" : "a gap"));
        if (end < begin) return wrong(fmt::format("data_offsets is reversed: [{}, {}]", begin, end));
        std::string refused;
        if (auto why = sizes(entry, refused); refused.empty() && !why.empty())
            visitor.unread.add(entry.name, std::move(why));
        if (!refused.empty()) return wrong(refused);
        entry.offset = data + begin;
        expected = end;
        if (!cut && expected > available) cut = &entry;
    }
    if (cut)
        return refusal(fmt::format("tensor {}: its data is cut short: {} bytes of tensors are promised, {} are there",
                                   quotedName(cut->name), expected, available),
                       fileSize);
    if (!part && expected != available)
        return refusal(fmt::format("{} bytes follow the last tensor", available - expected), data + expected);

    SafetensorsHeader header;
    header.tensors = std::move(entries);
    header.metadata = std::move(visitor.metadata);
    std::vector<std::string> said;
    visitor.unread.say(said);
    for (const auto& sentence : said) header.warnings.push_back(fmt::format("{}: {}.", shownPath(path), sentence));
    if (visitor.withUnknownField > 0)
        header.warnings.push_back(fmt::format(
            "{}: {}, a field that safetensors does not define{}; it is ignored.", shownPath(path), visitor.unknownField,
            visitor.withUnknownField > 1 ? fmt::format(", as do {} more tensors", visitor.withUnknownField - 1) : ""));
    return header;
}

} // namespace qs
