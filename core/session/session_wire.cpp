// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/session_wire.h"

#include "core/bench/wire.h"

#include <fmt/format.h>

namespace qs {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 1u << 16, kLongestRules = 1u << 20, kMostSources = 100'000, kMostSteps = 10'000,
                      kMostResults = 10'000, kMostTensors = 1'000'000;

std::string textOf(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

std::vector<std::string> textsFrom(Fields& fields, const char* key) {
    std::vector<std::string> texts;
    for (const auto& item : fields.array(key, kMostTensors)) {
        if (!item.is_string()) fields.refuse(fmt::format("'{}' holds what is no text", key));
        texts.push_back(item.is_string() ? item.get<std::string>() : std::string());
    }
    return texts;
}

} // namespace

std::string sessionText(const SessionFile& session) {
    json sources = json::array(), history = json::array();
    for (const auto& s : session.sources)
        sources.push_back({{"path", s.path}, {"sha256", s.sha256}, {"size", s.size}, {"mtime_ns", s.mtimeNs}});
    for (const auto& step : session.history)
        history.push_back({{"a", step.specA},
                           {"b", step.specB},
                           {"comparing", step.comparing},
                           {"rules", step.rules},
                           {"keeps_rest", step.keepsRest}});
    return textOf({{"opened", session.opened},
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
        if (item.contains("rules")) // there were sessions before there were rules
            step.rules = one.text("rules", kLongestRules), step.keepsRest = one.flag("keeps_rest");
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
