// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A reader of GGUF headers that checks every length against the bytes that are left in the file.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace qs {

/// After the first failure every read returns 0 or "", so callers need to check failed() only now and then.
class GgufCursor {
public:
    /// `head`: the first bytes of a file of `fileSize` bytes.
    GgufCursor(std::span<const std::byte> head, std::uint64_t fileSize) : head_(head), fileSize_(fileSize) {}

    std::uint64_t at() const { return at_; }
    std::uint64_t left() const { return fileSize_ - at_; } ///< bytes from here to the end of the file
    /// True after a failure. The first reason is kept.
    bool failed() const { return failed_; }
    bool wantsMore() const { return wantsMore_; } ///< failed because `head` ended, not the file
    const std::string& why() const { return why_; }
    void refuse(std::string why) {
        if (!failed_) why_ = std::move(why), failed_ = true;
    }

    /// Reads a little-endian number.
    template<class T> T number() {
        T value{};
        if (has(sizeof(T))) std::memcpy(&value, head_.data() + at_, sizeof(T)), at_ += sizeof(T);
        return value;
    }
    /// Reads a u64 length and as many bytes; returns a view into `head`.
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
    GgufType items = GgufType::U8; ///< element type, if it is an array
    std::uint64_t length = 0;      ///< number of elements, if it is an array
    std::int64_t whole = -1;       ///< the value of an integer that fits; otherwise -1
    std::string text;              ///< the value as text; for long arrays only the first items
};
const char* nameOf(GgufType type); ///< "u32"
GgufValue readGgufValue(GgufCursor& cursor);

} // namespace qs
