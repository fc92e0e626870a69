// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// THE list of the fields of every value that backends exchange: io("key", value.field, &struct::member). `io` writes or
// reads JSON (core/process/json_fields.h: for the worker and for session files) or a struct of the C ABI
// (abi_values.cpp). A field without a member is not copied to the ABI by `io`.

#include "core/bench/backend/backend.h"
#include "plugins/abi/quantscope_backend.h"

namespace qs {

constexpr int kRowStates = int(RowState::Cancelled) + 1;

template<class Io> void fields(Io& io, ProbeResult& probe) {
    io.named("state", probe.state, kRowStates, rowStateText);
    io("score", probe.score, &qs_probe::score);
    io("reason", probe.reason, &qs_probe::reason);
    io("hint", probe.hint, &qs_probe::hint);
    io("id", probe.id); // the table has the rest
    io("name", probe.name);
    io("version", probe.version);
    io("license", probe.license);
    io("isolation", probe.isolation);
}

template<class Io> void fields(Io& io, DeviceInfo& device) {
    io("id", device.id, &qs_device::id);
    io("name", device.name, &qs_device::name);
    io("arch", device.arch, &qs_device::arch);
    io("kind", device.kind, &qs_device::kind);
    io("memory", device.memory, &qs_device::mem_total);
    io.flag("host_roofs", device.hostRoofs, &qs_device::flags, QS_DEVICE_HOST_ROOFS);
}

template<class Io> void fields(Io& io, OperandFormat& format) {
    io("format", format.format, &qs_format::format);
    io("packing", format.packing, &qs_format::packing);
    io("scale_dtype", format.scaleDtype, &qs_format::scale_dtype);
    io("zero_dtype", format.zeroDtype, &qs_format::zero_dtype);
    io("bits", format.bits, &qs_format::bits);
    io("pack_axis", format.packAxis, &qs_format::pack_axis);
    io("block_axis", format.blockAxis, &qs_format::block_axis);
    io("channel_axis", format.channelAxis, &qs_format::channel_axis);
    io("code_bias", format.codeBias, &qs_format::code_bias);
    io("block", format.block, &qs_format::block);
    io("row_multiple", format.rowMultiple, &qs_format::row_multiple);
    io("codebook", format.codebook, &qs_format::codebook, &qs_format::codebook_n);
}

template<class Io> void fields(Io& io, Problem& problem) {
    io("op", problem.op, &qs_problem::op);
    io("m", problem.m, &qs_problem::m);
    io("n", problem.n, &qs_problem::n);
    io("k", problem.k, &qs_problem::k);
    io.flag("w_is_kn", problem.wIsKn, &qs_problem::flags, QS_PROBLEM_W_IS_KN);
    io.flag("bias", problem.bias, &qs_problem::flags, QS_PROBLEM_BIAS);
    io.flag("dynamic_act", problem.dynamicAct, &qs_problem::flags, QS_PROBLEM_DYNAMIC_ACT);
    io("compute", problem.compute, &qs_problem::compute);
    io("accum", problem.accum, &qs_problem::accum);
    io("out", problem.out, &qs_problem::out);
    io("weight", problem.weight);
    io("act", problem.act);
}

template<class Io> void fields(Io& io, Variant& variant) {
    io("id", variant.id, &qs_variant::id);
    io("title", variant.title, &qs_variant::title);
    io("note", variant.note, &qs_variant::note);
    io("compute", variant.compute, &qs_variant::compute);
    io.flag("approx", variant.approx, &qs_variant::flags, QS_VARIANT_APPROX);
    io.flag("experimental", variant.experimental, &qs_variant::flags, QS_VARIANT_EXPERIMENTAL);
    io.flag("baseline", variant.baseline, &qs_variant::flags, QS_VARIANT_BASELINE);
    io.flag("repacks", variant.repacks, &qs_variant::flags, QS_VARIANT_REPACKS);
    io("nmse_limit", variant.nmseLimit, &qs_variant::nmse_limit);
    io("levels", variant.levels, &qs_variant::levels, &qs_variant::levels_n);
}

template<class Io> void fields(Io& io, Support& support) {
    io("level", support.level, &qs_support::level);
    io("reason", support.reason, &qs_support::reason);
    io("variants", support.variants);
}

template<class Io> void fields(Io& io, KernelInfo& info) {
    io("fusion", info.fusion, &qs_kernel_info::fusion);
    io("repack_ms", info.repackMs, &qs_kernel_info::repack_ms);
    io("upload_ms", info.uploadMs, &qs_kernel_info::upload_ms);
    io("compile_ms", info.compileMs, &qs_kernel_info::compile_ms);
    io("flops", info.flops, &qs_kernel_info::flops);
    io("bytes_accessed", info.bytesAccessed, &qs_kernel_info::bytes_accessed);
    io("arg_bytes", info.argBytes, &qs_kernel_info::arg_bytes);
    io("out_bytes", info.outBytes, &qs_kernel_info::out_bytes);
    io("temp_bytes", info.tempBytes, &qs_kernel_info::temp_bytes);
    io("peak_bytes", info.peakBytes, &qs_kernel_info::peak_bytes);
    io("code_bytes", info.codeBytes, &qs_kernel_info::code_bytes);
    io("weight_bytes", info.weightBytes, &qs_kernel_info::weight_bytes);
    io("copy_bytes", info.copyBytes, &qs_kernel_info::copy_bytes);
    io("prepare_ns", info.prepareNs);
}
template<class Io> void fields(Io& io, PreparedKernel& kernel) {
    io("handle", kernel.handle);
    io("info", kernel.info);
}

template<class Io> void fields(Io& io, RunOptions& options) {
    io("warmup", options.warmup, &qs_run_opts::warmup);
    io("iterations", options.iterations, &qs_run_opts::iters);
    io("chain", options.chain, &qs_run_opts::chain);
    io("buffer_sets", options.bufferSets, &qs_run_opts::buffer_sets);
    io.flag("cold", options.cold, &qs_run_opts::flags, QS_RUN_COLD);
    io("max_seconds", options.maxSeconds, &qs_run_opts::max_seconds);
    io("memory_bytes", options.memoryBytes, &qs_run_opts::memory_bytes);
}

template<class Io> void fields(Io& io, RunSamples& samples) {
    io("ns", samples.ns);
    io("clock", samples.clock);
    io("timing_valid", samples.timingValid);
}

template<class Io> void fields(Io& io, Failure& failure) {
    io.named("state", failure.state, kRowStates, rowStateText);
    io("reason", failure.reason);
    io("hint", failure.hint);
}

/// What is invalid in a value from another process, a file or a plugin: "device kind 9"; "" if nothing is. A failure
/// may only have the states that a worker reports.
std::string faultOf(const ProbeResult& probe);
std::string faultOf(const DeviceInfo& device);
std::string faultOf(const OperandFormat& format);
std::string faultOf(const Problem& problem);
std::string faultOf(const Variant& variant);
std::string faultOf(const Support& support);
std::string faultOf(const PreparedKernel& kernel);
std::string faultOf(const RunOptions& options);
std::string faultOf(const RunSamples& samples);
std::string faultOf(const Failure& failure);

} // namespace qs
