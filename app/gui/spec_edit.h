// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What one turn of a control does to a spec. Everything here follows from the registries of formats and calibrations.

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

/// The format's own scale; a block size carries over where the format's default is blocks, and so does what else fits.
QuantSpec withFormat(const QuantSpec& spec, const FormatTraits& format);
QuantSpec withScale(const QuantSpec& spec, ScaleKind kind);
QuantSpec withBlock(const QuantSpec& spec, std::uint32_t block);
/// A dialect that leaves no room for the scales or other fields of the spec comes with its own.
QuantSpec withDialect(const QuantSpec& spec, const std::optional<std::string>& dialect);
/// Fields that the rest of the spec leaves no room for go back to their defaults.
QuantSpec consistent(QuantSpec spec);

/// Of a text that was saved. Earlier versions saved specs in full spelling: of such a one only what the format does not
/// have anyway stays.
Result<QuantSpec> savedSpec(const std::string& text);

/// Powers of two that the format takes as a block.
std::vector<std::uint32_t> blockStops(const FormatTraits& format);

/// What the keys 1 to 9 set: the formats in their order, each with a scale where it can have one, then what they are
/// per block.
std::vector<QuantSpec> presets();

} // namespace qs::gui
