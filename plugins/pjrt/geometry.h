// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How weights lie on the device for a variant: rows padded with zero codes to whole bytes and blocks, x padded with
// zeros to match, so that no program has a special case for a tail.

#include "plugins/pjrt/operand.h"
#include "plugins/pjrt/variant.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace qs::pjrt {

struct Geometry {
    std::int64_t rows = 0, cols = 0; ///< padded, in elements
    std::int64_t rowBytes = 0;       ///< of packed codes; elements when they are not packed
    CodeOrder order = CodeOrder::OnePerElement;
    std::int64_t k(bool kn) const { return kn ? rows : cols; }
    std::int64_t n(bool kn) const { return kn ? cols : rows; }
    std::int64_t blocksPerRow(const Weight& w) const { return cols / w.block; }
    std::int64_t blocksPerColumn(const Weight& w) const { return rows / w.block; }
};
Geometry geometryFor(const Weight& weight, Planes planes);

/// Whether the codes of such a weight can be taken apart so; no plane may cut a block.
bool planesFit(const Weight& weight, Planes planes);
/// Whether prepare() has to move codes for it.
bool repacks(const Weight& weight, const Variant& variant);

/// Codes as `geometry` wants them. `rowBytes` is what a row of `codes` takes, `elementBytes` 1 for packed codes.
std::vector<std::byte> repackCodes(const Weight& weight, const Geometry& geometry, std::span<const std::byte> codes,
                                   std::int64_t rowBytes, std::int64_t elementBytes);
/// Scales as f32, block scales padded with zeros to the geometry's blocks. `dtype` as the host stores them.
std::vector<float> repackScales(const Weight& weight, const Geometry& geometry, std::span<const std::byte> scales);
std::size_t scaleBytes(std::string_view dtype);

} // namespace qs::pjrt
