/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A complete backend, to read from top to bottom and to copy; its licence permits that. It computes y = x W^T in plain
 * loops, for f32 weights and for int8 weights with a scale per row. It declines everything else with a reason. Build:
 *   cc -O2 -shared -fPIC -fvisibility=hidden -I. plugins/example/example.c -o mine.so
 */
#include "plugins/abi/quantscope_backend.h"
#include "plugins/abi/quantscope_backend_basics.h"

#include <stdlib.h>

struct qs_ctx { /* made by open(); the host does not look inside */
    const qs_host* host;
};
struct qs_kernel { /* made by prepare(): one problem with its weights */
    const qs_host* host;
    int64_t m, n, k;
    int int8;
    size_t bytes, y_bytes; /* sizes of the weights [n, k] and of the result [m, n] */
    char* weights;         /* one copy; bench() makes more if it must read them from memory */
    float *scales, *y;
    const float* x; /* activations of the call that runs now */
};

/* Why the problem is declined, or NULL. The user reads this text. It must be fast: query() runs for every shape. */
static const char* refusal(const qs_problem* p) {
    const qs_format* w = p->weight; /* check more than the name: the other fields say how the numbers are stored */
    if (!qs_is(p->op, "matmul") || p->flags) return "the example computes y = x W^T and nothing more";
    if (p->m < 1 || p->n < 1 || p->k < 1) return "an empty product";
    if (!qs_is(p->act->format, "f32") || !qs_is(p->out, "f32") || !qs_is(p->compute ? p->compute : "f32", "f32"))
        return "activations, products and result must be f32";
    if (!qs_is(w->packing, "none") || !qs_is(w->zero_dtype, "none")) return "weights must lie plainly";
    if (qs_is(w->format, "f32")) return qs_is(w->scale_dtype, "none") ? NULL : "f32 weights with scales";
    if (!qs_is(w->format, "int8") || w->bits != 8 || w->code_bias) return "weights must be f32 or int8";
    return qs_is(w->scale_dtype, "f32") && !w->block && w->channel_axis == 0 ? NULL : "int8 takes one f32 scale a row";
}
static int32_t query(qs_ctx* ctx, uint32_t dev, const qs_problem* p, qs_support* out, qs_error* error) {
    const char* reason = refusal(p);
    out->level = reason ? QS_SUPPORT_NO : QS_SUPPORT_EMULATED, out->n_variants = reason ? 0 : 1;
    QS_PUT(out->reason, reason ? reason : "plain loops");
    return QS_OK; /* QS_SUPPORT_NO is an answer, not an error */
}
static int32_t variant_get(qs_ctx* ctx, uint32_t dev, const qs_problem* p, uint32_t i, qs_variant* out,
                           qs_error* error) {
    if (i || refusal(p)) return qs_fail(error, QS_INVALID_ARGUMENT, "there is no such variant");
    out->flags = QS_VARIANT_EXPERIMENTAL;
    QS_PUT(out->id, "plain"), QS_PUT(out->title, "Plain loops");
    QS_PUT(out->note, "f32 products, f64 sums"), QS_PUT(out->compute, "f32"); /* nmse_limit stays 0: the host's limit */
    return QS_OK;
}

/* prepare() checks the size of every tensor and copies the data. */
static void* copy_of(const qs_tensor* t, uint64_t bytes) { /* NULL if it is missing, has another size, or no memory */
    void* copy = t && t->data && t->bytes == bytes ? malloc(bytes) : NULL;
    return copy ? memcpy(copy, t->data, bytes) : NULL;
}
static void destroy(qs_kernel* k) {
    if (k) free(k->weights), free(k->scales), free(k->y), free(k);
}
static int32_t prepare(qs_ctx* ctx, uint32_t dev, const qs_problem* p, const char* variant, const qs_tensor* const* in,
                       uint32_t n_in, qs_kernel** out, qs_kernel_info* info, qs_error* error) {
    qs_kernel* k = *out = NULL;
    if (refusal(p)) return qs_fail(error, QS_UNIMPLEMENTED, refusal(p));
    if (!qs_is(variant, "plain")) return qs_fail(error, QS_INVALID_ARGUMENT, "there is no such variant");
    if (!(k = calloc(1, sizeof *k))) return qs_fail(error, QS_RESOURCE_EXHAUSTED, "no memory");
    k->host = ctx->host, k->m = p->m, k->n = p->n, k->k = p->k, k->int8 = p->weight->bits == 8;
    k->bytes = (size_t)p->n * (size_t)p->k * (k->int8 ? 1 : 4), k->y_bytes = (size_t)p->m * (size_t)p->n * 4;
    k->weights = copy_of(qs_find(in, n_in, "weight"), k->bytes);
    k->scales = k->int8 ? copy_of(qs_find(in, n_in, "scale"), 4 * (uint64_t)p->n) : NULL;
    k->y = malloc(k->y_bytes);
    if (!k->weights || !k->y || (k->int8 && !k->scales)) {
        destroy(k);
        return qs_fail(error, QS_INVALID_ARGUMENT, "a tensor is missing or has another size than the problem says");
    }
    info->fusion = QS_FUSION_FUSED; /* numbers that are not known stay -1; the host has set them to that */
    info->weight_bytes = (int64_t)(k->bytes + (k->int8 ? 4 * (size_t)p->n : 0));
    return *out = k, QS_OK;
}

/* One run with copy number `set` of the weights. It is complete when it returns. */
static int32_t multiply(void* kernel, uint32_t set) {
    const qs_kernel* k = kernel;
    for (int64_t n = 0; n < k->n; ++n) {
        const char* row = k->weights + set * k->bytes + (size_t)(n * k->k) * (k->int8 ? 1 : 4);
        if (qs_should_stop(k->host)) return QS_CANCELLED;
        for (int64_t m = 0; m < k->m; ++m) {
            double sum = 0;
            for (int64_t i = 0; i < k->k; ++i)
                sum += k->x[m * k->k + i] * (k->int8 ? (float)((const signed char*)row)[i] : ((const float*)row)[i]);
            k->y[m * k->n + n] = (float)(k->int8 ? sum * k->scales[n] : sum);
        }
    }
    return QS_OK;
}
static int takes(qs_kernel* k, const qs_tensor* x, const qs_tensor* out) { /* 0 if type or size are wrong */
    if (!x || !qs_is(x->dtype, "f32") || x->bytes != (uint64_t)k->m * (uint64_t)k->k * 4) return 0;
    k->x = x->data;
    return !out || (out->out && out->bytes == k->y_bytes);
}
static int32_t execute(qs_kernel* k, const qs_tensor* const* act, uint32_t n_act, qs_tensor* const* outs,
                       uint32_t n_outs, qs_error* error) {
    if (n_outs != 1 || !takes(k, qs_find(act, n_act, "act"), outs[0]))
        return qs_fail(error, QS_INVALID_ARGUMENT, "a tensor has another type or size than the problem says");
    if (multiply(k, 0)) return qs_fail(error, QS_CANCELLED, "stopped");
    return memcpy(outs[0]->out, k->y, k->y_bytes), QS_OK;
}
static int32_t bench(qs_kernel* k, const qs_tensor* const* act, uint32_t n_act, const qs_run_opts* opts,
                     qs_run_result* result, qs_error* error) {
    if (!takes(k, qs_find(act, n_act, "act"), result->last_out))
        return qs_fail(error, QS_INVALID_ARGUMENT, "a tensor has another type or size than the problem says");
    const uint32_t sets = opts->buffer_sets ? opts->buffer_sets : 1;
    char* more = realloc(k->weights, sets * k->bytes);
    if (!more) return qs_fail(error, QS_RESOURCE_EXHAUSTED, "no memory for the copies of the weights");
    k->weights = more; /* the host asks for enough copies that in a cold run none is still in the cache */
    for (uint32_t i = 1; i < sets; ++i) memcpy(more + i * k->bytes, more, k->bytes);
    if (qs_time_runs(k->host, opts, result, multiply, k)) return qs_fail(error, QS_CANCELLED, "stopped");
    if (result->last_out) memcpy(result->last_out->out, k->y, k->y_bytes); /* the host checks this result again */
    return QS_OK;
}

/* Start and end of the backend, and its device. */
static int32_t probe(const qs_host* host, const qs_kv* kv, uint32_t n, qs_probe* out, qs_error* error) {
    out->state = QS_PROBE_AVAILABLE; /* otherwise `reason` says what is missing and `hint` how to get it */
    return QS_OK;
}
static int32_t open_it(const qs_host* host, const qs_kv* kv, uint32_t n, qs_ctx** out, qs_error* error) {
    if (!(*out = calloc(1, sizeof **out))) return qs_fail(error, QS_RESOURCE_EXHAUSTED, "no memory");
    (*out)->host = host;
    return QS_OK;
}
static void close_it(qs_ctx* ctx) { free(ctx); }
static int32_t device_count(qs_ctx* ctx, uint32_t* out, qs_error* error) { return *out = 1, QS_OK; }
static int32_t device_get(qs_ctx* ctx, uint32_t dev, qs_device* out, qs_error* error) {
    if (dev) return qs_fail(error, QS_NOT_FOUND, "the example has one device");
    out->kind = QS_DEVICE_CPU;
    QS_PUT(out->id, "cpu:0"), QS_PUT(out->name, "One thread of the processor");
    return QS_OK;
}
/* The fields in the order of the header; open_seconds is 0. NULL means unsupported: describe, roof, artifact, cancel
 * and extension. */
static const qs_backend table = {sizeof table,   QS_ABI_MAJOR, QS_ABI_MINOR, QS_ISOLATION_REQUIRED,
                                 "example",      "Example",    "1.0",        "Apache-2.0",
                                 .probe = probe, open_it,      close_it,     NULL,
                                 device_count,   device_get,   NULL,         query,
                                 variant_get,    prepare,      execute,      bench,
                                 NULL,           destroy,      NULL,         NULL};

const qs_backend* quantscope_backend_query(uint32_t host_major, uint32_t host_minor) {
    return host_major == QS_ABI_MAJOR ? &table : NULL;
}
