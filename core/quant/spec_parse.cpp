// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/quant/calibration.h"
#include "core/quant/dialect.h"
#include "core/quant/trained.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace qs {
namespace {

constexpr std::string_view kKeys[] = {"scale", "axis",  "block",  "tile",   "bits", "calib",   "scaletype",
                                      "sym",   "round", "sparse", "decode", "nan",  "compute", "dialect"};

std::string shown(std::string_view text) { return escapeForPeople(text, 40); }

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

template<class Number> std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

std::string formatList() {
    std::vector<std::string_view> ids;
    for (const auto& format : formats()) ids.push_back(format.id);
    return fmt::format("{}", fmt::join(ids, ", "));
}

/// "nf4 has", "nf4 and int8 have".
std::string thoseWith(bool (*takes)(const FormatTraits&)) {
    std::vector<std::string_view> ids;
    for (const auto& format : formats())
        if (takes(format)) ids.push_back(format.id);
    return fmt::format("{} {}", fmt::join(ids, " and "), ids.size() == 1 ? "has" : "have");
}

template<class Choice> struct Spelling {
    std::string_view text;
    Choice choice;
};
constexpr Spelling<ScaleSpelling> kScales[] = {{"none", ScaleSpelling::None},
                                               {"tensor", ScaleSpelling::Tensor},
                                               {"channel", ScaleSpelling::Channel},
                                               {"block", ScaleSpelling::Block}};
constexpr Spelling<Decode> kDecodes[] = {{"table", Decode::Table}, {"poly", Decode::Poly}};
constexpr Spelling<NanPolicy> kNans[] = {{"refuse", NanPolicy::Refuse}, {"skip", NanPolicy::Skip}};
constexpr Spelling<bool> kSymmetries[] = {{"yes", true}, {"no", false}};
constexpr Spelling<Compute> kComputes[] = {{"f32", Compute::F32}, {"input", Compute::Input}};

template<class Choice, std::size_t N>
Result<Choice> choose(const Spelling<Choice> (&spellings)[N], std::string_view key, std::string_view value) {
    std::vector<std::string_view> known;
    for (const auto& spelling : spellings) {
        if (spelling.text == value) return spelling.choice;
        known.push_back(spelling.text);
    }
    return fail(fmt::format("'{}' is not a value of {}: use {}={}", shown(value), key, key,
                            fmt::join(known, fmt::format(" or {}=", key))));
}

Result<Calibration> parseCalibration(std::string_view value) {
    const auto parts = split(value, ',');
    Calibration calibration{std::string(parts.front()), {}};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto argument = number<double>(parts[i]);
        if (!argument || !std::isfinite(*argument))
            return fail(fmt::format("'{}' in calib={} is not a number: use for example calib=absmax,0.95",
                                    shown(parts[i]), shown(value)));
        calibration.arguments.push_back(*argument);
    }
    return calibration;
}

/// "0x128,1x128": axis x size.
Result<std::vector<Tile>> parseTiles(std::string_view value) {
    std::vector<Tile> tiles;
    for (const auto part : split(value, ',')) {
        const auto pair = split(part, 'x');
        const auto axis = pair.size() == 2 ? number<int>(pair[0]) : std::nullopt;
        const auto size = pair.size() == 2 ? number<std::uint32_t>(pair[1]) : std::nullopt;
        if (!axis || !size || std::abs(*axis) > 64 || *size == 0)
            return fail(fmt::format(
                "tile={} is not a list of AXISxSIZE: use for example tile=-1x128 or tile=0x128,1x128", shown(value)));
        for (const Tile& tile : tiles)
            if (tile.axis == *axis)
                return fail(fmt::format("tile={} names axis {} twice: name each axis once", shown(value), *axis));
        tiles.push_back({*axis, *size});
    }
    return tiles;
}

Result<std::int64_t> parseRounding(std::string_view value) {
    if (value == "nearest") return -1;
    const auto parts = split(value, ',');
    const std::int64_t seed = parts.size() == 2 ? number<std::int64_t>(parts[1]).value_or(-1) : -1;
    if (parts.front() != "stochastic" || seed < 0)
        return fail(fmt::format("'{}' is not a value of round: use round=nearest or round=stochastic,SEED with a whole "
                                "number from 0 on, for example round=stochastic,1",
                                shown(value)));
    return seed;
}

Result<Sparsity> parseSparsity(std::string_view value) {
    const auto parts = split(value, '/');
    const auto keep = parts.size() == 2 ? number<std::uint32_t>(parts[0]) : std::nullopt;
    const auto of = parts.size() == 2 ? number<std::uint32_t>(parts[1]) : std::nullopt;
    if (!keep || !of || *keep == 0 || *keep > *of || *of > 65536)
        return fail(fmt::format("sparse={} is not N/M with N from 1 to M: use for example sparse=2/4", shown(value)));
    return Sparsity{*keep, *of};
}

Result<void> setKey(QuantSpec& spec, std::string_view key, std::string_view value) {
    const auto keep = [](auto& field, auto&& parsed) -> Result<void> {
        if (!parsed) return tl::unexpected(parsed.error());
        field = std::move(*parsed);
        return {};
    };
    if (key == "scale") return keep(spec.scale, choose(kScales, key, value));
    if (key == "decode") return keep(spec.decode, choose(kDecodes, key, value));
    if (key == "nan") return keep(spec.nan, choose(kNans, key, value));
    if (key == "compute") return keep(spec.compute, choose(kComputes, key, value));
    if (key == "calib") return keep(spec.calibration, parseCalibration(value));
    if (key == "tile") return keep(spec.tiles, parseTiles(value));
    if (key == "sym") return keep(spec.symmetric, choose(kSymmetries, key, value));
    if (key == "round") return keep(spec.stochastic, parseRounding(value));
    if (key == "sparse") return keep(spec.sparsity, parseSparsity(value));
    if (key == "scaletype") {
        spec.scaleType = std::string(value);
        return {};
    }
    if (key == "bits") {
        const auto bits = number<std::uint32_t>(value);
        if (!bits) return fail(fmt::format("bits={} is not a whole number: use for example bits=4", shown(value)));
        spec.bits = *bits;
        return {};
    }
    if (key == "dialect") {
        spec.dialect = std::string(value);
        return {};
    }
    if (key == "block") {
        const auto block = number<std::uint32_t>(value);
        const FormatTraits& traits = spec.traits();
        if (traits.kind == FormatKind::Identity)
            return fail(fmt::format("{} has no scales: use {}", spec.format, spec.format));
        if (!block)
            return fail(fmt::format("block of {} must be a whole number, not '{}': use {}:block={}", spec.format,
                                    shown(value), spec.format, std::max(1u, traits.defaultBlock)));
        spec.block = *block;
        return {};
    }
    if (key == "axis") {
        std::vector<int> axes;
        for (const auto part : split(value, ',')) {
            const auto axis = number<int>(part);
            if (!axis || std::abs(*axis) > 64)
                return fail(
                    fmt::format("axis={} is not a list of axes: use for example axis=-1 or axis=0,1", shown(value)));
            if (std::count(axes.begin(), axes.end(), *axis))
                return fail(fmt::format("axis={} names axis {} twice: name each axis once", shown(value), *axis));
            axes.push_back(*axis);
        }
        spec.axes = std::move(axes);
        return {};
    }
    return fail(fmt::format("there is no key '{}': keys are {}", shown(key), fmt::join(kKeys, ", ")));
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
    if (spec.block && spec.axes)
        return fail(fmt::format("block={} and axis cannot both say where the scales are: use {}", *spec.block,
                                scaleAdvice(traits)));
    if (spec.block && spec.scale != ScaleSpelling::Default && spec.scale != ScaleSpelling::Block)
        return fail(fmt::format("block={} contradicts scale={}: use {}:block={} or {}:scale={}", *spec.block, spelled,
                                spec.format, *spec.block, spec.format, spelled));
    if (spec.axes && spec.scale != ScaleSpelling::Default)
        return fail(fmt::format("axis and scale={} both say where the scales are: use {}:axis={} or {}:scale={}",
                                spelled, spec.format, fmt::join(*spec.axes, ","), spec.format, spelled));
    const ScaleKind kind = spec.scaleKind();
    if (!takes(traits, kind)) {
        const std::string_view asked = kind == ScaleKind::Block    ? "scales per block"
                                       : kind == ScaleKind::Axes   ? "scales per channel or axis"
                                       : kind == ScaleKind::Tensor ? "one scale per tensor"
                                                                   : "a form without scales";
        return fail(fmt::format("{} does not have {}: use {}", spec.format, asked, scaleAdvice(traits)));
    }
    if (spec.effectiveDialect() == "bitnet" && kind == ScaleKind::None)
        return fail(fmt::format("dialect=bitnet of {} needs a scale: use {}:scale=tensor:dialect=bitnet", spec.format,
                                spec.format));
    return {};
}

Result<void> validateBlock(const QuantSpec& spec, const FormatTraits& traits) {
    if (spec.scaleKind() != ScaleKind::Block || spec.tiles) return {};
    const std::uint32_t block = spec.blockSize(), step = traits.blockMultiple;
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

/// "int4 and int8 have": which formats take what this one does not.
std::string takers(bool (*takes)(const FormatTraits&)) {
    const bool any = std::any_of(formats().begin(), formats().end(), takes);
    return any ? thoseWith(takes) + " it" : std::string("no format has it");
}

Result<void> validateOptions(const QuantSpec& spec, const FormatTraits& traits) {
    const auto refuse = [&](std::string_view what, std::string_view key, bool (*takes)(const FormatTraits&)) {
        return fail(fmt::format("{} does not have {}: leave {} out; {}", spec.format, what, key, takers(takes)));
    };
    if (spec.tiles && !traits.tiles) return refuse("tiles", "tile", [](const FormatTraits& f) { return f.tiles; });
    if (spec.tiles && (spec.block || spec.axes || spec.scale != ScaleSpelling::Default))
        return fail(fmt::format("tile and block, axis or scale both say where the scales are: leave one of them out"));
    if (!spec.isSymmetric() && !traits.affine)
        return refuse("zero points", "sym", [](const FormatTraits& f) { return f.affine; });
    if (spec.randomSeed() && !traits.stochastic)
        return refuse("random rounding", "round", [](const FormatTraits& f) { return f.stochastic; });
    if (spec.sparsity && !traits.sparse)
        return refuse("N:M sparsity", "sparse", [](const FormatTraits& f) { return f.sparse; });
    if (!spec.isSymmetric() && spec.effectiveDialect().starts_with("aqt"))
        return fail(fmt::format("dialect={} has no zero points: use {}:sym=no:dialect=qwix or {}:sym=no",
                                spec.effectiveDialect(), spec.format, spec.format));
    const std::string type = spec.effectiveScaleType();
    if (!spec.isSymmetric() && (type == "e8m0" || type == "e4m3"))
        return fail(
            fmt::format("scaletype={} is for specs without a zero point: use scaletype=po2 or scaletype=f16", type));
    if (spec.sparsity && (spec.sparsity->of > 4096 || (spec.sparsity->of & (spec.sparsity->of - 1))))
        return fail(fmt::format("the M of sparse={}/{} must be a power of two up to 4096: use sparse=2/4",
                                spec.sparsity->keep, spec.sparsity->of));
    const auto types = scaleTypesOf(spec), widths = words(traits.bitWidths);
    if (spec.scaleType == "u8dq" && !std::count(types.begin(), types.end(), "u8dq"))
        return fail("scaletype=u8dq is the double quantization of bitsandbytes: use nf4:dialect=bnb:scaletype=u8dq or "
                    "fp4:dialect=bnb:scaletype=u8dq");
    if (spec.scaleType && !std::count(types.begin(), types.end(), *spec.scaleType))
        return fail(fmt::format("{} has no scaletype {}: use scaletype={}", spec.format, shown(*spec.scaleType),
                                fmt::join(types, " or scaletype=")));
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
                                    spec.format, shown(id)));
        if (applicable.empty())
            return fail(
                fmt::format("{} without a scale has nothing to calibrate: leave calib={} out", spec.format, shown(id)));
        return fail(fmt::format("calib={} does not apply to {}{}: use calib={}", shown(id), spec.format,
                                spec.scaleKind() == ScaleKind::None ? " without a scale"
                                : spec.isSymmetric()                ? ""
                                                                    : " with sym=no",
                                fmt::join(applicable, " or calib=")));
    }
    return checkArguments(*spec.calibration, spec);
}

} // namespace

Result<void> validate(const QuantSpec& spec) {
    const FormatTraits* traits = findFormat(spec.format);
    if (!traits)
        return fail(fmt::format("there is no format '{}': known formats are {}", shown(spec.format), formatList()));
    if (const auto* trained = spec.dialect ? findTrained(*spec.dialect) : nullptr) {
        const QuantSpec plain = withoutTrained(spec);
        QuantSpec right = trained->base;
        right.dialect = trained->id;
        if (canonicalText(plain) != canonicalText(trained->base))
            return fail(
                fmt::format("{} was trained as {}: use {}", trained->id, specText(trained->base), specText(right)));
        return validate(plain);
    }
    const auto dialects = words(traits->dialects);
    if (spec.dialect && !std::count(dialects.begin(), dialects.end(), *spec.dialect))
        return fail(fmt::format("{} has no dialect '{}': use dialect={}", spec.format, shown(*spec.dialect),
                                fmt::join(dialects, " or dialect=")));
    if (traits->kind == FormatKind::Identity && spec.scaleKind() != ScaleKind::None)
        return fail(fmt::format("{} has no scales: use {}", spec.format, spec.format));
    if (auto ok = validateScale(spec, *traits); !ok) return ok;
    if (auto ok = checkDialect(spec); !ok) return ok;
    if (auto ok = validateBlock(spec, *traits); !ok) return ok;
    if (auto ok = validateOptions(spec, *traits); !ok) return ok;
    if (auto ok = validateCalibration(spec); !ok) return ok;
    if (spec.effectiveDecode() == Decode::Poly && traits->polyLevels.empty())
        return fail(fmt::format("{} has no polynomial decode: leave decode out; {} decode=table and decode=poly",
                                spec.format, thoseWith([](const FormatTraits& f) { return !f.polyLevels.empty(); })));
    if (spec.effectiveCompute() == Compute::Input && !traits->computeInput)
        return fail(fmt::format("{} always computes in f32: leave compute out; {} compute=input", spec.format,
                                thoseWith([](const FormatTraits& f) { return f.computeInput; })));
    const bool plain = spec.effectiveCalibration().id == "absmax" && spec.effectiveDialect() == "eformer" &&
                       spec.effectiveScaleType() == "f32" && spec.isSymmetric() && !spec.sparsity &&
                       !spec.randomSeed() && !spec.tiles;
    if (spec.effectiveCompute() == Compute::Input && !plain)
        return fail(fmt::format("compute=input is the arithmetic of the seeds alone, with absolute maxima: use "
                                "{}:compute=input, or leave compute out",
                                spec.format));
    return {};
}

Result<QuantSpec> parseSpec(std::string_view text) {
    const auto parts = split(text, ':');
    QuantSpec spec;
    spec.format = std::string(parts.front());
    const auto inSpec = [&](std::string_view message) {
        return fail(fmt::format("spec '{}': {}", escapeForPeople(text, 60), message));
    };
    if (!findFormat(spec.format)) {
        if (spec.format.empty())
            return inSpec(fmt::format("the format is missing: known formats are {}", formatList()));
        std::string lower = spec.format;
        for (char& c : lower)
            if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
        if (findFormat(lower)) return inSpec(fmt::format("formats are written in lower case: use {}", lower));
        return inSpec(validate(spec).error().message);
    }
    std::set<std::string_view> seen;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::size_t equals = parts[i].find('=');
        if (equals == std::string_view::npos)
            return inSpec(
                fmt::format("'{}' is not key=value: use for example {}:nan=skip", shown(parts[i]), spec.format));
        const std::string_view key = parts[i].substr(0, equals), value = parts[i].substr(equals + 1);
        if (value.empty())
            return inSpec(
                fmt::format("the key '{}' has no value: leave it out or write {}=value", shown(key), shown(key)));
        if (auto set = setKey(spec, key, value); !set) return inSpec(set.error().message);
        if (!seen.insert(key).second)
            return inSpec(fmt::format("the key '{}' is given twice: give it once", shown(key)));
    }
    if (auto valid = validate(spec); !valid) return inSpec(valid.error().message);
    return spec;
}

} // namespace qs
