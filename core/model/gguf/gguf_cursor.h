// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Where a GGUF header is being read: every number once, every length against what is left.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace qs {

class GgufCursor {
public:
    /// `head`: the first bytes of a file of `fileSize`.
    GgufCursor(std::span<const std::byte> head, std::uint64_t fileSize) : head_(head), fileSize_(fileSize) {}

    std::uint64_t at() const { return at_; }
    std::uint64_t left() const { return fileSize_ - at_; } ///< in the file
    /// Everything after a failure reads as 0, so that callers ask once in a while; the first reason stays.
    bool failed() const { return failed_; }
    bool wantsMore() const { return wantsMore_; } ///< failed because `head` ended, not the file
    const std::string& why() const { return why_; }
    void refuse(std::string why) {
        if (!failed_) why_ = std::move(why), failed_ = true;
    }

    template<class T> T number() {
        T value{};
        if (has(sizeof(T))) std::memcpy(&value, head_.data() + at_, sizeof(T)), at_ += sizeof(T);
        return value;
    }
    /// A length and bytes: a view of `head`.
    std::string_view string();
    void skip(std::uint64_t bytes) {
        if (has(bytes)) at_ += bytes;
    }

private:
    bool has(std::uint64_t bytes);
    std::span<const std::byte> head_;
    std::uint64_t fileSize_, at_ = 0;
    bool failed_ = false, wantsMore_ = false;
    std::string why_;
};

enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64, Count };

struct GgufValue {
    GgufType type = GgufType::U8;
    GgufType items = GgufType::U8; ///< of an array
    std::uint64_t length = 0;      ///< of an array
    std::int64_t whole = -1;       ///< of integers that fit
    std::string text;              ///< what people read; strings as they are, of long arrays the start
};
const char* nameOf(GgufType type); ///< "u32"
GgufValue readGgufValue(GgufCursor& cursor);

} // namespace qs
