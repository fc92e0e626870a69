// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Options of a command. CLI11 is compiled in option.cpp and main.cpp alone: its templates cost every other file seconds.

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

/// An option that was declared; what it is like is said in a chain: option(app, "--rows", rows, "...").type("M").
class Option {
public:
    Option() = default;
    explicit Option(CLI::Option* declared) : declared_(declared) {}

    Option type(const std::string& name) const; ///< of the value, in the help
    Option required() const;
    Option showDefault() const; ///< the value that the variable has now
    Option oneAtATime() const;  ///< of a list: --x a --x b, and what follows `a` is not taken as another value
    Option list() const;        ///< the same, and the help shows one value
    Option range(int least, int most) const;
    Option range(unsigned least, unsigned most) const;
    Option range(double least, double most) const;
    Option oneOf(std::vector<std::string> values) const;
    /// `problem` says what is wrong with a value, or nothing.
    Option check(std::function<std::string(const std::string&)> problem) const;

    /// Its value is the path of an input, a file or a folder; `unless` is a value that is none.
    Option reads(const std::string& unless = {}) const;
    Option writes() const;    ///< of an output file
    Option exports() const;   ///< of an exported file, or a folder; see RunFiles
    Option certifies() const; ///< the same with its certificate

    bool given() const; ///< after parsing

private:
    CLI::Option* declared_ = nullptr;
};

/// What the value of an option is to a run.
enum class PathUse { None, Input, Output, Export, CertifiedExport };
PathUse pathUse(const CLI::Option* declared);
/// All paths that a parsed command was given.
void addPaths(const CLI::App& command, RunFiles& files);

/// `name` without dashes is a positional argument. `into` must outlive the parsing, and holds the default before it.
Option option(CLI::App& app, const std::string& name, std::string& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, std::vector<std::string>& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, std::vector<std::uint32_t>& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, int& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, unsigned& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, std::int64_t& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, std::uint64_t& into, const std::string& text);
Option option(CLI::App& app, const std::string& name, double& into, const std::string& text);
Option flag(CLI::App& app, const std::string& name, bool& into, const std::string& text);

} // namespace qs::cli
