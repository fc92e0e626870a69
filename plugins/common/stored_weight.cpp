// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/stored_weight.h"

#include "kernels/kernel_set.h"
#include "plugins/common/entry.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace qs::plugin {
namespace {

// Compiled for wider vectors too, chosen when the library is loaded.
#if defined(__x86_64__)
#define QS_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define QS_CLONES
#endif

QS_CLONES void fromSigned(const signed char* q, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = float(q[i]);
}
QS_CLONES void multiply(float* x, std::int64_t n, float by) {
    for (std::int64_t i = 0; i < n; ++i) x[i] *= by;
}
QS_CLONES void multiplyEach(float* x, std::int64_t n, const float* by) {
    for (std::int64_t i = 0; i < n; ++i) x[i] *= by[i];
}
template<int N> void lookUp(const unsigned char* codes, std::int64_t n, const float* levels, float* out) {
    for (std::int64_t j = 0; j < n; ++j) std::memcpy(out + j * N, levels + codes[j] * N, sizeof(float) * N);
}

std::string quoted(const char* text) { return std::string("\"") + (text ? text : "") + '"'; }

} // namespace

std::string StoredWeight::accept(const qs_format& format, std::int64_t rows, std::int64_t columns) {
    if (rows < 1 || columns < 1) return "a weight without elements";
    rows_ = rows, columns_ = stored_ = columns;
    if (std::string reason = acceptScales(format); !reason.empty()) return reason;
    return acceptCodes(format);
}

std::string StoredWeight::acceptScales(const qs_format& format) {
    if (!is(format.zero_dtype, "none"))
        return "zero points of dtype " + quoted(format.zero_dtype) + " are not read here";
    block_ = 0, scaleCount_ = 0;
    if (is(format.scale_dtype, "none")) {
        scaled_ = Scales::None;
        return {};
    }
    if (!is(format.scale_dtype, "f32")) return "scales of dtype " + quoted(format.scale_dtype) + " are not read here";
    if (format.block) {
        if (format.block > std::uint64_t(std::numeric_limits<std::int32_t>::max())) return "a block of that size";
        block_ = std::int64_t(format.block);
        if (format.block_axis != 0 && format.block_axis != 1) return "blocks along an axis that a matrix lacks";
        scaled_ = format.block_axis == 1 ? Scales::AlongRow : Scales::AlongColumn;
        const std::int64_t along = format.block_axis == 1 ? columns_ : rows_, other = rows_ + columns_ - along;
        scaleCount_ = std::uint64_t((along + block_ - 1) / block_ * other);
        return {};
    }
    scaled_ = format.channel_axis == 0 ? Scales::Row : format.channel_axis == 1 ? Scales::Column : Scales::Tensor;
    scaleCount_ = std::uint64_t(scaled_ == Scales::Row ? rows_ : scaled_ == Scales::Column ? columns_ : 1);
    return {};
}

std::string StoredWeight::acceptCodes(const qs_format& format) {
    levels_.clear(), perByte_ = 1, planar_ = false, dtype_ = "u8";
    const auto plain = [&](Kind kind, const char* dtype, std::uint32_t bytes) -> std::string {
        if (!is(format.packing, "none")) return "packed " + std::string(dtype);
        kind_ = kind, dtype_ = dtype, rowBytes_ = std::uint64_t(columns_) * bytes;
        return {};
    };
    if (is(format.format, "f32")) return plain(Kind::F32, "f32", 4);
    if (is(format.format, "f16")) return plain(Kind::F16, "f16", 2);
    if (is(format.format, "bf16")) return plain(Kind::BF16, "bf16", 2);
    if (const FormatTraits* small = findFormat(format.format ? format.format : "");
        small && small->kind == FormatKind::Float) {
        levels_ = floatTable(*small);
        return plain(Kind::Table, small->id, 1);
    }
    if (!format.codebook && format.bits == 8 && is(format.packing, "none") && format.code_bias == 0)
        return plain(Kind::Signed, "i8", 1);

    // Codes that share bytes, or index a codebook: one table lookup a byte.
    if (format.bits != 1 && format.bits != 2 && format.bits != 4 && format.bits != 8)
        return "codes of " + std::to_string(format.bits) + " bits are not read here";
    const unsigned count = 1u << format.bits;
    if (format.codebook && format.codebook_n < count && format.bits == 8)
        return "a codebook shorter than its codes"; // a byte could point past its end
    const bool high = is(format.packing, "pair_hi_first");
    const char* packing = format.bits == 8   ? "none"
                          : format.bits == 4 ? "pair_lo_first"
                          : format.bits == 2 ? "quad_lo_first"
                                             : "octet_lo_first";
    planar_ = is(format.packing, "planar");
    if (!(high && format.bits == 4) && !planar_ && !is(format.packing, packing))
        return "packing " + quoted(format.packing) + " is not read here";
    if (format.bits < 8 && format.pack_axis != 1) return "codes must share bytes along the rows of W";
    perByte_ = int(8 / format.bits);
    if (format.row_multiple > std::uint64_t(std::numeric_limits<std::int32_t>::max())) return "rows padded that far";
    if (const auto multiple = std::int64_t(format.row_multiple))
        stored_ = (columns_ + multiple - 1) / multiple * multiple;
    if (planar_ && columns_ % perByte_) return "planar rows must fill their bytes";
    rowBytes_ = std::uint64_t((stored_ + perByte_ - 1) / perByte_);
    const auto level = [&](unsigned code) {
        if (!format.codebook) return float(int(code) + format.code_bias);
        return code < format.codebook_n ? format.codebook[code] : 0.f;
    };
    // Rows of whole blocks follow each other without a gap; rows that are not padded to them need not be.
    if (high && count == 16 && scaled_ == Scales::AlongRow && block_ % 2 == 0 && stored_ % block_ == 0) {
        kind_ = Kind::Nf4;
        for (unsigned code = 0; code < count; ++code) levels_.push_back(level(code));
        return {};
    }
    kind_ = Kind::Table;
    for (unsigned byte = 0; byte < 256; ++byte)
        for (int j = 0; j < perByte_; ++j) {
            const unsigned shift = unsigned(high ? perByte_ - 1 - j : j) * format.bits;
            levels_.push_back(level((byte >> shift) & (count - 1)));
        }
    return {};
}

void StoredWeight::decodeRow(const unsigned char* codes, float* out) const {
    const float* levels = levels_.data();
    if (kind_ == Kind::Signed) return fromSigned(reinterpret_cast<const signed char*>(codes), columns_, out);
    if (planar_) {
        const std::int64_t plane = columns_ / perByte_;
        for (int p = 0; p < perByte_; ++p)
            for (std::int64_t j = 0; j < plane; ++j) out[p * plane + j] = levels[codes[j] * perByte_ + p];
        return;
    }
    const std::int64_t whole = columns_ / perByte_;
    if (perByte_ == 1) lookUp<1>(codes, whole, levels, out);
    if (perByte_ == 2) lookUp<2>(codes, whole, levels, out);
    if (perByte_ == 4) lookUp<4>(codes, whole, levels, out);
    if (perByte_ == 8) lookUp<8>(codes, whole, levels, out);
    for (std::int64_t c = whole * perByte_; c < columns_; ++c) // the last byte of an odd row
        out[c] = levels[codes[whole] * perByte_ + (c - whole * perByte_)];
}

void StoredWeight::scaleRow(const float* scales, std::int64_t row, float* out) const {
    const auto times = [&](std::int64_t from, std::int64_t to, float s) { multiply(out + from, to - from, s); };
    const auto timesEach = [&](const float* s) { multiplyEach(out, columns_, s); };
    switch (scaled_) {
    case Scales::None: return;
    case Scales::Tensor: return times(0, columns_, scales[0]);
    case Scales::Row: return times(0, columns_, scales[row]);
    case Scales::Column: return timesEach(scales);
    case Scales::AlongColumn: return timesEach(scales + row / block_ * columns_);
    case Scales::AlongRow:
        for (std::int64_t c = 0, s = row * ((columns_ + block_ - 1) / block_); c < columns_; c += block_, ++s)
            times(c, std::min(c + block_, columns_), scales[s]);
    }
}

void StoredWeight::decode(const void* weight, const float* scales, std::int64_t begin, std::int64_t end,
                          float* out) const {
    const KernelSet& kernels = bestKernels();
    const auto* bytes = static_cast<const unsigned char*>(weight);
    if (kind_ == Kind::Nf4 && stored_ == columns_) { // the whole range is one run of blocks
        const std::int64_t first = begin * stored_;
        return kernels.dequantizeNf4Packed(bytes + first / 2, std::size_t((end - begin) * stored_), std::size_t(block_),
                                           scales + first / block_, levels_.data(), out);
    }
    std::vector<float> padded(kind_ == Kind::Nf4 ? std::size_t(stored_) : 0);
    for (std::int64_t row = begin; row < end; ++row, out += columns_) {
        const unsigned char* codes = bytes + std::uint64_t(row) * rowBytes_;
        const auto* halves = reinterpret_cast<const std::uint16_t*>(codes);
        if (kind_ == Kind::F32)
            std::memcpy(out, codes, rowBytes_);
        else if (kind_ == Kind::F16)
            kernels.f16ToF32(halves, std::size_t(columns_), out);
        else if (kind_ == Kind::BF16)
            kernels.bf16ToF32(halves, std::size_t(columns_), out);
        else if (kind_ == Kind::Nf4) {
            kernels.dequantizeNf4Packed(codes, std::size_t(stored_), std::size_t(block_),
                                        scales + row * (stored_ / block_), levels_.data(), padded.data());
            std::memcpy(out, padded.data(), sizeof(float) * std::size_t(columns_));
            continue; // scaled already
        } else
            decodeRow(codes, out);
        scaleRow(scales, row, out);
    }
}

} // namespace qs::plugin
