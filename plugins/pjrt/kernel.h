// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A compiled program with its weights on the device. prepare() makes it, execute() runs it, bench() times it.

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
    /// Compiles the program and checks that its outputs are those that were asked for. The caller then uploads the
    /// constants one by one.
    Kernel(Client& client, Emitted program);

    /// Uploads the next of the arguments that are the same in every run (weights, scales, tables).
    void uploadConstant(const void* data);
    void setActivation(std::size_t index, const void* data); ///< `index` counts only the arguments of each run
    void run();                                              ///< runs once and waits for the result
    void readResult(std::size_t index, void* out) const;
    /// Times runs. Every sample ends when its last run is complete. Throws QS_CANCELLED if stop() is true. The copies
    /// of the weights are kept for the next call.
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
    std::vector<std::vector<Owned>> sets_{1}; ///< copies of the arguments that are the same in every run
    std::vector<Owned> outputs_;
};

/// QS_FUSION_*: decided from the memory that the compiler reports. `weights` is the size of the packed weights and
/// `decoded` the size of the largest decoded weight in the program, both in bytes.
int fusionVerdict(const CompiledFigures& figures, std::uint64_t weights, std::uint64_t decoded);

} // namespace qs::pjrt
