// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Options of a command. Only option.cpp, command_line.cpp and main.cpp include CLI11, because its templates take seconds
// to compile.

#include "core/export/run_files.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace qs::cli {

/// What an option is for. Shared runs and their records depend on it, see units.h.
enum class OptionRole {
    Setting,  ///< it changes results
    Program,  ///< it changes results, and it names a program that is run
    Verdict,  ///< it changes no result, but the exit code
    NoEffect, ///< it changes nothing that is shown: memory, the folder of a cache
    Report,   ///< where reports are written
    Sharing   ///< how the work is shared
};

/// A declared option. Its properties are set in a chain: option(app, "--rows", rows, "...").type("M").
class Option {
public:
    Option() = default;
    explicit Option(CLI::Option* declared) : declared_(declared) {}

    Option type(const std::string& name) const; ///< name of the value in the help text
    Option required() const;
    Option showDefault() const; ///< shows the present value of the variable in the help text
    Option oneAtATime() const;  ///< for lists: --x a --x b; a word after `a` is not another value
    Option list() const;        ///< the same, but the help text shows one value
    Option range(int least, int most) const;
    Option range(unsigned least, unsigned most) const;
    Option range(double least, double most) const;
    Option oneOf(std::vector<std::string> values) const;
    /// `problem` returns what is wrong with a value, or an empty string.
    Option check(std::function<std::string(const std::string&)> problem) const;

    /// The value is the path of an input file or folder. `unless` is a value that is not a path.
    Option reads(const std::string& unless = {}) const;
    /// Path of an output file, and how its name may end: {".json"}. `unmarked`: see RunFiles::writes().
    Option writes(std::vector<std::string> endings, std::vector<std::string> unmarked = {}) const;
    Option exports() const;   ///< path of an exported file or folder; see RunFiles
    Option certifies() const; ///< like exports(), and a certificate is written too

    Option role(OptionRole role) const; ///< the default is Setting

    bool given() const; ///< true if the user gave it; valid after parsing

private:
    CLI::Option* declared_ = nullptr;
};

/// How a run uses the path in an option.
enum class PathUse { None, Input, Output, Export, CertifiedExport };
PathUse pathUse(const CLI::Option* declared);
/// Declares --force for a command that writes files, and for those inside of it.
void addForce(CLI::App& command, bool& force);
/// Adds all paths given to a parsed command.
void addPaths(const CLI::App& command, RunFiles& files);

/// The name of a parsed command and its options, as a command line that gives the same results. What the user says anew on
/// each command line is left out: all outputs, programs, and the roles NoEffect, Report and Sharing.
std::vector<std::string> commandOf(const CLI::App& command);
/// The options that commandOf() leaves out, as words of a command line: "--output=plan.json".
std::vector<std::string> ownWordsOf(const CLI::App& command);
/// What results of a parsed command depend on: its settings, a line each. An input file is named by its SHA-256; an
/// input folder is left out. Error: an input file cannot be read.
Result<std::string> settingsOf(const CLI::App& command);

/// Error: an option was given with an empty value. That is no way to leave it out.
Result<void> hasNoEmptyValue(const CLI::App& command);

/// Declares an option. A `name` without dashes is a positional argument. `into` holds the default and must outlive
/// parsing; option.cpp lists the types that it can have.
template<class T> Option option(CLI::App& app, const std::string& name, T& into, const std::string& text);
Option flag(CLI::App& app, const std::string& name, bool& into, const std::string& text);

/// A command of a command. The user must name one of them.
CLI::App& subcommand(CLI::App& app, const std::string& name, const std::string& summary);
bool isParsed(const CLI::App& app); ///< true if the user gave this command
/// It is a usage error if the user gives neither.
void requireEither(CLI::App& app, Option a, Option b, const std::string& names);

} // namespace qs::cli
