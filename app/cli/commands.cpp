// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/declare.h"

#include <array>

namespace qs::cli {
namespace {

const auto kCommands = std::to_array<Command>({
    {"inspect", "List the tensors of a checkpoint: dtype, shape, bytes and, if asked, statistics", declareInspect},
    {"quantize", "Write a quantized copy of a checkpoint", declareQuantize},
    {"export", "Write a copy whose tensors are quantized as a recipe says, and prove it", declareExport},
    {"dequantize", "Write the decoded values of a quantized checkpoint", declareDequantize},
    {"analyze", "Measure what specs do to each tensor, and write reports", declareAnalyze},
    {"sweep", "Measure formats times block sizes, and find which of them nothing beats", declareSweep},
    {"eval", "Measure what specs do to the output of a language model", declareEval},
    {"sensitivity", "Find which matrices of a language model its output depends on", declareSensitivity},
    {"plan", "Choose a spec for every tensor under a budget, and test the choice against chance", declarePlan},
    {"recipe", "Read, resolve and convert recipes of other programs: which tensor gets which spec", declareRecipe},
    {"capture", "Record the inputs of a language model's layers, for solvers and importance weights", declareCapture},
    {"tokenize", "Turn a text into the token ids of a model", declareTokenize},
    {"audit", "Look for wrong labels and orders, weights quantized before, dead channels, NaN and duplicates",
     declareAudit},
    {"merge", "Put the records of several processes together to the result of their command", declareMerge},
    {"diff", "Compare two checkpoints tensor by tensor, under the names and orders of other ecosystems", declareDiff},
    {"verify", "Compare an export of any program with its original, or with its certificate alone", declareVerify},
    {"whatif", "What transposing, reshaping, joining, cutting and sharding a quantized tensor costs", declareWhatIf},
    {"train", "Train a tensor's latent weights through the rounding, and keep the result as a spec", declareTrain},
    {"products", "Measure a layer's three products under a spec for each operand", declareProducts},
    {"kvcache", "Measure what quantizing the key and value cache does to attention", declareKvCache},
    {"backends", "List the backends that can run quantized products here, and why others cannot", declareBackends},
    {"bench", "Check backends against f64 and time their quantized products in turns", declareBench},
    {"formats", "List the number formats", declareFormats},
    {"metrics", "List the metrics with their formulas", declareMetrics},
    {"layouts", "List the export layouts and what each takes", declareLayouts},
    {"calibrations", "List the calibrations, the ways to choose a scale", declareCalibrations},
    {"solvers", "List the solvers, which keep a layer's output instead of its weights", declareSolvers},
    {"conventions", "List the ways in which programs store quantized layers, and what proves each", declareConventions},
});

} // namespace

std::span<const Command> commands() { return kCommands; }

} // namespace qs::cli
