// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/stored.h"

#include "kernels/format.h"
#include "plugins/common/entry.h"

#include <limits>

namespace qs::cuda {
namespace {

using plugin::is;

std::string quoted(const char* text) { return std::string("\"") + (text ? text : "") + '"'; }

std::string readScales(const qs_format& format, Stored& to) {
    if (!is(format.zero_dtype, "none")) return "zero points are not read here";
    if (is(format.scale_dtype, "none")) return {};
    if (!is(format.scale_dtype, "f32")) return "scales of dtype " + quoted(format.scale_dtype) + " are not read here";
    if (format.block) {
        const auto block = std::int64_t(std::min<std::uint64_t>(format.block, 1u << 31));
        if (format.block_axis == 1) {
            const std::int64_t blocks = (to.columns + block - 1) / block;
            to.rowStride = blocks, to.columnBlock = block, to.columnStride = 1;
            to.scaleCount = std::uint64_t(to.rows * blocks);
        } else if (format.block_axis == 0) {
            to.rowBlock = block, to.rowStride = to.columns, to.columnStride = 1;
            to.scaleCount = std::uint64_t((to.rows + block - 1) / block * to.columns);
        } else
            return "blocks along an axis that a matrix lacks";
        return {};
    }
    to.rowStride = format.channel_axis == 0, to.columnStride = format.channel_axis == 1;
    to.scaleCount = std::uint64_t(to.rowStride ? to.rows : to.columnStride ? to.columns : 1);
    return {};
}

} // namespace

unsigned Stored::codeAt(const std::uint8_t* bytes, std::int64_t row, std::int64_t column) const {
    const int perByte = 8 / bits, place = int(column % perByte);
    const unsigned byte = bytes[row * rowBytes + column / perByte];
    return (byte >> ((highFirst ? perByte - 1 - place : place) * bits)) & ((1u << bits) - 1);
}

std::string readFormat(const qs_format& format, std::int64_t rows, std::int64_t columns, Stored& to) {
    to = {};
    if (rows < 1 || columns < 1) return "a weight without elements";
    to.rows = rows, to.columns = columns;
    if (std::string reason = readScales(format, to); !reason.empty()) return reason;
    const bool bf16 = is(format.format, "bf16");
    if (bf16 || is(format.format, "f32")) {
        if (!is(format.packing, "none") || to.scaleCount)
            return std::string(format.format) + " weights with packing or scales";
        to.kind = bf16 ? Stored::Kind::Bf16 : Stored::Kind::F32, to.dtype = bf16 ? "bf16" : "f32";
        to.bits = bf16 ? 16 : 32, to.rowBytes = columns * (bf16 ? 2 : 4);
        return {};
    }
    to.kind = Stored::Kind::Codes;
    if (is(format.format, "f16")) return "f16 weights are not read here";
    const FormatTraits* known = findFormat(format.format ? format.format : "");
    const FormatTraits* small = known && known->kind == FormatKind::Float ? known : nullptr;
    if (format.bits != 1 && format.bits != 2 && format.bits != 4 && format.bits != 8)
        return "codes of " + std::to_string(format.bits) + " bits are not read here";
    to.bits = int(format.bits);
    to.highFirst = to.bits == 4 && is(format.packing, "pair_hi_first");
    const char* packing = to.bits == 8   ? "none"
                          : to.bits == 4 ? "pair_lo_first"
                          : to.bits == 2 ? "quad_lo_first"
                                         : "octet_lo_first";
    if (!to.highFirst && !is(format.packing, packing)) return "packing " + quoted(format.packing) + " is not read here";
    if (to.bits < 8 && format.pack_axis != 1) return "codes must share bytes along the rows of W";
    std::int64_t stored = columns;
    if (format.row_multiple > std::uint64_t(std::numeric_limits<std::int32_t>::max())) return "rows padded that far";
    if (const auto multiple = std::int64_t(format.row_multiple))
        stored = (columns + multiple - 1) / multiple * multiple;
    to.rowBytes = (stored * to.bits + 7) / 8;
    to.signedBytes = to.bits == 8 && !format.codebook && !small && format.code_bias == 0;
    to.dtype = to.signedBytes ? "i8" : small ? small->id : "u8";
    if (small && !format.codebook && to.bits == 8) {
        to.levels = floatTable(*small);
        return {};
    }
    for (unsigned code = 0; code < 1u << to.bits; ++code)
        to.levels.push_back(format.codebook  ? code < format.codebook_n ? format.codebook[code] : 0.f
                            : to.signedBytes ? float(static_cast<signed char>(code))
                                             : float(int(code) + format.code_bias));
    return {};
}

} // namespace qs::cuda
