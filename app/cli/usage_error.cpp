// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/usage_error.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <string_view>

namespace qs::cli {
namespace {

constexpr std::size_t kMostTyped = 40;   ///< letters of a word that a name is looked for
constexpr std::size_t kMostWrong = 2;    ///< letters
constexpr std::size_t kLeastLetters = 3; ///< of an abbreviation

/// Number of letters to insert, to remove or to replace.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t(0));
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t before = row[0]++; // of the row above, one to the left
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = before + (a[i] != b[j]);
            before = row[j + 1];
            row[j + 1] = std::min({replaced, before + 1, row[j] + 1});
        }
    }
    return row.back();
}

/// Both begin with the same letter, and the letters of `part` come in the same order in `whole`.
bool abbreviates(std::string_view part, std::string_view whole) {
    for (auto* name : {&part, &whole}) name->remove_prefix(std::min(name->find_first_not_of('-'), name->size()));
    if (part.size() < kLeastLetters || !whole.starts_with(part.front())) return false;
    std::size_t at = 0;
    for (const char letter : whole) at += at < part.size() && part[at] == letter;
    return at == part.size();
}

std::string unknownCommand(const std::string& asked) {
    std::vector<std::string> known;
    for (const auto& command : commands()) known.emplace_back(command.name);
    const std::string meant = closestName(asked, known);
    return fmt::format("there is no command '{}'; {}", escapeForPeople(asked, 60),
                       meant.empty() ? fmt::format("the commands are {}.", fmt::join(known, ", "))
                                     : fmt::format("did you mean {}?", meant));
}

/// The first word that looks like an option and is none of the command; "": all are.
std::string unknownOption(const CLI::App& command, const std::vector<std::string>& words) {
    std::vector<std::string> known;
    std::string path;
    for (const CLI::App* app = &command; app;) {
        for (const CLI::Option* option : app->get_options())
            for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
        path += (path.empty() ? "" : " ") + app->get_name();
        const auto below = app->get_subcommands();
        app = below.empty() ? nullptr : below.front();
    }
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (name == "--") break; // the others are no options
        if (!name.starts_with("--") || std::ranges::count(known, name)) continue;
        const std::string meant = closestName(name, known);
        return fmt::format("{} has no option {}{}", path, escapeForPeople(name, 60),
                           meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
    }
    return {};
}

/// Rewrites CLI11's "Could not convert: --block = x" as "--block takes a number, not 'x'".
std::string notANumber(const std::string& what) {
    const auto option = what.find("--"), equals = what.find(" = ");
    if (option == std::string::npos || equals == std::string::npos || equals < option) return what;
    return what.substr(option, equals - option) + " takes a number, not '" + what.substr(equals + 3) + "'";
}

} // namespace

std::string closestName(const std::string& word, const std::vector<std::string>& names) {
    std::string found;
    std::size_t least = kMostTyped;
    if (word.size() > kMostTyped) return found;
    for (const std::string& name : names) {
        const std::size_t wrong = distance(word, name);
        if (wrong < least && (wrong <= kMostWrong || abbreviates(name, word) || abbreviates(word, name)))
            found = name, least = wrong;
    }
    return found;
}

std::string usageSentence(const CommandLine& line, const std::vector<std::string>& words,
                          const CLI::ParseError& error) {
    const CLI::App* chosen = line.chosen();
    const std::string first = words.empty() ? "" : words.front();
    if (!chosen && !first.empty() && !first.starts_with('-')) return unknownCommand(first);
    if (!chosen && !first.empty())
        return fmt::format("there is no option '{}' before a command; see `quantscope-cli --help`.",
                           escapeForPeople(first, 100));
    std::string what = chosen ? unknownOption(*chosen, words) : std::string();
    if (what.empty()) {
        what = escapeForPeople(error.what(), 250);
        if (dynamic_cast<const CLI::ConversionError*>(&error)) what = notANumber(what);
        while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
    }
    return fmt::format("{}{} see `quantscope-cli{} --help`.", what, what.ends_with('?') ? "" : ";",
                       chosen ? " " + chosen->get_name() : "");
}

} // namespace qs::cli
