// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads protobuf's wire format field by field from a file. No message objects are built. Texts and data stay ranges of
// the file until they are needed.

#include "core/model/read_bytes.h"

#include <cstdint>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <string>
#include <vector>

namespace qs::onnx {

/// A range of the file as a protobuf stream, in pieces of some KiB. Bytes that are skipped are not read.
class RangeStream final : public google::protobuf::io::ZeroCopyInputStream {
public:
    RangeStream(const ReadBytes& read, std::uint64_t begin, std::uint64_t end) : read_(read), at_(begin), end_(end) {}
    bool Next(const void** bytes, int* size) override;
    void BackUp(int count) override;
    bool Skip(int count) override;
    std::int64_t ByteCount() const override { return std::int64_t(passed_); }

private:
    const ReadBytes& read_;
    std::uint64_t at_, end_, passed_ = 0;
    std::vector<std::byte> piece_;
    std::size_t backedUp_ = 0; ///< bytes at the end of piece_ that Next() returns again
};

enum class Wire { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

/// A range of bytes in the file.
struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
};

struct Field {
    int number = 0;
    Wire wire = Wire::Varint;
    std::uint64_t value = 0; ///< if it is a number
    Range range;             ///< if its wire type is Length
};

/// Iterates over the fields of one message. Groups are skipped; ONNX does not use them.
class Message {
public:
    Message(const ReadBytes& read, Range range);
    bool next(Field& field); ///< false at the end of the message and after an error
    bool failed() const { return !why_.empty(); }
    const std::string& why() const { return why_; } ///< "field 7 at byte 12 says 900 bytes where 3 are left"
    /// Offset of the current position in the file.
    std::uint64_t at() const { return range_.begin + std::uint64_t(in_.CurrentPosition()); }

private:
    bool fails(std::string why);
    Range range_;
    RangeStream stream_;
    google::protobuf::io::CodedInputStream in_;
    std::string why_;
};

std::string textOf(const ReadBytes& read, Range range);

} // namespace qs::onnx
