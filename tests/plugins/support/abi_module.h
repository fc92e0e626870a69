// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Calls a backend module through its table, as the worker process does. Outputs are filled with NaN and have guard
// bytes.

#include "tests/plugins/support/abi_problem.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace qs::test {

/// A struct of the interface, all zero except struct_size.
template<class T> T sized() {
    T value{};
    value.struct_size = sizeof value;
    return value;
}

struct CloseContext {
    const qs_backend* table = nullptr;
    void operator()(qs_ctx* ctx) const { table->close(ctx); }
};

class AbiModule {
public:
    /// error() is empty if the module was loaded.
    explicit AbiModule(const std::string& path);
    explicit AbiModule(const qs_backend* table); ///< for a backend that is linked in
    const std::string& error() const { return error_; }
    const qs_backend* table() const { return table_; }

    using Options = std::vector<std::pair<std::string, std::string>>;
    struct Probe {
        int state = -1;
        std::string reason, hint;
    };
    Probe probe(const Options& options = {});
    /// Opens a context. Returns the problem, or an empty string.
    std::string open(const Options& options = {});
    std::string describe();
    qs_ctx* context() const { return context_.get(); }

    struct Variant {
        std::string id, note;
        std::uint32_t flags = 0;
        double nmseLimit = 0;
    };
    struct Support {
        int level = -1;
        std::string reason;
        std::vector<Variant> variants;
    };
    Support query(const qs_problem& problem);

    struct Run {
        int code = -1;
        std::string message;
        std::vector<float> out;
        qs_kernel_info info{};
        double nmse = 0;
        bool guardsWhole = true;
        std::vector<std::uint64_t> samples; ///< in ns; only if requested
        double lastOutNmse = 0;
        int clock = 0;
    };
    /// Calls prepare, execute and, if iterations > 0, bench for at most `seconds`. That time is long enough to tolerate
    /// a pause of the machine.
    Run run(const AbiProblem& problem, const std::string& variant, std::uint32_t iterations = 0,
            std::uint32_t bufferSets = 1, double seconds = 60);

private:
    std::string error_;
    const qs_backend* table_ = nullptr;
    std::unique_ptr<qs_ctx, CloseContext> context_;
    qs_host host_{};
};

/// A prepared kernel from which many samples are taken.
class PreparedKernel {
public:
    PreparedKernel(AbiModule& module, const AbiProblem& problem, const std::string& variant);
    ~PreparedKernel();
    PreparedKernel(const PreparedKernel&) = delete;
    PreparedKernel& operator=(const PreparedKernel&) = delete;
    const std::string& error() const { return error_; }
    /// Time of one run in ns, after one run that is not timed; 0 if it failed.
    std::uint64_t sample(std::uint32_t bufferSets);

private:
    const qs_backend* table_;
    const AbiProblem& problem_;
    qs_kernel* kernel_ = nullptr;
    std::string error_;
};

} // namespace qs::test
