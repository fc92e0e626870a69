// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/remote_backend.h"

#include "core/bench/backend/abi_values.h"
#include "core/bench/backend/wire_values.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace qs {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

/// The worker measures times itself; none can be longer than the wait for the answer.
Outcome<void> plausibleTimes(const RunSamples& samples, const RunOptions& options, Clock::time_point asked) {
    if (!samples.timingValid) return {};
    const double wall = std::chrono::duration<double, std::nano>(Clock::now() - asked).count();
    const auto invalid = [](std::string why) { return tl::unexpected(Failure{RowState::Invalid, std::move(why)}); };
    double sum = 0;
    for (const auto ns : samples.ns) {
        if (ns <= 1)
            return invalid(
                fmt::format("a run is said to have taken {} ns: the backend did not wait for the result", ns));
        sum += double(ns) * std::max(1u, options.chain);
    }
    constexpr double slack = 1e6; // nanoseconds; in addition 2 % between two clocks
    if (sum <= 1.02 * wall + slack) return {};
    return invalid(fmt::format("its runs are said to have taken {:.4g} s, but the answer came after {:.4g} s",
                               sum * 1e-9, wall * 1e-9));
}

} // namespace

Outcome<json> RemoteBackend::ask(json request, double seconds, Lists lists) {
    json drop = json::array(), buffers = json::array();
    for (auto it = known_.begin(); it != known_.end();) {
        const bool gone = it->second.buffer.expired();
        if (gone) drop.push_back(it->second.id);
        it = gone ? known_.erase(it) : std::next(it);
    }
    std::vector<int> descriptors;
    for (const auto& [role, tensors] : lists) {
        json list = json::array();
        for (const auto& tensor : tensors) {
            if (auto fault = tensorFault(tensor)) return tl::unexpected(Failure{RowState::Failed, *fault});
            auto [at, fresh] = known_.try_emplace(tensor.buffer.get(), Known{lastBuffer_ + 1, tensor.buffer});
            if (fresh) {
                ++lastBuffer_;
                buffers.push_back({{"id", at->second.id}, {"bytes", tensor.buffer->size()}});
                descriptors.push_back(tensor.buffer->descriptor());
            }
            list.push_back({{"role", tensor.role},
                            {"dtype", tensor.dtype},
                            {"dims", tensor.dims},
                            {"buffer", at->second.id},
                            {"offset", tensor.offset},
                            {"bytes", tensor.bytes}});
        }
        request[role] = std::move(list);
    }
    if (lists.size() > 0) request["buffers"] = std::move(buffers), request["drop"] = std::move(drop);
    return session_->ask(std::move(request), seconds, descriptors);
}

Outcome<std::string> RemoteBackend::describe() {
    const auto answer = ask({{"call", "describe"}}, session_->deadlines().query);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    const auto text = strictObject(fields.text("text", kLongestFrame));
    if (fields.problem()) return tl::unexpected(session_->refuse("describe", *fields.problem()));
    if (!text) return tl::unexpected(session_->refuse("describe", text.error()));
    json merged = *text;
    if (!environment_.empty()) merged["worker_environment"] = json::object();
    for (const auto& [name, value] : environment_) merged["worker_environment"][name] = value;
    return merged.dump();
}

Outcome<std::vector<DeviceInfo>> RemoteBackend::devices() {
    const auto answer = ask({{"call", "devices"}}, session_->deadlines().query);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    auto devices = devicesFrom(fields, "devices");
    if (fields.problem()) return tl::unexpected(session_->refuse("devices", *fields.problem()));
    return devices;
}

Outcome<RoofSamples> RemoteBackend::roof(std::uint32_t device, const std::string& kind, const RunOptions& options) {
    const auto asked = Clock::now();
    const auto answer = ask({{"call", "roof"}, {"device", device}, {"kind", kind}, {"options", wireOf(options)}},
                            options.maxSeconds + session_->deadlines().runSlack);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    RoofSamples roof;
    static_cast<RunSamples&>(roof) = valueFrom<RunSamples>(fields);
    roof.work = fields.number("work");
    if (!(roof.work > 0)) fields.refuse("'work' is not positive");
    if (fields.problem()) return tl::unexpected(session_->refuse("roof", *fields.problem()));
    if (auto fine = plausibleTimes(roof, options, asked); !fine) return tl::unexpected(fine.error());
    return roof;
}

Outcome<Support> RemoteBackend::query(std::uint32_t device, const Problem& problem) {
    const auto answer =
        ask({{"call", "query"}, {"device", device}, {"problem", wireOf(problem)}}, session_->deadlines().query);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    auto support = valueFrom<Support>(fields);
    if (fields.problem()) return tl::unexpected(session_->refuse("query", *fields.problem()));
    return support;
}

Outcome<PreparedKernel> RemoteBackend::prepare(std::uint32_t device, const Problem& problem, const std::string& variant,
                                               std::span<const HostTensor> inputs) {
    const auto answer =
        ask({{"call", "prepare"}, {"device", device}, {"problem", wireOf(problem)}, {"variant", variant}},
            session_->deadlines().prepare, {{"inputs", inputs}});
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    auto kernel = valueFrom<PreparedKernel>(fields);
    if (fields.problem()) return tl::unexpected(session_->refuse("prepare", *fields.problem()));
    return kernel;
}

Outcome<void> RemoteBackend::execute(std::uint64_t kernel, std::span<const HostTensor> act,
                                     std::span<const HostTensor> outs) {
    const auto answer =
        ask({{"call", "execute"}, {"kernel", kernel}}, session_->deadlines().runSlack, {{"act", act}, {"outs", outs}});
    if (!answer) return tl::unexpected(answer.error());
    return {};
}

Outcome<RunSamples> RemoteBackend::bench(std::uint64_t kernel, std::span<const HostTensor> act,
                                         const RunOptions& options, const HostTensor* lastOut) {
    const auto last = lastOut ? std::span<const HostTensor>(lastOut, 1) : std::span<const HostTensor>();
    const auto asked = Clock::now();
    const auto answer = ask({{"call", "bench"}, {"kernel", kernel}, {"options", wireOf(options)}},
                            options.maxSeconds + session_->deadlines().runSlack, {{"act", act}, {"outs", last}});
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    auto samples = valueFrom<RunSamples>(fields);
    if (fields.problem()) return tl::unexpected(session_->refuse("bench", *fields.problem()));
    if (auto fine = plausibleTimes(samples, options, asked); !fine) return tl::unexpected(fine.error());
    return samples;
}

Outcome<std::optional<std::string>> RemoteBackend::artifact(std::uint64_t kernel, const std::string& what) {
    const auto answer = ask({{"call", "artifact"}, {"kernel", kernel}, {"what", what}}, session_->deadlines().query);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    if (!fields.has("text")) return std::optional<std::string>();
    auto text = fields.text("text", kLongestFrame);
    if (fields.problem()) return tl::unexpected(session_->refuse("artifact", *fields.problem()));
    return std::optional(std::move(text));
}

void RemoteBackend::destroy(std::uint64_t kernel) {
    (void)ask({{"call", "destroy"}, {"kernel", kernel}}, session_->deadlines().query);
}

} // namespace qs
