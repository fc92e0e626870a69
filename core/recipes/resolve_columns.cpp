// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/recipes/resolve.h"

#include <fmt/format.h>

namespace qs {
namespace {

template<class Row>
Column<Row> recipeColumn(const char* id, const char* title, const char* tip, Show show, Value (*value)(const Row&)) {
    return {{id, title, "", show, 0, Direction::None, tip}, value};
}

std::string numbersText(const std::vector<std::size_t>& rules) {
    std::string text;
    for (std::size_t i = 0; i < rules.size() && i < 8; ++i) text += fmt::format("{}{}", i ? " " : "", rules[i] + 1);
    return rules.size() > 8 ? text + " ..." : text;
}

} // namespace

const Columns<ResolvedTensor>& resolvedColumns() {
    using R = ResolvedTensor;
    static const Columns<R> columns = {
        recipeColumn<R>("tensor", "Tensor", "", Show::Name,
                        [](const R& r) -> Value { return escapeForPeople(r.tensor->name, 500); }),
        recipeColumn<R>("name", "Name in the recipe", "How the recipe's program calls it", Show::Text,
                        [](const R& r) -> Value { return escapeForPeople(r.name, 500); }),
        recipeColumn<R>("spec", "Spec", "keep: it stays as it is", Show::Text,
                        [](const R& r) -> Value { return askedText(r.spec, r.problem); }),
        recipeColumn<R>("matched_by", "Matched by", "The rule that decides", Show::Text,
                        [](const R& r) -> Value { return escapeForPeople(r.matchedBy, 200); }),
        recipeColumn<R>("rule", "Rule", "Its number in the file", Show::Integer,
                        [](const R& r) -> Value { return r.rule ? Value{std::int64_t(*r.rule + 1)} : Value{}; }),
        recipeColumn<R>("also", "Also matches", "Numbers of rules that match and do not decide", Show::Text,
                        [](const R& r) -> Value { return numbersText(r.others); }),
        recipeColumn<R>("note", "Note", "Why the spec is another than the rule's", Show::Text,
                        [](const R& r) -> Value { return r.note; }),
    };
    return columns;
}

const Columns<ResolvedRule>& ruleColumns() {
    using R = ResolvedRule;
    static const Columns<R> columns = {
        recipeColumn<R>("rule", "Rule", "Its number in the file", Show::Integer,
                        [](const R& r) -> Value { return std::int64_t(r.number); }),
        recipeColumn<R>("pattern", "Pattern", "", Show::Text,
                        [](const R& r) -> Value { return escapeForPeople(r.rule.pattern, 200); }),
        recipeColumn<R>("matching", "Matching", "How the pattern meets a name", Show::Text,
                        [](const R& r) -> Value { return std::string(matchingText(r.rule.how)); }),
        recipeColumn<R>("spec", "Spec", "keep: it stays as it is", Show::Text,
                        [](const R& r) -> Value {
                            return r.rule.tiles ? fmt::format("{}, {} tiles a row",
                                                              askedText(r.rule.spec, r.rule.problem), r.rule.tiles)
                                                : askedText(r.rule.spec, r.rule.problem);
                        }),
        recipeColumn<R>("matches", "Matches", "Tensors of the model", Show::Integer,
                        [](const R& r) -> Value { return std::int64_t(r.matches); }),
        recipeColumn<R>("decides", "Decides", "Tensors for which no other rule wins", Show::Integer,
                        [](const R& r) -> Value { return std::int64_t(r.decides); }),
    };
    return columns;
}

} // namespace qs
