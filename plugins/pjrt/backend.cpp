// SPDX-License-Identifier: GPL-3.0-or-later
// The table of the pjrt backend: every entry checks what the host gave, does its work, and turns Faults into codes.
#include "plugins/pjrt/context.h"
#include "plugins/pjrt/hlo_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace qs::pjrt {
namespace {

using plugin::giveText;
using plugin::guarded;
using plugin::put;

void demand(bool good, const char* text) {
    if (!good) throw Fault{QS_INVALID_ARGUMENT, text};
}

/// Writes the fields that the caller's struct has, and does not change its struct_size. Throws if there is no struct.
template<class T> void give(T* to, const T& from) {
    demand(to != nullptr && to->struct_size >= 2 * sizeof(std::uint32_t), "an output struct is missing or has no size");
    plugin::give(to, from);
}

/// Copies a struct of the caller. Fields that the caller's struct does not have become 0. Throws if there is no struct.
template<class T> T take(const T* from) {
    demand(from != nullptr && from->struct_size >= 2 * sizeof(std::uint32_t),
           "an input struct is missing or has no size");
    return plugin::given(from);
}

void log(const qs_host* host, int level, const std::string& text) {
    if (host != nullptr && host->log != nullptr) host->log(host->user, level, text.c_str());
}

Operands operandsOf(const qs_problem* problem) {
    auto p = take(problem);
    qs_format weight{}, act{};
    if (p.weight != nullptr) {
        weight = take(p.weight);
        p.weight = &weight;
    }
    if (p.act != nullptr) {
        act = take(p.act);
        p.act = &act;
    }
    Operands operands;
    if (auto no = readOperands(p, operands); !no.empty()) throw Fault{QS_UNIMPLEMENTED, no};
    return operands;
}

void demandDevice(qs_ctx* ctx, std::uint32_t dev) {
    demand(ctx != nullptr, "the context is missing");
    demand(dev == 0, "the pjrt backend uses device 0 only");
}

void demandDevicePresent(const qs_ctx& ctx) {
    if (ctx.client->compileOnly())
        throw Fault{QS_UNIMPLEMENTED, "compiled for " + ctx.topology + " without its device: nothing can be run"};
}

BenchOptions optionsOf(const qs_run_opts* opts) {
    const auto o = take(opts);
    BenchOptions out;
    out.warmup = std::min(o.warmup, 100000u);
    out.iterations = std::max(1u, o.iters);
    out.chain = std::clamp(o.chain, 1u, 100000u);
    out.bufferSets = std::clamp(o.buffer_sets, 1u, 65536u);
    out.maxSeconds = o.max_seconds > 0 ? o.max_seconds : 1e9;
    return out;
}

void giveSamples(const std::vector<std::uint64_t>& samples, qs_run_result* result) {
    result->n = std::uint32_t(std::min<std::size_t>(samples.size(), result->cap));
    result->clock = QS_CLOCK_HOST;
    result->timing_valid = 1;
    std::copy_n(samples.begin(), result->n, result->samples_ns);
}

void demandRoom(const qs_run_result* result) {
    demand(result != nullptr && result->struct_size >= offsetof(qs_run_result, last_out) &&
               result->samples_ns != nullptr && result->cap > 0,
           "there is no room for samples");
}

qs_tensor* lastOut(const qs_run_result* result) {
    return result->struct_size >= offsetof(qs_run_result, last_out) + sizeof(void*) ? result->last_out : nullptr;
}

std::int32_t probe(const qs_host*, const qs_kv* options, std::uint32_t n, qs_probe* out, qs_error* error) {
    return guarded(error, [&] {
        const auto usable = examine(readSettings(options, n));
        qs_probe answer{};
        answer.state = usable.state;
        answer.score = usable.state == QS_PROBE_AVAILABLE ? 10 : 0;
        put(answer.reason, usable.reason);
        put(answer.hint, usable.hint);
        give(out, answer);
    });
}

std::int32_t open(const qs_host* host, const qs_kv* options, std::uint32_t n, qs_ctx** out, qs_error* error) {
    if (out != nullptr) *out = nullptr;
    return guarded(error, [&] {
        demand(out != nullptr, "the place for the context is missing");
        const auto settings = readSettings(options, n);
        const auto usable = examine(settings);
        if (usable.state != QS_PROBE_AVAILABLE && usable.state != QS_PROBE_COMPILE_ONLY)
            throw Fault{usable.state == QS_PROBE_NEEDS_CONFIG ? QS_FAILED_PRECONDITION : QS_UNAVAILABLE, usable.reason,
                        usable.hint};
        // Must be set before the library is loaded. Otherwise libtpu asks a cloud server without end.
        if (usable.skipMetadata) setenv("TPU_SKIP_MDS_QUERY", "1", 0);
        auto context = std::make_unique<qs_ctx>();
        if (host != nullptr) context->host = take(host);
        context->path = settings.path;
        context->topology = usable.topology;
        const Log toHost = [ctx = context.get()](int level, const std::string& text) { log(&ctx->host, level, text); };
        const ClientRequest request{usable.gpu, usable.topology, settings.chipsPerHostBounds};
        context->client = std::make_unique<Client>(Api::load(settings.path, toHost), request, toHost);
        *out = context.release();
    });
}

void close(qs_ctx* ctx) { delete ctx; }

std::int32_t describe(qs_ctx* ctx, char* buf, std::uint64_t cap, std::uint64_t* need, qs_error* error) {
    return guarded(error, [&] {
        demand(ctx != nullptr, "no context");
        giveText(describeJson(*ctx), buf, cap, need);
    });
}

std::int32_t deviceCount(qs_ctx* ctx, std::uint32_t* out, qs_error* error) {
    return guarded(error, [&] {
        demand(ctx != nullptr && out != nullptr, "the context or the place for the count is missing");
        *out = 1; // programs run on one device; other devices of the plugin are not used
    });
}

std::int32_t deviceGet(qs_ctx* ctx, std::uint32_t dev, qs_device* out, qs_error* error) {
    return guarded(error, [&] {
        demandDevice(ctx, dev);
        const auto& client = *ctx->client;
        qs_device device{};
        const auto& platform = client.platform();
        device.kind = client.compileOnly() ? QS_DEVICE_COMPILE_ONLY
                      : platform == "cpu"  ? QS_DEVICE_CPU
                      : platform == "tpu"  ? QS_DEVICE_TPU
                                           : QS_DEVICE_GPU;
        device.mem_total = std::uint64_t(client.deviceMemory().value_or(0));
        const auto kind = client.deviceKind();
        put(device.id, platform + ":" + (ctx->topology.empty() ? "0" : ctx->topology));
        put(device.name, "XLA " + platform + (kind.empty() || kind == platform ? "" : ", " + kind));
        put(device.arch, ctx->topology.empty() ? kind : ctx->topology);
        give(out, device);
    });
}

std::int32_t roof(qs_ctx* ctx, std::uint32_t dev, const char* kind, const qs_run_opts* opts, qs_run_result* result,
                  double* work, qs_error* error) {
    return guarded(error, [&] {
        demandDevice(ctx, dev);
        demand(kind != nullptr && work != nullptr, "the kind of roof or the place for its work is missing");
        demandDevicePresent(*ctx);
        demandRoom(result);
        ctx->cancelled = false;
        auto options = optionsOf(opts);
        options.iterations = std::min(options.iterations, result->cap);
        giveSamples(measureRoof(*ctx, kind, options, *work), result);
    });
}

std::int32_t query(qs_ctx* ctx, std::uint32_t dev, const qs_problem* problem, qs_support* out, qs_error* error) {
    return guarded(error, [&] {
        demandDevice(ctx, dev);
        qs_support support{};
        try {
            const auto operands = operandsOf(problem);
            const auto variants = variantsFor(operands);
            support.n_variants = std::uint32_t(variants.size());
            const bool native = operands.op == Op::QuantizeAct || operands.weight.perByte == 1;
            support.level = variants.empty() ? QS_SUPPORT_NO : native ? QS_SUPPORT_NATIVE : QS_SUPPORT_EMULATED;
            put(support.reason,
                variants.empty()
                    ? "no program multiplies in \"" + operands.compute + "\" and adds in \"" + operands.accum + "\""
                : native ? ""
                         : "XLA has no product of packed codes: the program decodes them, and whether that is fused "
                           "into the product is measured");
        } catch (const Fault& fault) {
            if (fault.code != QS_UNIMPLEMENTED) throw;
            support.level = QS_SUPPORT_NO;
            put(support.reason, fault.sentence);
        }
        give(out, support);
    });
}

std::int32_t variantGet(qs_ctx* ctx, std::uint32_t dev, const qs_problem* problem, std::uint32_t index, qs_variant* out,
                        qs_error* error) {
    return guarded(error, [&] {
        demandDevice(ctx, dev);
        const auto variants = variantsFor(operandsOf(problem));
        demand(index < variants.size(), "there is no variant of that number");
        const auto& v = variants[index];
        qs_variant answer{};
        answer.flags = v.flags;
        answer.nmse_limit = v.nmseLimit;
        answer.levels_n = std::uint32_t(v.levels.size());
        std::copy(v.levels.begin(), v.levels.end(), answer.levels);
        put(answer.id, v.id);
        put(answer.title, v.title);
        put(answer.note, v.note);
        put(answer.compute, v.product);
        give(out, answer);
    });
}

std::int32_t prepareKernel(qs_ctx* ctx, std::uint32_t dev, const qs_problem* problem, const char* variant,
                           const qs_tensor* const* in, std::uint32_t n, qs_kernel** out, qs_kernel_info* info,
                           qs_error* error) {
    if (out != nullptr) *out = nullptr;
    return guarded(error, [&] {
        demandDevice(ctx, dev);
        demand(variant != nullptr && out != nullptr && (in != nullptr || n == 0),
               "the variant, the inputs or the place for the kernel are missing");
        ctx->cancelled = false;
        const auto operands = operandsOf(problem);
        const auto variants = variantsFor(operands);
        const auto chosen =
            std::find_if(variants.begin(), variants.end(), [&](const Variant& v) { return v.id == variant; });
        demand(chosen != variants.end(), "the problem has no variant of that name");
        auto kernel = std::make_unique<qs_kernel>(qs_kernel{ctx, prepare(*ctx->client, operands, *chosen, {in, n})});
        if (info != nullptr) {
            const auto& k = *kernel->prepared.kernel;
            const auto& f = k.figures();
            const bool quantized = operands.op == Op::Matmul && operands.weight.meaning != CodeMeaning::Float;
            qs_kernel_info answer{};
            answer.fusion = quantized ? k.verdict() : QS_FUSION_UNKNOWN;
            answer.repack_ms = ctx->client->compileOnly() ? -1 : kernel->prepared.repackMs;
            answer.upload_ms = ctx->client->compileOnly() ? -1 : kernel->prepared.uploadMs;
            answer.compile_ms = k.compileMs();
            answer.flops = f.flops.value_or(-1);
            answer.bytes_accessed = f.bytesAccessed.value_or(-1);
            answer.arg_bytes = f.argumentBytes.value_or(-1);
            answer.out_bytes = f.outputBytes.value_or(-1);
            answer.temp_bytes = f.tempBytes.value_or(-1);
            answer.peak_bytes = f.peakBytes.value_or(-1);
            answer.code_bytes = f.codeBytes.value_or(-1);
            answer.weight_bytes = operands.op == Op::QuantizeAct ? -1 : std::int64_t(k.weightBytes());
            give(info, answer);
        }
        *out = kernel.release();
    });
}

void setActivations(qs_kernel& kernel, const qs_tensor* const* act, std::uint32_t n) {
    demand(act != nullptr || n == 0, "the list of activations is missing");
    std::size_t index = 0;
    for (const auto& argument : kernel.prepared.kernel->program().arguments) {
        if (!argument.perRun()) continue;
        const char* role = argument.role == Role::Act ? "act" : "act_scale";
        const auto* tensor = findTensor({act, n}, role);
        demandInput(tensor, role, argument.spec);
        kernel.prepared.kernel->setActivation(index++, tensor->data);
    }
}

const char* outputRole(std::size_t index) { return index == 0 ? "out" : "out_scale"; }

std::int32_t execute(qs_kernel* kernel, const qs_tensor* const* act, std::uint32_t n, qs_tensor* const* outs,
                     std::uint32_t nOuts, qs_error* error) {
    return guarded(error, [&] {
        demand(kernel != nullptr && outs != nullptr, "the kernel or the outputs are missing");
        demandDevicePresent(*kernel->context);
        auto& k = *kernel->prepared.kernel;
        const auto& results = k.program().results;
        const auto target = [&](std::size_t i) {
            const auto* tensor = findTensor({outs, nOuts}, outputRole(i));
            demandOutput(tensor, outputRole(i), results[i]);
            return tensor->out;
        };
        for (std::size_t i = 0; i < results.size(); ++i) target(i);
        setActivations(*kernel, act, n);
        k.run();
        for (std::size_t i = 0; i < results.size(); ++i) k.readResult(i, target(i));
    });
}

std::int32_t bench(qs_kernel* kernel, const qs_tensor* const* act, std::uint32_t n, const qs_run_opts* opts,
                   qs_run_result* result, qs_error* error) {
    return guarded(error, [&] {
        demand(kernel != nullptr, "the kernel is missing");
        demandDevicePresent(*kernel->context);
        demandRoom(result);
        auto& k = *kernel->prepared.kernel;
        auto* last = lastOut(result);
        if (last != nullptr) demandOutput(last, "out", k.program().results[0]);
        auto options = optionsOf(opts);
        options.iterations = std::min(options.iterations, result->cap);
        setActivations(*kernel, act, n);
        kernel->context->cancelled = false;
        giveSamples(k.bench(options, [&] { return kernel->context->stop(); }), result);
        if (last != nullptr) k.readResult(0, last->out);
    });
}

std::int32_t artifact(qs_kernel* kernel, const char* what, char* buf, std::uint64_t cap, std::uint64_t* need,
                      qs_error* error) {
    return guarded(error, [&] {
        demand(kernel != nullptr && what != nullptr, "the kernel or the name of the text is missing");
        const auto& k = *kernel->prepared.kernel;
        const std::string name = what;
        if (name == "stablehlo")
            giveText(k.program().text, buf, cap, need);
        else if (name == "hlo_with_config") {
            const std::string program = k.optimizedProgram(), text = hloText(program);
            giveText(text.empty() ? base64(program) : text, buf, cap, need); // some plugins use a format of their own
        } else
            throw Fault{QS_NOT_FOUND, "a PJRT program has the texts stablehlo and hlo_with_config, but not " + name};
    });
}

void kernelDestroy(qs_kernel* kernel) { delete kernel; }
void cancel(qs_ctx* ctx) {
    if (ctx != nullptr) ctx->cancelled = true;
}

constexpr qs_backend kBackend = plugin::tableOf(
    {"pjrt", "PJRT (XLA: TPU, GPU, CPU)", "1.0", QS_ISOLATION_REQUIRED, 120}, probe, open, close, describe, deviceCount,
    deviceGet, roof, query, variantGet, prepareKernel, execute, bench, artifact, kernelDestroy, cancel);

} // namespace
} // namespace qs::pjrt

extern "C" const qs_backend* quantscope_backend_query(std::uint32_t hostMajor, std::uint32_t) {
    return hostMajor == QS_ABI_MAJOR ? &qs::pjrt::kBackend : nullptr;
}
