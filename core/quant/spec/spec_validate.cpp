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
std::string scaleAdvice(const FormatTraits& traits) {
    std::vector<std::string> ways;
    if (takes(traits, ScaleKind::None)) ways.push_back(traits.id);
    if (takes(traits, ScaleKind::Tensor)) ways.push_back(fmt::format("{}:scale=tensor", traits.id));
    if (takes(traits, ScaleKind::Axes)) ways.push_back(fmt::format("{}:scale=channel", traits.id));
    if (takes(traits, ScaleKind::Block)) ways.push_back(fmt::format("{}:block={}", traits.id, traits.defaultBlock));
    return fmt::format("{}", fmt::join(ways, " or "));
}

Result<void> validateScale(const QuantSpec& spec, const FormatTraits& traits) {
    static constexpr const char* spellings[] = {"", "none", "tensor", "channel", "block"};
    const char* spelled = spellings[std::size_t(spec.scale)];
    const bool axes = spec.axes || spec.keepsOutput;
    const std::string listed = spec.keepsOutput ? std::string("out")
                               : spec.axes      ? fmt::format("{}", fmt::join(*spec.axes, ","))
                                                : std::string();
    if (spec.block && axes)
        return fail(fmt::format("block={} and axis cannot both say where the scales are: use {}", *spec.block,
                                scaleAdvice(traits)));
    if (spec.block && spec.scale != ScaleSpelling::Default && spec.scale != ScaleSpelling::Block)
        return fail(fmt::format("block={} contradicts scale={}: use {}:block={} or {}:scale={}", *spec.block, spelled,
                                spec.format, *spec.block, spec.format, spelled));
    if (axes && spec.scale != ScaleSpelling::Default)
        return fail(fmt::format("axis and scale={} both say where the scales are: use {}:axis={} or {}:scale={}",
                                spelled, spec.format, listed, spec.format, spelled));
    const ScaleKind kind = spec.scaleKind();
    if (!takes(traits, kind)) {
        const std::string_view asked = kind == ScaleKind::Block    ? "scales per block"
                                       : kind == ScaleKind::Axes   ? "scales per channel or axis"
                                       : kind == ScaleKind::Tensor ? "one scale per tensor"
                                                                   : "a form without scales";
        return fail(fmt::format("{} does not have {}: use {}", spec.format, asked, scaleAdvice(traits)));
    }
    return {};
}

Result<void> validateBlock(const QuantSpec& spec, const FormatTraits& traits) {
    if (spec.scaleKind() != ScaleKind::Block || spec.tiles) return {};
    const std::uint32_t block = spec.blockSize(), step = traits.blockMultiple;
    if (block != traits.minBlock && traits.minBlock == traits.maxBlock)
        return fail(
            fmt::format("{} has blocks of {} alone, not {}: use {}", spec.format, traits.minBlock, block, spec.format));
    if (block < traits.minBlock || block > traits.maxBlock)
        return fail(fmt::format("block of {} must be {} to {}, not {}: use {}:block={}", spec.format, traits.minBlock,
                                traits.maxBlock, block, spec.format,
                                block < traits.minBlock ? traits.minBlock : traits.maxBlock));
    if (block % step == 0) return {};
    const std::uint32_t below = block / step * step, above = below + step;
    const std::string rule = step == 2 ? std::string("even") : fmt::format("a multiple of {}", step);
    std::string advice = fmt::format("{}:block={}", spec.format, std::max(below, traits.minBlock));
    if (above <= traits.maxBlock && below >= traits.minBlock)
        advice += fmt::format(" or {}:block={}", spec.format, above);
    return fail(fmt::format("block of {} must be {}: use {}", spec.format, rule, advice));
}

/// flat=yes is a word about blocks whose scales are their own.
Result<void> validateFlat(const QuantSpec& spec, const FormatTraits& traits) {
    if (!spec.flat) return {};
    if (!takes(traits, ScaleKind::Block))
        return fail(fmt::format("{} has no blocks, which flat is about: leave flat out", spec.format));
    if (!spec.isFlat()) return {};
    if (spec.tiles) return fail("tile and flat=yes both say where the blocks are: leave one of them out");
    if (spec.scaleKind() != ScaleKind::Block)
        return fail(fmt::format("flat=yes is about blocks: use {}:block={}:flat=yes, or leave flat out", spec.format,
                                traits.defaultBlock));
    const Dialect& dialect = dialectOf(spec);
    if (dialect.crossesRows)
        return fail(
            fmt::format("dialect={} has blocks that run over the whole tensor already: leave flat out", dialect.id));
    if (dialect.lastAxisOnly)
        return fail(
            fmt::format("dialect={} of {} has blocks of the last axis alone: leave flat out", dialect.id, spec.format));
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
    const auto refuse = [&](std::string_view what, std::string_view key, bool (*takes)(const FormatTraits&)) {
        return fail(
            fmt::format("{} does not have {}: leave {} out; {}", spec.format, what, key, formatsThatTakeIt(takes)));
    };
    if (spec.tiles && !traits.tiles) return refuse("tiles", "tile", [](const FormatTraits& f) { return f.tiles; });
    if (spec.tiles && (spec.block || spec.axes || spec.keepsOutput || spec.scale != ScaleSpelling::Default))
        return fail(fmt::format("tile and block, axis or scale both say where the scales are: leave one of them out"));
    if (!spec.isSymmetric() && !traits.affine)
        return refuse("zero points", "sym", [](const FormatTraits& f) { return f.affine; });
    if (spec.randomSeed() && !traits.stochastic)
        return refuse("random rounding", "round", [](const FormatTraits& f) { return f.stochastic; });
    const Dialect& dialect = dialectOf(spec);
    if (spec.randomSeed() && traits.kind == FormatKind::Float && !dialect.randomFloats)
        return fail(fmt::format("dialect={} rounds at random only what are integers: leave round out", dialect.id));
    if (spec.sparsity && !traits.sparse)
        return refuse("N:M sparsity", "sparse", [](const FormatTraits& f) { return f.sparse; });
    if (!spec.isSymmetric() && !dialect.zeroPoints)
        return fail(fmt::format("dialect={} has no zero points: use {}:sym=no:dialect={} or {}:sym=no", dialect.id,
                                spec.format, kQwixDialect.id, spec.format));
    if (const ScaleType& type = scaleTypeOf(spec); !spec.isSymmetric() && !type.takesZeroPoints)
        return fail(fmt::format("scaletype={} is for specs without a zero point: use scaletype={} or scaletype={}",
                                type.id, ScaleType::Po2.id, ScaleType::F16.id));
    if (spec.sparsity && (spec.sparsity->of > 4096 || (spec.sparsity->of & (spec.sparsity->of - 1))))
        return fail(fmt::format("the M of sparse={}/{} must be a power of two up to 4096: use sparse=2/4",
                                spec.sparsity->keep, spec.sparsity->of));
    const auto types = scaleTypesOf(spec), widths = words(traits.bitWidths);
    const ScaleType* asked = spec.scaleType ? findScaleType(*spec.scaleType) : nullptr;
    if (asked && asked->broughtBy && !std::count(types.begin(), types.end(), asked->id))
        return fail(fmt::format("scaletype={} is {}: use {}", asked->id, asked->broughtBy,
                                fmt::join(specsThatBring(*asked), " or ")));
    if (spec.scaleType && !std::count(types.begin(), types.end(), *spec.scaleType))
        return fail(fmt::format("{} has no scaletype {}: use scaletype={}", spec.format, shownValue(*spec.scaleType),
                                fmt::join(nearestFirst(*spec.scaleType, types), " or scaletype=")));
    if (spec.bits && widths.empty())
        return refuse("a choice of bits", "bits", [](const FormatTraits& f) { return !f.bitWidths.empty(); });
    if (spec.bits && !std::count(widths.begin(), widths.end(), std::to_string(*spec.bits)))
        return fail(
            fmt::format("{} has no bits={}: use bits={}", spec.format, *spec.bits, fmt::join(widths, " or bits=")));
    return {};
}

Result<void> validateCalibration(const QuantSpec& spec) {
    if (!spec.calibration) return {};
    const auto& [id, arguments] = *spec.calibration;
    const auto applicable = calibrationsOf(spec);
    if (!std::count(applicable.begin(), applicable.end(), id)) {
        if (applicable.empty() && spec.scaleKind() != ScaleKind::None)
            return fail(fmt::format("dialect={} of {} has its own search: leave calib={} out", spec.effectiveDialect(),
                                    spec.format, shownValue(id)));
        if (applicable.empty())
            return fail(fmt::format("{} without a scale has nothing to calibrate: leave calib={} out", spec.format,
                                    shownValue(id)));
        QuantSpec affine = spec;
        affine.symmetric = false;
        if (spec.isSymmetric() && spec.traits().affine && checkSpec(affine))
            return fail(fmt::format("calib={} is for zero points, which {} has with sym=no: use {}", id, spec.format,
                                    specText(affine)));
        return fail(fmt::format("calib={} does not apply to {}{}: use calib={}", shownValue(id), spec.format,
                                spec.scaleKind() == ScaleKind::None ? " without a scale"
                                : spec.isSymmetric()                ? ""
                                                                    : " with sym=no",
                                fmt::join(nearestFirst(id, applicable), " or calib=")));
    }
    return checkArguments(*spec.calibration, spec);
}

} // namespace

Result<void> checkSpec(const QuantSpec& spec) {
    const FormatTraits* traits = findFormat(spec.format);
    if (!traits)
        return fail(
            fmt::format("there is no format '{}': use {}", shownValue(spec.format), nearestFormats(spec.format)));
    if (const auto* trained = spec.dialect ? findTrained(*spec.dialect) : nullptr) {
        const QuantSpec plain = withoutTrained(spec);
        QuantSpec right = trained->base;
        right.dialect = trained->id;
        if (canonicalText(plain) != canonicalText(trained->base))
            return fail(
                fmt::format("{} was trained as {}: use {}", trained->id, specText(trained->base), specText(right)));
        return checkSpec(plain);
    }
    if (spec.dialect && !findDialect(*spec.dialect, *traits))
        return fail(fmt::format("{} has no dialect '{}': use dialect={}", spec.format, shownValue(*spec.dialect),
                                fmt::join(nearestFirst(*spec.dialect, dialectIds(*traits)), " or dialect=")));
    if (traits->kind == FormatKind::Identity && spec.scaleKind() != ScaleKind::None)
        return fail(fmt::format("{} has no scales: use {}", spec.format, spec.format));
    if (auto ok = validateScale(spec, *traits); !ok) return ok;
    if (const auto check = dialectOf(spec).check)
        if (auto ok = check(spec); !ok) return ok;
    if (auto ok = validateBlock(spec, *traits); !ok) return ok;
    if (auto ok = validateFlat(spec, *traits); !ok) return ok;
    if (auto ok = validateOptions(spec, *traits); !ok) return ok;
    if (auto ok = validateCalibration(spec); !ok) return ok;
    if (spec.effectiveDecode() == Decode::Poly && traits->polyLevels.empty())
        return fail(fmt::format("{} has no polynomial decode: leave decode out; {} decode=table and decode=poly",
                                spec.format, thoseWith([](const FormatTraits& f) { return !f.polyLevels.empty(); })));
    if (spec.effectiveCompute() == Compute::Input && !traits->computeInput)
        return fail(fmt::format("{} always computes in f32: leave compute out; {} compute=input", spec.format,
                                thoseWith([](const FormatTraits& f) { return f.computeInput; })));
    const CalibrationTraits* calibration = calibrationOf(spec);
    const bool ofLargest =
        calibration && calibration->statistic && calibration->statistic(traits->encoder) == GroupStatistic::AbsMax;
    const bool plain = ofLargest && dialectOf(spec).isOwnArithmetic && scaleTypeOf(spec) == ScaleType::F32 &&
                       spec.isSymmetric() && !spec.sparsity && !spec.randomSeed() && !spec.tiles;
    if (spec.effectiveCompute() == Compute::Input && !plain)
        return fail(fmt::format("compute=input is the arithmetic of eformer alone, with absolute maxima: use "
                                "{}:compute=input, or leave compute out",
                                spec.format));
    return {};
}

/// A sentence that says what to leave out gets the spec that is left.
Result<void> validate(const QuantSpec& spec) {
    auto ok = checkSpec(spec);
    if (ok || namesWhatWorks(ok.error().message)) return ok;
    return fail(withNearest(ok.error().message, spec));
}

} // namespace qs
