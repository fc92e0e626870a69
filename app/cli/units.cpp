// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/units.h"

#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"
#include "core/base/lists.h"
#include "core/records/input_hash.h"

#include <fmt/format.h>

namespace qs::cli {
namespace {

std::vector<const CLI::App*>& sharingCommands() {
    static std::vector<const CLI::App*> all;
    return all;
}

} // namespace

Part& part() {
    static Part mine;
    return mine;
}

void UnitOptions::declare(CLI::App& app) {
    command_ = &app;
    sharingCommands().push_back(&app);
    option(app, "--records", records_,
           "Folder that keeps the result of each unit, so that the command goes on after a stop;\n"
           "several processes may share it")
        .type("DIR")
        .role(OptionRole::Sharing);
    option(app, "--shard", shard_,
           "Compute part I of N of the units, such as 2/4, and write no report; `merge` puts the\n"
           "records of all parts together. Needs --records")
        .type("I/N")
        .role(OptionRole::Sharing)
        .check([](const std::string& text) {
            const auto shard = parseShard(text);
            return shard ? std::string() : shard.error().message;
        });
}

bool sharesUnits(const CLI::App& command) { return contains(sharingCommands(), &command); }

Result<UnitRun*> UnitOptions::open(bool reports) const {
    const Part& mine = part();
    if (mine.rank && !shard_.empty()) return fail("mpirun numbers the shards itself: leave --shard out.");
    if (records_.empty() && mine.rank)
        return fail("mpirun needs --records DIR, a folder that all its processes can read and write.");
    if (records_.empty() && !shard_.empty()) return fail("--shard needs --records DIR, the folder for its records.");
    if (!shard_.empty() && reports)
        return fail("A shard writes records and no report: give these options to `quantscope-cli merge`.");
    if (records_.empty() && !mine.isMerge) return nullptr;
    auto settings = settingsOf(*command_);
    if (!settings) return tl::unexpected(settings.error());
    UnitRun::Settings out;
    out.origin = {commandOf(*command_), aboutProgram() + *settings};
    out.isMerge = mine.isMerge;
    if (mine.isMerge)
        out.places = mine.places.empty() ? std::vector{records_} : mine.places;
    else
        out.folder = records_;
    out.isPart = !mine.isMerge && (mine.rank || !shard_.empty());
    if (mine.rank && !mine.isMerge) out.shard = *mine.rank;
    if (!shard_.empty()) out.shard = *parseShard(shard_);
    auto run = UnitRun::open(std::move(out));
    if (!run) return tl::unexpected(run.error());
    run_ = std::move(*run);
    if (!mine.isMerge) stoppedWith(fmt::format("stopped; what was finished is kept in {}.", records_));
    return run_.get();
}

std::optional<Result<void>> UnitOptions::pause() const {
    if (!run_ || run_->isWhole()) return std::nullopt;
    if (const auto whole = run_->finish(); !whole) return tl::unexpected(whole.error());
    part().isPaused = true;
    std::string text = run_->shardText();
    if (!part().rank)
        text += " When all shards are here, start them again: the next step needs the results of this one.";
    return print(text + "\n");
}

std::optional<Result<void>> UnitOptions::end() const {
    if (!run_) return std::nullopt;
    const auto whole = run_->finish();
    if (!whole) return tl::unexpected(whole.error());
    if (*whole) return std::nullopt;
    return print(run_->shardText() + "\n");
}

} // namespace qs::cli
