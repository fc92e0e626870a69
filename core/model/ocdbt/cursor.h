// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A reader for the body of a manifest or node. It checks every length against the bytes that are left. After the first
// failure all reads return 0, so callers need to check failed() only now and then. The first reason is kept.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace qs::ocdbt {

class Cursor {
public:
    Cursor() = default;
    explicit Cursor(std::span<const std::byte> body) : body_(body) {}

    std::size_t left() const { return body_.size() - at_; }
    bool failed() const { return why_ != nullptr; }
    const char* why() const { return why_; } ///< the end of a sentence; null if nothing failed
    void refuse(const char* why) {
        if (!why_) why_ = why;
        at_ = body_.size();
    }

    std::span<const std::byte> bytes(std::uint64_t n) {
        if (n > left()) refuse("it ends too early");
        if (failed()) return {};
        at_ += std::size_t(n);
        return body_.subspan(at_ - std::size_t(n), std::size_t(n));
    }
    std::string_view text(std::uint64_t n) {
        const auto all = bytes(n);
        return {reinterpret_cast<const char*>(all.data()), all.size()};
    }
    template<class T> T number() { // little-endian
        T value{};
        if (const auto from = bytes(sizeof value); !failed()) std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    /// Reads a varint: seven bits per byte, the lowest first.
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = number<std::uint8_t>();
            const std::uint64_t bits = byte & 127u;
            if (shift == 63 && bits > 1) break;
            value |= bits << shift;
            if (byte < 128) return value;
        }
        refuse("a number in it has more than 64 bits");
        return 0;
    }
    /// Reads a varint; it is refused with the reason `why` if it is above `most`.
    std::uint64_t varint(std::uint64_t most, const char* why) {
        const auto value = varint();
        if (value > most) refuse(why);
        return failed() ? 0 : value;
    }
    /// Skips `n` varints and returns a cursor at the first. `sum`, if given, is increased by their values; a sum above
    /// the size of the body is refused.
    Cursor column(std::uint64_t n, std::uint64_t* sum = nullptr) {
        const Cursor begin = *this;
        for (std::uint64_t i = 0; i < n && !failed(); ++i) {
            const auto value = varint();
            if (!sum) continue;
            if (value > body_.size() || *sum + value > body_.size()) refuse("it ends too early");
            *sum += value;
        }
        return begin;
    }

private:
    std::span<const std::byte> body_;
    std::size_t at_ = 0;
    const char* why_ = nullptr;
};

} // namespace qs::ocdbt
