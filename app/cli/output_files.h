// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The options --json, --csv, --html, --pdf and --md: one for each report writer that a command offers.

#include "app/cli/option.h"
#include "core/model/model.h"
#include "core/report/report.h"

#include <functional>
#include <initializer_list>

namespace qs::cli {

class OutputFiles {
public:
    /// Declares one option per id, such as "json". The value "-" means standard output. `this` must outlive parsing.
    void declare(CLI::App& app, std::initializer_list<const char*> ids);
    /// Call before any work. Checks that the folders exist and that only one output uses standard output. RunFiles
    /// checks that no output is an input.
    Result<void> check() const;
    bool any() const;
    bool wants(std::string_view id) const;
    std::vector<std::string> words() const; ///< the options as they were given: "--json=rows.json"
    bool standardOutput() const;            ///< an output is "-": print nothing else to standard output

    /// Renders everything first, then writes all files, then standard output. Without --paths, each of `paths` is shown
    /// as its last name only.
    Result<void> write(Report report, const std::vector<std::string>& paths) const;
    /// For commands whose JSON is not a report.
    Result<void> writeJson(std::string_view text) const;
    /// The same in pieces, for large outputs. `produce` is called once.
    using Sink = std::function<Result<void>(std::string_view)>;
    Result<void> writeJsonInPieces(const std::function<Result<void>(const Sink&)>& produce) const {
        return writeInPieces("json", produce);
    }
    /// The same for any report writer. Does nothing if its file was not requested.
    Result<void> writeInPieces(std::string_view id, const std::function<Result<void>(const Sink&)>& produce) const;
    /// The report as write() would render it, with shortened paths.
    Report shown(Report report, const std::vector<std::string>& paths) const;

private:
    struct File {
        const ReportWriter* writer;
        std::string path;
        Option option;
    };
    Result<void> put(const std::vector<std::pair<const File*, std::string>>& rendered) const;
    std::vector<File> files_;
    bool paths_ = false;
};
/// The path of the model and the paths of its files; empty for null.
std::vector<std::string> pathsOf(const Model* model);

} // namespace qs::cli
