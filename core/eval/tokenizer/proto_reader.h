// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the fields of a Protocol Buffers message one after the other. No allocation, no recursion.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace qs::eval {

class ProtoReader {
public:
    explicit ProtoReader(std::string_view message) : rest_(message) {}

    /// Goes to the next field. False at the end and after damage.
    bool next() {
        if (rest_.empty() || damaged_) return false;
        const std::uint64_t key = varint();
        number_ = key >> 3;
        wire_ = unsigned(key & 7);
        bytes_ = {}, value_ = 0;
        switch (wire_) {
        case 0: value_ = varint(); break;
        case 1: take(8); break;
        case 2: take(varint()); break;
        case 5: take(4); break;
        default: damaged_ = true;
        }
        return !damaged_ && number_ > 0;
    }
    std::uint64_t number() const { return number_; }  ///< number of the field
    std::string_view bytes() const { return bytes_; } ///< bytes of a text or of an inner message
    std::uint64_t value() const { return value_; }    ///< value of an integer
    bool isBytes() const { return wire_ == 2; }
    bool isNumber() const { return wire_ == 0; }
    bool isFloat() const { return wire_ == 5; }
    float real() const {
        float out = 0;
        if (isFloat()) std::memcpy(&out, bytes_.data(), 4);
        return out;
    }
    bool damaged() const { return damaged_; }

private:
    std::uint64_t varint() {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_[0]);
            rest_.remove_prefix(1);
            out |= std::uint64_t(byte & 0x7F) << shift;
            if (byte < 0x80) return out;
        }
        damaged_ = true;
        return 0;
    }
    void take(std::uint64_t size) {
        if (damaged_ || size > rest_.size()) {
            damaged_ = true;
            return;
        }
        bytes_ = rest_.substr(0, std::size_t(size));
        rest_.remove_prefix(std::size_t(size));
    }
    std::string_view rest_, bytes_;
    std::uint64_t number_ = 0, value_ = 0;
    unsigned wire_ = 0;
    bool damaged_ = false;
};

} // namespace qs::eval
