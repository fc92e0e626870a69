// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A backend module called through its table, as the worker does: outputs between guard bytes and filled with NaN.

#include "tests/plugins/support/abi_problem.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace qs::test {

/// A struct of the interface, zero but for its size.
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
    /// Empty error(): loaded.
    explicit AbiModule(const std::string& path);
    explicit AbiModule(const qs_backend* table); ///< linked in
    const std::string& error() const { return error_; }
    const qs_backend* table() const { return table_; }

    using Options = std::vector<std::pair<std::string, std::string>>;
    struct Probe {
        int state = -1;
        std::string reason, hint;
    };
    Probe probe(const Options& options = {});
    /// Opens a context; what went wrong, or empty.
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
        std::vector<std::uint64_t> samples; ///< when asked for
        double lastOutNmse = 0;
        int clock = 0;
    };
    /// prepare, execute and, with iterations > 0, bench for at most `seconds`, which a machine that stops for a while does
    /// not use up.
    Run run(const AbiProblem& problem, const std::string& variant, std::uint32_t iterations = 0,
            std::uint32_t bufferSets = 1, double seconds = 60);

private:
    std::string error_;
    const qs_backend* table_ = nullptr;
    std::unique_ptr<qs_ctx, CloseContext> context_;
    qs_host host_{};
};

/// One kernel kept for many samples.
class PreparedKernel {
public:
    PreparedKernel(AbiModule& module, const AbiProblem& problem, const std::string& variant);
    ~PreparedKernel();
    PreparedKernel(const PreparedKernel&) = delete;
    PreparedKernel& operator=(const PreparedKernel&) = delete;
    const std::string& error() const { return error_; }
    /// Nanoseconds of one run, after one that is not timed; 0 when it failed.
    std::uint64_t sample(std::uint32_t bufferSets);

private:
    const qs_backend* table_;
    const AbiProblem& problem_;
    qs_kernel* kernel_ = nullptr;
    std::string error_;
};

} // namespace qs::test
