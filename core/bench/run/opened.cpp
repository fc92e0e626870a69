// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/run/opened.h"

#include "plugins/abi/quantscope_backend.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {

void OpenedBackend::note(const Failure& happened) {
    if (happened.state != RowState::Crashed && happened.state != RowState::Hung) return;
    failure = {happened.state, fmt::format("not run: before, the backend {}", happened.reason), happened.hint};
    backend.reset();
}

namespace {

/// If a backend does not open, its probe may know what it lacks: "needs_config" is more helpful than "failed".
void explain(OpenedBackend& out, const Job& job) {
    if (out.failure.state != RowState::Failed) return;
    const auto probed = probeBackend(out.source, Deadlines{}, job);
    if (!probed) return;
    // A failure code of a plugin that works otherwise means that it does not run here, as in `backends`.
    const bool fine = probed->state == RowState::Available;
    out.failure.state = fine ? RowState::Unavailable : probed->state;
    if (fine) return;
    if (!probed->reason.empty()) out.failure.reason = probed->reason;
    if (!probed->hint.empty()) out.failure.hint = probed->hint;
}

} // namespace

OpenedBackend openForBenchmark(const BenchmarkPlan& plan, const BackendSource& asked, const Job& job) {
    OpenedBackend out;
    out.source = asked;
    if (plan.threads && !asked.option("threads"))
        out.source.options.emplace_back("threads", std::to_string(plan.threads));
    if (!asked.built) {
        out.failure = {RowState::NotBuilt, fmt::format("this build has no backend {}", asked.id)};
        return out;
    }
    auto opened = plan.open ? plan.open(out.source, job) : openBackend(out.source, Deadlines{}, job);
    if (!opened) {
        out.failure = opened.error();
        if (!plan.open) explain(out, job);
        return out;
    }
    out.backend = std::move(*opened);
    auto devices = out.backend->devices();
    if (!devices) {
        out.failure = devices.error();
        out.backend.reset();
        return out;
    }
    out.devices = std::move(*devices);
    if (out.devices.empty()) {
        out.failure = {RowState::Unavailable, "the backend has no device"};
        out.backend.reset();
        return out;
    }
    if (auto text = out.backend->describe())
        out.description = std::move(*text);
    else
        out.note(text.error());
    return out;
}

std::optional<double> Roofs::sample(OpenedBackend& opened, std::uint32_t device, const std::string& kind,
                                    RunOptions options) {
    if (!opened.backend || device >= opened.devices.size()) return std::nullopt;
    const DeviceInfo& info = opened.devices[device];
    const std::size_t order = entries_.size();
    auto& entry = entries_[{opened.source.id, info.id, kind}];
    if (entry.roof.kind.empty()) {
        entry.roof = {opened.source.id, info.id, kind, 0, 0, {}};
        entry.host = info.kind == QS_DEVICE_CPU;
        entry.order = order;
    }
    options.memoryBytes = memoryBytes_;
    const auto samples = opened.backend->roof(device, kind, options);
    if (!samples) {
        if (entry.roof.samples == 0) entry.roof.reason = samples.error().reason;
        opened.note(samples.error());
        return std::nullopt;
    }
    if (!samples->timingValid || samples->ns.empty() || !(samples->work > 0)) {
        entry.roof.reason = "its times are no measurement";
        return std::nullopt;
    }
    const std::uint64_t least = *std::ranges::min_element(samples->ns);
    if (least == 0) return std::nullopt;
    const double rate = samples->work * 1e9 / double(least);
    entry.roof.perSecond = std::max(entry.roof.perSecond, rate);
    entry.roof.samples += samples->ns.size();
    entry.roof.reason.clear();
    return rate;
}

namespace {

constexpr RunOptions kRoofRun{
    .warmup = 1, .iterations = 30, .chain = 1, .bufferSets = 1, .cold = true, .maxSeconds = 0.3, .memoryBytes = 0};
constexpr std::uint32_t kPatient = 500; ///< samples: other programs alternate in milliseconds
constexpr int kOften = 8;               ///< on a machine that stays busy, more attempts give nothing and take long

} // namespace

void Roofs::measure(OpenedBackend& opened, std::uint32_t device, bool warm) {
    if (!opened.backend || device >= opened.devices.size()) return;
    const auto known = [&](const char* kind) {
        return entries_.count({opened.source.id, opened.devices[device].id, kind}) > 0;
    };
    if (!known(kKinds[0]))
        for (const char* kind : kKinds) sample(opened, device, kind, kRoofRun);
    if (warm && opened.backend && !known(kWarm)) sample(opened, device, kWarm, kRoofRun);
}

bool Roofs::again(OpenedBackend& opened, std::uint32_t device, const std::string& kind) {
    if (!opened.backend || device >= opened.devices.size()) return false;
    if (entries_[{opened.source.id, opened.devices[device].id, kind}].again++ >= kOften) return false;
    auto run = kRoofRun;
    run.iterations = kPatient;
    sample(opened, device, kind, run);
    return true;
}

std::optional<double> Roofs::probe(OpenedBackend& opened, std::uint32_t device, const char* kind) {
    return sample(opened, device, kind,
                  {.warmup = 1,
                   .iterations = 2,
                   .chain = 1,
                   .bufferSets = 1,
                   .cold = true,
                   .maxSeconds = 0.01,
                   .memoryBytes = 0});
}

std::optional<double> Roofs::best(const OpenedBackend& opened, std::uint32_t device, std::string_view kind) const {
    if (device >= opened.devices.size()) return std::nullopt;
    const bool host = opened.devices[device].kind == QS_DEVICE_CPU;
    double most = 0;
    for (const auto& [key, entry] : entries_)
        if (key.kind == kind &&
            (host ? entry.host : key.backend == opened.source.id && key.device == opened.devices[device].id))
            most = std::max(most, entry.roof.perSecond);
    return most > 0 ? std::optional(most) : std::nullopt;
}

std::vector<MeasuredRoof> Roofs::list() const {
    std::vector<const Entry*> sorted;
    for (const auto& [key, entry] : entries_) sorted.push_back(&entry);
    std::ranges::sort(sorted, [](const Entry* a, const Entry* b) { return a->order < b->order; });
    std::vector<MeasuredRoof> out;
    for (const auto* entry : sorted) out.push_back(entry->roof);
    return out;
}

} // namespace qs
