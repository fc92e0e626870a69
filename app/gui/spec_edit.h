// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// How one action of a control changes a spec. All rules come from the registries of formats and calibrations.

#include "core/quant/spec/formats.h"
#include "core/quant/spec/spec.h"

#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace qs::gui {

struct ScaleChoice {
    ScaleKind kind;
    QString title; ///< "channel"
};
std::vector<ScaleChoice> scaleChoices(const FormatTraits& format);

/// Changes the format and uses its default scale. Keeps the block size if that scale is per block, and every other
/// field that fits.
QuantSpec withFormat(const QuantSpec& spec, const FormatTraits& format);
QuantSpec withScale(const QuantSpec& spec, ScaleKind kind);
QuantSpec withBlock(const QuantSpec& spec, std::uint32_t block);
/// Changes the dialect. A dialect that excludes the scales or other fields of the spec brings its own values.
QuantSpec withDialect(const QuantSpec& spec, const std::optional<std::string>& dialect);
/// Resets fields that the rest of the spec does not allow to their defaults.
QuantSpec consistent(QuantSpec spec);

/// Reads a saved spec. Earlier versions wrote all fields; fields that equal the format's defaults are dropped.
Result<QuantSpec> savedSpec(const std::string& text);

/// The powers of two that the format allows as block sizes.
std::vector<std::uint32_t> blockStops(const FormatTraits& format);

/// The specs of the keys 1 to 9: each format with its default scale (per channel if the default is none), then formats
/// with a scale per block.
std::vector<QuantSpec> presets();

} // namespace qs::gui
