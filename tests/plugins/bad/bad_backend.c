/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A backend with faults. Without a fault it works: y = x W^T in f32. The option "fault" is "STEP:KIND"; steps are the
 * functions of the table. These kinds work in every step:
 *   crash, hang, abort, exit, noise;
 *   wire       writes bytes to the control socket
 *   forge_*    writes frames to it
 *   hangup     closes it
 *   child      leaves a child process behind, then crashes
 *   daemon     the same, with a child outside the process group
 *   secret     fails if secrets were removed from the environment
 *   memory     allocates without end
 *   wait       returns when cancelled
 *   failed, declined, unavailable    returns this code
 * All other kinds give wrong data in one step. QS_BAD_FAULT builds a fault in. QS_BAD_TABLE makes the table invalid.
 */
#define _GNU_SOURCE
#include "plugins/abi/quantscope_backend.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef QS_BAD_FAULT
#define QS_BAD_FAULT ""
#endif
#define NULL_TABLE 1
#define OTHER_MAJOR 2
#define TINY_TABLE 3
#define HUGE_TABLE 4
#define OLD_TABLE 5
#define BAD_ID 6
#define NO_SYMBOL 7
#define NO_LIBRARY 8
#define ID_OF_OURS 9
#ifndef QS_BAD_TABLE
#define QS_BAD_TABLE 0
#endif

struct qs_ctx {
    const qs_host* host;
};
struct qs_kernel {
    qs_ctx* ctx;
    int64_t m, n, k;
    float* weight;
};

static char chosen[128] = QS_BAD_FAULT;
static volatile int cancelled;

static void choose(const qs_kv* kv, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i)
        if (strcmp(kv[i].key, "fault") == 0) snprintf(chosen, sizeof chosen, "%s", kv[i].value);
}

static int lies(const char* step, const char* kind) {
    const size_t length = strlen(step);
    return strncmp(chosen, step, length) == 0 && chosen[length] == ':' && strcmp(chosen + length + 1, kind) == 0;
}

static int32_t fail(qs_error* error, int32_t code, const char* why) {
    if (error) {
        error->code = code;
        snprintf(error->msg, sizeof error->msg, "%s", why);
    }
    return code;
}

static void hang(void) {
    for (;;) pause();
}

/* Writes a frame that the worker process did not write. */
static void forge(const char* text, uint32_t length) {
    const uint32_t header[4] = {0x32575351, length, 0, 0};
    if (write(3, header, sizeof header) != sizeof header || write(3, text, strlen(text)) < 0) abort();
}

/* Produces the fault requested for this step, if any. */
static int32_t fault(const char* step, const qs_host* host, qs_error* error) {
    if (lies(step, "crash")) {
        fprintf(stderr, "about to fall over\n\n");
        *(volatile int*)(uintptr_t)16 = 1;
    }
    if (lies(step, "hang")) hang();
    if (lies(step, "abort")) abort();
    if (lies(step, "exit")) exit(0);
    if (lies(step, "noise"))
        for (int i = 0; i < 20000; ++i) {
            printf("{\"id\":%d,\"answer\":{}}\n", i);
            fprintf(stderr, "noise %d \x1b[31m\n", i);
        }
    if (lies(step, "wire") && write(3, "this is no frame, not at all", 28) != 28) abort();
    static const char other[] = "{\"id\":999,\"answer\":{}}", empty[] = "{\"id\":7,\"answer\":{}}",
                      state[] = "{\"id\":7,\"failure\":{\"state\":\"ok\",\"reason\":\"\",\"hint\":\"\"}}";
    if (lies(step, "forge_other")) forge(other, sizeof other - 1);
    if (lies(step, "forge_empty")) forge(empty, sizeof empty - 1);
    if (lies(step, "forge_state")) forge(state, sizeof state - 1);
    if (lies(step, "forge_long")) forge("{}", 0xfffffff0);
    if (lies(step, "hangup")) {
        close(3);
        hang();
    }
    if (lies(step, "child")) {
        if (fork() == 0) hang();
        raise(SIGSEGV);
    }
    if (lies(step, "daemon")) { /* a child that leaves process group and session, as daemons do */
        if (fork() == 0) {
            setsid();
            hang();
        }
        raise(SIGSEGV);
    }
    if (lies(step, "secret") && getenv("QS_TEST_NOT_A_SECRET") && !getenv("AWS_SECRET_ACCESS_KEY"))
        return fail(error, QS_INTERNAL, "the secret is not here");
    if (lies(step, "memory")) { /* allocates more than any machine has, a GiB at a time */
        for (int i = 0; i < 1 << 20; ++i)
            if (!malloc((size_t)1 << 30)) return fail(error, QS_INTERNAL, "there is an end of memory");
    }
    if (lies(step, "wait")) {
        while (!cancelled && !(host && host->should_stop(host->user))) usleep(1000);
        return fail(error, QS_CANCELLED, "stopped as asked");
    }
    if (lies(step, "failed")) return fail(error, QS_INTERNAL, "no luck\x1b[31m today");
    if (lies(step, "silent")) return QS_INTERNAL;
    if (lies(step, "declined")) return fail(error, QS_UNIMPLEMENTED, "not this one");
    if (lies(step, "unavailable")) return fail(error, QS_UNAVAILABLE, "libvendor.so.9 is not installed");
    if (error && lies(step, "endless message")) {
        memset(error->msg, 'x', sizeof error->msg);
        return QS_INTERNAL;
    }
    return QS_OK;
}
#define MAY_FAIL(step, host, error)                                                                                    \
    do {                                                                                                               \
        const int32_t code_ = fault(step, host, error);                                                                \
        if (code_ != QS_OK) return code_;                                                                              \
    } while (0)

static int32_t bad_probe(const qs_host* host, const qs_kv* kv, uint32_t n, qs_probe* out, qs_error* error) {
    choose(kv, n);
    MAY_FAIL("probe", host, error);
    out->state = lies("probe", "state") ? 17 : QS_PROBE_AVAILABLE;
    if (lies("probe", "needs_config")) out->state = QS_PROBE_NEEDS_CONFIG;
    if (lies("probe", "text")) memset(out->reason, 'x', sizeof out->reason);
    return QS_OK;
}

static int32_t bad_open(const qs_host* host, const qs_kv* kv, uint32_t n, qs_ctx** out, qs_error* error) {
    choose(kv, n);
    MAY_FAIL("open", host, error);
    if (lies("open", "null")) return QS_OK;
    *out = calloc(1, sizeof **out);
    (*out)->host = host;
    host->log(host->user, 1, "open");
    return QS_OK;
}

static void bad_close(qs_ctx* ctx) {
    fault("close", NULL, NULL);
    free(ctx);
}

static int32_t text(const char* what, char* buf, uint64_t cap, uint64_t* need) {
    *need = strlen(what) + 1;
    if (cap) snprintf(buf, cap, "%s", what);
    return QS_OK;
}

static int32_t bad_describe(qs_ctx* ctx, char* buf, uint64_t cap, uint64_t* need, qs_error* error) {
    MAY_FAIL("describe", ctx->host, error);
    if (lies("describe", "need")) return *need = UINT64_MAX / 2, QS_OK;
    if (lies("describe", "text")) {
        *need = 100;
        if (cap) memset(buf, 'x', cap);
        return QS_OK;
    }
    if (lies("describe", "json")) return text("[1, 2", buf, cap, need);
    return text("{\"plugin\": \"1.0\"}", buf, cap, need);
}

static int32_t bad_device_count(qs_ctx* ctx, uint32_t* out, qs_error* error) {
    MAY_FAIL("devices", ctx->host, error);
    *out = lies("devices", "count") ? 4000000000u : lies("devices", "none") ? 0 : 2;
    return QS_OK;
}

static int32_t bad_device_get(qs_ctx* ctx, uint32_t dev, qs_device* out, qs_error* error) {
    MAY_FAIL("device", ctx->host, error);
    out->kind = lies("devices", "kind") ? 99 : QS_DEVICE_SIMULATED;
    snprintf(out->id, sizeof out->id, "bad:%u", dev);
    snprintf(out->name, sizeof out->name, "Device %u\x1b]0;title\x07", dev);
    if (lies("devices", "text")) memset(out->arch, 'x', sizeof out->arch);
    return QS_OK;
}

static int32_t samples(const char* step, const qs_run_opts* opts, qs_run_result* result) {
    result->n = opts->iters < result->cap ? opts->iters : result->cap;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < result->n; ++i) sum += result->samples_ns[i] = 1000 + i;
    /* Sleeps for the time it reports, so that no other check of the timing fails. */
    if (!lies(step, "long")) usleep((useconds_t)(sum * opts->chain / 1000 + 1));
    if (lies(step, "zero")) result->samples_ns[0] = 0;
    if (lies(step, "one")) result->samples_ns[0] = 1;
    if (lies(step, "long")) result->samples_ns[0] = 3600ull * 1000000000ull;
    result->clock = lies(step, "clock") ? 7 : QS_CLOCK_HOST;
    result->timing_valid = 1;
    if (lies(step, "n")) result->n = result->cap + 1;
    if (lies(step, "cap")) result->cap = result->n = 1000000;
    if (lies(step, "none")) result->n = 0;
    return QS_OK;
}

static int32_t bad_roof(qs_ctx* ctx, uint32_t dev, const char* kind, const qs_run_opts* opts, qs_run_result* result,
                        double* work, qs_error* error) {
    (void)dev;
    MAY_FAIL("roof", ctx->host, error);
    if (strcmp(kind, "read_bw") != 0) return fail(error, QS_UNIMPLEMENTED, "only read_bw");
    *work = lies("roof", "work") ? NAN : 4096;
    return samples("roof", opts, result);
}

static int32_t bad_query(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, qs_support* out, qs_error* error) {
    (void)dev;
    MAY_FAIL("query", ctx->host, error);
    if (strcmp(problem->op, "matmul") != 0) {
        snprintf(out->reason, sizeof out->reason, "only matmul");
        return QS_OK;
    }
    out->level = lies("query", "level") ? -3 : QS_SUPPORT_NATIVE;
    out->n_variants = lies("query", "variants") ? 4000000000u : lies("query", "twins") ? 2 : 1;
    return QS_OK;
}

static int32_t bad_variant_get(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, uint32_t index, qs_variant* out,
                               qs_error* error) {
    (void)dev, (void)problem, (void)index;
    MAY_FAIL("variant", ctx->host, error);
    snprintf(out->id, sizeof out->id, lies("query", "id") ? "No Such \x1b[31m" : "plain");
    snprintf(out->title, sizeof out->title, "plain loops");
    out->nmse_limit = lies("query", "limit") ? NAN : 1e-10;
    return QS_OK;
}

static int32_t bad_prepare(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, const char* variant,
                           const qs_tensor* const* in, uint32_t n_in, qs_kernel** out, qs_kernel_info* info,
                           qs_error* error) {
    (void)dev, (void)variant;
    MAY_FAIL("prepare", ctx->host, error);
    if (lies("prepare", "null")) return QS_OK;
    if (n_in != 1 || in[0]->bytes < (uint64_t)(problem->n * problem->k) * sizeof(float))
        return fail(error, QS_INVALID_ARGUMENT, "one f32 weight is wanted");
    qs_kernel* kernel = calloc(1, sizeof *kernel);
    *kernel = (qs_kernel){ctx, problem->m, problem->n, problem->k, malloc(in[0]->bytes)};
    memcpy(kernel->weight, in[0]->data, in[0]->bytes);
    info->fusion = lies("prepare", "info") ? 1234 : QS_FUSION_FUSED;
    info->repack_ms = lies("prepare", "info") ? NAN : 0.5;
    info->flops = lies("prepare", "info") ? -INFINITY : 2;
    info->weight_bytes = lies("prepare", "info") ? INT64_MIN : (int64_t)in[0]->bytes;
    *out = kernel;
    return QS_OK;
}

static void run(const qs_kernel* kernel, const float* x, float* y) {
    for (int64_t m = 0; m < kernel->m; ++m)
        for (int64_t n = 0; n < kernel->n; ++n) {
            double sum = 0;
            for (int64_t k = 0; k < kernel->k; ++k)
                sum += (double)x[m * kernel->k + k] * kernel->weight[n * kernel->k + k];
            y[m * kernel->n + n] = lies("execute", "nan") ? NAN : (float)sum;
        }
}

static int32_t bad_execute(qs_kernel* kernel, const qs_tensor* const* act, uint32_t n_act, qs_tensor* const* outs,
                           uint32_t n_outs, qs_error* error) {
    MAY_FAIL("execute", kernel->ctx->host, error);
    if (n_act != 1 || n_outs != 1) return fail(error, QS_INVALID_ARGUMENT, "one act and one out are wanted");
    run(kernel, act[0]->data, outs[0]->out);
    if (lies("execute", "beyond")) ((unsigned char*)outs[0]->out)[outs[0]->bytes] ^= 0xff;
    return QS_OK;
}

static int32_t bad_bench(qs_kernel* kernel, const qs_tensor* const* act, uint32_t n_act, const qs_run_opts* opts,
                         qs_run_result* result, qs_error* error) {
    (void)n_act;
    MAY_FAIL("bench", kernel->ctx->host, error);
    if (result->last_out) run(kernel, act[0]->data, result->last_out->out);
    if (result->last_out && lies("bench", "last_out")) *(float*)result->last_out->out += 100;
    return samples("bench", opts, result);
}

static int32_t bad_artifact(qs_kernel* kernel, const char* what, char* buf, uint64_t cap, uint64_t* need,
                            qs_error* error) {
    MAY_FAIL("artifact", kernel->ctx->host, error);
    if (strcmp(what, "huge") == 0) return *need = 1u << 30, QS_OK;
    if (strcmp(what, "source") != 0) return fail(error, QS_NOT_FOUND, "there is only source");
    return text("y = x W^T", buf, cap, need);
}

static void bad_kernel_destroy(qs_kernel* kernel) {
    fault("destroy", NULL, NULL);
    free(kernel->weight);
    free(kernel);
}

static void bad_cancel(qs_ctx* ctx) {
    (void)ctx;
    cancelled = 1;
}

#ifdef QS_BAD_LOAD
__attribute__((constructor)) static void load(void) { fault("load", NULL, NULL); }
#endif

static const qs_backend table = {
    .struct_size = QS_BAD_TABLE == TINY_TABLE   ? 12
                   : QS_BAD_TABLE == HUGE_TABLE ? 1u << 30
                   : QS_BAD_TABLE == OLD_TABLE  ? offsetof(qs_backend, roof)
                                                : sizeof(qs_backend),
    .abi_major = QS_BAD_TABLE == OTHER_MAJOR ? QS_ABI_MAJOR + 1 : QS_ABI_MAJOR,
    .abi_minor = QS_ABI_MINOR,
    .isolation = QS_ISOLATION_NOT_NEEDED,
    .id = QS_BAD_TABLE == BAD_ID ? "No Id\x1b[31m" : QS_BAD_TABLE == ID_OF_OURS ? "cpu" : "bad",
    .name = "Misbehaves as asked",
    .version = "1.0",
    .license = "GPL-3.0-or-later",
    .probe = bad_probe,
    .open = bad_open,
    .close = bad_close,
    .describe = bad_describe,
    .device_count = bad_device_count,
    .device_get = bad_device_get,
    .roof = bad_roof,
    .query = bad_query,
    .variant_get = bad_variant_get,
    .prepare = bad_prepare,
    .execute = bad_execute,
    .bench = bad_bench,
    .artifact = bad_artifact,
    .kernel_destroy = bad_kernel_destroy,
    .cancel = bad_cancel,
};

#if QS_BAD_TABLE == NO_LIBRARY
extern int vendor_function_that_nobody_has(void);
#endif

#if QS_BAD_TABLE == NO_SYMBOL
QS_EXPORT const qs_backend* another_query(uint32_t host_major, uint32_t host_minor);
const qs_backend* another_query(uint32_t host_major, uint32_t host_minor) {
#else
const qs_backend* quantscope_backend_query(uint32_t host_major, uint32_t host_minor) {
#endif
    (void)host_minor;
#if QS_BAD_TABLE == NO_LIBRARY
    return vendor_function_that_nobody_has() ? &table : NULL;
#endif
    fault("load_query", NULL, NULL);
    return host_major == QS_ABI_MAJOR && QS_BAD_TABLE != NULL_TABLE ? &table : NULL;
}
