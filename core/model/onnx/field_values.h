// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The values of a repeated protobuf field of numbers. They may be packed, unpacked or both; they can be read from any
// index.

#include "core/model/onnx/wire.h"

#include <optional>
#include <span>

namespace qs::onnx {

class FieldValues {
public:
    /// Walks over the field once, to count its values and to note a position every few thousand values. If the field is
    /// broken, why() says so. `message`: the range of the message in the file.
    FieldValues(const ReadBytes& read, Range message, int field, Wire wire);

    /// "" if the field is valid.
    const std::string& why() const { return why_; }
    /// Number of values.
    std::uint64_t count() const { return count_; }
    /// Bytes of memory that this object takes.
    std::uint64_t memory() const { return sizeof *this + places_.capacity() * sizeof(Place); }
    /// Size of the message that contains the field, in bytes.
    std::uint64_t storedBytes() const { return message_.size(); }
    /// Offset of the values in the file, if they are one array of fixed-width numbers. Empty otherwise.
    std::optional<std::uint64_t> contiguous() const { return contiguous_; }
    /// Reads values [first, first + n). The lowest `width` bytes of each are written to `out`. If the file was changed
    /// and is broken now, values are 0.
    void read(const ReadBytes& read, std::uint64_t first, std::size_t n, unsigned width, std::byte* out) const;

private:
    /// A position: `at` is its offset in the file.
    struct Place {
        std::uint64_t at = 0, chunkEnd = 0; ///< end of the packed field that it is in; 0: between two fields
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
