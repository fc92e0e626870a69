// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// --json F, --csv F, --html F, --pdf F, --md F: one option for each report writer that a command offers.

#include "app/cli/option.h"
#include "core/model/model.h"
#include "core/report/report.h"

#include <functional>
#include <initializer_list>

namespace qs::cli {

class OutputFiles {
public:
    /// Declares an option per id ("json"); "-" is the standard output. `this` must outlive the parsing.
    void declare(CLI::App& app, std::initializer_list<const char*> ids);
    /// Before any work: folders exist, the standard output is one output's. What is an input RunFiles knows.
    Result<void> check() const;
    bool any() const;
    bool wants(std::string_view id) const;
    bool standardOutput() const; ///< one of them is "-": nothing else may be printed there

    /// Everything is rendered first, then all files appear, then stdout is written.
    /// Without --paths each of `paths`, as typed or whole, is its last name in them.
    Result<void> write(Report report, const std::vector<std::string>& paths) const;
    /// For commands whose JSON is not a report's.
    Result<void> writeJson(std::string_view text) const;
    /// The same in pieces, for what may be large; `produce` is called once.
    using Sink = std::function<Result<void>(std::string_view)>;
    Result<void> writeJsonInPieces(const std::function<Result<void>(const Sink&)>& produce) const {
        return writeInPieces("json", produce);
    }
    /// Any report's file; nothing where it was not asked for.
    Result<void> writeInPieces(std::string_view id, const std::function<Result<void>(const Sink&)>& produce) const;
    /// As write() does with the report.
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
/// The path of a model and those of its files; none: nothing.
std::vector<std::string> pathsOf(const Model* model);

} // namespace qs::cli
