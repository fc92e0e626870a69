// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/dialects/rows.h"
#include "core/quant/spec/spec_nearest.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs {
namespace {

std::string shownValue(std::string_view text) { return escapeForPeople(text, 40); }

/// "nf4 has", "nf4 and int8 have".
std::string thoseWith(bool (*takes)(const FormatTraits&)) {
    std::vector<std::string_view> ids;
    for (const auto& format : formats())
        if (takes(format)) ids.push_back(format.id);
    return fmt::format("{} {}", fmt::join(ids, " and "), ids.size() == 1 ? "has" : "have");
}

bool takes(const FormatTraits& traits, ScaleKind kind) { return traits.scaleKinds & std::uint8_t(kind); }

/// Every way to say where the scales of a format lie, as specs that work.
std::vector<std::string> scaleAdvice(const FormatTraits& traits) {
    std::vector<std::string> ways;
    if (takes(traits, ScaleKind::None)) ways.push_back(traits.id);
    if (takes(traits, ScaleKind::Tensor)) ways.push_back(fmt::format("{}:scale=tensor", traits.id));
    if (takes(traits, ScaleKind::Axes)) ways.push_back(fmt::format("{}:scale=channel", traits.id));
    if (takes(traits, ScaleKind::Block)) ways.push_back(fmt::format("{}:block={}", traits.id, traits.defaultBlock));
    return ways;
}

Result<void> validateScale(const QuantSpec& spec, const FormatTraits& traits) {
    static constexpr const char* spellings[] = {"", "none", "tensor", "channel", "block"};
    const char* spelled = spellings[std::size_t(spec.scale)];
    const bool axes = spec.axes || spec.keepsOutput;
    const std::string listed = spec.keepsOutput ? std::string("out")
                               : spec.axes      ? fmt::format("{}", fmt::join(*spec.axes, ","))
                                                : std::string();
    if (spec.block && axes)
        return advise(fmt::format("block={} and axis cannot both say where the scales are", *spec.block),
                      scaleAdvice(traits));
    if (spec.block && spec.scale != ScaleSpelling::Default && spec.scale != ScaleSpelling::Block)
        return advise(
            fmt::format("block={} contradicts scale={}", *spec.block, spelled),
            {fmt::format("{}:block={}", spec.format, *spec.block), fmt::format("{}:scale={}", spec.format, spelled)});
    if (axes && spec.scale != ScaleSpelling::Default)
        return advise(
            fmt::format("axis and scale={} both say where the scales are", spelled),
            {fmt::format("{}:axis={}", spec.format, listed), fmt::format("{}:scale={}", spec.format, spelled)});
    const ScaleKind kind = spec.scaleKind();
    if (!takes(traits, kind)) {
        const std::string_view asked = kind == ScaleKind::Block    ? "scales per block"
                                       : kind == ScaleKind::Axes   ? "scales per channel or axis"
                                       : kind == ScaleKind::Tensor ? "one scale per tensor"
                                                                   : "a form without scales";
        return advise(fmt::format("{} does not have {}", spec.format, asked), scaleAdvice(traits));
    }
    return {};
}

Result<void> validateBlock(const QuantSpec& spec, const FormatTraits& traits) {
    if (spec.scaleKind() != ScaleKind::Block || spec.tiles) return {};
    const std::uint32_t block = spec.blockSize(), step = traits.blockMultiple;
    if (block != traits.minBlock && traits.minBlock == traits.maxBlock)
        return advise(fmt::format("{} has blocks of {} alone, not {}", spec.format, traits.minBlock, block),
                      {spec.format});
    if (block < traits.minBlock || block > traits.maxBlock)
        return advise(
            fmt::format("block of {} must be {} to {}, not {}", spec.format, traits.minBlock, traits.maxBlock, block),
            {fmt::format("block={}", block < traits.minBlock ? traits.minBlock : traits.maxBlock)});
    if (block % step == 0) return {};
    const std::uint32_t below = block / step * step, above = below + step;
    const std::string rule = step == 2 ? std::string("even") : fmt::format("a multiple of {}", step);
    std::vector<std::string> works = {fmt::format("block={}", std::max(below, traits.minBlock))};
    if (above <= traits.maxBlock && below >= traits.minBlock) works.push_back(fmt::format("block={}", above));
    return advise(fmt::format("block of {} must be {}", spec.format, rule), std::move(works));
}

/// flat=yes is a word about blocks whose scales are their own.
Result<void> validateFlat(const QuantSpec& spec, const FormatTraits& traits) {
    if (!spec.flat) return {};
    if (!takes(traits, ScaleKind::Block))
        return fail(fmt::format("{} has no blocks, which flat is about", spec.format));
    if (!spec.isFlat()) return {};
    if (spec.tiles) return fail("tile and flat=yes both say where the blocks are");
    if (spec.scaleKind() != ScaleKind::Block)
        return advise("flat=yes is about blocks",
                      {fmt::format("{}:block={}:flat=yes", spec.format, traits.defaultBlock), spec.format});
    const Dialect& dialect = dialectOf(spec);
    if (dialect.crossesRows)
        return fail(fmt::format("dialect={} has blocks that run over the whole tensor already", dialect.id));
    if (dialect.lastAxisOnly)
        return fail(fmt::format("dialect={} of {} has blocks of the last axis alone", dialect.id, spec.format));
    return {};
}

/// "int4 and int8 have it": which formats take what this one does not.
std::string formatsThatTakeIt(bool (*takes)(const FormatTraits&)) {
    const bool any = std::any_of(formats().begin(), formats().end(), takes);
    return any ? thoseWith(takes) + " it" : std::string("no format has it");
}

/// "nf4:dialect=bnb:scaletype=u8dq": with the dialects that bring a type of scales.
std::vector<std::string> specsThatBring(const ScaleType& type) {
    std::vector<std::string> specs;
    for (const FormatTraits& format : formats())
        for (const Dialect* dialect : dialectsOf(format)) {
            QuantSpec spec;
            spec.format = format.id, spec.dialect = dialect->id;
            const auto types = scaleTypesOf(spec);
            if (std::count(types.begin(), types.end(), type.id))
                specs.push_back(fmt::format("{}:dialect={}:scaletype={}", format.id, dialect->id, type.id));
        }
    return specs;
}

Result<void> validateOptions(const QuantSpec& spec, const FormatTraits& traits) {
    const auto refuse = [&](std::string_view what, bool (*takes)(const FormatTraits&)) {
        return fail(fmt::format("{} does not have {}; {}", spec.format, what, formatsThatTakeIt(takes)));
    };
    if (spec.tiles && !traits.tiles) return refuse("tiles", [](const FormatTraits& f) { return f.tiles; });
    if (spec.tiles && (spec.block || spec.axes || spec.keepsOutput || spec.scale != ScaleSpelling::Default))
        return fail("tile and block, axis or scale both say where the scales are");
    if (!spec.isSymmetric() && !traits.affine)
        return refuse("zero points", [](const FormatTraits& f) { return f.affine; });
    if (spec.randomSeed() && !traits.stochastic)
        return refuse("random rounding", [](const FormatTraits& f) { return f.stochastic; });
    const Dialect& dialect = dialectOf(spec);
    if (spec.randomSeed() && traits.kind == FormatKind::Float && !dialect.randomFloats)
        return fail(fmt::format("dialect={} rounds at random only what are integers", dialect.id));
    if (spec.sparsity && !traits.sparse) return refuse("N:M sparsity", [](const FormatTraits& f) { return f.sparse; });
    if (!spec.isSymmetric() && !dialect.zeroPoints)
        return advise(
            fmt::format("dialect={} has no zero points", dialect.id),
            {fmt::format("{}:sym=no:dialect={}", spec.format, kQwixDialect.id), fmt::format("{}:sym=no", spec.format)});
    if (const ScaleType& type = scaleTypeOf(spec); !spec.isSymmetric() && !type.takesZeroPoints)
        return advise(fmt::format("scaletype={} is for specs without a zero point", type.id),
                      {fmt::format("scaletype={}", ScaleType::Po2.id), fmt::format("scaletype={}", ScaleType::F16.id)});
    if (spec.sparsity && (spec.sparsity->of > 4096 || (spec.sparsity->of & (spec.sparsity->of - 1))))
        return advise(fmt::format("the M of sparse={}/{} must be a power of two up to 4096", spec.sparsity->keep,
                                  spec.sparsity->of),
                      {"sparse=2/4"});
    const auto types = scaleTypesOf(spec), widths = words(traits.bitWidths);
    const ScaleType* asked = spec.scaleType ? findScaleType(*spec.scaleType) : nullptr;
    if (asked && asked->broughtBy && !std::count(types.begin(), types.end(), asked->id))
        return advise(fmt::format("scaletype={} is {}", asked->id, asked->broughtBy), specsThatBring(*asked));
    if (spec.scaleType && !std::count(types.begin(), types.end(), *spec.scaleType))
        return advise(fmt::format("{} has no scaletype {}", spec.format, shownValue(*spec.scaleType)),
                      choices("scaletype", *spec.scaleType, types));
    if (spec.bits && widths.empty())
        return refuse("a choice of bits", [](const FormatTraits& f) { return !f.bitWidths.empty(); });
    if (spec.bits && !std::count(widths.begin(), widths.end(), std::to_string(*spec.bits)))
        return advise(fmt::format("{} has no bits={}", spec.format, *spec.bits),
                      choices("bits", std::to_string(*spec.bits), widths));
    return {};
}

Result<void> validateCalibration(const QuantSpec& spec) {
    if (!spec.calibration) return {};
    const auto& [id, arguments] = *spec.calibration;
    const auto applicable = calibrationsOf(spec);
    if (!std::count(applicable.begin(), applicable.end(), id)) {
        if (applicable.empty() && spec.scaleKind() != ScaleKind::None)
            return fail(fmt::format("dialect={} of {} has its own search, not calib={}", spec.effectiveDialect(),
                                    spec.format, shownValue(id)));
        if (applicable.empty())
            return fail(
                fmt::format("{} without a scale has nothing to calibrate by calib={}", spec.format, shownValue(id)));
        QuantSpec affine = spec;
        affine.symmetric = false;
        if (spec.isSymmetric() && spec.traits().affine && checkSpec(affine))
            return advise(fmt::format("calib={} is for zero points, which {} has with sym=no", id, spec.format),
                          {specText(affine)});
        return advise(fmt::format("calib={} does not apply to {}{}; calibrations are {}", shownValue(id), spec.format,
                                  spec.scaleKind() == ScaleKind::None ? " without a scale"
                                  : spec.isSymmetric()                ? ""
                                                                      : " with sym=no",
                                  fmt::join(applicable, ", ")),
                      choices("calib", id, applicable));
    }
    return checkArguments(*spec.calibration, spec);
}

} // namespace

Result<void> checkSpec(const QuantSpec& spec) {
    const FormatTraits* traits = findFormat(spec.format);
    if (!traits) return unknownFormat(spec.format);
    if (const auto* trained = spec.dialect ? findTrained(*spec.dialect) : nullptr) {
        const QuantSpec plain = withoutTrained(spec);
        QuantSpec right = trained->base;
        right.dialect = trained->id;
        if (canonicalText(plain) != canonicalText(trained->base))
            return advise(fmt::format("{} was trained as {}", trained->id, specText(trained->base)), {specText(right)});
        return checkSpec(plain);
    }
    if (spec.dialect && !findDialect(*spec.dialect, *traits))
        return advise(fmt::format("{} has no dialect '{}'; dialects are {}", spec.format, shownValue(*spec.dialect),
                                  fmt::join(dialectIds(*traits), ", ")),
                      choices("dialect", *spec.dialect, dialectIds(*traits)));
    if (traits->kind == FormatKind::Identity && spec.scaleKind() != ScaleKind::None)
        return advise(fmt::format("{} has no scales", spec.format), {spec.format});
    if (auto ok = validateScale(spec, *traits); !ok) return ok;
    if (const auto check = dialectOf(spec).check)
        if (auto ok = check(spec); !ok) return ok;
    if (auto ok = validateBlock(spec, *traits); !ok) return ok;
    if (auto ok = validateFlat(spec, *traits); !ok) return ok;
    if (auto ok = validateOptions(spec, *traits); !ok) return ok;
    if (auto ok = validateCalibration(spec); !ok) return ok;
    if (spec.effectiveDecode() == Decode::Poly && traits->polyLevels.empty())
        return fail(fmt::format("{} has no polynomial decode; {} decode=table and decode=poly", spec.format,
                                thoseWith([](const FormatTraits& f) { return !f.polyLevels.empty(); })));
    if (spec.effectiveCompute() == Compute::Input && !traits->computeInput)
        return fail(fmt::format("{} always computes in f32; {} compute=input", spec.format,
                                thoseWith([](const FormatTraits& f) { return f.computeInput; })));
    const CalibrationTraits* calibration = calibrationOf(spec);
    const bool ofLargest =
        calibration && calibration->statistic && calibration->statistic(traits->encoder) == GroupStatistic::AbsMax;
    const bool plain = ofLargest && dialectOf(spec).isOwnArithmetic && scaleTypeOf(spec) == ScaleType::F32 &&
                       spec.isSymmetric() && !spec.sparsity && !spec.randomSeed() && !spec.tiles;
    if (spec.effectiveCompute() == Compute::Input && !plain)
        return advise("compute=input is the arithmetic of eformer alone, with absolute maxima",
                      {spec.format + ":compute=input"});
    return {};
}

Result<void> validate(const QuantSpec& spec) {
    auto ok = checkSpec(spec);
    if (!ok) ok.error().works = thoseThatWork(ok.error().works, specText(spec), spec);
    return ok;
}

} // namespace qs
