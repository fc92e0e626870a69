// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/pjrt/geometry.h"
#include "kernels/small_float.h"

#include <bit>
#include <cstring>
#include <numeric>

namespace qs::pjrt {
namespace {

std::int64_t roundUp(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Where a code lies: its byte in the row, and its first bit in that byte.
struct Place {
    std::int64_t byte;
    int shift;
};
Place place(CodeOrder order, int bits, int perByte, std::int64_t bytes, std::int64_t i) {
    switch (order) {
    case CodeOrder::HighFirst: return {i / perByte, 8 - bits - bits * int(i % perByte)};
    case CodeOrder::LowFirst: return {i / perByte, bits * int(i % perByte)};
    case CodeOrder::Planar: return {i % bytes, bits * int(i / bytes)};
    case CodeOrder::OnePerElement: break;
    }
    return {i, 0};
}

} // namespace

Geometry geometryFor(const Weight& w, Planes planes) {
    Geometry g;
    std::int64_t unit = w.perByte;
    if (w.share == ScaleShare::BlockOfColumns)
        unit = planes == Planes::Contiguous ? w.perByte * w.block : std::lcm(std::int64_t(w.perByte), w.block);
    g.cols = roundUp(w.columns, unit);
    g.rows = w.share == ScaleShare::BlockOfRows ? roundUp(w.rows, w.block) : w.rows;
    g.rowBytes = g.cols / w.perByte;
    g.order = planes == Planes::Contiguous ? CodeOrder::Planar : w.order;
    return g;
}

bool planesFit(const Weight& w, Planes planes) {
    if (planes == Planes::Joined) return true;
    if (planes == Planes::Interleaved)
        return w.order != CodeOrder::Planar && (w.share != ScaleShare::BlockOfColumns || w.block % w.perByte == 0);
    return geometryFor(w, planes).cols <= 2 * roundUp(w.columns, w.perByte); // at most half of it is padding
}

bool repacks(const Weight& w, const Variant& variant) {
    const auto g = geometryFor(w, variant.planes);
    const auto stored = roundUp(w.columns, std::lcm(std::int64_t(w.perByte), std::max<std::int64_t>(1, w.rowMultiple)));
    return g.order != w.order || g.rows != w.rows || g.cols != stored;
}

std::vector<std::byte> repackCodes(const Weight& w, const Geometry& g, std::span<const std::byte> codes,
                                   std::int64_t rowBytes, std::int64_t elementBytes) {
    std::vector<std::byte> out(std::size_t(g.rows * g.rowBytes * elementBytes));
    const std::int64_t target = g.rowBytes * elementBytes;
    const bool move = g.order != w.order || (g.order == CodeOrder::Planar && rowBytes != target);
    if (!move) { // rows become longer or shorter, but codes keep their order
        const auto bytes = std::min(rowBytes, target);
        for (std::int64_t r = 0; r < w.rows; ++r)
            std::memcpy(out.data() + r * target, codes.data() + r * rowBytes, std::size_t(bytes));
        return out;
    }
    const unsigned mask = (1u << w.bits) - 1;
    std::vector<unsigned char> row(std::size_t(g.cols)); // one code in each element
    for (std::int64_t r = 0; r < w.rows; ++r) {
        const auto* from = reinterpret_cast<const unsigned char*>(codes.data()) + r * rowBytes;
        auto* to = reinterpret_cast<unsigned char*>(out.data()) + r * target;
        for (std::int64_t i = 0; i < w.columns; ++i) {
            const auto at = place(w.order, w.bits, w.perByte, rowBytes, i);
            row[std::size_t(i)] = static_cast<unsigned char>((from[at.byte] >> at.shift) & mask);
        }
        for (int plane = 0; plane < w.perByte; ++plane) // codes are moved only to make them planar
            for (std::int64_t j = 0; j < g.rowBytes; ++j)
                to[j] =
                    static_cast<unsigned char>(to[j] | row[std::size_t(plane * g.rowBytes + j)] << (plane * w.bits));
    }
    return out;
}

std::size_t scaleBytes(std::string_view dtype) {
    return dtype == "f32" ? 4 : dtype == "bf16" || dtype == "f16" ? 2 : dtype == "e8m0" ? 1 : 0;
}

std::vector<float> repackScales(const Weight& w, const Geometry& g, std::span<const std::byte> scales) {
    const auto read = [&](std::int64_t i) {
        const auto* at = scales.data() + std::size_t(i) * scaleBytes(w.scaleType);
        if (w.scaleType == "e8m0") {
            const auto exponent = std::to_integer<std::uint32_t>(*at);
            return std::bit_cast<float>(exponent == 255 ? 0x7fc00000u : exponent == 0 ? 0x400000u : exponent << 23);
        }
        float f32 = 0;
        std::uint16_t half = 0;
        if (w.scaleType == "f32")
            std::memcpy(&f32, at, 4);
        else
            std::memcpy(&half, at, 2);
        return w.scaleType == "f32" ? f32 : w.scaleType == "bf16" ? bf16ToF32(half) : f16ToF32(half);
    };
    const bool columns = w.share == ScaleShare::BlockOfColumns;
    if (!w.blocks()) {
        std::vector<float> out(static_cast<std::size_t>(w.scaleCount));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = read(std::int64_t(i));
        return out;
    }
    const std::int64_t fromRows = columns ? w.rows : (w.rows + w.block - 1) / w.block;
    const std::int64_t fromCols = columns ? (w.columns + w.block - 1) / w.block : w.columns;
    const std::int64_t toRows = columns ? g.rows : g.blocksPerColumn(w), toCols = columns ? g.blocksPerRow(w) : g.cols;
    std::vector<float> out(static_cast<std::size_t>(toRows * toCols));
    for (std::int64_t r = 0; r < fromRows; ++r)
        for (std::int64_t c = 0; c < fromCols; ++c) out[std::size_t(r * toCols + c)] = read(r * fromCols + c);
    return out;
}

} // namespace qs::pjrt
