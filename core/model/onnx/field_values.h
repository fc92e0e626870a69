// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A repeated field of numbers, packed or one by one or both, as an array that is read from any element on.

#include "core/model/onnx/wire.h"

#include <optional>
#include <span>

namespace qs::onnx {

class FieldValues {
public:
    /// Walks the field once, to count and to remember a place every few thousand values; why() when it is broken.
    FieldValues(const ReadBytes& read, Range message, int field, Wire wire);

    const std::string& why() const { return why_; }
    std::uint64_t count() const { return count_; }
    std::uint64_t memory() const { return sizeof *this + places_.capacity() * sizeof(Place); }
    std::uint64_t storedBytes() const { return message_.size(); } ///< of the message that holds it
    /// Where the values lie when they are one array of fixed width in the file.
    std::optional<std::uint64_t> contiguous() const { return contiguous_; }
    /// Values [first, first + n), the low `width` bytes of each. What changed meanwhile and is broken now reads as 0.
    void read(const ReadBytes& read, std::uint64_t first, std::size_t n, unsigned width, std::byte* out) const;

private:
    struct Place {
        std::uint64_t at = 0, chunkEnd = 0; ///< chunkEnd 0: between fields
    };
    class Cursor;
    Range message_;
    int field_;
    Wire wire_;
    std::uint64_t count_ = 0;
    std::vector<Place> places_;
    std::optional<std::uint64_t> contiguous_;
    std::string why_;
};

} // namespace qs::onnx
