// SPDX-License-Identifier: GPL-3.0-or-later
// probeBackend and openBackend: the first questions to a new worker.
#include "core/bench/backend/remote_backend.h"
#include "core/bench/backend/wire_values.h"

#include <algorithm>

namespace qs {

Outcome<ProbeResult> probeBackend(const BackendSource& source, const Deadlines& deadlines, const Job& job) {
    auto session = WorkerSession::start(source, deadlines, job);
    if (!session) return tl::unexpected(session.error());
    const auto answer = (*session)->ask({{"call", "probe"}, {"options", wireOf(source.options)}}, deadlines.probe);
    if (!answer) return tl::unexpected(answer.error());
    Fields fields(*answer);
    auto probe = valueFrom<ProbeResult>(fields);
    if (!fields.problem() && source.shipped && probe.id != source.base)
        fields.refuse("it calls itself '" + probe.id + "'");
    if (!fields.problem() && !source.shipped && isShippedId(probe.id))
        return tl::unexpected(Failure{RowState::Declined,
                                      "calls itself '" + probe.id + "', which is a backend of this program",
                                      "give it an id of its own"});
    if (fields.problem()) return tl::unexpected((*session)->refuse("probe", *fields.problem()));
    if (!source.path.empty()) probe.isolation = 1; // always for a loaded library
    return probe;
}

Outcome<std::unique_ptr<Backend>> openBackend(const BackendSource& source, const Deadlines& deadlines, const Job& job) {
    auto session = WorkerSession::start(source, deadlines, job);
    if (!session) return tl::unexpected(session.error());
    // Loading has the deadline of the probe: a hang there must not take as long as a device that starts.
    const auto loaded = (*session)->ask({{"call", "load"}, {"options", wireOf(source.options)}}, deadlines.probe);
    if (!loaded) return tl::unexpected(loaded.error());
    Fields fields(*loaded);
    auto environment = optionsFrom(fields, "environment");
    const double wanted = fields.number("open_seconds");
    if (fields.problem()) return tl::unexpected((*session)->refuse("load", *fields.problem()));
    const double seconds = std::max(deadlines.open, std::min(wanted, deadlines.longestOpen));
    const auto opened = (*session)->ask({{"call", "open"}}, seconds);
    if (!opened) return tl::unexpected(opened.error());
    return std::unique_ptr<Backend>(new RemoteBackend(std::move(*session), std::move(environment)));
}

} // namespace qs
