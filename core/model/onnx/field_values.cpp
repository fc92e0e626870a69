// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/onnx/field_values.h"

#include <cstring>
#include <fmt/format.h>

namespace qs::onnx {

using google::protobuf::internal::WireFormatLite;

namespace {

// Number of values between two noted positions.
constexpr std::uint64_t kBetweenPlaces = 4096;

} // namespace

class FieldValues::Cursor {
public:
    Cursor(const ReadBytes& read, const FieldValues& of, Place from)
        : of_(of), begin_(from.at), chunkEnd_(from.chunkEnd), stream_(read, from.at, of.message_.end), in_(&stream_) {
        in_.SetRecursionLimit(32);
    }
    Place place() const { return {at(), chunkEnd_}; }
    bool broken() const { return broken_; }
    unsigned chunks() const { return chunks_; }
    bool sawSingle() const { return sawSingle_; }

    /// Reads the next value. False at the end of the message or if the message is broken.
    bool next(std::uint64_t& value) {
        while (!broken_) {
            if (chunkEnd_ > 0) {
                if (at() < chunkEnd_) return number(value) && (at() <= chunkEnd_ || fails());
                chunkEnd_ = 0;
            }
            const std::uint32_t tag = in_.ReadTag();
            if (tag == 0) return in_.ConsumedEntireMessage() ? false : fails();
            if (WireFormatLite::GetTagFieldNumber(tag) == of_.field_) {
                const int wire = int(WireFormatLite::GetTagWireType(tag));
                if (wire == int(of_.wire_)) {
                    sawSingle_ = true;
                    return number(value);
                }
                if (wire == int(Wire::Length)) {
                    std::uint64_t length = 0;
                    if (!in_.ReadVarint64(&length) || length > of_.message_.end - at()) return fails();
                    if (of_.wire_ == Wire::Fixed32 && length % 4 != 0) return fails();
                    if (of_.wire_ == Wire::Fixed64 && length % 8 != 0) return fails();
                    chunks_ += length > 0;
                    chunkEnd_ = at() + length;
                    continue;
                }
            }
            if (!WireFormatLite::SkipField(&in_, tag)) return fails();
        }
        return false;
    }

private:
    std::uint64_t at() const { return begin_ + std::uint64_t(in_.CurrentPosition()); }
    bool fails() {
        broken_ = true;
        return false;
    }
    bool number(std::uint64_t& value) {
        if (of_.wire_ == Wire::Varint) return in_.ReadVarint64(&value) || fails();
        if (of_.wire_ == Wire::Fixed64) return in_.ReadLittleEndian64(&value) || fails();
        std::uint32_t narrow = 0;
        if (!in_.ReadLittleEndian32(&narrow)) return fails();
        value = narrow;
        return true;
    }

    const FieldValues& of_;
    std::uint64_t begin_, chunkEnd_;
    RangeStream stream_;
    google::protobuf::io::CodedInputStream in_;
    bool broken_ = false, sawSingle_ = false;
    unsigned chunks_ = 0;
};

FieldValues::FieldValues(const ReadBytes& read, Range message, int field, Wire wire)
    : message_(message), field_(field), wire_(wire) {
    Cursor cursor(read, *this, {message.begin, 0});
    std::uint64_t value = 0;
    for (Place before = cursor.place(); cursor.next(value); before = cursor.place()) {
        if (count_ == 0 && wire != Wire::Varint) contiguous_ = cursor.place().at - (wire == Wire::Fixed32 ? 4 : 8);
        if (count_++ % kBetweenPlaces == 0) places_.push_back(before);
    }
    if (cursor.broken()) why_ = fmt::format("its field {} is broken at byte {}", field, cursor.place().at);
    if (cursor.chunks() + (cursor.sawSingle() ? count_ : 0) != 1) contiguous_.reset();
}

void FieldValues::read(const ReadBytes& read, std::uint64_t first, std::size_t n, unsigned width,
                       std::byte* out) const {
    std::memset(out, 0, n * width);
    if (first >= count_ || n == 0) return;
    Cursor cursor(read, *this, places_[std::size_t(first / kBetweenPlaces)]);
    std::uint64_t value = 0;
    for (std::uint64_t skipped = first % kBetweenPlaces; skipped > 0; --skipped)
        if (!cursor.next(value)) return;
    for (std::size_t i = 0; i < n && cursor.next(value); ++i) std::memcpy(out + i * width, &value, width);
}

} // namespace qs::onnx
