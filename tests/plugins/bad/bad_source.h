// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The faulty plugin as a backend source, with a selected fault, and a small product to run on it.

#include "core/bench/backend/backend.h"

#include <QTest>
#include <chrono>
#include <cmath>

namespace qs::test {

inline BackendSource badSource(const std::string& fault = {}, const std::string& library = "bad") {
    BackendSource source;
    source.path = std::string(QS_BAD_DIR "/") + library + ".so";
    source.id = library + ".so";
    source.shipped = false;
    if (!fault.empty()) source.options.emplace_back("fault", fault);
    releaseQuarantine(source); // set by the case before, which uses the same file
    return source;
}

/// Deadlines that a correct worker process meets on a busy machine.
inline Deadlines patient() { return {20, 20, 20, 20, 20}; }
/// The same, but shorter for the step of `fault`, so that a test of a hang is quick.
inline Deadlines hurried(const std::string& fault) {
    auto deadlines = patient();
    const std::string step = fault.substr(0, fault.find(':'));
    const bool runs = step == "execute" || step == "bench" || step == "roof";
    (step == "open"      ? deadlines.open
     : step == "prepare" ? deadlines.prepare
     : runs              ? deadlines.runSlack
                         : deadlines.query) = 0.4;
    return deadlines;
}

inline HostTensor floats(const char* role, std::vector<std::int64_t> dims, float step) {
    std::uint64_t count = 1;
    for (const auto dim : dims) count *= std::uint64_t(dim);
    HostTensor tensor{role, "f32", std::move(dims), *SharedBuffer::create(count * 4), 0, count * 4};
    for (std::size_t i = 0; i < count; ++i) tensor.buffer->as<float>()[i] = float(i % 7) * step;
    return tensor;
}

struct Product {
    Problem problem;
    HostTensor weight = floats("weight", {3, 8}, 0.5f), act = floats("act", {2, 8}, 0.25f),
               out = floats("out", {2, 3}, 0);
    Product() {
        problem.m = 2;
        problem.n = 3;
        problem.k = 8;
        problem.weight = OperandFormat{};
        problem.act = OperandFormat{};
    }
    float expected(int m, int n) const {
        double sum = 0;
        for (int k = 0; k < 8; ++k)
            sum += double(act.buffer->as<float>()[m * 8 + k]) * weight.buffer->as<float>()[n * 8 + k];
        return float(sum);
    }
};

/// Runs every step once, in order. Returns the first Failure.
inline Outcome<void> wholeRun(Backend& backend, Product& product) {
    if (const auto said = backend.describe(); !said) return tl::unexpected(said.error());
    if (const auto devices = backend.devices(); !devices) return tl::unexpected(devices.error());
    RunOptions options;
    options.maxSeconds = 0.01;
    if (const auto roof = backend.roof(0, "read_bw", options); !roof) return tl::unexpected(roof.error());
    if (const auto support = backend.query(0, product.problem); !support) return tl::unexpected(support.error());
    const auto kernel = backend.prepare(0, product.problem, "plain", {&product.weight, 1});
    if (!kernel) return tl::unexpected(kernel.error());
    if (const auto done = backend.execute(kernel->handle, {&product.act, 1}, {&product.out, 1}); !done) return done;
    if (const auto runs = backend.bench(kernel->handle, {&product.act, 1}, options, &product.out); !runs)
        return tl::unexpected(runs.error());
    if (const auto text = backend.artifact(kernel->handle, "source"); !text) return tl::unexpected(text.error());
    backend.destroy(kernel->handle);
    if (const auto again = backend.devices(); !again)
        return tl::unexpected(again.error()); // destroy() returns no error, so
                                              // one more step is needed
    return {};
}

inline double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace qs::test
