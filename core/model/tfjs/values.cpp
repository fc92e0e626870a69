// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/conventions/layer.h"
#include "core/model/mapped_file.h"
#include "core/model/tfjs/tfjs.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace qs::tfjs {
namespace {

constexpr std::size_t kPiece = 16 * 1024; ///< elements decoded at a time

/// A weight whose bytes are in several shards.
class Joined final : public DerivedTensor {
public:
    Joined(DType dtype, std::vector<Piece> pieces) : dtype_(dtype), pieces_(std::move(pieces)) {}

    const char* typeId() const override { return info(dtype_).id; }
    std::string description() const override { return fmt::format("in {} shards", pieces_.size()); }
    std::vector<std::string> fields() const override { return {}; }
    std::uint64_t storedBytes() const override {
        std::uint64_t bytes = 0;
        for (const auto& piece : pieces_) bytes += piece.size;
        return bytes;
    }
    void read(std::uint64_t begin, std::span<std::byte> into) const override {
        for (const auto& piece : pieces_) {
            if (into.empty()) return;
            if (begin >= piece.size) {
                begin -= piece.size;
                continue;
            }
            const auto n = std::size_t(std::min<std::uint64_t>(into.size(), piece.size - begin));
            piece.file->readInto(std::size_t(piece.offset + begin), into.first(n));
            into = into.subspan(n);
            begin = 0;
        }
    }
    Result<void> unchanged() const override {
        for (const auto& piece : pieces_)
            if (auto same = piece.file->unchanged(); !same) return same;
        return {};
    }
    void release() const override {
        for (const auto& piece : pieces_) piece.file->dropPages(piece.offset, piece.size);
    }

private:
    DType dtype_;
    std::vector<Piece> pieces_;
};

class Codes final : public Layer {
public:
    Codes(const Weight& weight, Field codes)
        : Layer({weight.info.dtype == DType::U8 ? "TFJS UINT8" : "TFJS UINT16",
                 fmt::format("TensorFlow.js, {} bits, one scale and minimum", info(weight.info.dtype).bits),
                 DType::F32,
                 weight.info.shape,
                 {std::move(codes)}}),
          scale_(weight.scale), min_(weight.min), isWide_(weight.info.dtype == DType::U16) {}

    void values(std::uint64_t begin, std::size_t n, float* out) const override {
        thread_local std::vector<std::byte> scratch;
        const std::size_t size = isWide_ ? 2 : 1;
        for (std::size_t done = 0; done < n;) {
            const std::size_t part = std::min(kPiece, n - done);
            const auto bytes = field(0).read((begin + done) * size, part * size, scratch);
            if (isWide_)
                decode<std::uint16_t>(bytes, part, out + done);
            else
                decode<std::uint8_t>(bytes, part, out + done);
            done += part;
        }
    }

private:
    template<class T> void decode(std::span<const std::byte> bytes, std::size_t n, float* out) const {
        for (std::size_t i = 0; i < n; ++i) {
            T code;
            std::memcpy(&code, bytes.data() + i * sizeof code, sizeof code);
            out[i] = float(double(code) * scale_ + min_);
        }
    }
    double scale_, min_;
    bool isWide_;
};

} // namespace

TensorInfo derive(Weight weight, std::vector<Piece> pieces) {
    TensorInfo out = std::move(weight.info);
    const auto file = pieces.empty() ? nullptr : pieces.front().file;
    out.offset = pieces.empty() ? 0 : pieces.front().offset;
    if (pieces.size() > 1) out.derived = std::make_shared<const Joined>(out.dtype, std::move(pieces));
    if (weight.coding != Coding::Affine) return out;
    weight.info = out;
    // Without a file there are no elements.
    if (file) out.derived = std::make_shared<const Codes>(weight, Field{weight.info, file});
    out.dtype = DType::F32;
    out.bytes = out.elements * 4;
    return out;
}

} // namespace qs::tfjs
