// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Options of a plan on the backend that will run it: measured times, and which specs the backend takes.

#include "app/cli/option.h"
#include "core/plan/options.h"

namespace qs::cli {

struct LatencyOptions {
    std::string latency, backend, target, plugin;
    std::int64_t rows = 0; ///< M; 0: the least that was measured

    void declare(CLI::App& app);
    /// Sets times and target of the request, which has model and specs. `needsTimes`: there is a budget of time.
    Result<void> fill(plan::OptionRequest& request, bool needsTimes, const Job& job);
    const std::vector<BenchmarkRow>& measured() const { return measured_; } ///< by fill(): all rows of the file
    std::string commandLine() const; ///< with a space in front; "" where nothing was given

private:
    Result<void> readTimes(plan::OptionRequest& request, bool needsTimes);
    Result<void> ask(plan::OptionRequest& request, const Job& job) const;
    std::vector<BenchmarkRow> measured_;
};

} // namespace qs::cli
