/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole backend, to be read from top to bottom and copied (hence its licence, that of the header). It multiplies f32
 * activations by f32, nf4 or int8 weights in plain loops, one decoded row of weights at a time, and declines everything
 * else with a reason. Build it alone:
 *
 *   cc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -D_POSIX_C_SOURCE=199309L -I. \
 *      plugins/example/example.c -o mine.so
 */
#include "plugins/abi/quantscope_backend.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct qs_ctx { /* opaque to the host: what open() made */
    const qs_host* host;
    atomic_int cancelled;
};

struct qs_kernel { /* opaque to the host: one problem with its weights */
    qs_ctx* ctx;
    int64_t m, rows, columns; /* W as it lies: [rows, columns] is [N, K], or [K, N] with QS_PROBLEM_W_IS_KN */
    uint32_t kn, format, copies;
    uint64_t row_bytes, weight_bytes;
    int64_t row_scales, block; /* scales a row and elements a scale */
    float codebook[16];
    float *scales, *bias, *row; /* row: scratch for one decoded row */
    unsigned char* weights;     /* `copies` times weight_bytes, so that bench() can read them from memory */
};

enum { F32, NF4, INT8, UNKNOWN };

#define SAY(field, text) snprintf(field, sizeof(field), "%s", text)

/* ---- Errors: fill what the caller gave room for, return the code. ---- */
static int32_t fail(qs_error* error, int32_t code, const char* sentence) {
    if (error) {
        error->code = code;
        SAY(error->msg, sentence);
    }
    return code;
}

/* ---- Capability: asked for every shape, so cheap. The reason is what the user reads in the row. ---- */
static int known(const qs_format* f) {
    if (!strcmp(f->format, "f32")) return F32;
    if (!strcmp(f->format, "nf4")) return NF4;
    return !strcmp(f->format, "int8") ? INT8 : UNKNOWN;
}

static const char* refusal(const qs_problem* p) {
    if (strcmp(p->op, "matmul")) return "the example only multiplies";
    if (p->flags & ~(QS_PROBLEM_W_IS_KN | QS_PROBLEM_BIAS)) return "activations are not quantized here";
    if (p->m < 1 || p->n < 1 || p->k < 1) return "an empty product";
    if (strcmp(p->act->format, "f32") || strcmp(p->out, "f32")) return "activations and result must be f32";
    if (p->compute && strcmp(p->compute, "f32")) return "products are f32";
    if (p->accum && strcmp(p->accum, "f32")) return "sums are f32";
    const qs_format* w = p->weight; /* never trust a name alone: the description says how the numbers lie */
    switch (known(w)) {
    case F32: return strcmp(w->scale_dtype, "none") ? "f32 weights with scales" : NULL;
    case NF4:
        if (strcmp(w->packing, "pair_hi_first") || w->bits != 4 || w->codebook_n != 16) return "nf4 must lie as pairs";
        break;
    case INT8:
        if (strcmp(w->packing, "none") || w->bits != 8 || w->code_bias) return "int8 must lie as signed bytes";
        break;
    default: return "the example knows the formats f32, nf4 and int8";
    }
    if (strcmp(w->scale_dtype, "f32") || strcmp(w->zero_dtype, "none"))
        return "scales must be f32, without zero points";
    if (w->block ? w->block_axis != 1 : w->channel_axis != 0) return "scales must run along the rows of W";
    return NULL;
}

static int32_t query(qs_ctx* ctx, uint32_t dev, const qs_problem* p, qs_support* out, qs_error* error) {
    (void)ctx, (void)dev, (void)error;
    const char* reason = refusal(p);
    out->level = reason ? QS_SUPPORT_NO : QS_SUPPORT_EMULATED;
    out->n_variants = reason ? 0 : 1;
    SAY(out->reason, reason ? reason : "weights are decoded in plain loops");
    return QS_OK; /* NO is an answer, not an error */
}

static int32_t variant_get(qs_ctx* ctx, uint32_t dev, const qs_problem* p, uint32_t i, qs_variant* out,
                           qs_error* error) {
    (void)ctx, (void)dev;
    if (i || refusal(p)) return fail(error, QS_INVALID_ARGUMENT, "there is no such variant");
    out->flags = QS_VARIANT_EXPERIMENTAL;
    SAY(out->id, "plain");
    SAY(out->title, "Plain loops");
    SAY(out->note, "f32 products, f32 sums, one row of weights decoded at a time");
    return QS_OK; /* nmse_limit stays 0: the host's own limit for f32 products */
}

/* ---- prepare: check every size, copy what is kept. ---- */
static const qs_tensor* find(const qs_tensor* const* in, uint32_t n, const char* role) {
    for (uint32_t i = 0; i < n; ++i)
        if (!strcmp(in[i]->role, role)) return in[i];
    return NULL;
}

static void* copy_of(const qs_tensor* tensor, uint64_t bytes) { /* NULL: missing, of another size, or no memory */
    void* copy = tensor && tensor->data && tensor->bytes == bytes ? malloc(bytes) : NULL;
    return copy ? memcpy(copy, tensor->data, bytes) : NULL;
}

static void kernel_destroy(qs_kernel* k) {
    if (!k) return;
    free(k->scales), free(k->bias), free(k->row), free(k->weights), free(k);
}

static int32_t prepare(qs_ctx* ctx, uint32_t dev, const qs_problem* p, const char* variant, const qs_tensor* const* in,
                       uint32_t n_in, qs_kernel** out, qs_kernel_info* info, qs_error* error) {
    (void)dev;
    *out = NULL;
    const char* reason = refusal(p);
    if (reason) return fail(error, QS_UNIMPLEMENTED, reason);
    if (strcmp(variant, "plain")) return fail(error, QS_INVALID_ARGUMENT, "there is no such variant");
    qs_kernel* k = calloc(1, sizeof *k);
    if (!k) return fail(error, QS_RESOURCE_EXHAUSTED, "no memory for the weights");
    k->ctx = ctx, k->m = p->m, k->kn = p->flags & QS_PROBLEM_W_IS_KN, k->format = (uint32_t)known(p->weight);
    k->rows = k->kn ? p->k : p->n, k->columns = k->kn ? p->n : p->k, k->copies = 1;
    k->block = p->weight->block ? (int64_t)p->weight->block : k->columns;
    k->row_scales = (k->columns + k->block - 1) / k->block; /* the last block may be short ... */
    const int64_t stored = k->format == NF4 ? k->row_scales * k->block : k->columns; /* ... but nf4 pads it */
    k->row_bytes = k->format == F32   ? 4u * (uint64_t)stored
                   : k->format == NF4 ? (uint64_t)(stored + 1) / 2
                                      : (uint64_t)stored;
    k->weight_bytes = k->row_bytes * (uint64_t)k->rows;
    const uint64_t scale_bytes = k->format == F32 ? 0 : 4u * (uint64_t)(k->rows * k->row_scales);
    k->weights = copy_of(find(in, n_in, "weight"), k->weight_bytes);
    k->row = malloc((size_t)k->columns * sizeof(float));
    int whole = k->weights && k->row;
    if (scale_bytes) whole = whole && (k->scales = copy_of(find(in, n_in, "scale"), scale_bytes));
    if (p->flags & QS_PROBLEM_BIAS) whole = whole && (k->bias = copy_of(find(in, n_in, "bias"), 4u * (uint64_t)p->n));
    if (!whole) {
        kernel_destroy(k);
        return fail(error, QS_INVALID_ARGUMENT, "a tensor is missing or has another size than the problem says");
    }
    if (k->format == NF4) memcpy(k->codebook, p->weight->codebook, sizeof k->codebook);
    info->fusion = QS_FUSION_FUSED; /* no decoded weight larger than a row ever lies in memory */
    info->repack_ms = info->upload_ms = info->compile_ms = 0;
    info->flops = info->bytes_accessed = -1; /* no vendor counts them */
    info->arg_bytes = info->out_bytes = info->peak_bytes = info->code_bytes = -1;
    info->temp_bytes = k->columns * (int64_t)sizeof(float);
    info->weight_bytes = (int64_t)(k->weight_bytes + scale_bytes);
    *out = k;
    return QS_OK;
}

/* ---- One run. ---- */
static const float* decoded_row(const qs_kernel* k, const unsigned char* weights, int64_t r) {
    const unsigned char* codes = weights + (uint64_t)r * k->row_bytes;
    if (k->format == F32) return memcpy(k->row, codes, k->row_bytes);
    const float* scales = k->scales + r * k->row_scales;
    for (int64_t c = 0; c < k->columns; ++c) { /* value = codebook[code] * scale, or code * scale */
        const float level = k->format == INT8 ? (float)(signed char)codes[c]
                                              : k->codebook[c % 2 ? codes[c / 2] & 15 : codes[c / 2] >> 4];
        k->row[c] = level * scales[c / k->block];
    }
    return k->row;
}

static int32_t multiply(const qs_kernel* k, uint32_t copy, const float* x, float* y) {
    const unsigned char* weights = k->weights + (uint64_t)copy * k->weight_bytes;
    const int64_t n = k->kn ? k->columns : k->rows, inner = k->kn ? k->rows : k->columns;
    for (int64_t i = 0; i < k->m * n; ++i) y[i] = k->bias ? k->bias[i % n] : 0;
    for (int64_t r = 0; r < k->rows; ++r) {
        if (atomic_load(&k->ctx->cancelled)) return QS_CANCELLED;
        const float* row = decoded_row(k, weights, r);
        for (int64_t i = 0; i < k->m; ++i) {
            if (k->kn) { /* row r of [K, N] meets x[i][r] alone */
                for (int64_t c = 0; c < n; ++c) y[i * n + c] += x[i * inner + r] * row[c];
            } else { /* row r of [N, K] gives y[i][r] */
                float sum = 0;
                for (int64_t c = 0; c < inner; ++c) sum += x[i * inner + c] * row[c];
                y[i * n + r] += sum;
            }
        }
    }
    return QS_OK;
}

static const float* activations(const qs_kernel* k, const qs_tensor* const* act, uint32_t n) {
    const qs_tensor* x = find(act, n, "act");
    const uint64_t inner = (uint64_t)(k->kn ? k->rows : k->columns);
    return x && !strcmp(x->dtype, "f32") && x->bytes == 4u * (uint64_t)k->m * inner ? x->data : NULL;
}

static int32_t execute(qs_kernel* k, const qs_tensor* const* act, uint32_t n_act, qs_tensor* const* outs,
                       uint32_t n_outs, qs_error* error) {
    const float* x = activations(k, act, n_act);
    const uint64_t wanted = 4u * (uint64_t)k->m * (uint64_t)(k->kn ? k->columns : k->rows);
    if (!x || n_outs != 1 || outs[0]->bytes != wanted)
        return fail(error, QS_INVALID_ARGUMENT, "act or out has another type or size than the problem says");
    atomic_store(&k->ctx->cancelled, 0);
    return multiply(k, 0, x, outs[0]->out) ? fail(error, QS_CANCELLED, "stopped") : QS_OK;
}

/* ---- The timed loop. Raw samples go back; medians and verdicts are the host's. ---- */
static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int32_t bench(qs_kernel* k, const qs_tensor* const* act, uint32_t n_act, const qs_run_opts* o,
                     qs_run_result* result, qs_error* error) {
    const float* x = activations(k, act, n_act);
    const uint64_t y_bytes = 4u * (uint64_t)k->m * (uint64_t)(k->kn ? k->columns : k->rows);
    const uint32_t sets = o->buffer_sets ? o->buffer_sets : 1, chain = o->chain ? o->chain : 1;
    if (!x) return fail(error, QS_INVALID_ARGUMENT, "act has another type or size than the problem says");
    if (sets > k->copies) { /* cold: so many copies that a run finds its own no longer in the cache */
        unsigned char* more = realloc(k->weights, sets * k->weight_bytes);
        if (!more) return fail(error, QS_RESOURCE_EXHAUSTED, "no memory for the copies of the weights");
        for (k->weights = more; k->copies < sets; ++k->copies)
            memcpy(more + k->copies * k->weight_bytes, more, k->weight_bytes);
    }
    float* y = malloc(y_bytes);
    if (!y) return fail(error, QS_RESOURCE_EXHAUSTED, "no memory for the result");
    atomic_store(&k->ctx->cancelled, 0);
    uint32_t turn = 0;
    int32_t code = QS_OK;
    for (uint32_t i = 0; i < o->warmup && !code; ++i) code = multiply(k, turn++ % sets, x, y);
    const uint64_t begin = now_ns();
    for (result->n = 0; result->n < o->iters && result->n < result->cap && !code;) {
        const uint64_t start = now_ns();
        for (uint32_t i = 0; i < chain && !code; ++i) code = multiply(k, turn++ % sets, x, y);
        const uint64_t end = now_ns(); /* a device backend waits for its device before this line */
        result->samples_ns[result->n++] = (end - start) / chain;
        if (k->ctx->host->should_stop && k->ctx->host->should_stop(k->ctx->host->user)) code = QS_CANCELLED;
        if ((double)(end - begin) * 1e-9 > o->max_seconds) break;
    }
    result->clock = QS_CLOCK_HOST;
    result->timing_valid = 1;
    if (result->last_out && result->last_out->bytes == y_bytes) memcpy(result->last_out->out, y, y_bytes);
    free(y);
    return code ? fail(error, code, "stopped") : QS_OK;
}

/* ---- Life and identity. ---- */
static int32_t probe(const qs_host* host, const qs_kv* kv, uint32_t n, qs_probe* out, qs_error* error) {
    (void)host, (void)kv, (void)n, (void)error;
    out->state = QS_PROBE_AVAILABLE; /* else say in reason what is missing and in hint how to get it */
    return QS_OK;
}

static int32_t open_context(const qs_host* host, const qs_kv* kv, uint32_t n, qs_ctx** out, qs_error* error) {
    (void)kv, (void)n;
    *out = calloc(1, sizeof **out);
    if (!*out) return fail(error, QS_RESOURCE_EXHAUSTED, "no memory");
    (*out)->host = host;
    return QS_OK;
}

static void close_context(qs_ctx* ctx) { free(ctx); }
static void cancel(qs_ctx* ctx) { atomic_store(&ctx->cancelled, 1); }

static int32_t describe(qs_ctx* ctx, char* buf, uint64_t cap, uint64_t* need, qs_error* error) {
    (void)ctx, (void)error;
    static const char text[] = "{\"plugin\":\"1.0\",\"compiler\":\"" __VERSION__ "\"}";
    *need = sizeof text;
    if (cap) snprintf(buf, cap, "%s", text);
    return QS_OK;
}

static int32_t device_count(qs_ctx* ctx, uint32_t* out, qs_error* error) {
    (void)ctx, (void)error;
    *out = 1;
    return QS_OK;
}

static int32_t device_get(qs_ctx* ctx, uint32_t dev, qs_device* out, qs_error* error) {
    (void)ctx;
    if (dev) return fail(error, QS_NOT_FOUND, "the example has one device");
    out->kind = QS_DEVICE_CPU;
    SAY(out->id, "cpu:0");
    SAY(out->name, "One thread of the processor");
    return QS_OK;
}

/* roof, artifact and extension stay NULL: unsupported. Fields that a newer header appends are absent here, and the host
 * sees that by struct_size. */
static const qs_backend table = {.struct_size = sizeof(qs_backend),
                                 .abi_major = QS_ABI_MAJOR,
                                 .abi_minor = QS_ABI_MINOR,
                                 .isolation = QS_ISOLATION_REQUIRED,
                                 .id = "example",
                                 .name = "Example",
                                 .version = "1.0",
                                 .license = "Apache-2.0",
                                 .probe = probe,
                                 .open = open_context,
                                 .close = close_context,
                                 .describe = describe,
                                 .device_count = device_count,
                                 .device_get = device_get,
                                 .query = query,
                                 .variant_get = variant_get,
                                 .prepare = prepare,
                                 .execute = execute,
                                 .bench = bench,
                                 .kernel_destroy = kernel_destroy,
                                 .cancel = cancel};

const qs_backend* quantscope_backend_query(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == QS_ABI_MAJOR ? &table : NULL;
}
