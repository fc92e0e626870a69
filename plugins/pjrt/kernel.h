// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A compiled program with its weights on the device: what prepare() makes, execute() runs and bench() times.

#include "plugins/pjrt/emit.h"

#include <atomic>
#include <functional>
#include <span>

namespace qs::pjrt {

using ShouldStop = std::function<bool()>;

struct BenchOptions {
    std::uint32_t warmup = 1, iterations = 10, chain = 1, bufferSets = 1;
    double maxSeconds = 2;
};

class Kernel {
public:
    /// Compiles and checks what the compiler says about the outputs. Constants are uploaded one by one afterwards.
    Kernel(Client& client, Emitted program);

    /// Of the arguments that are not per run, in order.
    void uploadConstant(const void* data);
    void setActivation(std::size_t index, const void* data); ///< index among the per-run arguments
    void run();                                              ///< and waits
    void readResult(std::size_t index, void* out) const;
    /// Times runs; every sample ends when its last run is complete. `stop` ends it with CANCELLED. Copies of the weights
    /// stay for the next call that wants as many.
    std::vector<std::uint64_t> bench(const BenchOptions& options, const ShouldStop& stop);

    const Emitted& program() const { return program_; }
    const CompiledFigures& figures() const { return figures_; }
    double compileMs() const { return compiled_->ms; }
    int verdict() const; ///< QS_FUSION_*
    std::uint64_t weightBytes() const;
    std::string optimizedProgram() const { return compiled_->executable.optimizedProgram(); }

private:
    void* start(std::size_t set, std::vector<Owned>& outputs) const;
    void copySets(std::size_t sets);
    void sample(const BenchOptions& options, std::size_t& next);

    const Client& client_;
    Emitted program_;
    std::shared_ptr<const Compiled> compiled_;
    CompiledFigures figures_;
    std::vector<Owned> act_;
    std::vector<std::vector<Owned>> sets_{1}; ///< copies of all other arguments
    std::vector<Owned> outputs_;
};

/// Fused, materialised or folded, from what the compiler says of memory. `weights` is what the weights take packed,
/// `decoded` what the largest decoded weight of the program would take.
int fusionVerdict(const CompiledFigures& figures, std::uint64_t weights, std::uint64_t decoded);

} // namespace qs::pjrt
