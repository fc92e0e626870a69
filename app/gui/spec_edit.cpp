// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/spec_edit.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>

namespace qs::gui {
namespace {

bool takes(const FormatTraits& format, ScaleKind kind) { return format.scaleKinds & std::uint8_t(kind); }
bool works(const QuantSpec& spec) { return validate(spec).has_value(); }

} // namespace

std::vector<ScaleChoice> scaleChoices(const FormatTraits& format) {
    std::vector<ScaleChoice> out;
    const ScaleChoice all[] = {{ScaleKind::None, QStringLiteral("none")},
                               {ScaleKind::Tensor, QStringLiteral("tensor")},
                               {ScaleKind::Axes, QStringLiteral("channel")},
                               {ScaleKind::Block, QStringLiteral("block")}};
    for (const auto& choice : all)
        if (takes(format, choice.kind)) out.push_back(choice);
    return out;
}

QuantSpec consistent(QuantSpec spec) {
    if (works(spec)) return spec;
    // Reset one field at a time, the least visible one first.
    const auto leftOut = [&spec](auto& field) {
        field.reset();
        return works(spec);
    };
    if (leftOut(spec.calibration) || leftOut(spec.stochastic) || leftOut(spec.sparsity) || leftOut(spec.scaleType) ||
        leftOut(spec.compute) || leftOut(spec.symmetric) || leftOut(spec.tiles) || leftOut(spec.flat) ||
        leftOut(spec.dialect))
        return spec;
    spec.decode.reset();
    return spec;
}

QuantSpec withFormat(const QuantSpec& spec, const FormatTraits& format) {
    QuantSpec out = spec;
    out.format = format.id;
    out.scale = ScaleSpelling::Default;
    out.axes.reset();
    out.keepsOutput = false;
    out.flat.reset();
    out.calibration.reset();
    out.dialect.reset();
    out.tiles.reset();
    out.scaleType.reset();
    out.symmetric.reset();
    out.stochastic.reset();
    out.sparsity.reset();
    if (format.polyLevels.empty()) out.decode.reset();
    if (!format.computeInput) out.compute.reset();
    out.block.reset();
    if (format.defaultScale == ScaleKind::Block && format.minBlock < format.maxBlock)
        out = withBlock(out, spec.scaleKind() == ScaleKind::Block ? spec.blockSize() : format.defaultBlock);
    return consistent(out);
}

QuantSpec withScale(const QuantSpec& spec, ScaleKind kind) {
    if (kind == spec.scaleKind()) return spec;
    QuantSpec out = spec;
    out.block.reset();
    out.axes.reset();
    out.keepsOutput = false;
    out.flat.reset();
    out.tiles.reset();
    out.scale = ScaleSpelling::Default;
    const auto& format = spec.traits();
    switch (kind) {
    case ScaleKind::None: out.scale = ScaleSpelling::None; break;
    case ScaleKind::Tensor: out.scale = ScaleSpelling::Tensor; break;
    case ScaleKind::Axes: out.scale = ScaleSpelling::Channel; break;
    case ScaleKind::Block: return consistent(withBlock(out, format.defaultBlock));
    }
    // A field that equals the default is not written.
    auto plain = out;
    plain.scale = ScaleSpelling::Default;
    if (plain.scaleKind() == kind) out = plain;
    return consistent(out);
}

QuantSpec withBlock(const QuantSpec& spec, std::uint32_t block) {
    const auto& format = spec.traits();
    QuantSpec out = spec;
    out.scale = ScaleSpelling::Default;
    out.axes.reset();
    out.keepsOutput = false;
    out.tiles.reset();
    const auto step = std::max(1u, format.blockMultiple);
    out.block = std::clamp((block + step / 2) / step * step, format.minBlock, format.maxBlock);
    return out;
}

QuantSpec withDialect(const QuantSpec& spec, const std::optional<std::string>& dialect) {
    const auto under = [&dialect](QuantSpec out) {
        out.dialect = dialect;
        if (const auto fit = dialectOf(out).fit; fit && dialect) fit(out);
        return out;
    };
    QuantSpec plain;
    plain.format = spec.format, plain.bits = spec.bits;
    const QuantSpec fitted = consistent(under(spec)), own = under(plain);
    return fitted.dialect == dialect || !works(own) ? fitted : own;
}

std::vector<std::uint32_t> blockStops(const FormatTraits& format) {
    std::vector<std::uint32_t> out;
    for (std::uint64_t block = 1; block <= format.maxBlock; block *= 2)
        if (block >= format.minBlock && block % std::max(1u, format.blockMultiple) == 0)
            out.push_back(std::uint32_t(block));
    return out;
}

Result<QuantSpec> savedSpec(const std::string& text) {
    auto spec = parseSpec(text);
    if (!spec || canonicalText(*spec) != text) return spec;
    const auto leaveOut = [&spec, &text](auto field) {
        QuantSpec less = *spec;
        field(less);
        if (validate(less) && canonicalText(less) == text) *spec = std::move(less);
    };
    leaveOut([](QuantSpec& s) { s.scale = ScaleSpelling::Default; });
    leaveOut([](QuantSpec& s) { s.block.reset(); });
    leaveOut([](QuantSpec& s) { s.axes.reset(); });
    if (spec->axes) leaveOut([](QuantSpec& s) { s.axes.reset(), s.scale = ScaleSpelling::Channel; });
    leaveOut([](QuantSpec& s) { s.calibration.reset(); });
    leaveOut([](QuantSpec& s) { s.decode.reset(); });
    leaveOut([](QuantSpec& s) { s.nan.reset(); });
    leaveOut([](QuantSpec& s) { s.compute.reset(); });
    leaveOut([](QuantSpec& s) { s.dialect.reset(); });
    leaveOut([](QuantSpec& s) { s.scaleType.reset(); });
    leaveOut([](QuantSpec& s) { s.symmetric.reset(); });
    leaveOut([](QuantSpec& s) { s.stochastic.reset(); });
    leaveOut([](QuantSpec& s) { s.bits.reset(); });
    return spec;
}

std::vector<QuantSpec> presets() {
    std::vector<QuantSpec> out;
    for (const auto& format : formats()) {
        const auto spec = withFormat({}, format);
        // Sign formats without a scale are useless: SQNR -27 dB.
        const bool scaled = format.defaultScale == ScaleKind::None && takes(format, ScaleKind::Axes);
        out.push_back(scaled ? withScale(spec, ScaleKind::Axes) : spec);
    }
    for (const auto& format : formats()) {
        if (!takes(format, ScaleKind::Block) || format.defaultScale == ScaleKind::Block) continue;
        out.push_back(withScale(withFormat({}, format), ScaleKind::Block));
    }
    if (out.size() > 9) out.resize(9);
    return out;
}

} // namespace qs::gui
