// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What is wrong with a command line, as one sentence that names what was probably meant.

#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>

namespace qs::cli {

/// `words`: the command line without the name of the program. `line` has failed to parse it with `error`.
std::string usageSentence(const CommandLine& line, const std::vector<std::string>& words, const CLI::ParseError& error);

/// The name that differs from `word` in two letters at most, or that is an abbreviation of it or is abbreviated by it; the
/// nearest if there are several, "" if there is none.
std::string closestName(const std::string& word, const std::vector<std::string>& names);

} // namespace qs::cli
