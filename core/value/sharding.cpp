// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/sharding.h"

#include "core/base/lists.h"
#include "core/value/piece.h"
#include "core/value/shape_operations.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::value {
namespace {

/// Axes along which several parts need the same scale although no block is cut.
std::string sharedNote(const ScaleGrid& grid, const Shape& parts) {
    std::int64_t shared = 1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool one = grid.scaleShape.size() != parts.size() || grid.scaleShape[i] == 1;
        if (one) shared *= parts[i];
    }
    if (grid.kind == ScaleKind::None || grid.kind == ScaleKind::Block || shared == 1) return {};
    return fmt::format("each scale is kept by {} parts", shared);
}

struct BlockCounts {
    std::int64_t touched = 1; ///< scales with an element in the part
    std::int64_t inside = 1;  ///< scales whose elements are all in the part
    std::int64_t own = 1;     ///< scales of a tensor with the shape of the part
};

BlockCounts countBlocks(const Shape& tile, const Shape& shape, const Shard& shard) {
    BlockCounts out;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::int64_t t = tile[i], begin = shard.begin[i], end = begin + shard.extent[i];
        const std::int64_t last = end == shape[i] ? (end + t - 1) / t : end / t, first = (begin + t - 1) / t;
        out.touched *= (end + t - 1) / t - begin / t;
        out.inside *= std::max<std::int64_t>(0, last - first);
        out.own *= (shard.extent[i] + t - 1) / t;
    }
    return out;
}

void place(const Tensor& part, const Shape& begin, Tensor& whole) {
    const Shape strides = stridesOf(whole.shape);
    Shape index(part.shape.size(), 0);
    for (const float value : part.values) {
        std::int64_t at = 0;
        for (std::size_t i = 0; i < index.size(); ++i) at += (begin[i] + index[i]) * strides[i];
        whole.values[std::size_t(at)] = value;
        nextIndex(index, part.shape);
    }
}

} // namespace

std::uint64_t Sharding::mostBytes() const {
    std::uint64_t most = 0;
    for (const Shard& shard : shards) most = std::max(most, shard.bytes.total());
    return most;
}

std::uint64_t Sharding::totalBytes() const {
    std::uint64_t sum = 0;
    for (const Shard& shard : shards) sum += shard.bytes.total();
    return sum;
}

Result<Sharding> shard(const QuantSpec& spec, const Shape& shape, DType source, const Mesh& mesh,
                       const Partition& partition, const ShardingOptions& options) {
    const auto parts = partsOf(mesh, partition, shape);
    if (!parts) return tl::unexpected(parts.error());
    const auto grid = scaleGrid(spec, shape);
    if (!grid) return tl::unexpected(grid.error());
    const auto whole = storedSize(spec, shape, source);
    if (!whole) return tl::unexpected(whole.error());
    Sharding out{spec, mesh, partition, options, shape, *parts, {}, 1, whole->total(), {}};
    out.copies = mesh.devices() / elementsOf(*parts);
    Shape extent(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) extent[i] = shape[i] / (*parts)[i];
    const auto bytes = storedSize(spec, extent, source);
    if (!bytes) return tl::unexpected(bytes.error());

    // Only blocks can be cut: a scale per channel or tensor is stored with every part that needs it.
    const Shape tile = scaleTile(spec, *grid, shape);
    bool cuts = false;
    for (std::size_t i = 0; i < shape.size() && grid->kind == ScaleKind::Block && !options.ownScales; ++i) {
        if ((*parts)[i] == 1 || extent[i] % tile[i] == 0) continue;
        cuts = true;
        if (options.straddle) continue;
        std::int64_t fewer = (*parts)[i];
        while (fewer > 1 && (shape[i] % fewer || shape[i] / fewer % tile[i])) --fewer;
        return fail(fmt::format("{} parts of {} elements along axis {} cut blocks of {}: {}, or let blocks straddle",
                                (*parts)[i], extent[i], i, tile[i],
                                fewer > 1 ? fmt::format("use {} parts", fewer) : "cut another axis"));
    }
    for (std::int64_t device = 0; device < mesh.devices(); ++device) {
        Shard shard{device, placeOf(mesh, partition, shape.size(), device), extent, *bytes, 0};
        for (std::size_t i = 0; i < shape.size(); ++i) shard.begin[i] *= extent[i];
        if (cuts) {
            const BlockCounts blocks = countBlocks(tile, shape, shard);
            shard.cutBlocks = blocks.touched - blocks.inside;
            if (blocks.own)
                shard.bytes.scales = bytes->scales / std::uint64_t(blocks.own) * std::uint64_t(blocks.touched);
            shard.bytes.padding = 0; // the block continues with codes of the neighbour
        }
        out.shards.push_back(std::move(shard));
    }
    if (options.ownScales)
        out.note = "every part has scales of its own";
    else if (cuts)
        out.note = "both sides of a cut block keep its scale";
    else
        out.note = sharedNote(*grid, *parts);
    return out;
}

Result<Tensor> materializedShard(const QuantizedTensor& tensor, const Shard& shard) {
    Shape begin = shard.begin, extent = shard.extent;
    covering(scaleTile(tensor.spec, tensor.grid, tensor.shape), tensor.shape, begin, extent);
    const auto held = piece(tensor, begin, extent);
    if (!held) return tl::unexpected(held.error());
    Shape from(begin.size()), to(begin.size());
    for (std::size_t i = 0; i < begin.size(); ++i)
        from[i] = shard.begin[i] - begin[i], to[i] = from[i] + shard.extent[i];
    return slice(*held, from, to);
}

Result<Tensor> quantizedSharded(const Tensor& x, const Sharding& sharding, const Job& job) {
    if (!sharding.options.ownScales) {
        const auto codes = quantized(x, sharding.spec, job);
        if (!codes) return tl::unexpected(codes.error());
        Tensor whole{x.shape, std::vector<float>(x.values.size()), x.dtype};
        for (const Shard& shard : sharding.shards) {
            const auto part = materializedShard(*codes, shard);
            if (!part) return tl::unexpected(part.error());
            place(*part, shard.begin, whole);
        }
        return whole;
    }
    Tensor whole{x.shape, std::vector<float>(x.values.size()), x.dtype};
    std::vector<Shape> done; // copies of a part are equal
    for (const Shard& shard : sharding.shards) {
        if (contains(done, shard.begin)) continue;
        done.push_back(shard.begin);
        Shape limit = shard.begin;
        for (std::size_t i = 0; i < limit.size(); ++i) limit[i] += shard.extent[i];
        const auto part = slice(x, shard.begin, limit);
        if (!part) return tl::unexpected(part.error());
        const auto codes = quantized(*part, sharding.spec, job);
        if (!codes) return tl::unexpected(codes.error());
        place(materialized(*codes), shard.begin, whole);
    }
    return whole;
}

} // namespace qs::value
