// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/npy/npy.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/model/file_set.h"
#include "core/model/foreign_file.h"
#include "core/model/mapped_file.h"
#include "core/model/strided_tensor.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace qs {
namespace {

constexpr std::size_t kMostHeader = 10'000, kMostRank = 64;
constexpr std::uint64_t kMaxNpySize = std::uint64_t(std::numeric_limits<std::int64_t>::max());

/// Parses the Python literal in the header: a dictionary with three keys. Texts have single or double quotes. The shape
/// is a tuple of integers, with an L after each in Python 2. A comma may follow the last item.
class Literal {
public:
    explicit Literal(std::string_view text) : left_(text) {}
    std::string descr;
    bool fortran = false;
    std::vector<std::int64_t> shape;

    /// Returns the reason if the text is refused, otherwise "".
    std::string read() {
        bool seen[3] = {};
        if (!take('{')) return "its header is no dictionary";
        while (!take('}')) {
            const auto key = quoted();
            if (!key || !take(':')) return "its header is no dictionary";
            const int which = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : -1;
            if (which < 0) return fmt::format("its header has the key {}, which NumPy does not know", quotedName(*key));
            if (seen[which]) return fmt::format("its header has {} twice", *key);
            seen[which] = true;
            if (const auto why = which == 0 ? readDescr() : which == 1 ? readOrder() : readShape(); !why.empty())
                return why;
            if (!take(',') && peek() != '}') return "its header is no dictionary";
        }
        if (!seen[0] || !seen[1] || !seen[2]) return "its header lacks descr, fortran_order or shape";
        return peek() ? "its header goes on after the dictionary" : "";
    }

private:
    char peek() {
        const auto begin = left_.find_first_not_of(" \t\r\n");
        left_.remove_prefix(begin == std::string_view::npos ? left_.size() : begin);
        return left_.empty() ? '\0' : left_.front();
    }
    bool take(char c) {
        if (peek() != c) return false;
        left_.remove_prefix(1);
        return true;
    }
    bool takeWord(std::string_view word) {
        peek();
        if (!left_.starts_with(word)) return false;
        left_.remove_prefix(word.size());
        return true;
    }
    std::optional<std::string> quoted() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') return std::nullopt;
        const auto end = left_.find(quote, 1);
        if (end == std::string_view::npos) return std::nullopt;
        std::string text(left_.substr(1, end - 1));
        left_.remove_prefix(end + 1);
        return text;
    }
    std::string readDescr() {
        if (peek() == '[' || peek() == '(' || peek() == '{')
            return "its elements are records (a structured dtype), not numbers";
        auto text = quoted();
        if (!text) return "its descr is no text";
        descr = std::move(*text);
        return {};
    }
    std::string readOrder() {
        fortran = takeWord("True");
        return fortran || takeWord("False") ? std::string() : "its fortran_order is neither True nor False";
    }
    std::string readShape() {
        const char* wrong = "its header has no shape that can be read";
        if (!take('(')) return wrong;
        while (!take(')')) {
            peek();
            std::int64_t size = 0;
            const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), size);
            if (error != std::errc() || size < 0) return wrong;
            if (shape.size() == kMostRank) return fmt::format("it has more than {} dimensions", kMostRank);
            shape.push_back(size);
            left_.remove_prefix(std::size_t(end - left_.data()));
            takeWord("L");
            if (!take(',') && peek() != ')') return wrong;
        }
        return {};
    }
    std::string_view left_;
};

struct Type {
    const char* id;
    DType dtype;
};
constexpr Type kNpyTypes[] = {{"f2", DType::F16}, {"f4", DType::F32}, {"f8", DType::F64}, {"i1", DType::I8},
                              {"i2", DType::I16}, {"i4", DType::I32}, {"i8", DType::I64}, {"u1", DType::U8},
                              {"u2", DType::U16}, {"u4", DType::U32}, {"u8", DType::U64}, {"b1", DType::Bool},
                              {"c8", DType::C64}, {"V2", DType::BF16}};

/// Translates NumPy's type text, such as "<f4". Returns the reason if it is refused, otherwise "".
std::string readDescr(const std::string& descr, DType& dtype, bool& isBigEndian) {
    const std::string shown = quotedName(descr);
    if (descr.empty()) return "its descr is empty";
    const char order = descr[0];
    const bool isMarked = order == '<' || order == '>' || order == '|' || order == '=';
    const std::string_view kind = std::string_view(descr).substr(isMarked ? 1 : 0);
    if (kind.starts_with('O')) return "its elements are Python objects (a pickle), which are never loaded";
    if (kind.starts_with('U') || kind.starts_with('S')) return fmt::format("its elements are texts ({})", shown);
    // ml_dtypes stores no type name. A type of two bytes can only be bfloat16; one of one byte can be any 8-bit float.
    if (kind == "V1" || kind == "f1")
        return fmt::format("its elements are 8-bit floats ({}), and the file does not say which; save them as uint8",
                           shown);
    const auto at = std::ranges::find_if(kNpyTypes, [&](const Type& t) { return kind == t.id; });
    if (at == std::end(kNpyTypes)) return fmt::format("its elements are {}, which this program does not read", shown);
    if (order == '>' && kind == "V2")
        return fmt::format("its elements are {}, which this program does not read", shown);
    isBigEndian = order == '>' && info(at->dtype).bits > 8;
    dtype = at->dtype;
    return {};
}

} // namespace

Result<NpyHeader> parseNpyHeader(std::span<const std::byte> head, std::uint64_t fileSize) {
    const auto* raw = reinterpret_cast<const unsigned char*>(head.data());
    if (head.size() < 10 || std::memcmp(raw, "\x93NUMPY", 6) != 0) return fail("it is no .npy file of NumPy");
    const unsigned version = raw[6];
    if (version < 1 || version > 3) return fail(fmt::format("its version is {}: .npy has 1 to 3", version));
    const std::size_t start = version == 1 ? 10 : 12;
    std::uint64_t length = std::size_t(raw[8]) | std::size_t(raw[9]) << 8;
    if (version > 1) {
        if (head.size() < 12) return fail("its header is longer than the file");
        length |= std::uint64_t(raw[10]) << 16 | std::uint64_t(raw[11]) << 24;
    }
    if (length > kMostHeader)
        return fail(fmt::format("its header has {} bytes, over the limit of {}", length, kMostHeader));
    if (start + length > std::min<std::uint64_t>(head.size(), fileSize))
        return fail("its header is longer than the file");
    Literal literal({reinterpret_cast<const char*>(raw) + start, std::size_t(length)});
    if (auto why = literal.read(); !why.empty()) return fail(std::move(why));
    NpyHeader header;
    if (auto why = readDescr(literal.descr, header.dtype, header.isBigEndian); !why.empty())
        return fail(std::move(why));
    header.fortran = literal.fortran;
    header.shape = std::move(literal.shape);
    header.dataBegin = start + length;
    std::uint64_t elements = 1, most = 1;
    for (const auto dim : header.shape) {
        elements *= std::uint64_t(dim);
        if (__builtin_mul_overflow(most, std::uint64_t(std::max<std::int64_t>(dim, 1)), &most) ||
            most > kMaxNpySize / 8)
            return fail("its number of elements overflows");
    }
    header.elements = elements;
    const std::uint64_t needs = elements * std::uint64_t(info(header.dtype).bits) / 8,
                        holds = fileSize - header.dataBegin;
    if (needs != holds)
        return fail(
            fmt::format("its array of {} needs {} bytes, the file holds {}", shapeText(header.shape), needs, holds));
    return header;
}

bool holdsNumbers(std::span<const std::byte> head) {
    constexpr std::string_view key = "'descr':";
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    const auto at = text.find(key);
    const auto kind = at == text.npos ? at : text.find_first_not_of(" '\"<>|=", at + key.size());
    return kind == text.npos || std::string_view("[({OUSMm").find(text[kind]) == std::string_view::npos;
}

Result<void> placeNpy(TensorInfo& tensor, const NpyHeader& header, std::shared_ptr<MappedFile> file,
                      std::uint64_t begin, bool isMemory) {
    StridedLayout layout{header.dtype, header.shape, {}, begin + header.dataBegin, header.isBigEndian};
    if (header.fortran) {
        const std::vector<std::int64_t> reversed(header.shape.rbegin(), header.shape.rend());
        const auto strides = StridedLayout::contiguousStrides(reversed);
        layout.strides.assign(strides.rbegin(), strides.rend());
    } else
        layout.strides = StridedLayout::contiguousStrides(header.shape);
    return placeStrided(tensor, std::move(file), std::move(layout), isMemory);
}

Result<std::shared_ptr<Model>> openNpy(const std::string& path) {
    auto mapping = openWhole(path);
    if (!mapping) return tl::unexpected(mapping.error());
    const MappedFile& file = **mapping;
    std::vector<std::byte> head(
        std::min<std::size_t>(file.size(), 16384)); // a copy, because the file could change between a check and the use
    file.readInto(0, head);
    const auto header = parseNpyHeader(head, file.size());
    if (file.faulted())
        if (auto same = file.unchanged(); !same) return tl::unexpected(same.error());
    if (!header) return fail(fmt::format("{}: {}.", shownPath(path), header.error().message), path, 0);
    auto model = newModel(path, "npy");
    TensorInfo tensor;
    tensor.name = std::filesystem::path(path).stem().string();
    if (auto placed = placeNpy(tensor, *header, *mapping, 0, false); !placed)
        return fail(fmt::format("{}: {}.", shownPath(path), placed.error().message), path, 0);
    model->files.push_back({file.path(), file.size(), *mapping, {}});
    model->tensors.push_back(std::move(tensor));
    return model;
}

} // namespace qs
