// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/spec_nearest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace qs {
namespace {

constexpr std::string_view kKeys[] = {"scale", "axis",  "block",  "tile",   "flat", "bits",    "calib",  "scaletype",
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
constexpr Spelling<bool> kAnswers[] = {{"yes", true}, {"no", false}};
constexpr Spelling<Compute> kComputes[] = {{"f32", Compute::F32}, {"input", Compute::Input}};

template<class Choice, std::size_t N>
Result<Choice> choose(const Spelling<Choice> (&spellings)[N], std::string_view key, std::string_view value) {
    std::vector<std::string_view> known;
    for (const auto& spelling : spellings) {
        if (spelling.text == value) return spelling.choice;
        known.push_back(spelling.text);
    }
    return fail(fmt::format("'{}' is not a value of {}: use {}={}", shown(value), key, key,
                            fmt::join(nearestFirst(value, known), fmt::format(" or {}=", key))));
}

/// As many numbers as somebody wanted to give, where a calibration takes them; else one that does.
std::string numbersFor(const std::string& id, std::size_t count) {
    const CalibrationTraits* row = findCalibration(id);
    if (!row || row->maxArguments == 0) row = calibrationRows().front();
    return calibrationText({row->id, row->advised ? row->advised(count) : exampleArguments(row->id, false)});
}

Result<Calibration> parseCalibration(std::string_view value) {
    const auto parts = split(value, ',');
    Calibration calibration{std::string(parts.front()), {}};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto argument = number<double>(parts[i]);
        if (!argument || !std::isfinite(*argument))
            return fail(fmt::format("'{}' in calib={} is not a number: use for example calib={}", shown(parts[i]),
                                    shown(value), numbersFor(calibration.id, parts.size() - 1)));
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
                return fail(fmt::format("tile={} names axis {} twice: use tile={}x{}", shown(value), *axis, tile.axis,
                                        tile.size));
        tiles.push_back({*axis, *size});
    }
    return tiles;
}

Result<std::int64_t> parseRounding(std::string_view value) {
    if (value == "nearest") return -1;
    const auto parts = split(value, ',');
    const std::int64_t seed = parts.size() == 2 ? number<std::int64_t>(parts[1]).value_or(-1) : -1;
    if (parts.front() != "stochastic" || seed < 0)
        return fail(fmt::format("'{}' is not a value of round: use round=nearest or round=stochastic,1; the number is "
                                "a seed, 0 or more",
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
    if (key == "flat") return keep(spec.flat, choose(kAnswers, key, value));
    if (key == "sym") return keep(spec.symmetric, choose(kAnswers, key, value));
    if (key == "round") return keep(spec.stochastic, parseRounding(value));
    if (key == "sparse") return keep(spec.sparsity, parseSparsity(value));
    if (key == "scaletype") {
        spec.scaleType = std::string(value);
        return {};
    }
    if (key == "bits") {
        const auto bits = number<std::uint32_t>(value);
        if (!bits) {
            const auto widths = words(spec.traits().bitWidths);
            return fail(fmt::format("bits={} is not a whole number: use bits={}", shown(value),
                                    widths.empty() ? "4" : fmt::format("{}", fmt::join(widths, " or bits="))));
        }
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
    if (key == "axis" && value == "out") {
        spec.keepsOutput = true;
        return {};
    }
    if (key == "axis") {
        std::vector<int> axes;
        for (const auto part : split(value, ',')) {
            const auto axis = number<int>(part);
            if (!axis || std::abs(*axis) > 64)
                return fail(fmt::format(
                    "axis={} is not a list of axes: use for example axis=-1 or axis=0,1 or axis=out", shown(value)));
            if (std::count(axes.begin(), axes.end(), *axis))
                return fail(
                    fmt::format("axis={} names axis {} twice: use axis={}", shown(value), *axis, fmt::join(axes, ",")));
            axes.push_back(*axis);
        }
        spec.axes = std::move(axes);
        return {};
    }
    return fail(fmt::format("there is no key '{}'", shown(key))); // parseSpec() has looked
}

} // namespace

Result<QuantSpec> parseSpec(std::string_view text) {
    const auto parts = split(text, ':');
    QuantSpec spec;
    spec.format = std::string(parts.front());
    const auto inSpec = [&](std::string_view message) {
        return fail(fmt::format("spec '{}': {}", escapeForPeople(text, 60), message));
    };
    /// The text with one part written in another way, if that works, else `otherwise`.
    const auto instead = [&](std::size_t part, std::string_view word, std::string otherwise) {
        std::vector<std::string> all(parts.begin(), parts.end());
        all[part] = word;
        std::string works = fmt::format("{}", fmt::join(all, ":"));
        return parseSpec(works) ? works : otherwise;
    };
    if (!findFormat(spec.format)) {
        if (spec.format.empty()) return inSpec(fmt::format("the format is missing: use {}", nearestFormats({})));
        const auto nearest = nearestFormat(spec.format);
        if (!nearest) return inSpec(validate(spec).error().message);
        const std::string works = instead(0, *nearest, std::string(*nearest));
        std::string lower = spec.format;
        for (char& c : lower)
            if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
        if (lower == *nearest) return inSpec(fmt::format("formats are written in lower case: use {}", works));
        return inSpec(fmt::format("there is no format '{}': use {}", shown(spec.format), works));
    }
    std::set<std::string_view> seen;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::size_t equals = parts[i].find('=');
        if (equals == std::string_view::npos)
            return inSpec(
                fmt::format("'{}' is not key=value: use for example {}:nan=skip", shown(parts[i]), spec.format));
        const std::string_view key = parts[i].substr(0, equals), value = parts[i].substr(equals + 1);
        const auto refuse = [&](const std::string& message) { return inSpec(withWhatWorks(message, spec)); };
        if (!std::count(std::begin(kKeys), std::end(kKeys), key)) {
            const auto nearest = nearestWord(key, kKeys);
            const std::string without = specText(nearestSpec(spec));
            const std::string works =
                nearest ? instead(i, fmt::format("{}={}", kKeys[*nearest], value), without) : without;
            return inSpec(
                fmt::format("there is no key '{}': use {}; keys are {}", shown(key), works, fmt::join(kKeys, ", ")));
        }
        if (value.empty())
            return refuse(
                fmt::format("the key '{}' has no value: leave it out or write {}=value", shown(key), shown(key)));
        if (auto set = setKey(spec, key, value); !set) return refuse(set.error().message);
        if (!seen.insert(key).second)
            return refuse(fmt::format("the key '{}' is given twice: give it once", shown(key)));
    }
    if (auto valid = validate(spec); !valid) return inSpec(valid.error().message);
    return spec;
}

} // namespace qs
