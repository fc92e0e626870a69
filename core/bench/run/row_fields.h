// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// THE list of the fields of a benchmark's rows, in the form of core/bench/backend/value_fields.h.

#include "core/bench/backend/value_fields.h"
#include "core/bench/run/benchmark.h"

namespace qs {

template<class Io> void fields(Io& io, Interval& interval) {
    io("low", interval.low);
    io("high", interval.high);
}
template<class Io> void fields(Io& io, BenchShape& shape) {
    io("m", shape.m);
    io("n", shape.n);
    io("k", shape.k);
    io("tensor", shape.tensor);
}
template<class Io> void fields(Io& io, BenchmarkRow::Question& asked) {
    io("backend", asked.backend);
    io("device", asked.device);
    io("spec", asked.spec);
    io("full", asked.specFull);
    io("op", asked.op);
    io("act", asked.act);
    io("m", asked.m);
    io("n", asked.n);
    io("k", asked.k);
    io.named("cache", asked.cache, 2, cacheText);
    io("bias", asked.bias);
    io("threads", asked.threads);
    io("tensor", asked.tensor);
    io("command", asked.command);
}
template<class Io> void fields(Io& io, BenchmarkRow::Answer& answer) {
    io("device_name", answer.deviceName);
    io("device_arch", answer.deviceArch);
    io("variant", answer.variant);
    io("emulated", answer.emulated);
    io("kernel", answer.kernel);
    io("artifacts", answer.artifacts);
}
template<class Io> void fields(Io& io, BenchmarkRow::Check& check) {
    io("nmse", check.nmse);
    io("worst_nmse", check.worstNmse);
    io("nmse_limit", check.nmseLimit);
    io("format_nmse", check.formatNmse);
    io("approx_nmse", check.approxNmse);
    io("checked_outputs", check.checkedOutputs);
    io("outputs", check.outputs);
    io("checked_shapes", check.checkedShapes);
}
template<class Io> void fields(Io& io, BenchmarkRow::Timing& timing) {
    io("clock", timing.clock);
    io("samples", timing.samples);
    io("round_medians", timing.roundMedians);
    io("median_ns", timing.medianNs);
    io("min_ns", timing.minNs);
    io("p95_ns", timing.p95Ns);
    io("ci_ns", timing.ciNs);
    io("gflops", timing.gflops);
    io("weight_gbps", timing.weightGbps);
    io("intensity", timing.intensity);
    io("in_caches", timing.inCaches);
    io("buffer_sets", timing.bufferSets);
    io("iterations", timing.iterations);
    io("chain", timing.chain);
    io("probe_read", timing.probeRead);
    io("probe_f32", timing.probeF32);
    io("repeated_rounds", timing.repeatedRounds);
    io("busy", timing.busy);
    io("busy_probe", timing.busyProbe);
    io("busy_share", timing.busyShare);
}
template<class Io> void fields(Io& io, BenchmarkRow::Verdict& verdict) {
    io.named("status", verdict.status, kRowStates, rowStateText);
    io("reason", verdict.reason);
    io("hint", verdict.hint);
    io("speedup", verdict.speedup);
    io("speedup_ci", verdict.speedupCi);
    io("speedup_reason", verdict.speedupReason);
    io("roof_share", verdict.roofShare);
    io("roof_kind", verdict.roofKind);
    io("without_cache_roof", verdict.withoutCacheRoof);
}
template<class Io> void fields(Io& io, BenchmarkRow& row) {
    io("question", row.question);
    io("answer", row.answer);
    io("check", row.check);
    io("timing", row.timing);
    io("verdict", row.verdict);
}
template<class Io> void fields(Io& io, MeasuredRoof& roof) {
    io("backend", roof.backend);
    io("device", roof.device);
    io("kind", roof.kind);
    io("per_second", roof.perSecond);
    io("samples", roof.samples);
    io("reason", roof.reason);
}
template<class Io> void fields(Io& io, ModelPassRow& row) {
    io("backend", row.backend);
    io("device", row.device);
    io("spec", row.spec);
    io("act", row.act);
    io("op", row.op);
    io("m", row.m);
    io.named("cache", row.cache, 2, cacheText);
    io("products", row.products);
    io("missing", row.missing);
    io("busy", row.busy);
    io("ns", row.ns);
    io("ns_ci", row.nsCi);
    io("tokens_per_second", row.tokensPerSecond);
    io("speedup", row.speedup);
    io("variants", row.variants);
    io("reason", row.reason);
}

} // namespace qs
