// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/option.h"

#include "app/cli/interrupt.h"
#include "core/report/report.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <type_traits>

namespace qs::cli {
namespace {

struct OptionMark {
    PathUse use = PathUse::None;
    std::string unless;
    std::string name; ///< name of the option; detects that another option was created at the same address
    OptionRole role = OptionRole::Setting;
    std::vector<std::string> endings = {}, unmarked = {}; ///< of an output file
};
std::map<const CLI::Option*, OptionMark>& optionMarks() {
    static std::map<const CLI::Option*, OptionMark> all;
    return all;
}
/// What is known of an option; the defaults if nothing was set.
OptionMark markOf(const CLI::Option* declared) {
    const auto found = optionMarks().find(declared);
    const bool isIt = found != optionMarks().end() && found->second.name == declared->get_name();
    return isIt ? found->second : OptionMark();
}
Option marked(CLI::Option* declared, PathUse use, const std::string& unless = {}) {
    OptionMark mark = markOf(declared);
    mark.use = use, mark.unless = unless, mark.name = declared->get_name();
    optionMarks()[declared] = mark;
    return Option(declared);
}

bool isOutput(const OptionMark& mark) { return mark.use != PathUse::None && mark.use != PathUse::Input; }
bool isSetting(const OptionMark& mark) { return mark.role == OptionRole::Setting || mark.role == OptionRole::Program; }
/// True if every command line says it itself, and records never do.
bool isSaidAnew(const OptionMark& mark) {
    return isOutput(mark) || (mark.role != OptionRole::Setting && mark.role != OptionRole::Verdict);
}
/// A given option as words of a command line; empty if it was not given.
std::vector<std::string> wordsOf(const CLI::Option* declared) {
    if (declared->count() == 0 || declared->get_positional()) return declared->results();
    if (declared->get_expected_max() == 0) return {declared->get_name()};
    std::vector<std::string> out;
    for (const auto& value : declared->results()) out.push_back(declared->get_name() + "=" + value);
    return out;
}

} // namespace

PathUse pathUse(const CLI::Option* declared) { return markOf(declared).use; }

std::vector<std::string> commandOf(const CLI::App& command) {
    std::vector<std::string> out = {command.get_name()}, places;
    for (const CLI::Option* declared : command.get_options()) {
        if (isSaidAnew(markOf(declared))) continue;
        const auto words = wordsOf(declared);
        auto& into = declared->get_positional() ? places : out;
        into.insert(into.end(), words.begin(), words.end());
    }
    out.insert(out.end(), places.begin(), places.end());
    return out;
}

std::vector<std::string> ownWordsOf(const CLI::App& command) {
    std::vector<std::string> out;
    for (const CLI::Option* declared : command.get_options())
        if (isSaidAnew(markOf(declared)))
            for (std::string& word : wordsOf(declared)) out.push_back(std::move(word));
    return out;
}

Result<std::string> settingsOf(const CLI::App& command) {
    std::string out = command.get_name() + "\n";
    for (const CLI::Option* declared : command.get_options()) {
        const OptionMark mark = markOf(declared);
        const bool isInput = mark.use == PathUse::Input;
        if (declared->count() == 0 || !isSetting(mark) || isOutput(mark)) continue;
        for (std::string value : declared->results()) {
            std::error_code error;
            if (isInput && value != mark.unless) {
                if (std::filesystem::is_directory(value, error)) continue;
                auto hash = sha256OfFile(value, processJob());
                if (!hash) return tl::unexpected(hash.error());
                value = std::move(*hash);
            }
            out += declared->get_name() + " " + value + "\n";
        }
    }
    return out;
}

void addForce(CLI::App& command, bool& force) {
    const bool writes =
        std::ranges::any_of(command.get_options(), [](const CLI::Option* o) { return isOutput(markOf(o)); });
    if (writes)
        flag(command, "--force", force, "Replace a file that this program did not write").role(OptionRole::Report);
    for (CLI::App* inner : command.get_subcommands({})) addForce(*inner, force);
}

void addPaths(const CLI::App& command, RunFiles& files) {
    for (const CLI::Option* declared : command.get_options()) {
        const auto use = pathUse(declared);
        if (use == PathUse::None) continue;
        const std::string as = declared->get_name();
        const OptionMark& mark = optionMarks().at(declared);
        for (const auto& path : declared->results()) {
            if (path == mark.unless) continue;
            if (use == PathUse::Input) files.reads(path, as);
            if (use == PathUse::Output) files.writes(path, as, mark.endings, mark.unmarked);
            if (use == PathUse::Export) files.exports(path, as, false);
            if (use == PathUse::CertifiedExport) files.exports(path, as, true);
        }
    }
    for (const CLI::App* inner : command.get_subcommands()) addPaths(*inner, files);
}

Result<void> hasNoEmptyValue(const CLI::App& command) {
    for (const CLI::Option* declared : command.get_options()) {
        if (declared->get_positional() || declared->get_expected_max() == 0) continue;
        for (const std::string& value : declared->results())
            if (value.empty()) return fail(fmt::format("{} is given without a value.", declared->get_name()));
    }
    for (const CLI::App* inner : command.get_subcommands())
        if (auto fine = hasNoEmptyValue(*inner); !fine) return fine;
    return {};
}

Option Option::type(const std::string& name) const { return Option(declared_->type_name(name)); }
Option Option::required() const { return Option(declared_->required()); }
Option Option::showDefault() const { return Option(declared_->capture_default_str()); }
Option Option::oneAtATime() const { return Option(declared_->allow_extra_args(false)); }
Option Option::list() const { return Option(declared_->expected(1)->take_all()); }
Option Option::range(int least, int most) const { return Option(declared_->check(CLI::Range(least, most))); }
Option Option::range(unsigned least, unsigned most) const { return Option(declared_->check(CLI::Range(least, most))); }
Option Option::range(double least, double most) const { return Option(declared_->check(CLI::Range(least, most))); }
Option Option::oneOf(std::vector<std::string> values) const {
    return Option(declared_->check(CLI::IsMember(std::move(values))));
}
Option Option::check(std::function<std::string(const std::string&)> problem) const {
    return Option(declared_->check(std::move(problem)));
}
Option Option::reads(const std::string& unless) const { return marked(declared_, PathUse::Input, unless); }
Option Option::writes(std::vector<std::string> endings, std::vector<std::string> unmarked) const {
    marked(declared_, PathUse::Output, "-");
    OptionMark& mark = optionMarks()[declared_];
    mark.endings = std::move(endings), mark.unmarked = std::move(unmarked);
    return *this;
}
Option Option::certifies() const { return marked(declared_, PathUse::CertifiedExport); }
Option Option::exports() const { return marked(declared_, PathUse::Export); }
Option Option::role(OptionRole role) const {
    OptionMark mark = markOf(declared_);
    mark.role = role, mark.name = declared_->get_name();
    optionMarks()[declared_] = mark;
    return *this;
}
bool Option::given() const { return declared_->count() > 0; }

template<class T> Option option(CLI::App& app, const std::string& name, T& into, const std::string& text) {
    CLI::Option* declared = app.add_option(name, into, text);
    if constexpr (!std::is_same_v<T, std::string> && !std::is_same_v<T, std::vector<std::string>>)
        declared->check([](const std::string& value) { // which CLI11 takes for 0
            return std::string(value.empty() ? "it takes a number, not ''" : "");
        });
    return Option(declared);
}
template Option option(CLI::App&, const std::string&, std::string&, const std::string&);
template Option option(CLI::App&, const std::string&, std::vector<std::string>&, const std::string&);
template Option option(CLI::App&, const std::string&, std::vector<std::uint32_t>&, const std::string&);
template Option option(CLI::App&, const std::string&, int&, const std::string&);
template Option option(CLI::App&, const std::string&, unsigned&, const std::string&);
template Option option(CLI::App&, const std::string&, std::int64_t&, const std::string&);
template Option option(CLI::App&, const std::string&, std::uint64_t&, const std::string&);
template Option option(CLI::App&, const std::string&, double&, const std::string&);
Option flag(CLI::App& app, const std::string& name, bool& into, const std::string& text) {
    return Option(app.add_flag(name, into, text));
}

CLI::App& subcommand(CLI::App& app, const std::string& name, const std::string& summary) {
    app.require_subcommand(1);
    CLI::App* made = app.add_subcommand(name, summary);
    made->footer("");
    return *made;
}
bool isParsed(const CLI::App& app) { return app.parsed(); }
void requireEither(CLI::App& app, Option a, Option b, const std::string& names) {
    app.parse_complete_callback([a, b, names] {
        if (!a.given() && !b.given()) throw CLI::RequiredError(names);
    });
}

} // namespace qs::cli
