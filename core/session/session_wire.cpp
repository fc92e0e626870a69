// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/session_wire.h"

#include "core/process/fields.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qs {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 1u << 16, kLongestRules = 1u << 20, kMostSources = 100'000, kMostSteps = 10'000,
                      kMostResults = 10'000, kMostLevels = 1u << 12, kMostTensors = 1'000'000;

std::string textOf(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

std::vector<std::string> textsFrom(Fields& fields, const char* key) {
    std::vector<std::string> texts;
    for (const auto& item : fields.array(key, kMostTensors)) {
        if (!item.is_string()) fields.refuse(fmt::format("'{}' holds something that is not a text", key));
        texts.push_back(item.is_string() ? item.get<std::string>() : std::string());
    }
    return texts;
}

SessionStep::Levels levelsFrom(Fields& step) {
    Fields fields(step.object("levels"));
    SessionStep::Levels levels{fields.text("format", 64), {}, fields.text("how", kLongest)};
    for (const auto& value : fields.array("values", kMostLevels)) {
        const double level = value.is_number() ? value.get<double>() : std::nan("");
        if (!(std::fabs(level) < 1e7) || (!levels.values.empty() && level <= levels.values.back()))
            fields.refuse("'values' holds levels that do not ascend");
        levels.values.push_back(level);
    }
    step.take(fields);
    return levels;
}

std::optional<double> budgetFrom(Fields& step) {
    const double budget = step.number("budget");
    if (!(budget > 0 && budget <= 1000)) step.refuse("'budget' is no number of bits per weight");
    return budget;
}

} // namespace

std::string sessionText(const SessionFile& session) {
    json sources = json::array(), history = json::array();
    for (const auto& s : session.sources)
        sources.push_back({{"path", s.path}, {"sha256", s.sha256}, {"size", s.size}, {"mtime_ns", s.mtimeNs}});
    for (const auto& step : session.history) {
        json one = {{"a", step.specA},
                    {"b", step.specB},
                    {"comparing", step.comparing},
                    {"rules", step.rules},
                    {"keeps_rest", step.keepsRest}};
        if (const auto& moved = step.levels; !moved.values.empty())
            one["levels"] = {{"format", moved.format}, {"values", moved.values}, {"how", moved.how}};
        if (step.budget) one["budget"] = *step.budget;
        history.push_back(std::move(one));
    }
    json kept = json::array();
    for (const auto& [name, text] : session.kept) kept.push_back(name);
    return textOf({{"opened", session.opened},
                   {"kept", kept},
                   {"sources", sources},
                   {"history", history},
                   {"at", session.at},
                   {"view", session.view},
                   {"results", session.results.size()}});
}

Result<SessionHead> sessionFromText(const std::string& text) {
    const auto object = strictObject(text);
    if (!object) return fail(object.error());
    Fields fields(*object);
    SessionHead head;
    SessionFile& session = head.session;
    session.opened = fields.text("opened", kLongest);
    for (const auto& item : fields.array("sources", kMostSources)) {
        Fields one(item);
        session.sources.push_back({one.text("path", kLongest), one.text("sha256", 64), one.count("size", INT64_MAX),
                                   one.integer("mtime_ns", INT64_MIN, INT64_MAX)});
        fields.take(one);
    }
    for (const auto& item : fields.array("history", kMostSteps)) {
        Fields one(item);
        SessionStep step{one.text("a", kLongest), one.text("b", kLongest), one.flag("comparing")};
        if (item.contains("rules")) // files of older versions have no rules
            step.rules = one.text("rules", kLongestRules), step.keepsRest = one.flag("keeps_rest");
        if (item.contains("levels")) step.levels = levelsFrom(one);
        if (item.contains("budget")) step.budget = budgetFrom(one);
        session.history.push_back(std::move(step));
        fields.take(one);
    }
    session.at = fields.count("at", session.history.empty() ? 0 : session.history.size() - 1);
    const json& view = fields.object("view");
    for (const auto& [key, value] : view.items()) {
        Fields one(view);
        session.view[key] = one.text(key.c_str(), kLongest);
        fields.take(one);
    }
    head.results = fields.count("results", kMostResults);
    if (fields.has("kept")) head.kept = textsFrom(fields, "kept"); // files of older versions have no such texts
    for (const auto& name : head.kept)
        if (!isKeptName(name)) fields.refuse("'kept' holds a wrong name of a page's results");
    if (fields.problem()) return fail(*fields.problem());
    return head;
}

std::string sessionResultsText(const SessionResults& results) {
    return textOf({{"spec", results.spec}, {"tensors", results.tensors}, {"metrics", results.metrics}});
}

Result<SessionResults> sessionResultsFromText(const std::string& text) {
    const auto object = strictObject(text);
    if (!object) return fail(object.error());
    Fields fields(*object);
    SessionResults results{
        fields.text("spec", kLongest), textsFrom(fields, "tensors"), textsFrom(fields, "metrics"), {}};
    if (fields.problem()) return fail(*fields.problem());
    return results;
}

} // namespace qs
