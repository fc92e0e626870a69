// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bench/backend/wire_values.h"

#include <cmath>
#include <limits>

namespace qs {

using nlohmann::json;

namespace {

constexpr std::size_t kText = 4096; ///< longer than any text of the ABI, escapes included
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();

json wireOf(const OperandFormat& f) {
    return {{"format", f.format},
            {"packing", f.packing},
            {"scale_dtype", f.scaleDtype},
            {"zero_dtype", f.zeroDtype},
            {"bits", f.bits},
            {"pack_axis", f.packAxis},
            {"block_axis", f.blockAxis},
            {"channel_axis", f.channelAxis},
            {"code_bias", f.codeBias},
            {"block", f.block},
            {"codebook", f.codebook}};
}

std::vector<float> floatsFrom(Fields& fields, const char* key, std::size_t most) {
    std::vector<float> out;
    for (const auto& value : fields.array(key, most))
        if (value.is_number())
            out.push_back(value.get<float>());
        else
            fields.refuse(std::string("'") + key + "' holds what is not a number");
    return out;
}

OperandFormat formatFrom(Fields& fields) {
    OperandFormat f;
    f.format = fields.text("format", kText);
    f.packing = fields.text("packing", kText);
    f.scaleDtype = fields.text("scale_dtype", kText);
    f.zeroDtype = fields.text("zero_dtype", kText);
    f.bits = std::uint32_t(fields.count("bits", 64));
    f.packAxis = int(fields.integer("pack_axis", -1, 3));
    f.blockAxis = int(fields.integer("block_axis", -1, 3));
    f.channelAxis = int(fields.integer("channel_axis", -1, 3));
    f.codeBias = int(fields.integer("code_bias", -65536, 65536));
    f.block = fields.count("block", kAny);
    f.codebook = floatsFrom(fields, "codebook", 65536);
    return f;
}

std::optional<OperandFormat> maybeFormatFrom(Fields& fields, const char* key) {
    if (!fields.has(key)) return std::nullopt;
    Fields nested(fields.object(key));
    auto format = formatFrom(nested);
    fields.take(nested);
    return format;
}

template<class T> json maybe(const std::optional<T>& value) { return value ? json(*value) : json(); }
std::optional<double> maybeNumber(Fields& fields, const char* key) {
    const double value = fields.number(key);
    return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}
std::optional<std::int64_t> maybeBytes(Fields& fields, const char* key) {
    return std::isnan(fields.number(key)) ? std::nullopt : std::optional(fields.integer(key, 0, kAnyInteger));
}

} // namespace

json wireOf(const Failure& failure) { return {{"state", rowStateText(failure.state)}, {"reason", failure.reason}}; }

Failure failureFrom(Fields& fields) {
    const std::string state = fields.text("state", 32);
    Failure failure{RowState::Failed, fields.text("reason", kText)};
    for (const auto known : {RowState::Failed, RowState::Declined, RowState::Unavailable, RowState::Cancelled,
                             RowState::Crashed, RowState::NotBuilt}) {
        if (state != rowStateText(known)) continue;
        failure.state = known;
        return failure;
    }
    fields.refuse("'state' is none that a worker reports");
    return failure;
}

json wireOf(const Options& options) {
    json list = json::array();
    for (const auto& [key, value] : options) list.push_back(json::array({key, value}));
    return list;
}

Options optionsFrom(Fields& fields, const char* key) {
    Options options;
    for (const auto& pair : fields.array(key, 256))
        if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
            options.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
        else
            fields.refuse("an option is not a pair of texts");
    return options;
}

json wireOf(const ProbeResult& p) {
    return {{"state", rowStateText(p.state)}, {"score", p.score},     {"id", p.id},         {"name", p.name},
            {"version", p.version},           {"license", p.license}, {"reason", p.reason}, {"hint", p.hint},
            {"isolation", p.isolation}};
}

ProbeResult probeFrom(Fields& fields) {
    ProbeResult probe;
    const std::string state = fields.text("state", 32);
    bool known = false;
    for (const auto s : {RowState::Unavailable, RowState::Available, RowState::NeedsConfig, RowState::CompileOnly})
        if (state == rowStateText(s)) known = true, probe.state = s;
    if (!known) fields.refuse("'state' is none of a probe");
    probe.score = int(fields.integer("score", INT32_MIN, INT32_MAX));
    probe.id = fields.text("id", kText);
    probe.name = fields.text("name", kText);
    probe.version = fields.text("version", kText);
    probe.license = fields.text("license", kText);
    probe.reason = fields.text("reason", kText);
    probe.hint = fields.text("hint", kText);
    probe.isolation = int(fields.integer("isolation", INT32_MIN, INT32_MAX));
    return probe;
}

json wireOf(const std::vector<DeviceInfo>& devices) {
    json list = json::array();
    for (const auto& d : devices)
        list.push_back({{"id", d.id}, {"name", d.name}, {"arch", d.arch}, {"kind", d.kind}, {"memory", d.memory}});
    return list;
}

std::vector<DeviceInfo> devicesFrom(Fields& fields, const char* key) {
    std::vector<DeviceInfo> devices;
    for (const auto& item : fields.array(key, 64)) {
        Fields f(item);
        devices.push_back({f.text("id", kText), f.text("name", kText), f.text("arch", kText),
                           int(f.integer("kind", 1, 5)), f.count("memory", kAny)});
        fields.take(f);
    }
    return devices;
}

json wireOf(const Problem& p) {
    json out = {{"op", p.op},
                {"m", p.m},
                {"n", p.n},
                {"k", p.k},
                {"w_is_kn", p.wIsKn},
                {"bias", p.bias},
                {"dynamic_act", p.dynamicAct},
                {"compute", p.compute},
                {"accum", p.accum},
                {"out", p.out}};
    if (p.weight) out["weight"] = wireOf(*p.weight);
    if (p.act) out["act"] = wireOf(*p.act);
    return out;
}

Problem problemFrom(Fields& fields) {
    Problem p;
    p.op = fields.text("op", kText);
    p.m = fields.integer("m", 0, kAnyInteger);
    p.n = fields.integer("n", 0, kAnyInteger);
    p.k = fields.integer("k", 0, kAnyInteger);
    p.wIsKn = fields.flag("w_is_kn");
    p.bias = fields.flag("bias");
    p.dynamicAct = fields.flag("dynamic_act");
    p.compute = fields.text("compute", kText);
    p.accum = fields.text("accum", kText);
    p.out = fields.text("out", kText);
    p.weight = maybeFormatFrom(fields, "weight");
    p.act = maybeFormatFrom(fields, "act");
    return p;
}

json wireOf(const Support& support) {
    json variants = json::array();
    for (const auto& v : support.variants)
        variants.push_back({{"id", v.id},
                            {"title", v.title},
                            {"note", v.note},
                            {"approx", v.approx},
                            {"experimental", v.experimental},
                            {"baseline", v.baseline},
                            {"repacks", v.repacks},
                            {"nmse_limit", v.nmseLimit},
                            {"levels", v.levels}});
    return {{"level", support.level}, {"reason", support.reason}, {"variants", std::move(variants)}};
}

Support supportFrom(Fields& fields) {
    Support support;
    support.level = int(fields.integer("level", 0, 2));
    support.reason = fields.text("reason", kText);
    for (const auto& item : fields.array("variants", 256)) {
        Fields f(item);
        Variant v{f.text("id", kText), f.text("title", kText), f.text("note", kText)};
        v.approx = f.flag("approx");
        v.experimental = f.flag("experimental");
        v.baseline = f.flag("baseline");
        v.repacks = f.flag("repacks");
        v.nmseLimit = f.number("nmse_limit");
        if (std::isnan(v.nmseLimit)) v.nmseLimit = 0;
        v.levels = floatsFrom(f, "levels", 16);
        support.variants.push_back(std::move(v));
        fields.take(f);
    }
    return support;
}

json wireOf(const PreparedKernel& kernel) {
    const auto& i = kernel.info;
    return {{"handle", kernel.handle},
            {"fusion", i.fusion},
            {"repack_ms", maybe(i.repackMs)},
            {"upload_ms", maybe(i.uploadMs)},
            {"compile_ms", maybe(i.compileMs)},
            {"flops", maybe(i.flops)},
            {"bytes_accessed", maybe(i.bytesAccessed)},
            {"arg_bytes", maybe(i.argBytes)},
            {"out_bytes", maybe(i.outBytes)},
            {"temp_bytes", maybe(i.tempBytes)},
            {"peak_bytes", maybe(i.peakBytes)},
            {"code_bytes", maybe(i.codeBytes)},
            {"weight_bytes", maybe(i.weightBytes)},
            {"copy_bytes", maybe(i.copyBytes)},
            {"prepare_ns", i.prepareNs}};
}

PreparedKernel kernelFrom(Fields& fields) {
    PreparedKernel kernel;
    auto& i = kernel.info;
    kernel.handle = fields.count("handle", kAny);
    i.fusion = int(fields.integer("fusion", 0, 3));
    i.repackMs = maybeNumber(fields, "repack_ms");
    i.uploadMs = maybeNumber(fields, "upload_ms");
    i.compileMs = maybeNumber(fields, "compile_ms");
    i.flops = maybeNumber(fields, "flops");
    i.bytesAccessed = maybeNumber(fields, "bytes_accessed");
    i.argBytes = maybeBytes(fields, "arg_bytes");
    i.outBytes = maybeBytes(fields, "out_bytes");
    i.tempBytes = maybeBytes(fields, "temp_bytes");
    i.peakBytes = maybeBytes(fields, "peak_bytes");
    i.codeBytes = maybeBytes(fields, "code_bytes");
    i.weightBytes = maybeBytes(fields, "weight_bytes");
    i.copyBytes = maybeBytes(fields, "copy_bytes");
    i.prepareNs = fields.number("prepare_ns");
    if (!(i.prepareNs >= 0)) fields.refuse("'prepare_ns' is not a time");
    return kernel;
}

json wireOf(const RunOptions& o) {
    return {{"warmup", o.warmup},
            {"iterations", o.iterations},
            {"chain", o.chain},
            {"buffer_sets", o.bufferSets},
            {"cold", o.cold},
            {"max_seconds", o.maxSeconds},
            {"memory_bytes", o.memoryBytes}};
}

RunOptions runOptionsFrom(Fields& fields) {
    RunOptions o;
    o.warmup = std::uint32_t(fields.count("warmup", UINT32_MAX));
    o.iterations = std::uint32_t(fields.count("iterations", 1u << 20));
    o.chain = std::uint32_t(fields.count("chain", UINT32_MAX));
    o.bufferSets = std::uint32_t(fields.count("buffer_sets", UINT32_MAX));
    o.cold = fields.flag("cold");
    o.maxSeconds = fields.number("max_seconds");
    if (!(o.maxSeconds >= 0)) fields.refuse("'max_seconds' is not a time");
    o.memoryBytes = fields.count("memory_bytes", UINT64_MAX);
    return o;
}

json wireOf(const RunSamples& s) { return {{"ns", s.ns}, {"clock", s.clock}, {"timing_valid", s.timingValid}}; }

RunSamples samplesFrom(Fields& fields) {
    RunSamples samples;
    for (const auto& ns : fields.array("ns", 1u << 20))
        if (ns.is_number_unsigned())
            samples.ns.push_back(ns.get<std::uint64_t>());
        else
            fields.refuse("'ns' holds what is not a time");
    samples.clock = int(fields.integer("clock", INT32_MIN, INT32_MAX));
    samples.timingValid = fields.flag("timing_valid");
    return samples;
}

} // namespace qs
