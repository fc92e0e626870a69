// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/stored_weight.h"

#include "kernels/kernel_set.h"
#include "plugins/common/entry.h"

#include <cstring>

namespace qs::plugin {
namespace {

// Functions with this attribute are compiled for several vector widths. The loader picks one when the library is
// loaded.
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

} // namespace

std::string StoredWeight::accept(const qs_format& format, std::int64_t rows, std::int64_t columns) {
    if (std::string reason = readWeightLayout(format, rows, columns, layout_); !reason.empty()) return reason;
    if (!layout_.hasF32Scales()) return "scales of type " + std::string(layout_.scaleType) + " are not read here";
    if (layout_.packAxis == 0) return "codes must share bytes along the rows of W";
    stored_ = layout_.order == CodeOrder::Planar ? columns : layout_.rowBytes * layout_.perByte;
    table_.clear();
    if (layout_.meaning == CodeMeaning::Float) {
        kind_ = layout_.isFloat(32) ? Kind::F32 : is(layout_.dtype, "f16") ? Kind::F16 : Kind::BF16;
        return {};
    }
    kind_ = layout_.isSignedBytes() ? Kind::Signed : Kind::Table;
    if (kind_ == Kind::Signed) return {};
    const bool isHighFirst = layout_.order == CodeOrder::HighFirst;
    // The fast kernel decodes whole blocks only, so the stored rows must be a multiple of the block.
    if (isHighFirst && layout_.share == ScaleShare::BlockOfColumns && layout_.block % 2 == 0 &&
        stored_ % layout_.block == 0) {
        kind_ = Kind::Nf4;
        return {};
    }
    if (layout_.perByte == 1) {
        table_ = layout_.levels;
        table_.resize(256, 0.0f);
        return {};
    }
    for (unsigned byte = 0; byte < 256; ++byte)
        for (int j = 0; j < layout_.perByte; ++j) {
            const unsigned shift = unsigned((isHighFirst ? layout_.perByte - 1 - j : j) * layout_.bits);
            table_.push_back(layout_.levels[(byte >> shift) & ((1u << layout_.bits) - 1)]);
        }
    return {};
}

void StoredWeight::decodeRow(const unsigned char* codes, float* out) const {
    const float* levels = table_.data();
    if (kind_ == Kind::Signed) return fromSigned(reinterpret_cast<const signed char*>(codes), layout_.columns, out);
    if (layout_.order == CodeOrder::Planar) {
        const std::int64_t plane = layout_.columns / layout_.perByte;
        for (int p = 0; p < layout_.perByte; ++p)
            for (std::int64_t j = 0; j < plane; ++j) out[p * plane + j] = levels[codes[j] * layout_.perByte + p];
        return;
    }
    const std::int64_t whole = layout_.columns / layout_.perByte;
    if (layout_.perByte == 1) lookUp<1>(codes, whole, levels, out);
    if (layout_.perByte == 2) lookUp<2>(codes, whole, levels, out);
    if (layout_.perByte == 4) lookUp<4>(codes, whole, levels, out);
    if (layout_.perByte == 8) lookUp<8>(codes, whole, levels, out);
    for (std::int64_t c = whole * layout_.perByte; c < layout_.columns; ++c) // the last byte of an odd row
        out[c] = levels[codes[whole] * layout_.perByte + (c - whole * layout_.perByte)];
}

void StoredWeight::scaleRow(const float* scales, std::int64_t row, float* out) const {
    const auto times = [&](std::int64_t from, std::int64_t to, float s) { multiply(out + from, to - from, s); };
    const auto timesEach = [&](const float* s) { multiplyEach(out, layout_.columns, s); };
    switch (layout_.share) {
    case ScaleShare::None: return;
    case ScaleShare::Tensor: return times(0, layout_.columns, scales[0]);
    case ScaleShare::Row: return times(0, layout_.columns, scales[row]);
    case ScaleShare::Column: return timesEach(scales);
    case ScaleShare::BlockOfRows: return timesEach(scales + row / layout_.block * layout_.columns);
    case ScaleShare::BlockOfColumns:
        for (std::int64_t c = 0, s = row * layout_.rowStride; c < layout_.columns; c += layout_.block, ++s)
            times(c, std::min(c + layout_.block, layout_.columns), scales[s]);
    }
}

void StoredWeight::decode(const void* weight, const float* scales, std::int64_t begin, std::int64_t end,
                          float* out) const {
    const KernelSet& kernels = bestKernels();
    const auto* bytes = static_cast<const unsigned char*>(weight);
    if (kind_ == Kind::Nf4 && stored_ == layout_.columns) { // no padding: one call decodes all rows
        const std::int64_t first = begin * stored_;
        return kernels.dequantizeNf4Packed(bytes + first / 2, std::size_t((end - begin) * stored_),
                                           std::size_t(layout_.block), scales + first / layout_.block,
                                           layout_.levels.data(), out);
    }
    std::vector<float> padded(kind_ == Kind::Nf4 ? std::size_t(stored_) : 0);
    for (std::int64_t row = begin; row < end; ++row, out += layout_.columns) {
        const unsigned char* codes = bytes + std::uint64_t(row) * std::uint64_t(layout_.rowBytes);
        const auto* halves = reinterpret_cast<const std::uint16_t*>(codes);
        if (kind_ == Kind::F32)
            std::memcpy(out, codes, std::uint64_t(layout_.rowBytes));
        else if (kind_ == Kind::F16)
            kernels.f16ToF32(halves, std::size_t(layout_.columns), out);
        else if (kind_ == Kind::BF16)
            kernels.bf16ToF32(halves, std::size_t(layout_.columns), out);
        else if (kind_ == Kind::Nf4) {
            kernels.dequantizeNf4Packed(codes, std::size_t(stored_), std::size_t(layout_.block),
                                        scales + row * (stored_ / layout_.block), layout_.levels.data(), padded.data());
            std::memcpy(out, padded.data(), sizeof(float) * std::size_t(layout_.columns));
            continue; // the kernel has already multiplied by the scales
        } else
            decodeRow(codes, out);
        scaleRow(scales, row, out);
    }
}

} // namespace qs::plugin
