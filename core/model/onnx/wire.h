// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Protobuf's wire format, field by field over a file: nothing is built but what is asked for. Texts and long data are
// ranges of the file, read when they are wanted.

#include "core/model/read_bytes.h"

#include <cstdint>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <string>
#include <vector>

namespace qs::onnx {

/// A range of the file in pieces of a few KiB; what is skipped is not read.
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
    std::size_t backedUp_ = 0; ///< bytes at the end of piece_ that come again
};

enum class Wire { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
};

struct Field {
    int number = 0;
    Wire wire = Wire::Varint;
    std::uint64_t value = 0; ///< of numbers
    Range range;             ///< of what has a length
};

/// The fields of one message. Groups, which no ONNX message has, are passed over.
class Message {
public:
    Message(const ReadBytes& read, Range range);
    bool next(Field& field); ///< false at the end, and after something broken
    bool failed() const { return !why_.empty(); }
    const std::string& why() const { return why_; } ///< "field 7 at byte 12 says 900 bytes where 3 are left"
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
