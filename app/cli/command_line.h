// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The parser of the command line.

#include "app/cli/command.h"

#include <memory>
#include <string>
#include <vector>

namespace qs::cli {

class CommandLine {
public:
    CommandLine();
    ~CommandLine();

    /// Parses the words behind the name of the program. Usage errors are exceptions of CLI11.
    void parse(std::vector<std::string> words);
    CLI::App& app() { return *app_; }
    /// The command that was parsed.
    const CLI::App* chosen() const;
    /// Checks that no output of the command is an input, then runs it.
    Result<void> run() const;

private:
    std::unique_ptr<CLI::App> app_;
    bool force_ = false; ///< --force
    std::vector<std::pair<const CLI::App*, std::function<Result<void>()>>> runs_;
};

/// Parses the command of some records and runs it. A file of records may come from anywhere, so it cannot say what is
/// written or which program is run: only `own` can, which is of the user's command line. Errors: wrong usage, a command
/// that shares no units, and words of the records that only the user may say.
Result<void> runCommand(std::vector<std::string> words, const std::vector<std::string>& own);

} // namespace qs::cli
