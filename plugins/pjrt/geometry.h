// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How weights lie on the device for a variant. Rows are padded with zero codes to whole bytes and blocks, and x is
// padded with zeros to the same length. So no program needs special code for the end of a row.

#include "plugins/pjrt/operand.h"
#include "plugins/pjrt/variant.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace qs::pjrt {

struct Geometry {
    std::int64_t rows = 0, cols = 0; ///< shape with padding, in elements
    std::int64_t rowBytes = 0;       ///< bytes of a row of packed codes; elements of a row if they are not packed
    CodeOrder order = CodeOrder::OnePerElement;
    std::int64_t k(bool kn) const { return kn ? rows : cols; }
    std::int64_t n(bool kn) const { return kn ? cols : rows; }
    std::int64_t blocksPerRow(const Weight& w) const { return cols / w.block; }
    std::int64_t blocksPerColumn(const Weight& w) const { return rows / w.block; }
};
Geometry geometryFor(const Weight& weight, Planes planes);

/// True if the codes of this weight can be split into such planes. No plane may split a block.
bool planesFit(const Weight& weight, Planes planes);
/// True if prepare() must move codes for this variant.
bool repacks(const Weight& weight, const Variant& variant);

/// Repacks codes for `geometry`. `rowBytes` is the size of a row of `codes`. `elementBytes` is 1 for packed codes.
std::vector<std::byte> repackCodes(const Weight& weight, const Geometry& geometry, std::span<const std::byte> codes,
                                   std::int64_t rowBytes, std::int64_t elementBytes);
/// Converts scales to f32. Block scales are padded with zeros to the blocks of the geometry.
std::vector<float> repackScales(const Weight& weight, const Geometry& geometry, std::span<const std::byte> scales);
std::size_t scaleBytes(std::string_view dtype);

} // namespace qs::pjrt
