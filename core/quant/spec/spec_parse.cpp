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
    return advise(fmt::format("'{}' is not a value of {}", shown(value), key), choices(key, value, known));
}

/// As many numbers as were typed, where a calibration takes so many; else a count that it takes.
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
            return advise(fmt::format("'{}' in calib={} is not a number", shown(parts[i]), shown(value)),
                          {"calib=" + numbersFor(calibration.id, parts.size() - 1)});
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
            return advise(fmt::format("tile={} is not a list of AXISxSIZE", shown(value)),
                          {"tile=-1x128", "tile=0x128,1x128"});
        for (const Tile& tile : tiles)
            if (tile.axis == *axis)
                return advise(fmt::format("tile={} names axis {} twice", shown(value), *axis),
                              {fmt::format("tile={}x{}", tile.axis, tile.size)});
        tiles.push_back({*axis, *size});
    }
    return tiles;
}

Result<std::int64_t> parseRounding(std::string_view value) {
    if (value == "nearest") return -1;
    const auto parts = split(value, ',');
    const std::int64_t seed = parts.size() == 2 ? number<std::int64_t>(parts[1]).value_or(-1) : -1;
    if (parts.front() != "stochastic" || seed < 0)
        return advise(
            fmt::format("'{}' is not a value of round, which is nearest, or stochastic and a seed of 0 or more",
                        shown(value)),
            {"round=nearest", "round=stochastic,1"});
    return seed;
}

Result<Sparsity> parseSparsity(std::string_view value) {
    const auto parts = split(value, '/');
    const auto keep = parts.size() == 2 ? number<std::uint32_t>(parts[0]) : std::nullopt;
    const auto of = parts.size() == 2 ? number<std::uint32_t>(parts[1]) : std::nullopt;
    if (!keep || !of || *keep == 0 || *keep > *of || *of > 65536)
        return advise(fmt::format("sparse={} is not N/M with N from 1 to M", shown(value)), {"sparse=2/4"});
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
            return advise(fmt::format("bits={} is not a whole number", shown(value)), choices(key, value, widths));
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
            return advise(fmt::format("{} has no scales", spec.format), {spec.format});
        if (!block)
            return advise(fmt::format("block of {} must be a whole number, not '{}'", spec.format, shown(value)),
                          {fmt::format("block={}", std::max(1u, traits.defaultBlock))});
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
                return advise(fmt::format("axis={} is not a list of axes", shown(value)),
                              {"axis=-1", "axis=0,1", "axis=out"});
            if (std::count(axes.begin(), axes.end(), *axis))
                return advise(fmt::format("axis={} names axis {} twice", shown(value), *axis),
                              {fmt::format("axis={}", fmt::join(axes, ","))});
            axes.push_back(*axis);
        }
        spec.axes = std::move(axes);
        return {};
    }
    return fail(fmt::format("there is no key '{}'", shown(key))); // readSpec() has looked
}

} // namespace

ReadSpec readSpec(std::string_view text) {
    const auto parts = split(text, ':');
    ReadSpec out;
    out.spec.format = std::string(parts.front());
    const auto refused = [&out](tl::unexpected<Error> error) {
        out.done = std::move(error);
        return out;
    };
    /// The text with other words in the place of one part; "": without it.
    const auto instead = [&](std::size_t part, const std::string& words) {
        std::vector<std::string_view> all(parts.begin(), parts.end());
        words.empty() ? void(all.erase(all.begin() + std::ptrdiff_t(part))) : void(all[part] = words);
        return fmt::format("{}", fmt::join(all, ":"));
    };
    if (!findFormat(out.spec.format)) {
        auto error = unknownFormat(out.spec.format);
        std::string whole = instead(0, error.value().works.front());
        if (readSpec(whole).done) error.value().works = {std::move(whole)};
        return refused(std::move(error));
    }
    std::set<std::string_view> seen;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::size_t equals = parts[i].find('=');
        if (equals == std::string_view::npos)
            return refused(advise(fmt::format("'{}' is not key=value", shown(parts[i])), {instead(i, {})}));
        const std::string_view key = parts[i].substr(0, equals), value = parts[i].substr(equals + 1);
        if (!std::count(std::begin(kKeys), std::end(kKeys), key)) {
            const auto nearest = nearestWord(key, kKeys);
            return refused(
                advise(fmt::format("there is no key '{}'; keys are {}", shown(key), fmt::join(kKeys, ", ")),
                       {nearest ? instead(i, fmt::format("{}={}", kKeys[*nearest], value)) : instead(i, {})}));
        }
        if (value.empty())
            return refused(advise(fmt::format("the key '{}' has no value", shown(key)), {instead(i, {})}));
        if (auto set = setKey(out.spec, key, value); !set) return refused(tl::unexpected(std::move(set.error())));
        if (!seen.insert(key).second)
            return refused(advise(fmt::format("the key '{}' is given twice", shown(key)), {instead(i, {})}));
    }
    out.done = checkSpec(out.spec);
    return out;
}

Result<QuantSpec> parseSpec(std::string_view text) {
    ReadSpec read = readSpec(text);
    if (read.done) return std::move(read.spec);
    Error& error = read.done.error();
    error.works = thoseThatWork(error.works, text, read.spec);
    return failAt(fmt::format("spec '{}'", escapeForPeople(text, 60)), std::move(error));
}

} // namespace qs
