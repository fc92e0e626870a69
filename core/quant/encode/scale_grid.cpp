// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/quant/codebook/learn.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/encode/block_encoder.h"
#include "core/quant/encode/double_quant.h"
#include "core/quant/encode/native_packing.h"
#include "core/quant/encode/quantizer.h"
#include "core/quant/spec/code_set.h"
#include "core/quant/spec/dialect.h"
#include "core/quant/spec/scale_type.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <numeric>

namespace qs {
namespace {

std::int64_t product(std::span<const std::int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t(1), std::multiplies<>());
}

/// The spec after a change, as text.
template<class Change> std::string with(QuantSpec spec, Change change) {
    change(spec);
    return specText(spec);
}

Result<std::vector<bool>> reducedAxes(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const int rank = int(shape.size());
    std::vector<bool> reduced(shape.size(), spec.scaleKind() == ScaleKind::Tensor);
    // A scalar has no axis to reduce: scale=channel, the default, is one scale for it.
    if (rank == 0 && !spec.axes) return reduced;
    if (spec.keepsOutput) { // a vector is one channel
        reduced.assign(shape.size(), true);
        reduced.front() = rank == 1;
        return reduced;
    }
    for (const int axis : spec.reducedAxes()) {
        const int index = axis < 0 ? axis + rank : axis;
        if (index < 0 || index >= rank)
            return rank == 0 ? advise(fmt::format("axis={} does not exist in a scalar", axis),
                                      {fmt::format("{}:scale=tensor", spec.format)})
                             : advise(fmt::format("axis={} does not exist in shape {}, whose axes are {} to {}", axis,
                                                  shapeText(shape), -rank, rank - 1),
                                      {with(spec, [](QuantSpec& s) { s.axes = {-1}; })});
        if (reduced[std::size_t(index)])
            return advise(fmt::format("axis={} names an axis of shape {} twice", axis, shapeText(shape)),
                          {with(spec, [axis](QuantSpec& s) { s.axes = {axis}; })});
        reduced[std::size_t(index)] = true;
    }
    return reduced;
}

/// Reduced axes are the trailing ones, axes of one element aside.
bool trailing(const std::vector<bool>& reduced, std::span<const std::int64_t> shape) {
    bool seenReduced = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) continue;
        if (seenReduced && !reduced[axis]) return false;
        seenReduced = seenReduced || reduced[axis];
    }
    return true;
}

/// Tiles of the divisors of `size` next to the tile's: what the axis can be cut into.
std::vector<std::string> tileAdvice(const QuantSpec& spec, std::int64_t size, const Tile& asked) {
    const std::int64_t tile = asked.size;
    std::int64_t below = std::clamp<std::int64_t>(tile, 1, size), above = below;
    while (size % below != 0) --below;
    while (above < size && size % above != 0) ++above;
    std::vector<std::string> works;
    for (const std::int64_t cut : {below, above})
        if (works.empty() || cut != below)
            works.push_back(with(spec, [&](QuantSpec& s) {
                for (Tile& one : *s.tiles)
                    if (one == asked) one.size = std::uint32_t(cut);
            }));
    return works;
}

/// The largest M of a sparsity that divides `size` and is at most the one asked for; 1 keeps every value.
std::string sparsityAdvice(const QuantSpec& spec, std::int64_t size) {
    const Sparsity& asked = *spec.sparsity;
    std::uint32_t of = std::bit_floor(asked.of);
    while (size % of != 0) of /= 2;
    return with(spec, [&](QuantSpec& s) {
        if (of < 2)
            s.sparsity.reset();
        else
            s.sparsity = Sparsity{std::clamp(asked.keep * of / asked.of, 1u, of), of};
    });
}

/// Scales per tile; axes without a tile have a scale per index.
Result<void> cutIntoTiles(ScaleGrid& grid, const QuantSpec& spec, std::span<const std::int64_t> shape) {
    const std::vector<Tile>& tiles = *spec.tiles;
    const int rank = int(shape.size());
    const auto only = [&spec](std::optional<Tile> tile) {
        return with(spec, [&](QuantSpec& s) { tile ? void(s.tiles = {*tile}) : s.tiles.reset(); });
    };
    grid.scaleShape.assign(shape.begin(), shape.end());
    grid.reduced.assign(shape.size(), false);
    for (const Tile& tile : tiles) {
        const int index = tile.axis < 0 ? tile.axis + rank : tile.axis;
        if (index < 0 || index >= rank)
            return rank == 0 ? advise("a scalar has no axis to cut into tiles", {only({})})
                             : advise(fmt::format("tile={}x{}: the axes of shape {} are {} to {}", tile.axis, tile.size,
                                                  shapeText(shape), -rank, rank - 1),
                                      {only(Tile{-1, 1})});
        const auto axis = std::size_t(index);
        if (grid.reduced[axis])
            return advise(fmt::format("tile names an axis of shape {} twice", shapeText(shape)), {only(tile)});
        if (shape[axis] % std::int64_t(tile.size) != 0)
            return advise(fmt::format("tile={}x{} does not divide axis {} of shape {}", tile.axis, tile.size, tile.axis,
                                      shapeText(shape)),
                          tileAdvice(spec, shape[axis], tile));
        grid.reduced[axis] = true;
        grid.scaleShape[axis] = shape[axis] / std::int64_t(tile.size);
    }
    grid.scales = product(grid.scaleShape);
    const std::int64_t columns = grid.features / std::max<std::int64_t>(1, grid.scaleShape.back());
    grid.group = std::max<std::int64_t>(1, columns);
    grid.contiguous = false;
    if (tiles.size() == 1 && grid.reduced.back()) grid.contiguous = true; // as block=N
    if (!grid.reduced.back()) grid.kind = ScaleKind::Axes;                // they follow columns
    return {};
}

/// The groups of N:M sparsity are whole in every part of a tensor that is looked at.
Result<void> checkSparsity(const QuantSpec& spec, const ScaleGrid& grid, std::span<const std::int64_t> shape) {
    const auto [keep, of] = *spec.sparsity;
    if (grid.features % of != 0)
        return advise(fmt::format("sparse={}/{} does not divide the last axis of shape {}", keep, of, shapeText(shape)),
                      {sparsityAdvice(spec, grid.features)});
    if (grid.kind == ScaleKind::Block && grid.group % of != 0)
        return advise(fmt::format("sparse={}/{} does not divide blocks of {}", keep, of, grid.group),
                      {sparsityAdvice(spec, grid.group)});
    return {};
}

Result<ScaleGrid> gridOf(const QuantSpec& spec, std::span<const std::int64_t> shape);

} // namespace

QuantSpec forTensor(const QuantSpec& spec, const TensorInfo& tensor) {
    QuantSpec out = withScaleTypeOf(spec, tensor.dtype);
    if (!spec.keepsOutput) return out;
    out.keepsOutput = false;
    const int rank = int(tensor.shape.size());
    if (rank == 0) {
        out.scale = ScaleSpelling::Channel;
        return out;
    }
    const int kept = tensor.outputLast ? rank - 1 : 0;
    out.axes.emplace();
    for (int axis = 0; axis < rank; ++axis)
        if (axis != kept) out.axes->push_back(axis);
    if (rank == 1 || *out.axes == std::vector<int>{1}) out.axes = {-1}; // as eformer spells it
    return out;
}

std::vector<std::int64_t> blockedShape(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> out(shape.begin(), shape.end());
    if (spec.scaleKind() != ScaleKind::Block) return out;
    if (shape.size() > 1 && blocksCrossRows(spec) && shape.back() % std::int64_t(spec.blockSize()) != 0)
        return {product(shape)};
    if (shape.size() > 2 && spec.isFlat()) return {shape.front(), product(shape.subspan(1))};
    return out;
}

bool padsBlocks(const QuantSpec& spec) {
    return spec.traits().padsLastBlock && !blocksCrossRows(spec) && !spec.isFlat();
}

Result<ScaleGrid> scaleGrid(const QuantSpec& spec, const TensorInfo& tensor) {
    return scaleGrid(forTensor(spec, tensor), tensor.shape);
}

Result<StoredSize> storedSize(const QuantSpec& spec, const TensorInfo& tensor) {
    return storedSize(forTensor(spec, tensor), tensor.shape, tensor.dtype);
}

Result<ScaleGrid> scaleGrid(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    auto grid = gridOf(spec, shape);
    if (grid && spec.sparsity)
        if (auto ok = checkSparsity(spec, *grid, shape); !ok) return tl::unexpected(ok.error());
    return grid;
}

namespace {

Result<ScaleGrid> gridOf(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    ScaleGrid grid;
    grid.kind = spec.scaleKind();
    grid.features = shape.empty() ? 1 : shape.back();
    grid.rows = shape.empty() ? 1 : product(shape.first(shape.size() - 1));
    const std::vector<std::int64_t> blocked = blockedShape(spec, shape);
    if (blocked.size() != shape.size())
        grid.rows = product(std::span(blocked).first(blocked.size() - 1)), grid.features = blocked.back(),
        shape = blocked;
    grid.paddedFeatures = grid.features;
    const std::int64_t elements = grid.rows * grid.features;
    grid.group = std::max<std::int64_t>(1, elements);
    if (spec.tiles) {
        if (auto ok = cutIntoTiles(grid, spec, shape); !ok) return tl::unexpected(ok.error());
        return grid;
    }
    auto reduced = reducedAxes(spec, shape);
    if (!reduced) return tl::unexpected(reduced.error());
    grid.reduced = std::move(*reduced);
    switch (grid.kind) {
    case ScaleKind::None: return grid;
    case ScaleKind::Tensor: grid.scales = 1; return grid;
    case ScaleKind::Axes:
        grid.contiguous = trailing(grid.reduced, shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            grid.scaleShape.push_back(grid.reduced[axis] ? 1 : shape[axis]);
        grid.scales = product(grid.scaleShape);
        grid.group = grid.contiguous ? std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, grid.scales)) : 1;
        return grid;
    case ScaleKind::Block: {
        if (const auto check = dialectOf(spec).checkRows)
            if (auto ok = check(spec, grid.features); !ok) return tl::unexpected(ok.error());
        const std::int64_t block = spec.blockSize(), blocks = (grid.features + block - 1) / block;
        grid.group = std::max<std::int64_t>(1, std::min(block, grid.features));
        grid.scaleShape.assign(shape.begin(), shape.end());
        if (grid.scaleShape.empty()) grid.scaleShape.push_back(1);
        grid.scaleShape.back() = blocks;
        grid.scales = grid.rows * blocks;
        if (padsBlocks(spec)) grid.paddedFeatures = blocks * block;
        return grid;
    }
    }
    return grid;
}

} // namespace

// The bytes of the default layout. nf4: two codes a byte over whole blocks. The 1-bit formats: four codes a byte along
// the first axis; when that axis is no multiple of 4 the eformer layout refuses the tensor, and what is counted here is
// the axis rounded up to one. Others: rows of whole bytes. The codes are what the elements need, the rest padding.
Result<StoredSize> storedSize(const QuantSpec& spec, std::span<const std::int64_t> shape, DType source) {
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    const std::uint64_t elements = std::uint64_t(grid->rows) * std::uint64_t(grid->features);
    const FormatTraits& traits = spec.traits();
    StoredSize size;
    if (const BlockCodec* codec = codecOf(spec)) {
        size.codes = blockBytes(*codec, elements);
        return size;
    }
    size.codes = (elements * std::uint64_t(spec.codeBits()) + 7) / 8;
    if (!traits.bitWidths.empty() || isUserFormat(spec)) size.codebook = std::uint64_t(4) << spec.codeBits();
    size.scales = std::uint64_t(grid->scales) * std::uint64_t(info(storedScaleType(spec, source)).bits) / 8;
    if (grid->scales > 0 && hasTensorScale(spec)) size.scales += 4;
    if (hasBiases(spec)) size.scales *= 2;
    if (hasZeroPoints(spec))
        size.scales += std::uint64_t(grid->scales) * std::uint64_t(info(storedZeroType(spec)).bits) / 8;
    const bool pads = padsBlocks(spec);
    if (isDoubleQuantized(spec))
        size.scales += 4 * ((std::uint64_t(grid->scales) + kNestedBlock - 1) / kNestedBlock + 1);
    if (pads) size.padding = std::uint64_t(grid->rows) * std::uint64_t(grid->paddedFeatures) / 2 - size.codes;
    if (traits.kind == FormatKind::Sign && spec.isFlat()) // of the native layout
        size.codes = std::uint64_t(grid->rows) * NativePacking(spec).rowBytes(std::uint64_t(grid->features));
    if (traits.kind == FormatKind::Sign && !spec.isFlat() && elements > 0) {
        const std::uint64_t first = shape.empty() ? 1 : std::uint64_t(shape.front());
        size.padding = (first + 3) / 4 * (elements / first) - size.codes;
    }
    const bool codebook = traits.kind == FormatKind::Codebook && !pads;
    if (traits.kind == FormatKind::Integer || traits.kind == FormatKind::Float || codebook)
        size.padding =
            std::uint64_t(grid->rows) * NativePacking(spec).rowBytes(std::uint64_t(grid->features)) - size.codes;
    return size;
}

double bitsPerWeight(const StoredSize& size, std::uint64_t elements) {
    return elements == 0 ? 0.0 : 8.0 * double(size.total()) / double(elements);
}

bool quantizesByFirstAxis(const QuantSpec& asked, const TensorInfo& tensor) {
    const QuantSpec spec = forTensor(asked, tensor);
    const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
    if (shape.size() < 2 || isLearned(spec) || isTrained(spec) || hasTensorScale(spec) || isDoubleQuantized(spec))
        return false;
    if (spec.randomSeed() || blockedShape(spec, shape) != shape)
        return false; // random numbers go by the place in the tensor
    const auto grid = scaleGrid(spec, tensor);
    if (!grid) return false;
    return grid->kind == ScaleKind::None || (!grid->scaleShape.empty() && grid->scaleShape.front() == shape.front());
}

} // namespace qs
