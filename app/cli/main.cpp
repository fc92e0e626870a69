// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes: 0 done; 1 bad input or request; 2 wrong usage; 128 + signal when stopped.
#include "app/cli/command_line.h"
#include "app/cli/interrupt.h"
#include "app/cli/mpi.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/cli/usage_error.h"
#include "core/base/job_scope.h"
#include "core/base/text.h"
#include "core/process/begin_program.h"
#include "core/quant/codebook/user_formats.h"
#include "core/quant/spec/forced_isa.h"
#include "core/quant/spec/trained.h"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <iostream>
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
    qs::beginProgram();
    std::setlocale(LC_CTYPE, "C.UTF-8"); // needed for the width of characters; numbers keep the format of the C locale
    for (const auto& problem : qs::loadUserFormats()) complain("not taken as a format: " + problem, 0);
    for (const auto& problem : qs::loadTrained(qs::userFormatsFolder()))
        complain("not taken as a trained spec: " + problem, 0);
    qs::cli::CommandLine line;
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    try {
        line.parse(words);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) {
            const int code = line.app().exit(e);
            return std::cout.flush() ? code : complain("The standard output could not be written.", 1);
        }
        return complain(qs::cli::usageSentence(line, words, e), 2);
    }
    if (const char* problem = qs::forcedIsaProblem()) return complain(std::string(problem) + ".", 2);
    const auto mpi = qs::cli::Mpi::join();
    if (!mpi) return complain(mpi.error().sentence(), 1);
    qs::cli::catchSignals(); // after MPI, which has handlers of its own
    return *mpi ? runAsRank(line, **mpi) : run(line);
}
