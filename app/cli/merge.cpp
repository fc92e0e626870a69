// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_line.h"
#include "app/cli/declare.h"
#include "app/cli/output_files.h"
#include "app/cli/units.h"
#include "core/base/lists.h"
#include "core/base/text.h"
#include "core/records/record_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qs::cli {
namespace {

struct MergeOptions {
    std::vector<std::string> places;
    std::string output, plugin;
    OutputFiles outputs;
};

Result<void> runMerge(const MergeOptions& options) {
    if (part().rank) return fail("merge is one process: start it without mpirun.");
    const auto origins = RecordFiles::originsIn(options.places);
    if (!origins) return tl::unexpected(origins.error());
    std::vector<std::vector<std::string>> commands;
    for (const RecordsOrigin& origin : *origins) addOnce(commands, origin.command);
    if (commands.size() > 1)
        return fail(fmt::format("The records are of {} commands; name the files of one. The first two: {}; {}.",
                                commands.size(), escapeForPeople(fmt::format("{}", fmt::join(commands[0], " ")), 150),
                                escapeForPeople(fmt::format("{}", fmt::join(commands[1], " ")), 150)));
    if (commands.front().empty())
        return fail("These records are of the window, which goes on with them itself.", options.places.front());
    part().isMerge = true, part().places = options.places;
    auto own = options.outputs.words();
    if (!options.output.empty()) own.push_back("--output=" + options.output);
    if (!options.plugin.empty()) own.push_back("--plugin=" + options.plugin);
    return runCommand(commands.front(), own);
}

} // namespace

Run declareMerge(CLI::App& app) {
    auto options = std::make_shared<MergeOptions>();
    option(app, "FILES", options->places, "Files of records, and folders with such files").required().type("").reads();
    option(app, "-o,--output", options->output,
           "What `capture`, `export` and `plan` write: the records do not say where")
        .type("OUT")
        .exports();
    option(app, "--plugin", options->plugin, "The backend library of the command, which the records do not name either")
        .type("SO")
        .reads();
    options->outputs.declare(app, {"json", "csv", "html", "pdf", "md"});
    return [options] { return runMerge(*options); };
}

} // namespace qs::cli
