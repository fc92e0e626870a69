// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/piece.h"

#include "core/base/text.h"
#include "core/quant/encode/block_encoder.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::value {
namespace {

/// Copies a box out of an array in C order.
template<class T>
std::vector<T> boxOf(const std::vector<T>& from, std::span<const std::int64_t> shape, const Shape& begin,
                     const Shape& extent) {
    std::vector<T> out(std::size_t(elementsOf(extent)));
    if (out.empty()) return out;
    if (extent.empty()) return from;
    const Shape strides = stridesOf(shape);
    const auto run = std::size_t(extent.back());
    Shape index(extent.size() - 1, 0);
    const Shape rows(extent.begin(), extent.end() - 1);
    for (std::size_t at = 0; at < out.size(); at += run) {
        std::int64_t first = begin.back();
        for (std::size_t i = 0; i < index.size(); ++i) first += (begin[i] + index[i]) * strides[i];
        std::copy_n(from.begin() + first, run, out.begin() + std::ptrdiff_t(at));
        nextIndex(index, rows);
    }
    return out;
}

/// Copies packed blocks along the last axis, all of the same size in bytes.
std::vector<std::uint8_t> blocksOf(const QuantizedTensor& tensor, std::int64_t tile, Shape begin, Shape extent) {
    Shape cells = tensor.shape;
    const auto up = [tile](std::int64_t size) { return (size + tile - 1) / tile; };
    cells.back() = up(cells.back());
    begin.back() /= tile;
    extent.back() = up(extent.back());
    const std::int64_t bytes = std::int64_t(tensor.blocks.size()) / std::max<std::int64_t>(1, elementsOf(cells));
    cells.push_back(bytes), begin.push_back(0), extent.push_back(bytes);
    return boxOf(tensor.blocks, cells, begin, extent);
}

} // namespace

Shape scaleTile(const QuantSpec& spec, const ScaleGrid& grid, std::span<const std::int64_t> shape) {
    Shape tile(shape.begin(), shape.end());
    if (grid.kind == ScaleKind::None || grid.kind == ScaleKind::Tensor || grid.scaleShape.size() != shape.size())
        return tile;
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (grid.scaleShape[i] == shape[i]) tile[i] = 1;
    if (grid.kind != ScaleKind::Block) return tile;
    if (const BlockCodec* codec = codecOf(spec)) {
        tile.back() = codec->elements;
    } else if (spec.tiles) {
        for (const Tile& part : *spec.tiles)
            if (const auto axis = axisOf(part.axis, shape.size())) tile[std::size_t(*axis)] = part.size;
    } else {
        tile.back() = std::max<std::int64_t>(1, spec.blockSize());
    }
    return tile;
}

void covering(const Shape& tile, std::span<const std::int64_t> shape, Shape& begin, Shape& extent) {
    for (std::size_t i = 0; i < begin.size(); ++i) {
        if (tile[i] >= shape[i]) continue; // one scale along the axis
        const std::int64_t end = std::min(shape[i], (begin[i] + extent[i] + tile[i] - 1) / tile[i] * tile[i]);
        begin[i] = begin[i] / tile[i] * tile[i];
        extent[i] = end - begin[i];
    }
}

Result<QuantizedTensor> piece(const QuantizedTensor& tensor, const Shape& begin, const Shape& extent) {
    const Shape& shape = tensor.shape;
    bool inside = begin.size() == shape.size() && extent.size() == shape.size();
    for (std::size_t i = 0; inside && i < shape.size(); ++i)
        inside = begin[i] >= 0 && extent[i] >= 0 && begin[i] + extent[i] <= shape[i];
    if (!inside) return fail(fmt::format("that box is not inside {}", shapeText(shape)));
    const Shape tile = scaleTile(tensor.spec, tensor.grid, shape);
    Shape wholeBegin = begin, wholeExtent = extent;
    covering(tile, shape, wholeBegin, wholeExtent);
    if (wholeBegin != begin || wholeExtent != extent)
        return fail(fmt::format("a box of {} cuts blocks of {}", shapeText(extent), shapeText(tile)));
    QuantizedTensor out;
    out.spec = tensor.spec;
    out.sourceDtype = tensor.sourceDtype;
    out.shape = extent;
    out.warnings = tensor.warnings;
    auto grid = scaleGrid(out.spec, extent);
    if (!grid) return tl::unexpected(grid.error());
    out.grid = std::move(*grid);
    out.levels = tensor.levels;
    if (!tensor.codes.empty()) out.codes = boxOf(tensor.codes, shape, begin, extent);
    if (!tensor.values.empty()) out.values = boxOf(tensor.values, shape, begin, extent);
    const Shape& scales = tensor.grid.scaleShape;
    if (scales.size() != shape.size()) { // one scale for the tensor, or none
        out.scales = tensor.scales;
        out.zeros = tensor.zeros;
    } else {
        Shape from(scales.size()), count(scales.size());
        for (std::size_t i = 0; i < scales.size(); ++i) {
            const bool shared = scales[i] == 1;
            from[i] = shared ? 0 : begin[i] / tile[i];
            count[i] = shared ? 1 : (extent[i] + tile[i] - 1) / tile[i];
        }
        if (!tensor.scales.empty()) out.scales = boxOf(tensor.scales, scales, from, count);
        if (!tensor.zeros.empty()) out.zeros = boxOf(tensor.zeros, scales, from, count);
    }
    if (!tensor.blocks.empty()) out.blocks = blocksOf(tensor, tile.back(), begin, extent);
    if (!tensor.scales.empty() && out.scales.size() != std::size_t(out.grid.scales))
        return fail(fmt::format("{} scales of {} do not serve a box of {}", out.scales.size(), specText(tensor.spec),
                                shapeText(extent)));
    return out;
}

} // namespace qs::value
