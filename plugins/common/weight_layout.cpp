// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/common/weight_layout.h"

#include "kernels/format.h"
#include "plugins/common/entry.h"

#include <limits>

namespace qs::plugin {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::string quoted(const char* text) { return std::string("\"") + (text ? text : "") + '"'; }

std::int64_t divideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct NumberRow {
    const char* id;
    int bits;
};
constexpr NumberRow kNumbers[] = {{"f32", 32}, {"f16", 16}, {"bf16", 16}};

struct PackingRow {
    const char* id;
    int bits; ///< bits of a code; 0 means 1, 2 or 4
    CodeOrder order;
};
constexpr PackingRow kPackings[] = {{"pair_hi_first", 4, CodeOrder::HighFirst},
                                    {"pair_lo_first", 4, CodeOrder::LowFirst},
                                    {"quad_lo_first", 2, CodeOrder::LowFirst},
                                    {"octet_lo_first", 1, CodeOrder::LowFirst},
                                    {"planar", 0, CodeOrder::Planar}};

std::string readScales(const qs_format& format, WeightLayout& to) {
    if (format.zero_dtype && *format.zero_dtype && !is(format.zero_dtype, "none"))
        return "zero points of dtype " + quoted(format.zero_dtype) + " are not read here";
    if (!format.scale_dtype || !*format.scale_dtype || is(format.scale_dtype, "none")) {
        return format.block ? "blocks need scales" : "";
    }
    for (const char* known : {"f32", "f16", "bf16", "e8m0"})
        if (is(format.scale_dtype, known)) to.scaleType = known;
    if (to.scaleType == "none") return "scales of dtype " + quoted(format.scale_dtype) + " are not read here";
    const std::int32_t axis = format.block ? format.block_axis : format.channel_axis;
    if (axis > 1 || (format.block && axis < 0)) return "the scales lie along an axis that a matrix does not have";
    if (format.block > std::uint64_t(kMost)) return "the block is too large";
    to.block = std::int64_t(format.block);
    if (to.block && axis == 1) {
        to.share = ScaleShare::BlockOfColumns;
        to.rowStride = divideUp(to.columns, to.block), to.columnBlock = to.block, to.columnStride = 1;
        to.scaleCount = std::uint64_t(to.rows * to.rowStride);
    } else if (to.block) {
        to.share = ScaleShare::BlockOfRows;
        to.rowBlock = to.block, to.rowStride = to.columns, to.columnStride = 1;
        to.scaleCount = std::uint64_t(divideUp(to.rows, to.block) * to.columns);
    } else {
        to.share = axis == 0 ? ScaleShare::Row : axis == 1 ? ScaleShare::Column : ScaleShare::Tensor;
        to.rowStride = axis == 0, to.columnStride = axis == 1;
        to.scaleCount = std::uint64_t(axis == 0 ? to.rows : axis == 1 ? to.columns : 1);
    }
    return {};
}

/// Reads where codes lie. For formats whose elements are codes, not numbers.
std::string readPacking(const qs_format& format, WeightLayout& to) {
    if (format.bits != 1 && format.bits != 2 && format.bits != 4 && format.bits != 8)
        return "codes of " + std::to_string(format.bits) + " bits are not read here";
    to.bits = int(format.bits);
    if (format.row_multiple > std::uint64_t(kMost)) return "the padding of rows is too large";
    const std::int64_t multiple = std::max<std::int64_t>(1, std::int64_t(format.row_multiple));
    const std::int64_t stored = divideUp(to.columns, multiple) * multiple;
    if (!format.packing || !*format.packing || is(format.packing, "none")) {
        to.rowBytes = stored;
        return {};
    }
    const PackingRow* found = nullptr;
    for (const PackingRow& row : kPackings)
        if (is(format.packing, row.id) && (row.bits == to.bits || (row.bits == 0 && to.bits < 8))) found = &row;
    if (!found)
        return "the packing " + quoted(format.packing) + " of " + std::to_string(to.bits) +
               "-bit codes is not read here";
    to.order = found->order, to.perByte = 8 / to.bits, to.packAxis = format.pack_axis;
    if (to.packAxis == 0 && to.order == CodeOrder::Planar) {
        if (to.rows % to.perByte) return "the number of rows of W must be a multiple of the codes in a byte";
        to.storedRows = to.rows / to.perByte, to.rowBytes = to.columns;
        return {};
    }
    if (to.packAxis != 1) return "codes must share bytes along the rows of W";
    if (to.order == CodeOrder::Planar && (to.columns % to.perByte || stored != to.columns))
        return "planar rows must fill their bytes, without padding";
    to.rowBytes = divideUp(stored, to.perByte);
    return {};
}

/// Reads what codes mean: from the format's own codebook, else from the row of formats() with its id.
std::string readMeaning(const qs_format& format, WeightLayout& to) {
    const FormatTraits* known = findFormat(to.format);
    const bool isSmallFloat = known && known->kind == FormatKind::Float && to.bits == 8;
    if (isSmallFloat) to.dtype = known->id;
    if (format.codebook && format.codebook_n) {
        if (format.codebook_n > 1u << to.bits) return "the codebook has more values than there are codes";
        to.meaning = CodeMeaning::Level, to.levels.assign(format.codebook, format.codebook + format.codebook_n);
    } else if (isSmallFloat) {
        to.meaning = CodeMeaning::Level, to.levels = floatTable(*known);
    } else if (known && (known->kind == FormatKind::Codebook || (known->kind == FormatKind::Sign && to.bits == 1)) &&
               known->levels.size() <= std::size_t(1) << to.bits) {
        to.meaning = CodeMeaning::Level, to.levels.assign(known->levels.begin(), known->levels.end());
    } else if (known && (known->kind == FormatKind::Integer || known->kind == FormatKind::Sign)) {
        to.meaning = CodeMeaning::Integer, to.bias = format.code_bias;
        if (to.bias < -128 || to.bias > 127)
            return "the code bias " + std::to_string(to.bias) + " is not within -128 and 127";
        if (to.perByte == 1 && to.bias == 0) to.dtype = "i8";
        for (unsigned code = 0; code < 1u << to.bits; ++code)
            to.levels.push_back(is(to.dtype, "i8") && to.bits == 8 ? float(static_cast<signed char>(code))
                                                                   : float(int(code) + to.bias));
    } else {
        return "the format " + quoted(format.format) + " is not known here and has no codebook";
    }
    to.levelsGiven = to.levels.size();
    to.levels.resize(std::size_t(1) << to.bits, 0.0f);
    return {};
}

} // namespace

unsigned WeightLayout::codeAt(const std::uint8_t* bytes, std::int64_t row, std::int64_t column) const {
    const bool isPlanar = order == CodeOrder::Planar;
    const std::int64_t at = isPlanar ? column % rowBytes : column / perByte;
    const int place = int(isPlanar ? column / rowBytes : column % perByte);
    const unsigned byte = bytes[row * rowBytes + at];
    return (byte >> ((order == CodeOrder::HighFirst ? perByte - 1 - place : place) * bits)) & ((1u << bits) - 1);
}

std::string readWeightLayout(const qs_format& format, std::int64_t rows, std::int64_t columns, WeightLayout& to) {
    to = {};
    if (rows < 1 || columns < 1) return "the weight has no elements";
    to.format = format.format ? format.format : "";
    to.rows = to.storedRows = rows, to.columns = columns;
    if (std::string reason = readScales(format, to); !reason.empty()) return reason;
    for (const NumberRow& number : kNumbers) {
        if (to.format != number.id) continue;
        if (!is(format.packing, "none") && format.packing && *format.packing)
            return "numbers of format " + to.format + " cannot be packed";
        if (format.bits != std::uint32_t(number.bits)) return "the number of bits does not fit " + to.format;
        to.dtype = number.id, to.bits = number.bits, to.rowBytes = columns * (number.bits / 8);
        return {};
    }
    to.dtype = "u8";
    if (std::string reason = readPacking(format, to); !reason.empty()) return reason;
    return readMeaning(format, to);
}

} // namespace qs::plugin
