// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes: 0 done; 1 bad input or request; 2 wrong usage; 128 + signal when stopped.
#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "app/cli/selection.h"
#include "app/cli/terminal.h"
#include "core/base/job_scope.h"
#include "core/base/text.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/spec/forced_isa.h"
#include "core/quant/spec/trained.h"
#include "core/report/libraries.h"
#include "core/report/report.h"

#include <CLI/CLI.hpp>
#include <clocale>
#include <cstdio>
#include <new>

namespace {

int complain(const std::string& sentence, int code) {
    qs::cli::clearProgress();
    // The length limit is for the whole line, with the prefix.
    const std::string line = qs::oneSentence("quantscope-cli: " + sentence) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
    return code;
}

int stopped() {
    const int signal = qs::cli::caughtSignal();
    return complain(qs::cli::stoppedSentence(), signal ? 128 + signal : 1);
}

/// CLI11 only says that a command is required; this names the unknown one.
std::string unknownCommand(const char* asked) {
    std::string known;
    for (const auto& command : qs::cli::commands()) known += (known.empty() ? "" : ", ") + std::string(command.name);
    return "there is no command '" + qs::escapeForPeople(asked) + "'; the commands are " + known + ".";
}

/// Rewrites CLI11's "Could not convert: --block = x" as "--block takes a number, not 'x'".
std::string notANumber(const std::string& what) {
    const auto option = what.find("--"), equals = what.find(" = ");
    if (option == std::string::npos || equals == std::string::npos || equals < option) return what;
    return what.substr(option, equals - option) + " takes a number, not '" + what.substr(equals + 3) + "'";
}

int run(const std::function<qs::Result<void>()>& command) {
    try {
        const qs::JobScope scope(&qs::cli::processJob());
        const auto done = command();
        qs::cli::clearProgress();
        if (done) return 0;
        return done.error().cancelled ? stopped() : complain(done.error().sentence(), 1);
    } catch (const std::bad_alloc&) {
        return complain("there is not enough memory for this.", 1);
    } catch (const std::exception& e) {
        return complain(qs::escapeForPeople(e.what(), 300), 1);
    }
}

} // namespace

int main(int argc, char** argv) {
    std::setlocale(LC_CTYPE, "C.UTF-8"); // needed for the width of characters; numbers keep the format of the C locale
    for (const auto& problem : qs::loadUserFormats()) complain("not taken as a format: " + problem, 0);
    for (const auto& problem : qs::loadTrained(qs::userFormatsFolder()))
        complain("not taken as a trained spec: " + problem, 0);
    CLI::App app{"QuantScope: what quantization does to the weights of a network."};
    app.name("quantscope-cli");
    app.set_version_flag("--version", qs::versionText("quantscope-cli"),
                         "Print the version and the libraries, with their licences, and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.footer("\"-\" after --json writes to the standard output. Exit code: 0 done, 1 the input or the request\n"
               "is at fault, 2 wrong usage.\n\n"
               "  quantscope-cli analyze model.safetensors --spec nf4:block=64 --spec int8 --html report.html");

    std::vector<std::pair<const CLI::App*, std::function<qs::Result<void>()>>> runs;
    for (const auto& command : qs::cli::commands()) {
        auto* declared = app.add_subcommand(command.name, command.summary);
        declared->footer("");
        runs.emplace_back(declared, command.declare(*declared));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e);
        const auto chosen = app.get_subcommands();
        if (chosen.empty() && argc > 1 && argv[1][0] != '-') return complain(unknownCommand(argv[1]), 2);
        if (chosen.empty() && argc > 1)
            return complain("there is no option '" + qs::escapeForPeople(argv[1], 100) +
                                "' before a command; see `quantscope-cli --help`.",
                            2);
        const std::string who = chosen.empty() ? "" : " " + chosen.front()->get_name();
        std::string what = qs::escapeForPeople(e.what(), 250);
        if (dynamic_cast<const CLI::ConversionError*>(&e)) what = notANumber(what);
        while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
        return complain(what + "; see `quantscope-cli" + who + " --help`.", 2);
    }
    if (const char* problem = qs::forcedIsaProblem()) return complain(std::string(problem) + ".", 2);
    qs::cli::catchSignals();
    for (const auto& [declared, command] : runs)
        if (declared->parsed()) {
            auto& files = qs::cli::runFiles();
            qs::cli::addPaths(*declared, files);
            if (const auto fine = files.apart(); !fine) return complain(fine.error().sentence(), 1);
            return run(command);
        }
    return 2;
}
