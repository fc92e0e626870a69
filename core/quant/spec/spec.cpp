// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/spec.h"

#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialect.h"
#include "core/quant/spec/trained.h"

#include <cassert>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace qs {
namespace {

const char* scaleText(ScaleSpelling scale) {
    switch (scale) {
    case ScaleSpelling::None: return "none";
    case ScaleSpelling::Tensor: return "tensor";
    case ScaleSpelling::Channel: return "channel";
    case ScaleSpelling::Block: return "block";
    case ScaleSpelling::Default: break;
    }
    return "";
}

} // namespace

const FormatTraits& QuantSpec::traits() const {
    const FormatTraits* found = findFormat(format);
    assert(found && "validate() has refused unknown formats");
    return *found;
}

ScaleKind QuantSpec::scaleKind() const {
    if (block || tiles || scale == ScaleSpelling::Block) return ScaleKind::Block;
    if (axes || keepsOutput || scale == ScaleSpelling::Channel) return ScaleKind::Axes;
    if (scale == ScaleSpelling::Tensor) return ScaleKind::Tensor;
    if (scale == ScaleSpelling::None) return ScaleKind::None;
    return dialectOf(*this).defaultScale.value_or(traits().defaultScale);
}

std::uint32_t QuantSpec::blockSize() const {
    return scaleKind() == ScaleKind::Block && !tiles ? block.value_or(traits().defaultBlock) : 0;
}

std::vector<int> QuantSpec::reducedAxes() const {
    if (scaleKind() != ScaleKind::Axes || keepsOutput) return {};
    return axes.value_or(std::vector<int>{-1});
}

bool QuantSpec::hasScalePerRow() const {
    return scaleKind() == ScaleKind::Axes && (keepsOutput || reducedAxes() == std::vector<int>{-1});
}

Calibration QuantSpec::effectiveCalibration() const {
    if (calibration) return *calibration;
    const CalibrationTraits* row = calibrationOf(*this);
    return row ? Calibration{row->id, {}} : Calibration{};
}

std::string QuantSpec::effectiveDialect() const {
    if (dialect && !findTrained(*dialect)) return *dialect;
    return dialectOf(*this).id;
}

std::string QuantSpec::effectiveScaleType() const { return scaleType.value_or(scaleTypeOf(*this).id); }

bool QuantSpec::isSymmetric() const { return symmetric.value_or(dialectOf(*this).symmetric); }

std::optional<std::uint64_t> QuantSpec::randomSeed() const {
    if (!stochastic || *stochastic < 0) return std::nullopt;
    return std::uint64_t(*stochastic);
}

std::uint32_t QuantSpec::codeBits() const {
    if (bits) return *bits;
    return std::uint32_t(traits().bits);
}

std::vector<std::pair<std::string_view, std::string>> specKeys(const QuantSpec& spec) {
    std::vector<std::pair<std::string_view, std::string>> keys;
    const auto yes = [](bool answer) { return answer ? "yes" : "no"; };
    if (spec.scale != ScaleSpelling::Default) keys.emplace_back("scale", scaleText(spec.scale));
    if (spec.axes) keys.emplace_back("axis", fmt::format("{}", fmt::join(*spec.axes, ",")));
    if (spec.keepsOutput) keys.emplace_back("axis", "out");
    if (spec.block) keys.emplace_back("block", std::to_string(*spec.block));
    if (spec.tiles) {
        std::vector<std::string> parts;
        for (const Tile& tile : *spec.tiles) parts.push_back(fmt::format("{}x{}", tile.axis, tile.size));
        keys.emplace_back("tile", fmt::format("{}", fmt::join(parts, ",")));
    }
    if (spec.flat) keys.emplace_back("flat", yes(*spec.flat));
    if (spec.bits) keys.emplace_back("bits", std::to_string(*spec.bits));
    if (spec.calibration) keys.emplace_back("calib", calibrationText(*spec.calibration));
    if (spec.scaleType) keys.emplace_back("scaletype", *spec.scaleType);
    if (spec.symmetric) keys.emplace_back("sym", yes(*spec.symmetric));
    if (spec.stochastic)
        keys.emplace_back("round", *spec.stochastic < 0 ? "nearest" : fmt::format("stochastic,{}", *spec.stochastic));
    if (spec.sparsity) keys.emplace_back("sparse", fmt::format("{}/{}", spec.sparsity->keep, spec.sparsity->of));
    if (spec.decode) keys.emplace_back("decode", *spec.decode == Decode::Poly ? "poly" : "table");
    if (spec.nan) keys.emplace_back("nan", *spec.nan == NanPolicy::Skip ? "skip" : "refuse");
    if (spec.compute) keys.emplace_back("compute", *spec.compute == Compute::Input ? "input" : "f32");
    if (spec.dialect) keys.emplace_back("dialect", *spec.dialect);
    return keys;
}

std::string specText(const QuantSpec& spec) {
    std::string text = spec.format;
    for (const auto& [key, value] : specKeys(spec)) text += fmt::format(":{}={}", key, value);
    return text;
}

std::string canonicalText(const QuantSpec& spec) {
    const FormatTraits& traits = spec.traits();
    QuantSpec full;
    full.format = spec.format;
    if (traits.kind != FormatKind::Identity) {
        switch (spec.scaleKind()) {
        case ScaleKind::None: full.scale = ScaleSpelling::None; break;
        case ScaleKind::Tensor: full.scale = ScaleSpelling::Tensor; break;
        case ScaleKind::Axes:
            full.keepsOutput = spec.keepsOutput;
            if (!spec.keepsOutput) full.axes = spec.reducedAxes();
            break;
        case ScaleKind::Block:
            if (spec.tiles)
                full.tiles = spec.tiles;
            else
                full.block = spec.blockSize();
            break;
        }
    }
    if (spec.isFlat()) full.flat = true; // blocks of other specs are of the last axis
    if (!traits.bitWidths.empty()) full.bits = spec.codeBits();
    if (scaleTypesOf(spec).size() > 1) full.scaleType = spec.effectiveScaleType();
    if (traits.affine) full.symmetric = spec.isSymmetric();
    if (traits.stochastic) full.stochastic = spec.stochastic.value_or(-1);
    full.sparsity = spec.sparsity; // a spec without it keeps every value
    Calibration calibration = spec.effectiveCalibration();
    const CalibrationTraits* row = findCalibration(calibration.id);
    if (row && row->isFactor && row->minArguments == 0 && calibration.arguments == std::vector<double>{1.0})
        calibration.arguments.clear();
    if (!calibration.id.empty()) full.calibration = std::move(calibration);
    if (!traits.polyLevels.empty()) full.decode = spec.effectiveDecode();
    full.nan = spec.effectiveNan();
    if (traits.computeInput) full.compute = spec.effectiveCompute();
    full.dialect = isTrained(spec) ? spec.dialect : spec.effectiveDialect();
    return specText(full);
}

} // namespace qs
