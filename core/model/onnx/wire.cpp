// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/wire.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::onnx {

using google::protobuf::internal::WireFormatLite;

namespace {

constexpr std::size_t kPiece = 16 * 1024;
constexpr int kMostGroups = 32; ///< depth of nested groups

} // namespace

bool RangeStream::Next(const void** bytes, int* size) {
    if (backedUp_ > 0) {
        *bytes = piece_.data() + (piece_.size() - backedUp_);
        *size = int(backedUp_);
    } else {
        if (at_ == end_) return false;
        piece_.resize(std::size_t(std::min<std::uint64_t>(kPiece, end_ - at_)));
        read_(at_, piece_);
        at_ += piece_.size();
        *bytes = piece_.data();
        *size = int(piece_.size());
    }
    passed_ += std::uint64_t(*size);
    backedUp_ = 0;
    return true;
}

void RangeStream::BackUp(int count) {
    backedUp_ = std::size_t(count);
    passed_ -= std::uint64_t(count);
}

bool RangeStream::Skip(int count) {
    auto left = std::uint64_t(count);
    const auto again = std::min<std::uint64_t>(left, backedUp_);
    backedUp_ -= std::size_t(again);
    left -= again;
    const auto over = std::min<std::uint64_t>(left, end_ - at_);
    at_ += over;
    passed_ += again + over;
    return over == left;
}

Message::Message(const ReadBytes& read, Range range)
    : range_(range), stream_(read, range.begin, range.end), in_(&stream_) {
    in_.SetRecursionLimit(kMostGroups);
}

bool Message::fails(std::string why) {
    why_ = std::move(why);
    return false;
}

bool Message::next(Field& field) {
    while (!failed()) {
        const auto begin = at();
        const std::uint32_t tag = in_.ReadTag();
        // The tag is 0 at the end of the message and for invalid bytes. Field number 0 is invalid too.
        if (tag == 0)
            return at() == range_.end && in_.ConsumedEntireMessage()
                       ? false
                       : fails(fmt::format("byte {} is no field of protobuf", begin));
        field.number = WireFormatLite::GetTagFieldNumber(tag);
        if (field.number == 0) return fails(fmt::format("byte {} is no field of protobuf", begin));
        const auto ends = [&] { return fails(fmt::format("it ends within field {} at byte {}", field.number, begin)); };
        switch (WireFormatLite::GetTagWireType(tag)) {
        case WireFormatLite::WIRETYPE_VARINT:
            field.wire = Wire::Varint;
            return in_.ReadVarint64(&field.value) || ends();
        case WireFormatLite::WIRETYPE_FIXED64:
            field.wire = Wire::Fixed64;
            return in_.ReadLittleEndian64(&field.value) || ends();
        case WireFormatLite::WIRETYPE_FIXED32: {
            field.wire = Wire::Fixed32;
            std::uint32_t value = 0;
            if (!in_.ReadLittleEndian32(&value)) return ends();
            field.value = value;
            return true;
        }
        case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
            field.wire = Wire::Length;
            std::uint64_t length = 0;
            if (!in_.ReadVarint64(&length)) return ends();
            field.range.begin = at();
            // Check the length here: protobuf silently shortens a limit that is beyond the end.
            if (length > range_.end - field.range.begin)
                return fails(fmt::format("field {} at byte {} says {} bytes where {} are left", field.number, begin,
                                         length, range_.end - field.range.begin));
            field.range.end = field.range.begin + length;
            return in_.Skip(int(length)) || ends();
        }
        default:
            if (!WireFormatLite::SkipField(&in_, tag))
                return fails(fmt::format("byte {} is no field of protobuf", begin));
        }
    }
    return false;
}

std::string textOf(const ReadBytes& read, Range range) {
    std::string text(std::size_t(range.size()), '\0');
    if (!text.empty()) read(range.begin, std::as_writable_bytes(std::span(text)));
    return text;
}

} // namespace qs::onnx
