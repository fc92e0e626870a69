// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The options --records and --shard: several processes share the units of a command, see core/records/unit_run.h.

#include "app/cli/option.h"
#include "core/records/unit_run.h"

#include <memory>
#include <optional>

namespace qs::cli {

/// How this process takes part in the command that it runs. Set before the command runs.
struct Part {
    std::optional<Shard> rank;       ///< of a process that mpirun started
    bool isMerge = false;            ///< the command only puts records together
    bool isPaused = false;           ///< set by the command: it needs results of others, see UnitOptions::pause()
    bool force = false;              ///< --force, of a merge also for the command that it runs
    std::vector<std::string> places; ///< of a merge: files and folders with records; empty: that of --records
};
Part& part();

class UnitOptions {
public:
    /// Declares the options. `this` and `app` must outlive parsing and the run.
    void declare(CLI::App& app);
    /// Opens the records. Null: the command computes everything and keeps nothing. `reports`: true if a report is asked
    /// for, which a shard does not write. Errors: options that do not go together, and those of UnitRun::open().
    Result<UnitRun*> open(bool reports) const;
    /// Call it where the command needs the results of all units so far to go on. Empty: it has them. Else as end(); the
    /// process is to run again when all processes have come here.
    std::optional<Result<void>> pause() const;
    /// Call it when all units were asked for. Empty: the result is whole, so the command goes on. Else the command ends
    /// with this: the process has done its part, and said so, or a merge lacks units.
    std::optional<Result<void>> end() const;

private:
    std::string records_, shard_;
    const CLI::App* command_ = nullptr;
    mutable std::unique_ptr<UnitRun> run_;
};

/// True if the parsed command has the options.
bool sharesUnits(const CLI::App& command);

} // namespace qs::cli
