// SPDX-License-Identifier: GPL-3.0-or-later
// The table of the backend "cuda". Its options are `device`, the number of the device (default 0), and `path`, the
// folder of cuBLAS and cuBLASLt.
#include "kernels/cuda/ptx.h"
#include "plugins/common/json_text.h"
#include "plugins/common/variant_rows.h"
#include "plugins/cuda/presence.h"
#include "plugins/cuda/product.h"
#include "plugins/cuda/timing.h"

#include <charconv>
#include <memory>

using namespace qs;
using plugin::Refusal;

struct qs_ctx {
    const qs_host* host = nullptr;
    std::atomic<bool> cancelled{false};
    cuda::Device device;
    ~qs_ctx() {
        device.blas.close(); // before the stream is destroyed, because it uses the stream
        if (device.stream) cudaStreamDestroy(device.stream);
    }
};
struct qs_kernel {
    qs_ctx* ctx;
    cuda::Product product;
    std::uint32_t turn = 0; ///< next copy to use. It is kept between calls: copies of the last call may be in a cache
};

namespace {

std::int32_t probe(const qs_host*, const qs_kv*, std::uint32_t, qs_probe* out, qs_error* error) {
    return plugin::guarded(error, [&] {
        const cuda::Presence found = cuda::findDevice(plugin::findSharedLibrary("libcuda.so.1"));
        auto answer = plugin::given(out);
        answer.state = found.present ? QS_PROBE_AVAILABLE : QS_PROBE_UNAVAILABLE;
        answer.score = found.present ? 100 : 0;
        plugin::put(answer.reason, found.reason), plugin::put(answer.hint, found.hint);
        plugin::give(out, answer);
    });
}

void openDevice(cuda::Device& device, const qs_kv* kv, std::uint32_t n) {
    const cuda::Presence found = cuda::findDevice(plugin::findSharedLibrary("libcuda.so.1"));
    if (!found.present) throw Refusal(QS_UNAVAILABLE, found.reason, found.hint);
    int count = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess || count == 0)
        throw Refusal(QS_UNAVAILABLE,
                      std::string("no device: ") + (code ? cudaGetErrorString(code) : "the driver sees none"));
    const char* wanted = qs_option(kv, n, "device");
    const std::string_view text = wanted ? wanted : "0";
    int number = -1;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size() || number < 0 || number >= count)
        throw Refusal(QS_INVALID_ARGUMENT,
                      "there is no device " + std::string(text) + ", only 0 to " + std::to_string(count - 1));
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, number), "the device's properties");
    if (properties.major < 8)
        throw Refusal(QS_UNAVAILABLE, std::string(properties.name) + " is older than compute capability 8.0");
    cuda::check(cudaSetDevice(number), "the device");
    // Not a non-blocking stream: copies use the default stream, and both streams must wait for each other.
    cuda::check(cudaStreamCreate(&device.stream), "a stream");
    device.processors = properties.multiProcessorCount, device.memory = properties.totalGlobalMem;
    device.l2 = std::size_t(std::max(properties.l2CacheSize, 0));
    device.name = properties.name;
    device.architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
    const char* path = qs_option(kv, n, "path");
    device.blas.load(path ? path : "", device.stream, 10 * properties.major + properties.minor);
    int runtime = 0, driver = 0;
    cudaRuntimeGetVersion(&runtime), cudaDriverGetVersion(&driver);
    plugin::JsonText json;
    json.text("plugin", "1.0")
        .number("runtime", runtime)
        .number("driver", driver)
        .text("cublas", device.blas.version());
    if (!device.blas.libraries().noBlas.empty()) json.text("cublas_missing", device.blas.libraries().noBlas);
    if (!device.blas.libraries().noLt.empty()) json.text("cublaslt_missing", device.blas.libraries().noLt);
    json.text("device", device.name).text("arch", device.architecture).number("processors", device.processors);
    json.number("l2_bytes", properties.l2CacheSize);
    device.versions = json.str();
}

std::int32_t open(const qs_host* host, const qs_kv* kv, std::uint32_t n, qs_ctx** out, qs_error* error) {
    *out = nullptr;
    return plugin::guarded(error, [&] {
        auto ctx = std::make_unique<qs_ctx>();
        ctx->host = host;
        openDevice(ctx->device, kv, n);
        *out = ctx.release();
    });
}
void close(qs_ctx* ctx) { delete ctx; }

std::int32_t describe(qs_ctx* ctx, char* buf, std::uint64_t cap, std::uint64_t* need, qs_error*) {
    plugin::giveText(ctx->device.versions, buf, cap, need);
    return QS_OK;
}
std::int32_t deviceCount(qs_ctx*, std::uint32_t* out, qs_error*) {
    *out = 1; // a context uses one device, which the option selects
    return QS_OK;
}
std::int32_t deviceGet(qs_ctx* ctx, std::uint32_t dev, qs_device* out, qs_error* error) {
    if (dev) return plugin::fail(error, QS_NOT_FOUND, "the context has one device");
    auto device = plugin::given(out);
    device.kind = QS_DEVICE_GPU, device.flags = 0, device.mem_total = ctx->device.memory;
    plugin::put(device.id, "cuda:0"), plugin::put(device.name, ctx->device.name);
    plugin::put(device.arch, ctx->device.architecture);
    plugin::give(out, device);
    return QS_OK;
}

void mustBeThe(std::uint32_t dev) {
    if (dev) throw Refusal(QS_NOT_FOUND, "the context has one device");
}

std::int32_t query(qs_ctx* ctx, std::uint32_t dev, const qs_problem* problem, qs_support* out, qs_error* error) {
    return plugin::guarded(error, [&] {
        mustBeThe(dev);
        const cuda::Plan plan = cuda::planFor(plugin::given(problem), ctx->device.blas.libraries());
        auto answer = plugin::given(out);
        answer.level = plan.variants.empty() ? QS_SUPPORT_NO : QS_SUPPORT_NATIVE;
        answer.n_variants = std::uint32_t(plan.variants.size());
        plugin::put(answer.reason, plan.refusal);
        plugin::give(out, answer);
    });
}

std::int32_t variantGet(qs_ctx* ctx, std::uint32_t dev, const qs_problem* problem, std::uint32_t index, qs_variant* out,
                        qs_error* error) {
    return plugin::guarded(error, [&] {
        mustBeThe(dev);
        const auto p = plugin::given(problem);
        const cuda::Plan plan = cuda::planFor(p, ctx->device.blas.libraries());
        cuda::VariantRow row = plugin::variantAt(plan.variants, index);
        if (row.path == cuda::Path::E4m3 && cuda::scalesItself(ctx->device, p)) row.note = cuda::kScaledInProduct;
        plugin::giveVariant(out, row, row.flags, cuda::nmseLimit(row, p));
    });
}

std::int32_t prepare(qs_ctx* ctx, std::uint32_t dev, const qs_problem* problem, const char* variant,
                     const qs_tensor* const* in, std::uint32_t n, qs_kernel** out, qs_kernel_info* info,
                     qs_error* error) {
    *out = nullptr;
    return plugin::guarded(error, [&] {
        mustBeThe(dev);
        const auto p = plugin::given(problem);
        cuda::Plan plan = cuda::planFor(p, ctx->device.blas.libraries());
        if (plan.variants.empty()) throw Refusal(QS_UNIMPLEMENTED, plan.refusal);
        const cuda::VariantRow& row = plugin::variantNamed(plan.variants, variant);
        plugin::giveKernel(out, info, [&] {
            return std::unique_ptr<qs_kernel>(
                new qs_kernel{ctx, cuda::Product(ctx->device, p, row, std::move(plan), in, n)});
        });
    });
}

std::int32_t execute(qs_kernel* kernel, const qs_tensor* const* act, std::uint32_t n, qs_tensor* const* outs,
                     std::uint32_t nOuts, qs_error* error) {
    return plugin::guarded(error, [&] {
        kernel->product.upload(act, n);
        kernel->product.run(0);
        kernel->product.download(outs, nOuts);
    });
}

std::int32_t bench(qs_kernel* kernel, const qs_tensor* const* act, std::uint32_t n, const qs_run_opts* options,
                   qs_run_result* out, qs_error* error) {
    return plugin::guarded(error, [&] {
        const auto opts = plugin::given(options);
        auto result = plugin::given(out);
        const std::uint32_t sets = std::max(1u, opts.buffer_sets);
        kernel->product.copies(sets);
        kernel->product.upload(act, n);
        kernel->ctx->cancelled = false;
        cuda::timeOnDevice(kernel->ctx->device.stream, kernel->ctx->host, kernel->ctx->cancelled, opts, result,
                           [&](std::uint32_t) { kernel->product.run(kernel->turn++ % sets); });
        if (result.last_out) kernel->product.download(&result.last_out, 1, false);
        plugin::give(out, result);
    });
}

std::int32_t roof(qs_ctx* ctx, std::uint32_t dev, const char* kind, const qs_run_opts* options, qs_run_result* out,
                  double* work, qs_error* error) {
    return plugin::guarded(error, [&] {
        mustBeThe(dev);
        const auto opts = plugin::given(options);
        auto result = plugin::given(out);
        ctx->cancelled = false;
        const double done = cuda::measureRoof(ctx->device, kind ? kind : "", ctx->host, ctx->cancelled, opts, result);
        if (work) *work = done;
        plugin::give(out, result);
    });
}

std::int32_t artifact(qs_kernel* kernel, const char* what, char* buf, std::uint64_t cap, std::uint64_t* need,
                      qs_error* error) {
    return plugin::guarded(error, [&] {
        if (!plugin::is(what, "ptx")) throw Refusal(QS_NOT_FOUND, "cuda has the text \"ptx\" only");
        std::string text;
        for (const std::string& name : kernel->product.kernelNames())
            text += cuda::ptxOf(cuda::ptxTexts(), name) + '\n';
        if (text.empty()) throw Refusal(QS_NOT_FOUND, "cuBLAS does not show its programs");
        plugin::giveText(text, buf, cap, need);
    });
}

void destroy(qs_kernel* kernel) { delete kernel; }
void cancel(qs_ctx* ctx) { ctx->cancelled = true; }

constexpr qs_backend kTable =
    plugin::tableOf({"cuda", "NVIDIA CUDA", "1.0", QS_ISOLATION_REQUIRED}, probe, open, close, describe, deviceCount,
                    deviceGet, roof, query, variantGet, prepare, execute, bench, artifact, destroy, cancel);

} // namespace

const qs_backend* quantscope_backend_query(std::uint32_t hostMajor, std::uint32_t) {
    return hostMajor == QS_ABI_MAJOR ? &kTable : nullptr;
}
