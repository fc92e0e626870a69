// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/eval/tokenizer/gguf_keys.h"

#include "core/base/strict_json.h"
#include "core/eval/tokenizer/vocabulary.h"
#include "core/model/gguf/gguf_cursor.h"

#include <fmt/format.h>
#include <variant>

namespace qs::eval {
namespace {

using Target =
    std::variant<std::string GgufKeys::*, std::vector<std::string> GgufKeys::*, std::vector<float> GgufKeys::*,
                 std::vector<std::int32_t> GgufKeys::*, std::vector<std::int8_t> GgufKeys::*,
                 std::optional<std::int64_t> GgufKeys::*, std::optional<bool> GgufKeys::*>;
struct KeyRow {
    std::string_view name; ///< behind "tokenizer.ggml."
    Target into;
};

const KeyRow kKeys[] = {
    {"model", &GgufKeys::model},
    {"pre", &GgufKeys::pre},
    {"tokens", &GgufKeys::tokens},
    {"merges", &GgufKeys::merges},
    {"scores", &GgufKeys::scores},
    {"token_type", &GgufKeys::types},
    {"precompiled_charsmap", &GgufKeys::charsmap},
    {"bos_token_id", &GgufKeys::begin},
    {"eos_token_id", &GgufKeys::end},
    {"unknown_token_id", &GgufKeys::unknown},
    {"seperator_token_id", &GgufKeys::separator},
    {"add_bos_token", &GgufKeys::addsBegin},
    {"add_eos_token", &GgufKeys::addsEnd},
    {"add_space_prefix", &GgufKeys::addsSpace},
    {"remove_extra_whitespaces", &GgufKeys::removesSpaces},
    {"normalizer.lowercase", &GgufKeys::lowercase},
};

/// Reads the type and length of an array. Returns 0 if it has another type or too many items.
std::uint64_t beginArray(GgufCursor& cursor, std::initializer_list<GgufType> items) {
    const auto array = cursor.number<std::uint32_t>();
    const auto type = cursor.number<std::uint32_t>();
    const auto length = cursor.number<std::uint64_t>();
    bool fits = array == std::uint32_t(GgufType::Array);
    bool known = false;
    for (const GgufType item : items) known = known || type == std::uint32_t(item);
    if (!fits || !known) cursor.refuse("it has another type than a vocabulary needs");
    if (length > std::uint64_t(kMostIds) || length > cursor.left()) cursor.refuse("it has too many items");
    return cursor.failed() ? 0 : length;
}

template<class T> void readNumbers(GgufCursor& cursor, std::initializer_list<GgufType> items, std::vector<T>& into) {
    const std::uint64_t length = beginArray(cursor, items);
    if (length * sizeof(T) > cursor.left()) return cursor.refuse("it is cut short");
    into.resize(length);
    for (T& value : into) value = cursor.number<T>();
}

struct KeyReader {
    GgufCursor& cursor;
    GgufKeys& keys;
    void operator()(std::vector<std::string> GgufKeys::*into) const {
        const std::uint64_t length = beginArray(cursor, {GgufType::String});
        for (std::uint64_t i = 0; i < length && !cursor.failed(); ++i) (keys.*into).emplace_back(cursor.string());
    }
    void operator()(std::vector<float> GgufKeys::*into) const { readNumbers(cursor, {GgufType::F32}, keys.*into); }
    void operator()(std::vector<std::int32_t> GgufKeys::*into) const {
        readNumbers(cursor, {GgufType::I32, GgufType::U32}, keys.*into);
    }
    void operator()(std::vector<std::int8_t> GgufKeys::*into) const {
        readNumbers(cursor, {GgufType::I8, GgufType::U8}, keys.*into);
    }
    void operator()(std::string GgufKeys::*into) const { keys.*into = readGgufValue(cursor).text; }
    void operator()(std::optional<std::int64_t> GgufKeys::*into) const {
        if (const auto value = readGgufValue(cursor).whole; value >= 0) keys.*into = value;
    }
    void operator()(std::optional<bool> GgufKeys::*into) const { keys.*into = readGgufValue(cursor).text == "true"; }
};

Result<void> check(const GgufKeys& keys) {
    if (keys.tokens.empty()) return fail("has no vocabulary (tokenizer.ggml.tokens)");
    const auto count = keys.tokens.size();
    if ((!keys.scores.empty() && keys.scores.size() != count) || (!keys.types.empty() && keys.types.size() != count))
        return fail(
            fmt::format("has {} tokens with {} scores and {} types", count, keys.scores.size(), keys.types.size()));
    for (const auto& token : keys.tokens)
        if (invalidUtf8(token) != std::string_view::npos) return fail("has a token that is not UTF-8");
    for (const auto& id : {keys.begin, keys.end, keys.unknown, keys.separator})
        if (id && std::uint64_t(*id) >= count)
            return fail(fmt::format("has the special token {} of {} tokens", *id, count));
    return {};
}

} // namespace

Result<GgufKeys> readGgufKeys(std::span<const std::byte> head) {
    static constexpr std::string_view kPrefix = "tokenizer.ggml.";
    GgufKeys keys;
    GgufCursor cursor(head, head.size());
    cursor.skip(4 + 4 + 8); // magic, version, number of tensors
    const auto count = cursor.number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && !cursor.failed(); ++i) {
        const std::string_view name = cursor.string();
        const KeyRow* row = nullptr;
        for (const KeyRow& each : kKeys)
            if (name.starts_with(kPrefix) && name.substr(kPrefix.size()) == each.name) row = &each;
        if (row)
            std::visit(KeyReader{cursor, keys}, row->into);
        else
            readGgufValue(cursor);
        if (cursor.failed())
            return fail(fmt::format("has keys that cannot be read (at byte {}): {}", cursor.at(), cursor.why()));
    }
    if (auto fine = check(keys); !fine) return tl::unexpected(fine.error());
    return keys;
}

} // namespace qs::eval
