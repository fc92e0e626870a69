// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes: 0 done; 1 bad input or request; 2 wrong usage; 128 + signal when stopped.
#include "app/cli/command_line.h"
#include "app/cli/interrupt.h"
#include "app/cli/mpi.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "core/base/job_scope.h"
#include "core/base/text.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/spec/forced_isa.h"
#include "core/quant/spec/trained.h"

#include <CLI/CLI.hpp>
#include <algorithm>
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

int run(const qs::cli::CommandLine& line) {
    try {
        const qs::JobScope scope(&qs::cli::processJob());
        const auto done = line.run();
        qs::cli::clearProgress();
        if (done) return 0;
        return done.error().cancelled ? stopped() : complain(done.error().sentence(), 1);
    } catch (const std::bad_alloc&) {
        return complain("there is not enough memory for this.", 1);
    } catch (const std::exception& e) {
        return complain(qs::escapeForPeople(e.what(), 300), 1);
    }
}

/// Runs the command as one of the processes of mpirun: each computes its part of the units, then the first one puts all
/// parts together.
int runAsRank(const qs::cli::CommandLine& line, const qs::cli::Mpi& mpi) {
    auto& part = qs::cli::part();
    const bool isFirst = mpi.rank().index == 0;
    if (!qs::cli::sharesUnits(*line.chosen())) {
        const std::string sentence = "mpirun cannot share the work of " + line.chosen()->get_name() + ".";
        const int code = isFirst ? complain(sentence, 1) : 1;
        mpi.all(false);
        return code;
    }
    part.rank = mpi.rank();
    constexpr int kMostRounds = 4; // if the processes do not see each other's records, the merge says what is missing
    bool isPaused = true;
    for (int round = 0; isPaused && round < kMostRounds; ++round) {
        part.isPaused = false;
        const int code = run(line);
        if (!mpi.all(code == 0)) return code ? code : 1;
        isPaused = !mpi.all(!part.isPaused);
    }
    if (!isFirst) return 0;
    part.isMerge = true;
    return run(line);
}

} // namespace

int main(int argc, char** argv) {
    std::setlocale(LC_CTYPE, "C.UTF-8"); // needed for the width of characters; numbers keep the format of the C locale
    for (const auto& problem : qs::loadUserFormats()) complain("not taken as a format: " + problem, 0);
    for (const auto& problem : qs::loadTrained(qs::userFormatsFolder()))
        complain("not taken as a trained spec: " + problem, 0);
    qs::cli::CommandLine line;
    try {
        line.parse({argv + std::min(argc, 1), argv + argc});
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return line.app().exit(e);
        const auto* chosen = line.chosen();
        if (!chosen && argc > 1 && argv[1][0] != '-') return complain(unknownCommand(argv[1]), 2);
        if (!chosen && argc > 1)
            return complain("there is no option '" + qs::escapeForPeople(argv[1], 100) +
                                "' before a command; see `quantscope-cli --help`.",
                            2);
        const std::string who = chosen ? " " + chosen->get_name() : "";
        std::string what = qs::escapeForPeople(e.what(), 250);
        if (dynamic_cast<const CLI::ConversionError*>(&e)) what = notANumber(what);
        while (!what.empty() && (what.back() == '.' || what.back() == ' ')) what.pop_back();
        return complain(what + "; see `quantscope-cli" + who + " --help`.", 2);
    }
    if (const char* problem = qs::forcedIsaProblem()) return complain(std::string(problem) + ".", 2);
    const auto mpi = qs::cli::Mpi::join();
    if (!mpi) return complain(mpi.error().sentence(), 1);
    qs::cli::catchSignals(); // after MPI, which has handlers of its own
    return *mpi ? runAsRank(line, **mpi) : run(line);
}
