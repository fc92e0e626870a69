// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_line.h"

#include "app/cli/option.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/report/libraries.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace qs::cli {

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>("QuantScope: what quantization does to the weights of a network.")) {
    app_->name("quantscope-cli");
    app_->set_version_flag("--version", versionText("quantscope-cli"),
                           "Print the version and the libraries, with their licences, and exit");
    app_->set_help_flag("-h,--help", "Print this help and exit");
    app_->require_subcommand(1);
    app_->footer("\"-\" after --json writes to the standard output. Exit code: 0 done, 1 the input or the request\n"
                 "is at fault, 2 wrong usage.\n\n"
                 "  quantscope-cli analyze model.safetensors --spec nf4:block=64 --spec int8 --html report.html");
    for (const auto& command : commands()) {
        auto* declared = app_->add_subcommand(command.name, command.summary);
        declared->footer("");
        runs_.emplace_back(declared, command.declare(*declared));
        addForce(*declared, force_);
    }
}

CommandLine::~CommandLine() = default;

void CommandLine::parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    app_->parse(std::move(words));
}

const CLI::App* CommandLine::chosen() const {
    const auto chosen = app_->get_subcommands();
    return chosen.empty() ? nullptr : chosen.front();
}

Result<void> CommandLine::run() const {
    for (const auto& [declared, command] : runs_) {
        if (!declared->parsed()) continue;
        if (auto fine = hasNoEmptyValue(*declared); !fine) return fine;
        runFiles() = RunFiles(); // a merge runs a second command
        for (const auto& place : part().places) runFiles().reads(place, "the records");
        addPaths(*declared, runFiles());
        if (auto fine = runFiles().apart(); !fine) return fine;
        part().force = part().force || force_;
        if (auto fine = runFiles().mayBeWritten(part().force); !fine) return fine;
        leftOut().clear();
        auto done = command();
        for (const std::string& sentence : leftOut()) note(sentence);
        return done;
    }
    return fail("no command was given.");
}

Result<void> runCommand(std::vector<std::string> words, const std::vector<std::string>& own) {
    const std::string name = words.empty() ? std::string() : words.front();
    words.insert(words.end(), own.begin(), own.end());
    CommandLine line;
    try {
        line.parse(std::move(words));
    } catch (const CLI::Success&) { // the words ask for help or for the version
        return fail(fmt::format("The records are of {} with --help, which computes nothing.",
                                escapeForPeople(name.empty() ? "no command" : name, 40)));
    } catch (const CLI::ParseError& problem) {
        return fail(escapeForPeople(
            fmt::format("The records are of {}: {}", name.empty() ? "no command" : name, problem.what()), 250));
    }
    if (!line.chosen() || !sharesUnits(*line.chosen()))
        return fail(fmt::format("{} shares no units, so no records are of it.", escapeForPeople(name, 40)));
    for (const std::string& word : ownWordsOf(*line.chosen()))
        if (!contains(own, word))
            return fail(fmt::format("The records ask for {}, which only the command line of merge may say.",
                                    escapeForPeople(word, 160)));
    return line.run();
}

} // namespace qs::cli
