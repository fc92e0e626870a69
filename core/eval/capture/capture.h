// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Writes the inputs that a network's matrices get from a text to a file. Solvers, learned codebooks and weighted errors
// use them. The forward pass takes the stored weights in f32. Sums are f64: one for each chunk in the order of its tokens,
// and these are added in the order of the chunks.

#include "core/eval/network/network_weights.h"
#include "core/eval/run/evaluation_text.h"
#include "core/model/output/atomic_file.h"

#include <span>

namespace qs {
class UnitRun;
}

namespace qs::eval {

struct CapturePlan {
    EvaluationText text;
    std::size_t context = 512; ///< tokens of a chunk; only whole chunks are used
    std::size_t chunks = 0;    ///< most chunks to use; 0: all
    std::size_t rows = 1024;   ///< most rows of a matrix, spread evenly over the text; 0: all. Only for kind "rows"
    /// Shares the chunks with other processes. Only a process that is no shard of several and finds all chunks writes the
    /// file. Null: all chunks are computed.
    UnitRun* units = nullptr;
    Replace replace = Replace::Any; ///< what an importance matrix may replace
};

/// All 0: no file was written, see CapturePlan::units.
struct Captured {
    std::size_t tokens = 0, chunks = 0, matrices = 0;
    std::uint64_t bytes = 0; ///< size of the file
};

/// What can be captured. A file is written whole or not at all.
struct CaptureKind {
    const char* id;
    const char* title;
    const char* extension; ///< how the name of its file ends: ".gguf"
    bool limitsRows;       ///< true: CapturePlan::rows has an effect
    Result<Captured> (*write)(std::shared_ptr<const Model> model, const CapturePlan& plan, const std::string& path,
                              const Job& job);
};
std::span<const CaptureKind> captureKinds();
/// The kind whose extension the path has. `id` chooses among kinds with the same extension; if it is empty, the first
/// one is taken. The error lists the kinds.
Result<const CaptureKind*> captureKindOf(std::string_view path, std::string_view id);

} // namespace qs::eval
