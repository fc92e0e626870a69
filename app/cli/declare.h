// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The declare function of every command, for the registry.

#include "app/cli/command.h"

namespace qs::cli {

using Run = std::function<Result<void>()>;

Run declareInspect(CLI::App& app);
Run declareQuantize(CLI::App& app);
Run declareExport(CLI::App& app);
Run declareDequantize(CLI::App& app);
Run declareAnalyze(CLI::App& app);
Run declareSweep(CLI::App& app);
Run declareEval(CLI::App& app);
Run declarePlan(CLI::App& app);
Run declareRecipe(CLI::App& app);
Run declareSensitivity(CLI::App& app);
Run declareCapture(CLI::App& app);
Run declareTokenize(CLI::App& app);
Run declareAudit(CLI::App& app);
Run declareMerge(CLI::App& app);
Run declareDiff(CLI::App& app);
Run declareVerify(CLI::App& app);
Run declareWhatIf(CLI::App& app);
Run declareTrain(CLI::App& app);
Run declareProducts(CLI::App& app);
Run declareKvCache(CLI::App& app);
Run declareBackends(CLI::App& app);
Run declareBench(CLI::App& app);
Run declareFormats(CLI::App& app);
Run declareMetrics(CLI::App& app);
Run declareLayouts(CLI::App& app);
Run declareCalibrations(CLI::App& app);
Run declareSolvers(CLI::App& app);
Run declareConventions(CLI::App& app);

} // namespace qs::cli
