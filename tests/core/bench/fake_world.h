// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A benchmark with fake backends.

#include "fake_backend.h"

namespace benchtest {

inline FakeVariant variantOf(const char* id, Fault fault = Fault::None, double ns = 1e6) {
    FakeVariant out;
    out.variant.id = id;
    out.variant.note = "f32 products, f32 sums";
    out.variant.compute = "f32";
    out.fault = fault;
    out.ns = ns;
    return out;
}

/// One fake process for each source; all write to `seen`.
struct World {
    std::map<std::string, FakeBackend> prototypes;
    std::map<std::string, Failure> absent;
    Seen seen;
    BenchmarkPlan plan;
    int opened = 0;

    World() {
        plan.specs = {{"nf4", *parseSpec("nf4")}};
        plan.shapes = {{2, 300, 320, {}}};
        plan.secondsPerRow = 0.5;
        plan.cacheBytes = 1 << 20;
        plan.open = [this](const BackendSource& source, const Job&) -> Outcome<std::unique_ptr<Backend>> {
            if (const auto at = absent.find(source.id); at != absent.end()) return tl::unexpected(at->second);
            ++opened;
            auto fake = std::make_unique<FakeBackend>(prototypes.at(source.id));
            fake->name = source.id;
            fake->seen = &seen;
            return fake;
        };
    }
    FakeBackend& add(const char* id, std::vector<FakeVariant> variants) {
        BackendSource source;
        source.id = id;
        plan.backends.push_back(source);
        auto& fake = prototypes[id];
        fake.variants = std::move(variants);
        return fake;
    }
    void addOpenblas(double ns) {
        auto sgemm = variantOf("sgemm", Fault::None, ns);
        sgemm.variant.baseline = true;
        add("openblas", {sgemm}).only = "f32";
        plan.backends.back().baseline = true;
    }
    BenchmarkRun run() {
        auto result = runBenchmark(plan, {});
        if (!result) qFatal("%s", result.error().message.c_str());
        return *result;
    }
};

inline const BenchmarkRow* find(const BenchmarkRun& run, const char* variant, const char* spec = nullptr) {
    for (const auto& row : run.rows)
        if (row.answer.variant.id == variant && (!spec || row.question.spec == spec)) return &row;
    return nullptr;
}

} // namespace benchtest
