// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cpu/cpu_backend.h"

#include "kernels/kernel_set.h"
#include "plugins/cpu/context.h"
#include "plugins/cpu/problem.h"

#include <charconv>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef QS_VERSION
#define QS_VERSION "0.1.0"
#endif

namespace qs::cpu {
namespace {

constexpr int kMostThreads = 1024;

std::string processorName() {
#if defined(__x86_64__)
    unsigned words[12] = {};
    for (unsigned i = 0; i < 3; ++i)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]))
            return "";
    char name[49] = {};
    std::memcpy(name, words, 48);
    const std::string text = name;
    const auto end = text.find_last_not_of(' ');
    return end == std::string::npos ? "" : text.substr(0, end + 1);
#else
    return "";
#endif
}

/// The option threads=N. Returns 0 if it is not given, and -1 if it is not a valid number.
int threadsOf(const qs_kv* kv, uint32_t n) {
    int threads = 0;
    for (uint32_t i = 0; kv && i < n; ++i) {
        if (text(kv[i].key) != "threads") continue;
        const std::string_view value = text(kv[i].value);
        const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), threads);
        if (bad != std::errc() || end != value.data() + value.size() || threads < 0 || threads > kMostThreads)
            return -1;
    }
    return threads;
}

/// The text for qs_variant::compute.
const char* productType(NumberType type) {
    switch (type) {
    case NumberType::F32: return "f32";
    case NumberType::Bf16: return "bf16";
    case NumberType::I8: return "i8";
    case NumberType::I16: return "i16";
    default: return "";
    }
}

int32_t probe(const qs_host*, const qs_kv* kv, uint32_t n, qs_probe* out, qs_error*) {
    qs_probe mine{};
    mine.state = QS_PROBE_AVAILABLE;
    if (threadsOf(kv, n) < 0) {
        mine.state = QS_PROBE_NEEDS_CONFIG;
        put(mine.reason, "The option threads is not a number from 1 to 1024.");
        put(mine.hint, "Give threads=2, or leave it out to use every CPU.");
    } else if (const char* problem = forcedIsaProblem()) {
        put(mine.hint, problem);
    }
    give(out, mine);
    return QS_OK;
}

int32_t open(const qs_host* host, const qs_kv* kv, uint32_t n, qs_ctx** out, qs_error* error) {
    if (!out) return fail(error, QS_INVALID_ARGUMENT, "open needs a place for the context.");
    *out = nullptr;
    const int threads = threadsOf(kv, n);
    if (threads < 0) return fail(error, QS_INVALID_ARGUMENT, "The option threads is not a number from 1 to 1024.");
    return guarded(error, [&] {
        *out = new qs_ctx{host, ThreadTeam(threads)};
        return QS_OK;
    });
}

void close(qs_ctx* ctx) { delete ctx; }

int32_t describe(qs_ctx* ctx, char* buf, uint64_t cap, uint64_t* need, qs_error* error) {
    if (!ctx) return fail(error, QS_INVALID_ARGUMENT, "describe needs a context.");
    return guarded(error, [&] {
        std::string name; // without the characters that would need an escape in JSON
        for (const char c : processorName())
            if (c >= ' ' && c != '"' && c != '\\') name += c;
        return giveText("{\"plugin\":\"" QS_VERSION "\",\"compiler\":\"" __VERSION__ "\",\"processor\":\"" + name +
                            "\",\"instruction_set\":\"" + bestKernels().id +
                            "\",\"threads\":" + std::to_string(ctx->team.size()) + "}",
                        buf, cap, need);
    });
}

int32_t deviceCount(qs_ctx* ctx, uint32_t* out, qs_error* error) {
    if (!ctx || !out)
        return fail(error, QS_INVALID_ARGUMENT, "device_count needs a context and a place for the number.");
    *out = 1;
    return QS_OK;
}

int32_t deviceGet(qs_ctx* ctx, uint32_t dev, qs_device* out, qs_error* error) {
    if (!ctx || dev != 0) return fail(error, QS_INVALID_ARGUMENT, "There is one device, number 0.");
    qs_device mine{};
    mine.kind = QS_DEVICE_CPU, mine.flags = QS_DEVICE_HOST_ROOFS;
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) mine.mem_total = uint64_t(pages) * uint64_t(size);
    put(mine.id, "cpu:0");
    put(mine.name, processorName());
    put(mine.arch, bestKernels().id);
    give(out, mine);
    return QS_OK;
}

int32_t query(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, qs_support* out, qs_error* error) {
    if (!ctx || dev != 0 || !problem)
        return fail(error, QS_INVALID_ARGUMENT, "query needs a context, device 0 and a problem.");
    return guarded(error, [&] {
        qs_support mine{};
        Understood asked = understand(problem);
        if (asked.declined.empty()) {
            const auto variants = variantsFor(asked.problem, &asked.declined);
            mine.n_variants = uint32_t(variants.size());
            if (!variants.empty()) {
                mine.level = variants.front()->fromM ? QS_SUPPORT_NATIVE : QS_SUPPORT_EMULATED;
                asked.declined = variants.front()->fromM ? "" : "Only the reference can do this problem.";
            }
        }
        put(mine.reason, asked.declined);
        give(out, mine);
        return QS_OK;
    });
}

int32_t variantGet(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, uint32_t index, qs_variant* out,
                   qs_error* error) {
    if (!ctx || dev != 0 || !problem)
        return fail(error, QS_INVALID_ARGUMENT, "variant_get needs a context, device 0 and a problem.");
    return guarded(error, [&]() -> int32_t {
        const Understood asked = understand(problem);
        if (!asked.declined.empty()) return fail(error, QS_UNIMPLEMENTED, asked.declined);
        const auto variants = variantsFor(asked.problem, nullptr);
        if (index >= variants.size()) return fail(error, QS_INVALID_ARGUMENT, "There is no variant of that number.");
        const MatmulVariant& v = *variants[index];
        qs_variant mine{};
        mine.flags = v.flags;
        mine.nmse_limit = v.nmseLimit;
        put(mine.id, v.id), put(mine.title, v.title), put(mine.note, v.note);
        put(mine.compute, v.fromM ? productType(v.compute) : "f64");
        give(out, mine);
        return QS_OK;
    });
}

void destroy(qs_kernel* kernel) { delete kernel; }
void cancel(qs_ctx* ctx) {
    if (ctx) ctx->cancelled = true;
}

} // namespace
} // namespace qs::cpu

const qs_backend* quantscope_cpu_backend() {
    using namespace qs::cpu;
    static constexpr qs_backend table = qs::plugin::tableOf(
        {"cpu", "CPU, own kernels", QS_VERSION, QS_ISOLATION_NOT_NEEDED}, probe, open, close, describe, deviceCount,
        deviceGet, roof, query, variantGet, prepare, execute, bench, artifact, destroy, cancel);
    return &table;
}
