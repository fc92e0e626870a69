// SPDX-License-Identifier: GPL-3.0-or-later
// The table of the backend "openblas". Options: path, threads, and coretype, which is "default" or a name that
// OPENBLAS_CORETYPE accepts.
#include "kernels/roofs.h"
#include "plugins/common/entry.h"
#include "plugins/common/operands.h"
#include "plugins/common/timed_loop.h"
#include "plugins/common/variant_rows.h"
#include "plugins/openblas/product.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <unistd.h>

using namespace qs;
using plugin::Refusal;

struct qs_ctx {
    const qs_host* host;
    openblas::Library library;
    std::atomic<bool> cancelled{false};
};
struct qs_kernel {
    qs_ctx* ctx;
    openblas::Product product;
    std::uint32_t turn = 0; ///< next copy to use. It is kept between calls: copies of the last call may be in a cache
};

namespace {

constexpr std::size_t kStreamBytes = std::size_t(64) << 20, kPeakSteps = 200000;
constexpr const char* kHint = "install it (Debian, Ubuntu: libopenblas0-pthread), or give the option path";

/// The path of the library to load. Throws Refusal if there is none.
std::string libraryFile(const qs_kv* kv, std::uint32_t n) {
    const char* path = qs_option(kv, n, "path");
    if (path && *path) {
        if (::access(path, R_OK) != 0) throw Refusal(QS_UNAVAILABLE, std::string(path) + " cannot be read", kHint);
        return path;
    }
    std::string found = plugin::findSharedLibrary(openblas::kSoname);
    if (found.empty()) throw Refusal(QS_UNAVAILABLE, std::string(openblas::kSoname) + " is not installed", kHint);
    return found;
}

std::size_t threadCount(const qs_kv* kv, std::uint32_t n) {
    const char* text = qs_option(kv, n, "threads");
    if (!text || !*text) return 0;
    std::size_t count = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, problem] = std::from_chars(text, end, count);
    if (problem != std::errc() || stop != end || count == 0)
        throw Refusal(QS_INVALID_ARGUMENT, std::string("option threads is \"") + text + "\", wanted a number above 0");
    return count;
}

std::int32_t probe(const qs_host*, const qs_kv* kv, std::uint32_t n, qs_probe* out, qs_error* error) {
    return plugin::guarded(error, [&] {
        auto answer = plugin::given(out);
        answer.state = QS_PROBE_AVAILABLE;
        try {
            libraryFile(kv, n);
        } catch (const Refusal& refusal) {
            answer.state = QS_PROBE_UNAVAILABLE;
            plugin::put(answer.reason, refusal.sentence);
            plugin::put(answer.hint, refusal.hint);
        }
        plugin::give(out, answer);
    });
}

std::int32_t open(const qs_host* host, const qs_kv* kv, std::uint32_t n, qs_ctx** out, qs_error* error) {
    *out = nullptr;
    return plugin::guarded(error, [&] {
        const openblas::CoreType type = openblas::chooseCoreType(qs_option(kv, n, "coretype"));
        *out = new qs_ctx{host, openblas::Library(libraryFile(kv, n), type, threadCount(kv, n))};
        const auto h = plugin::given(host);
        if (h.log && (*out)->library.hasPoorCore())
            h.log(h.user, 2,
                  ("openblas: core type " + (*out)->library.coreText() + "; its times are no baseline here").c_str());
        const auto threads = double((*out)->library.team().size());
        if (h.log && (*out)->library.scaling() < 0.8 * threads)
            h.log(h.user, 2,
                  ("openblas: " + std::to_string(int(threads)) + " threads are only " +
                   std::to_string((*out)->library.scaling()) + " times as fast as one; is the machine busy?")
                      .c_str());
    });
}

void close(qs_ctx* ctx) { delete ctx; }

std::int32_t describe(qs_ctx* ctx, char* buf, std::uint64_t cap, std::uint64_t* need, qs_error* error) {
    return plugin::guarded(error, [&] { plugin::giveText(ctx->library.describe(), buf, cap, need); });
}

std::int32_t deviceCount(qs_ctx*, std::uint32_t* out, qs_error*) {
    *out = 1;
    return QS_OK;
}

std::int32_t deviceGet(qs_ctx* ctx, std::uint32_t dev, qs_device* out, qs_error* error) {
    if (dev) return plugin::fail(error, QS_NOT_FOUND, "openblas has one device");
    auto device = plugin::given(out);
    device.kind = QS_DEVICE_CPU, device.flags = 0;
    device.mem_total = std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE));
    plugin::put(device.id, "cpu:0");
    const auto& library = ctx->library;
    plugin::put(device.name,
                "OpenBLAS, " + std::to_string(library.team().size()) + " threads, core type " + library.coreText());
    plugin::put(device.arch, ctx->library.coreName());
    plugin::give(out, device);
    return QS_OK;
}

std::int32_t query(qs_ctx*, std::uint32_t, const qs_problem* problem, qs_support* out, qs_error* error) {
    return plugin::guarded(error, [&] {
        const auto p = plugin::given(problem);
        auto answer = plugin::given(out);
        plugin::StoredWeight weight;
        const std::string reason = openblas::Product::refusal(p, weight);
        const bool plain = weight.isPlainF32();
        answer.level = !reason.empty() ? QS_SUPPORT_NO : plain ? QS_SUPPORT_NATIVE : QS_SUPPORT_EMULATED;
        answer.n_variants = reason.empty() ? std::uint32_t(openblas::variantsOf(plain, p.m).size()) : 0;
        plugin::put(answer.reason, !reason.empty() ? reason : plain ? "" : "weights are decoded to f32 first");
        plugin::give(out, answer);
    });
}

std::vector<const openblas::VariantRow*> variantsFor(const qs_problem& p) {
    plugin::StoredWeight weight;
    if (std::string reason = openblas::Product::refusal(p, weight); !reason.empty())
        throw Refusal(QS_UNIMPLEMENTED, reason);
    return openblas::variantsOf(weight.isPlainF32(), p.m);
}

std::int32_t variantGet(qs_ctx*, std::uint32_t, const qs_problem* problem, std::uint32_t index, qs_variant* out,
                        qs_error* error) {
    return plugin::guarded(error, [&] {
        const auto p = plugin::given(problem);
        const openblas::VariantRow& row = plugin::variantAt(variantsFor(p), index);
        const std::uint32_t repacks = row.weights == openblas::Weights::DecodedBefore ? QS_VARIANT_REPACKS : 0;
        // Rounding to bf16 changes a value by at most 2^-8 of it, so the NMSE is at most 2^-16.
        plugin::giveVariant(out, row, QS_VARIANT_BASELINE | repacks, plugin::is(p.out, "bf16") ? 0x1p-16 + 1e-9 : 0);
    });
}

std::int32_t prepare(qs_ctx* ctx, std::uint32_t, const qs_problem* problem, const char* variant,
                     const qs_tensor* const* in, std::uint32_t n, qs_kernel** out, qs_kernel_info* info,
                     qs_error* error) {
    *out = nullptr;
    return plugin::guarded(error, [&] {
        const auto p = plugin::given(problem);
        const openblas::VariantRow& row = plugin::variantNamed(variantsFor(p), variant);
        plugin::giveKernel(out, info, [&] {
            return std::unique_ptr<qs_kernel>(new qs_kernel{ctx, openblas::Product(ctx->library, p, row, in, n)});
        });
    });
}

std::int32_t execute(qs_kernel* kernel, const qs_tensor* const* act, std::uint32_t n, qs_tensor* const* outs,
                     std::uint32_t nOuts, qs_error* error) {
    return plugin::guarded(error, [&] {
        openblas::Product& product = kernel->product;
        const void* x = product.activations(act, n);
        product.run(x, 0, plugin::output(outs, nOuts, "out", product.outDtype(), product.outBytes()));
    });
}

std::int32_t bench(qs_kernel* kernel, const qs_tensor* const* act, std::uint32_t n, const qs_run_opts* options,
                   qs_run_result* out, qs_error* error) {
    return plugin::guarded(error, [&] {
        openblas::Product& product = kernel->product;
        const auto opts = plugin::given(options);
        auto result = plugin::given(out);
        const void* x = product.activations(act, n);
        const openblas::AlignedBytes y(product.outBytes());
        const std::uint32_t sets = std::max(1u, opts.buffer_sets);
        product.copies(sets);
        kernel->ctx->cancelled = false;
        plugin::timedLoop(kernel->ctx->host, kernel->ctx->cancelled, opts, result,
                          [&](std::uint32_t) { product.run(x, kernel->turn++ % sets, y.data.get()); });
        if (result.last_out)
            std::memcpy(plugin::output(&result.last_out, 1, "out", product.outDtype(), product.outBytes()),
                        y.data.get(), product.outBytes());
        plugin::give(out, result);
    });
}

std::int32_t roof(qs_ctx* ctx, std::uint32_t, const char* kind, const qs_run_opts* options, qs_run_result* out,
                  double* work, qs_error* error) {
    return plugin::guarded(error, [&] {
        const bool read = plugin::is(kind, "read_bw");
        if (!read && !plugin::is(kind, "f32")) throw Refusal(QS_UNIMPLEMENTED, "roofs are read_bw and f32");
        const auto opts = plugin::given(options);
        auto result = plugin::given(out);
        ThreadTeam& team = ctx->library.team();
        const ThreadTeam::Pin pinned(team);
        const std::size_t limit = opts.memory_bytes ? std::size_t(opts.memory_bytes) : kStreamBytes;
        const std::size_t piece = std::clamp(limit / 4096 * 4096, std::size_t(4096), kStreamBytes);
        const std::size_t sets = opts.memory_bytes ? 1 : std::max(1u, opts.buffer_sets);
        const openblas::AlignedBytes stream(read ? sets * piece : 0);
        if (read) std::memset(stream.data.get(), 1, sets * piece); // else all pages are the kernel's one page of zeros
        std::atomic<std::uint32_t> kept{0};                        // uses the result, so that no read is optimised away
        ctx->cancelled = false;
        plugin::timedLoop(ctx->host, ctx->cancelled, opts, result, [&](std::uint32_t turn) {
            team.run([&](int worker) {
                if (!read) {
                    runPeak(PeakKind::F32, kPeakSteps);
                    return;
                }
                const auto [begin, end] = shareOf(piece, worker, team.size(), 4096);
                kept += readStream(stream.data.get() + turn % sets * piece + begin, end - begin);
            });
        });
        *work = read ? double(piece) : runPeak(PeakKind::F32, 1) * double(kPeakSteps) * team.size();
        if (*work == 0) throw Refusal(QS_UNIMPLEMENTED, "there is no peak loop for this processor");
        plugin::give(out, result);
    });
}

std::int32_t artifact(qs_kernel* kernel, const char* what, char* buf, std::uint64_t cap, std::uint64_t* need,
                      qs_error* error) {
    return plugin::guarded(error, [&] {
        if (!plugin::is(what, "source")) throw Refusal(QS_NOT_FOUND, "openblas has the text \"source\" only");
        plugin::giveText(kernel->product.source(), buf, cap, need);
    });
}

void destroy(qs_kernel* kernel) { delete kernel; }
void cancel(qs_ctx* ctx) { ctx->cancelled = true; }

constexpr qs_backend kTable =
    plugin::tableOf({"openblas", "OpenBLAS", "1.0", QS_ISOLATION_PREFERRED}, probe, open, close, describe, deviceCount,
                    deviceGet, roof, query, variantGet, prepare, execute, bench, artifact, destroy, cancel);

} // namespace

const qs_backend* quantscope_backend_query(std::uint32_t hostMajor, std::uint32_t) {
    return hostMajor == QS_ABI_MAJOR ? &kTable : nullptr;
}
