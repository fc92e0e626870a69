// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/mapped_file.h"
#include "core/model/onnx/onnx.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace qs {
namespace {

constexpr std::uint64_t kPiece = 16 * 1024; ///< bytes of packed elements that are read at a time

constexpr float kE2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

/// Converts one code of 4 or 2 bits to the bytes of its dtype.
void unpack(const onnx::ElementType& type, unsigned code, std::byte* out) {
    const unsigned sign = 1u << (type.bits - 1);
    if (type.dtype == DType::F32)
        std::memcpy(out, &kE2m1[code], 4);
    else
        *out = std::byte(type.dtype == DType::I8 ? (code ^ sign) - sign : code);
}

} // namespace

OnnxValues::OnnxValues(ReadBytes read, std::shared_ptr<MappedFile> file, const onnx::Tensor& tensor,
                       std::uint64_t offset)
    : read_(std::move(read)), file_(std::move(file)), type_(*tensor.type), offset_(offset),
      rawBytes_(tensor.rawBytes()), storedBytes_(tensor.values ? tensor.values->storedBytes() : rawBytes_),
      values_(tensor.values) {}

const char* OnnxValues::typeId() const { return type_.bits < 8 ? type_.id : info(type_.dtype).id; }

std::string OnnxValues::description() const {
    if (type_.bits < 8) return fmt::format("ONNX {}, {} in a byte, low bits first", type_.id, 8 / type_.bits);
    return fmt::format("ONNX {}, stored as numbers of variable length", type_.id);
}

Result<void> OnnxValues::unchanged() const { return file_ ? file_->unchanged() : Result<void>(); }

void OnnxValues::packed(std::uint64_t begin, std::span<std::byte> into) const {
    if (!values_) return read_(offset_ + begin, into);
    // Reads whole values, because the range may start or end inside a value.
    const std::uint64_t width = type_.width, first = begin / width, end = (begin + into.size() + width - 1) / width;
    if (begin % width == 0 && into.size() % width == 0)
        return values_->read(read_, first, std::size_t(end - first), unsigned(width), into.data());
    std::vector<std::byte> whole(std::size_t((end - first) * width));
    values_->read(read_, first, std::size_t(end - first), unsigned(width), whole.data());
    std::memcpy(into.data(), whole.data() + (begin - first * width), into.size());
}

void OnnxValues::read(std::uint64_t begin, std::span<std::byte> into) const {
    if (into.empty()) return;
    if (type_.bits >= 8) return packed(begin, into);
    const std::uint64_t size = std::uint64_t(info(type_.dtype).bits) / 8, perByte = 8 / type_.bits;
    const unsigned mask = (1u << type_.bits) - 1;
    std::byte codes[kPiece];
    while (!into.empty()) {
        const std::uint64_t first = begin / size, at = first / perByte;
        const std::uint64_t wanted = (begin + into.size() - 1) / size / perByte + 1 - at;
        const std::uint64_t n = std::min({wanted, kPiece, rawBytes_ - at});
        packed(at, std::span(codes).first(std::size_t(n)));
        for (std::uint64_t element = first; element / perByte < at + n && !into.empty(); ++element) {
            std::byte value[4];
            const unsigned code = unsigned(codes[element / perByte - at]) >> (element % perByte * type_.bits) & mask;
            unpack(type_, code, value);
            const std::uint64_t skipped = begin - element * size,
                                bytes = std::min<std::uint64_t>(size - skipped, into.size());
            std::memcpy(into.data(), value + skipped, std::size_t(bytes));
            into = into.subspan(std::size_t(bytes));
            begin += bytes;
        }
    }
}

} // namespace qs
