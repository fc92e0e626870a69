// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/solve/solver.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs::solve {
namespace {

Result<void> set(Settings& settings, const Solver& solver, std::string_view key, std::string_view value) {
    const auto wrong = [&](std::string_view use) {
        return fail(
            fmt::format("'{}' is not a value of {} of {}: use {}", escapeForPeople(value, 40), key, solver.id, use));
    };
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool isNumber = error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
    const bool isCount = isNumber && number == std::floor(number) && number >= 1;
    const bool isChoice = value == "yes" || value == "no";
    if (key == "damp") {
        if (!isNumber || number < 0 || number > 1) return wrong("damp=0.01");
        settings.damp = number;
    } else if (key == "order") {
        if (value != "given" && value != "act") return wrong("order=given or order=act");
        settings.byActivation = value == "act";
    } else if (key == "block") {
        if (!isCount || number > 65536) return wrong("block=128");
        settings.block = int(number);
    } else if (key == "grid") {
        if (!isCount || number > 1000) return wrong("grid=20");
        settings.grid = int(number);
    } else {
        if (!isChoice) return wrong(fmt::format("{}=yes or {}=no", key, key));
        (key == "duo" ? settings.duo : settings.clip) = value == "yes";
    }
    return {};
}

} // namespace

Result<Settings> parseSettings(std::string_view text) {
    Settings settings;
    const std::string_view id = text.substr(0, text.find(':'));
    const Solver* solver = findSolver(id);
    if (!solver) {
        std::string known;
        for (const Solver& row : solvers()) known += (known.empty() ? "" : " and ") + std::string(row.id);
        return fail(fmt::format("there is no solver '{}': the solvers are {}", escapeForPeople(id, 40), known));
    }
    settings.solver = solver->id;
    const auto keys = words(solver->keys);
    std::vector<std::string_view> seen;
    for (text.remove_prefix(id.size()); !text.empty();) {
        text.remove_prefix(1);
        const std::string_view part = text.substr(0, text.find(':'));
        text.remove_prefix(part.size());
        const std::string_view key = part.substr(0, part.find('='));
        if (!std::count(keys.begin(), keys.end(), key) || key.size() == part.size())
            return fail(fmt::format("solver {} has no option '{}': use {}{}", solver->id, escapeForPeople(part, 40),
                                    solver->id, solver->options));
        if (std::count(seen.begin(), seen.end(), key))
            return fail(fmt::format("the option '{}' of solver {} is given twice: give it once", key, solver->id));
        seen.push_back(key);
        if (auto ok = set(settings, *solver, key, part.substr(key.size() + 1)); !ok) return tl::unexpected(ok.error());
    }
    return settings;
}

std::string settingsText(const Settings& s) {
    const auto choice = [](bool yes) { return yes ? "yes" : "no"; };
    std::string text = s.solver;
    if (s.damp) text += fmt::format(":damp={}", *s.damp);
    if (s.byActivation) text += fmt::format(":order={}", *s.byActivation ? "act" : "given");
    if (s.block) text += fmt::format(":block={}", *s.block);
    if (s.grid) text += fmt::format(":grid={}", *s.grid);
    if (s.duo) text += fmt::format(":duo={}", choice(*s.duo));
    if (s.clip) text += fmt::format(":clip={}", choice(*s.clip));
    return text;
}

std::string canonicalText(const Settings& given) {
    const auto keys = words(findSolver(given.solver)->keys);
    const auto has = [&](std::string_view key) { return std::count(keys.begin(), keys.end(), key) > 0; };
    Settings s;
    s.solver = given.solver;
    if (has("damp")) s.damp = given.damp.value_or(0.01);
    if (has("order")) s.byActivation = given.byActivation.value_or(false);
    if (has("block")) s.block = given.block.value_or(128);
    if (has("grid")) s.grid = given.grid.value_or(20);
    if (has("duo")) s.duo = given.duo.value_or(false);
    if (has("clip")) s.clip = given.clip.value_or(false);
    return settingsText(s);
}

} // namespace qs::solve
