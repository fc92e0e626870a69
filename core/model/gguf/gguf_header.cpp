// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/strict_json.h"
#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/gguf/gguf.h"
#include "core/model/gguf/gguf_cursor.h"
#include "core/model/gguf/packed_type.h"
#include "core/model/gguf/unknown_type.h"
#include "core/model/list_budget.h"
#include "core/model/unread.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

// Limits for counts. A name and a row of the list take more memory than in the file, so larger counts are refused.
constexpr std::uint64_t kMostTensors = 262'144, kMostKeys = 65'536, kLongestGgufKey = 65'535;
constexpr std::uint32_t kMostGgufRank = 8; // ggml itself has 4
constexpr std::int64_t kMostLayers = 65'536;
constexpr std::uint64_t kLeastKey = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8;
constexpr std::uint64_t kMaxSize = std::uint64_t(std::numeric_limits<std::int64_t>::max());

/// Rounds `size` up to a multiple of `alignment` (a power of two). False on overflow.
bool padded(std::uint64_t size, std::uint64_t alignment, std::uint64_t& out) {
    if (__builtin_add_overflow(size, alignment - 1, &out)) return false;
    out &= ~(alignment - 1);
    return true;
}

class Parser {
public:
    Parser(std::span<const std::byte> head, std::uint64_t fileSize, const ListBudget& budget)
        : cursor(head, fileSize), fileSize_(fileSize), budget_(budget) {}

    bool parse() {
        if (!counts()) return false;
        for (std::uint64_t i = 0; i < keys_; ++i)
            if (!key()) return false;
        if (!trusted()) return false;
        header.tensors.reserve(tensors_);
        for (std::uint64_t i = 0; i < tensors_; ++i)
            if (!tensor()) return false;
        return names() && data();
    }

    GgufCursor cursor;
    GgufHeader header;
    std::uint64_t place = 0; ///< byte offset that the error message names

private:
    bool refuse(std::string why) {
        cursor.refuse(std::move(why));
        return false;
    }
    /// Adds a name to the cursor's error message, which has none.
    bool refusedIn(std::string where) {
        where_ = std::move(where);
        return false;
    }

    bool counts() {
        if (fileSize_ < 24)
            return refuse(fmt::format("{} bytes are too few for a GGUF file, whose header has 24", fileSize_));
        if (cursor.number<std::uint32_t>() != 0x46554747) return refuse("the file does not begin with GGUF");
        place = 4;
        header.version = cursor.number<std::uint32_t>();
        if ((header.version & 0xffff) == 0 && header.version != 0)
            return refuse("the file is in the byte order of big-endian machines; convert it first");
        if (header.version < 2 || header.version > 3)
            return refuse(fmt::format("version {} of GGUF is not read, only 2 and 3", header.version));
        place = 8;
        tensors_ = cursor.number<std::uint64_t>();
        keys_ = cursor.number<std::uint64_t>();
        const auto tooMany = [&](std::uint64_t count, std::uint64_t most, std::uint64_t least, const char* what) {
            if (count > cursor.left() / least)
                return refuse(fmt::format("{} {} do not fit the {} bytes that follow", count, what, cursor.left()));
            return count <= most || refuse(fmt::format("{} {} are over the limit of {}", count, what, most));
        };
        if (cursor.failed()) return false;
        return tooMany(tensors_, kMostTensors, kLeastTensor, "tensors") && tooMany(keys_, kMostKeys, kLeastKey, "keys");
    }

    bool key() {
        place = cursor.at();
        const std::string name(cursor.string());
        if (cursor.failed()) return false;
        if (name.empty()) return refuse("a key has no name");
        if (name.size() > kLongestGgufKey)
            return refuse(fmt::format("key {} is longer than 65,535 bytes", quotedName(name)));
        if (invalidUtf8(name) != std::string::npos || name.find('\0') != std::string::npos)
            return refuse(fmt::format("key {} is not text", quotedName(name)));
        GgufValue value = readGgufValue(cursor);
        if (cursor.failed()) return refusedIn(fmt::format("key {}: ", quotedName(name)));
        if (name == "general.alignment") {
            if (value.type != GgufType::U32)
                return refuse(fmt::format("general.alignment is {}, not u32", nameOf(value.type)));
            header.alignment = std::uint64_t(value.whole);
            if (!std::has_single_bit(header.alignment))
                return refuse(fmt::format("general.alignment is {}, not a power of two", value.whole));
        }
        if (!budget_.takeEntry(name, value.text)) return refuse(budget_.why("the list of its keys"));
        const auto [at, isNew] = header.metadata.try_emplace(name, std::move(value.text));
        if (!isNew) return refuse(fmt::format("key {} is there twice", quotedName(name)));
        return checkKey(name, value);
    }

    /// Checks keys that other programs read without checking type or size.
    bool checkKey(std::string_view name, const GgufValue& value) {
        const auto wrong = [&](const char* wanted) {
            const bool array = value.type == GgufType::Array;
            return refuse(fmt::format("{} is {}{}, not {}", escapeForPeople(name), array ? "an array of " : "",
                                      nameOf(array ? value.items : value.type), wanted));
        };
        const auto arrayOf = [&](GgufType items) { return value.type == GgufType::Array && value.items == items; };
        if (name == "tokenizer.ggml.tokens") {
            if (!arrayOf(GgufType::String)) return wrong("an array of string");
            tokens_ = value.length;
        } else if (name == "tokenizer.ggml.scores") {
            if (!arrayOf(GgufType::F32)) return wrong("an array of f32");
            perToken_.emplace_back(name, value.length);
        } else if (name == "tokenizer.ggml.token_type") {
            if (!arrayOf(GgufType::I32) && !arrayOf(GgufType::U32)) return wrong("an array of i32");
            perToken_.emplace_back(name, value.length);
        } else if (name.ends_with(".block_count")) {
            if (value.whole < 0) return wrong("a number of layers");
            if (value.whole > kMostLayers)
                return refuse(
                    fmt::format("{} says {} layers, more than {}", quotedName(name), value.whole, kMostLayers));
        } else if (name == "split.no" || name == "split.count" || name == "split.tensors.count") {
            if (value.whole < 0) return wrong("a whole number from 0");
            if (!header.split) header.split.emplace();
            const auto number = std::uint64_t(value.whole);
            if (name == "split.no")
                header.split->number = number;
            else if (name == "split.count")
                header.split->count = number;
            else
                header.split->tensors = number;
        }
        return true;
    }

    bool trusted() {
        for (const auto& [name, length] : perToken_)
            if (tokens_ && length != *tokens_)
                return refuse(fmt::format("{} has {} items for {} tokens", name, length, *tokens_));
        if (header.split && header.split->count > 0 && header.split->number >= header.split->count)
            return refuse(fmt::format("split.no is {} of {} (split.count)", header.split->number, header.split->count));
        return true;
    }

    bool tensor() {
        place = cursor.at();
        TensorInfo& tensor = header.tensors.emplace_back();
        tensor.name = cursor.string();
        const auto rank = cursor.number<std::uint32_t>();
        if (cursor.failed()) return false;
        const auto wrong = [&](const std::string& why) {
            return refuse(fmt::format("tensor {}: {}", quotedName(tensor.name), why));
        };
        if (tensor.name.size() > kLongestGgufKey) // ggml's limit is 63 bytes, but many writers have none
            return wrong(fmt::format("its name has {} bytes, more than {}", tensor.name.size(), kLongestGgufKey));
        if (invalidUtf8(tensor.name) != std::string::npos || tensor.name.view().find('\0') != std::string::npos)
            return wrong("its name is not text");
        if (rank > kMostGgufRank) return wrong(fmt::format("it has {} dimensions, more than {}", rank, kMostGgufRank));
        std::uint64_t row = 1, most = 1, elements = 1;
        std::vector<std::int64_t> shape;
        shape.reserve(rank);
        for (std::uint32_t i = 0; i < rank; ++i) {
            const auto dim = cursor.number<std::int64_t>();
            if (dim < 0) return wrong(fmt::format("dimension {} is {}", i, dim));
            if (__builtin_mul_overflow(most, std::uint64_t(std::max<std::int64_t>(dim, 1)), &most) || most >= kMaxSize)
                return wrong("the number of elements overflows 63 bits");
            if (i == 0) row = std::uint64_t(dim);
            elements *= std::uint64_t(dim);
            shape.push_back(dim);
        }
        std::reverse(shape.begin(), shape.end()); // the file stores the size of the innermost axis first
        tensor.shape = shape;
        const auto number = cursor.number<std::uint32_t>();
        tensor.offset = cursor.number<std::uint64_t>();
        if (cursor.failed()) return refusedIn(fmt::format("tensor {}: ", quotedName(tensor.name)));
        tensor.elements = elements;
        std::string unread = typeOf(tensor, number, row);
        if (!unread.empty()) unread_.add(tensor.name, std::move(unread));
        if (tensor.bytes > kMaxSize) return wrong("the number of bytes overflows 63 bits");
        if (!budget_.take(tensor)) return refuse(budget_.why("its list of tensors"));
        if (!placed(tensor, wrong)) return false;
        std::uint64_t size = 0;
        if (!padded(tensor.bytes, header.alignment, size) || __builtin_add_overflow(expected_, size, &expected_) ||
            expected_ > kMaxSize)
            return wrong("the sum of all sizes overflows 63 bits");
        return true;
    }

    /// Sets the type and the size of a tensor. Returns why its values cannot be read, or "".
    std::string typeOf(TensorInfo& tensor, std::uint32_t number, std::uint64_t row) {
        const GgmlType* type = findGgmlType(number);
        const std::uint64_t perBlock = type && type->packed.id ? type->packed.elements : 1;
        if (!type || row % perBlock != 0) {
            tensor.dtype = DType::U8, tensor.packed = unknownType(number), tensor.bytes = 0;
            return type ? fmt::format("rows of {} elements are not whole blocks of {} ({})", row, perBlock,
                                      type->packed.id)
                        : fmt::format("type {} is unknown or was removed from ggml", number);
        }
        tensor.dtype = type->dtype;
        if (type->packed.id) tensor.packed = &type->packed;
        const std::uint64_t bytes = type->packed.id ? type->packed.bytes : std::uint64_t(info(type->dtype).bits) / 8;
        if (__builtin_mul_overflow(tensor.elements / perBlock, bytes, &tensor.bytes)) tensor.bytes = kMaxSize + 1;
        return {};
    }

    /// Checks where the data of a tensor begins. That of a tensor whose size is not known ends there.
    template<class Wrong> bool placed(const TensorInfo& tensor, const Wrong& wrong) {
        if (unsized_ < header.tensors.size()) {
            TensorInfo& before = header.tensors[unsized_];
            if (tensor.offset < before.offset || tensor.offset % header.alignment != 0)
                return wrong(fmt::format("its data is said to begin at {}, behind {} (alignment {})", tensor.offset,
                                         before.offset, header.alignment));
            before.bytes = tensor.offset - before.offset, expected_ = tensor.offset;
        }
        unsized_ = tensor.packed && tensor.packed->bytes == 0 ? header.tensors.size() - 1 : kNone;
        return tensor.offset == expected_ ||
               wrong(fmt::format("its data is said to begin at {} where {} is expected (alignment {})", tensor.offset,
                                 expected_, header.alignment));
    }

    /// Finds duplicate names. It sorts and does not hash, because a hostile file could contain names whose hashes
    /// collide.
    bool names() {
        std::vector<std::string_view> sorted;
        sorted.reserve(header.tensors.size());
        for (const auto& tensor : header.tensors) sorted.push_back(tensor.name);
        std::ranges::sort(sorted);
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        return twice == sorted.end() || refuse(fmt::format("tensor {} is there twice", quotedName(*twice)));
    }

    bool data() {
        place = fileSize_;
        if (!padded(cursor.at(), header.alignment, header.dataBegin)) return refuse("the header's end overflows");
        if (unsized_ < header.tensors.size() && fileSize_ > header.dataBegin) {
            TensorInfo& last = header.tensors[unsized_];
            last.bytes = fileSize_ - header.dataBegin - std::min(fileSize_ - header.dataBegin, last.offset);
            expected_ = last.offset + last.bytes;
        }
        for (auto& tensor : header.tensors) {
            std::uint64_t end = 0;
            if (__builtin_add_overflow(tensor.offset, header.dataBegin, &tensor.offset) ||
                __builtin_add_overflow(tensor.offset, tensor.bytes, &end))
                return refuse("an offset overflows");
            if (tensor.bytes == 0)
                tensor.offset = std::min(tensor.offset, fileSize_);
            else if (end > fileSize_)
                return refuse(fmt::format("tensor {}: its data is cut short: it ends at byte {} of a file of {}",
                                          quotedName(tensor.name), end, fileSize_));
        }
        std::vector<std::string> said;
        unread_.say(said);
        for (auto& sentence : said) header.warnings.push_back(std::move(sentence) + '.');
        const std::uint64_t end = header.dataBegin + expected_;
        if (fileSize_ > end && !header.tensors.empty())
            header.warnings.push_back(fmt::format("{} bytes follow the last tensor.", fileSize_ - end));
        return true;
    }

public:
    std::string sentence() const { return where_ + cursor.why(); }

private:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    std::uint64_t fileSize_, tensors_ = 0, keys_ = 0, expected_ = 0;
    std::size_t unsized_ = kNone; ///< the tensor before this one, if its type does not say its size
    std::optional<std::uint64_t> tokens_;
    std::vector<std::pair<std::string, std::uint64_t>> perToken_;
    std::string where_;
    UnreadTensors unread_;
    ListBudget budget_;
};

} // namespace

Result<GgufHeader> parseGgufHeader(std::span<const std::byte> head, std::uint64_t fileSize, const std::string& path,
                                   const ListBudget* budget) {
    Parser parser(head, fileSize, budget ? *budget : ListBudget(fileSize));
    if (parser.parse()) return std::move(parser.header);
    if (parser.cursor.wantsMore()) {
        GgufHeader more;
        more.wantsMore = true;
        return more;
    }
    constexpr auto most = std::uint64_t(std::numeric_limits<long long>::max());
    return fail(fmt::format("{}: {} (at byte {}).", shownPath(path), parser.sentence(), parser.place), path,
                static_cast<long long>(std::min(parser.place, most)));
}

} // namespace qs
