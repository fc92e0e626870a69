/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QuantScope backend interface, version 2.0: the only header that a backend needs. Plain C99; needs <stdint.h> alone.
 *
 * A backend is a shared library that exports ONE symbol, quantscope_backend_query(), which returns a table of functions.
 * It runs operations on quantized weights in one or more *variants*, so that error and speed stand side by side.
 *
 *   query ... variant_get ... prepare -> kernel ... execute (correct?) ... bench (how fast?) ... kernel_destroy
 *
 * Rules
 *  1. quantscope_backend_query() is pure and repeatable: it loads nothing, prints nothing, starts no thread.
 *  2. Every struct whose first field is struct_size is zeroed by its owner, who then sets struct_size to the sizeof he was
 *     compiled with. Structs grow at the end only. Both sides use min(theirs, yours) and accept a SMALLER struct; what lies
 *     beyond it is absent (zero). A function that lies beyond the table's struct_size, or is NULL, is unsupported. Such
 *     structs are never embedded by value nor laid in an array: they cross as pointers and arrays of pointers. qs_kv is
 *     frozen.
 *  3. The caller allocates every output. Only qs_ctx and qs_kernel belong to the backend; close() and kernel_destroy() end
 *     them. Strings and arrays that go in live until the call returns: copy what you keep.
 *  4. Functions that return int32_t return a code below and, when it is not 0, fill *error if error is not NULL.
 *     QS_UNIMPLEMENTED means "declined", which is no failure.
 *  5. A context is used from one thread at a time, not always the same one. Only cancel() may be called from another
 *     thread meanwhile. Threads that you start end in close().
 *  6. Signal handlers, locale, floating-point environment, working directory and standard output are the host's.
 *  7. The library is never unloaded; the process ends.
 *  8. Host tensors are little-endian, row-major, dense, 64-byte aligned. The backend checks `bytes` against dims and dtype
 *     and refuses with QS_INVALID_ARGUMENT what does not fit. Nothing is rounded silently: decline a shape instead.
 *  9. Number formats cross as text plus a description of the data, never as an enum: refuse what you do not know, repack
 *     what you would rather have (in prepare(), where the cost is measured and shown).
 * 10. Times are in nanoseconds where a name ends in _ns, milliseconds where it ends in _ms; sizes are in bytes.
 */
#ifndef QUANTSCOPE_BACKEND_H
#define QUANTSCOPE_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QS_ABI_MAJOR 2u /* another major: query() returns NULL */
#define QS_ABI_MINOR 0u /* a larger minor only appends */

#if defined(_WIN32)
#define QS_EXPORT __declspec(dllexport)
#else
#define QS_EXPORT __attribute__((visibility("default")))
#endif

/* Return codes: the numbers of absl::StatusCode. */
#define QS_OK 0
#define QS_CANCELLED 1
#define QS_INVALID_ARGUMENT 3
#define QS_DEADLINE_EXCEEDED 4
#define QS_NOT_FOUND 5
#define QS_RESOURCE_EXHAUSTED 8
#define QS_FAILED_PRECONDITION 9
#define QS_UNIMPLEMENTED 12 /* declined */
#define QS_INTERNAL 13
#define QS_UNAVAILABLE 14

/* Options by name, as the user gave them: {"path", "/opt/libtpu.so"}, {"threads", "2"}. Frozen. */
typedef struct {
    const char* key;   /* NUL-terminated, UTF-8, never NULL; lives for the call */
    const char* value; /* likewise */
} qs_kv;

typedef struct {
    uint32_t struct_size;
    int32_t code;   /* as returned */
    char msg[1024]; /* out: one sentence, UTF-8, NUL-terminated */
    char hint[256]; /* out: what the user can do about it, or empty */
} qs_error;

/* What the host offers; valid until close() of the context that it was given to. */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor; /* of the host */
    uint32_t pad;
    void* user; /* hand it back in both calls */
    /* Any thread. level 0 debug, 1 info, 2 warning, 3 error. msg lives for the call. */
    void (*log)(void* user, int32_t level, const char* msg);
    /* Any thread: not 0 when the user asked to stop; long loops ask every few milliseconds. */
    int32_t (*should_stop)(void* user);
} qs_host;

#define QS_PROBE_UNAVAILABLE 0
#define QS_PROBE_AVAILABLE 1
#define QS_PROBE_NEEDS_CONFIG 2
#define QS_PROBE_COMPILE_ONLY 3

typedef struct {
    uint32_t struct_size;
    int32_t state; /* out: QS_PROBE_* */
    int32_t score; /* out: higher is tried first; 0 when you do not care */
    uint32_t pad;
    char reason[256];    /* out: one sentence unless available: "libcuda.so.1 is not installed" */
    char hint[256];      /* out: what the user can do about it, or empty */
} qs_probe;

#define QS_DEVICE_CPU 1
#define QS_DEVICE_GPU 2
#define QS_DEVICE_TPU 3
#define QS_DEVICE_SIMULATED 4
#define QS_DEVICE_COMPILE_ONLY 5

/* roof() of this device measures the processors of the host with all their threads: what other backends on them are held
 * against, and what tells whether something else runs on the machine. */
#define QS_DEVICE_HOST_ROOFS 1u

typedef struct {
    uint32_t struct_size;
    int32_t kind;   /* out: QS_DEVICE_* */
    uint32_t flags; /* out: QS_DEVICE_HOST_ROOFS or 0 */
    uint32_t pad;
    uint64_t mem_total; /* out: bytes, 0 = unknown */
    char id[64];        /* out: "cpu:0" */
    char name[128];     /* out: "NVIDIA H200" */
    char arch[64];      /* out: "sm_90", "avx512" */
} qs_device;

/*
 * How an operand's numbers are stored. For the integer formats value = (code + code_bias) * scale, for a codebook
 * value = codebook[code] * scale; float formats hold the value itself, times scale where there is one.
 */
typedef struct {
    uint32_t struct_size;
    uint32_t bits;      /* per code: 1 2 4 8 16 32 */
    const char* format; /* "f32" "f16" "bf16" "nf4" "int8" "int4" "fp8_e4m3" "ternary" "binary" "codebook"; open list */
    /*
     * Where code i of a row lies. Rows start at a byte.
     *   "none"            one code in each element of the tensor's dtype
     *   "pair_hi_first"   byte j = code[2j] << 4 | code[2j+1]                       (nf4)
     *   "pair_lo_first"   byte j = code[2j] | code[2j+1] << 4                       (int4)
     *   "quad_lo_first"   byte j = code[4j] | code[4j+1] << 2 | ... << 6            (ternary)
     *   "octet_lo_first"  byte j = code[8j] | code[8j+1] << 1 | ... << 7            (binary)
     *   "planar"          P = 8/bits planes; bits p*bits.. of byte j = code[p*K/P + j]
     */
    const char* packing;
    const char* scale_dtype; /* "none" "f32" "bf16" "f16" "e8m0" */
    const char* zero_dtype;  /* "none": symmetric */
    int32_t pack_axis;       /* axis of the logical shape along which codes share bytes; -1 = none */
    int32_t block_axis;      /* axis cut into blocks of `block` elements with a scale each; -1 = no blocks */
    int32_t channel_axis;    /* block 0: the axis KEPT, one scale per index of it; -1 = one for the tensor, or none */
    int32_t code_bias;       /* int8 -128..127 stored as i8: 0; ternary codes 0 1 2: -1 */
    /* Elements per scale on block_axis; 0 = per channel_axis or per tensor. The last block of a row may be short. */
    uint64_t block;
    /* Each stored row is filled up with codes that mean 0 to a multiple of so many: the padding is in the tensor's dims, not in n and
     * k. 0 = rows are not padded. */
    uint64_t row_multiple;
    /* Lives for the call: copy what you keep. */
    const float* codebook; /* codebook_n values, or NULL */
    uint32_t codebook_n;   /* 0 without one */
    uint32_t pad;
} qs_format;

#define QS_PROBLEM_W_IS_KN 1u /* y = x W with W [K,N]; else y = x W^T with W [N,K] */
#define QS_PROBLEM_BIAS 2u    /* y[m,n] += bias[n] */
/* act->format is "int8" or "fp8_e4m3" but x arrives as f32: part of the run, for each row, is
   int8:     s = max|x| / 127 + FLT_MIN, q = round_half_even(x / s)
   fp8_e4m3: s = max|x| / 448 (1 where that is 0), q = the nearest e4m3 to x / s within +-448, half to even */
#define QS_PROBLEM_DYNAMIC_ACT 4u

/*
 * op "matmul":    y[M,N] = x[M,K] * W
 *    "dequantize": out[N,K] (f32 or bf16) = decoded weight; m = 1
 *    "quantize":   weight (f32) [N,K] -> codes and scales as `weight` describes; m = 1; the input is the tensor "source"
 *    "quantize_stats": the same, and the tensor "out_sums", four f64: over W and V, what its codes mean,
 *                 sum (V-W)^2, sum W^2, max |V-W|, max |W|
 *    "quant_act":  x (f32) [M,K] -> i8 [M,K] and f32 [M]; n = 1
 */
typedef struct {
    uint32_t struct_size;
    uint32_t flags;          /* QS_PROBLEM_* */
    const char* op;          /* see above; lives for the call, as all that this struct points to */
    int64_t m, n, k;         /* numbers, not bytes: rows of x, columns of y, length of the sums; 1 or more */
    const qs_format* weight; /* NULL for quant_act */
    const qs_format* act;    /* NULL for dequantize and quantize */
    const char* compute;     /* demanded type of the products, "f32" "bf16" "i8"; NULL = the variant's choice */
    const char* accum;       /* demanded type of the sums, "f32" "i32" "bf16"; NULL = the variant's choice */
    const char* out;         /* "f32" "bf16" */
} qs_problem;

/*
 * A tensor in host memory. Inputs have `data`, outputs have `out` (the caller's memory, `bytes` long). Roles: "act"
 * "act_scale" "weight" "scale" "scale2" "zero" "bias" "source" "out" "out_scale" "out_sums".
 */
typedef struct {
    uint32_t struct_size;
    uint32_t rank;     /* 0..4 */
    const char* role;  /* one of those above; lives for the call, as `dtype` */
    const char* dtype; /* "f32" "bf16" "f16" "i8" "u8" "i32" "fp8_e4m3" "f64" */
    int64_t dims[4];   /* as stored: packed weights count bytes */
    const void* data;  /* in: the host's, for the call; NULL in an output */
    void* out;         /* out: the host's, for the call; NULL in an input */
    uint64_t bytes;    /* of data or out */
} qs_tensor;

#define QS_SUPPORT_NO 0
#define QS_SUPPORT_EMULATED 1 /* runs, but not in the machine's own arithmetic for it */
#define QS_SUPPORT_NATIVE 2

typedef struct {
    uint32_t struct_size;
    int32_t level;       /* out: QS_SUPPORT_* */
    uint32_t n_variants; /* out: variant_get() takes 0 .. n-1; 0 when level is NO */
    uint32_t pad;
    char reason[256]; /* out: why not, or what is emulated */
} qs_support;

#define QS_VARIANT_APPROX 1u       /* does not compute the format's own values; see levels */
#define QS_VARIANT_EXPERIMENTAL 2u /* not chosen by default */
#define QS_VARIANT_BASELINE 4u     /* to compare with: another library, or without quantization */
#define QS_VARIANT_REPACKS 8u      /* prepare() changes the layout of the weights */

#define QS_MOST_LEVELS 16

typedef struct {
    uint32_t struct_size;
    uint32_t flags;   /* out: QS_VARIANT_* */
    char id[64];      /* out: "nf4_gemv_bf16_avx512"; stable, [a-z0-9_.]+ */
    char title[128];  /* out */
    char note[256];   /* out: products and sums it uses, for people: "bf16 products, f32 sums" */
    char compute[16]; /* out: type of the products: "f32" "bf16" "i8" "fp8_e4m3"; empty: it does not say */
    /* out: largest NMSE that the arithmetic of this variant explains, against an f64 evaluation of the same operands;
     * 0 = the host's limit for `compute`; negative = must be exact. The host never accepts more than 1e-3. */
    double nmse_limit;
    /* out, with QS_VARIANT_APPROX: the value that this variant decodes each code to in place of the codebook, codebook_n
     * of them. It is then held to nmse_limit by these values, and its distance from the format's own product is shown
     * beside. 0: they cannot be given, and nmse_limit is held by the format's own values. */
    uint32_t levels_n, pad;
    float levels[QS_MOST_LEVELS]; /* out: the first levels_n of them */
} qs_variant;

#define QS_FUSION_UNKNOWN 0
#define QS_FUSION_FUSED 1        /* weights are decoded on the way */
#define QS_FUSION_MATERIALISED 2 /* a whole decoded weight lies in memory */
#define QS_FUSION_FOLDED 3       /* the weights became constants: not a quantized product any more */

/* -1 = unknown in every number. */
typedef struct {
    uint32_t struct_size;
    int32_t fusion;                           /* out: QS_FUSION_* */
    double repack_ms, upload_ms, compile_ms;  /* out: of prepare(), once */
    double flops, bytes_accessed;             /* out: of one run, by the vendor's own account */
    int64_t arg_bytes, out_bytes, temp_bytes; /* out: device memory of one run */
    int64_t peak_bytes, code_bytes;           /* out */
    int64_t weight_bytes;                     /* out: what one run must read of the weights and their scales */
    int64_t copy_bytes; /* out: memory of one more copy of them, padding and all; 0 or less = not known */
} qs_kernel_info;

#define QS_RUN_COLD 1u /* weights come from memory: rotate over buffer_sets copies */

typedef struct {
    uint32_t struct_size;
    uint32_t warmup;       /* untimed runs first */
    uint32_t iters;        /* samples wanted */
    uint32_t chain;        /* runs in one sample; samples_ns holds the time of ONE run, the sample's time over chain */
    uint32_t buffer_sets;  /* copies of the weights, used in turn, one a run; 1 = warm */
    uint32_t flags;        /* QS_RUN_* */
    double max_seconds;    /* stop sampling after that; at least one sample is taken */
    uint64_t memory_bytes; /* of roof(): the most that what it reads may take; 0 = as the backend likes */
} qs_run_opts;

#define QS_CLOCK_HOST 1
#define QS_CLOCK_DEVICE 2

typedef struct {
    uint32_t struct_size;
    uint32_t cap;         /* in: room in samples_ns */
    uint32_t n;           /* out: samples written */
    int32_t clock;        /* out: QS_CLOCK_* */
    int32_t timing_valid; /* out: 0 for compile-only devices and simulators */
    uint32_t pad;
    uint64_t* samples_ns; /* caller's array of cap */
    qs_tensor* last_out;  /* caller's, may be NULL: the result of the last run, checked again by the host */
} qs_run_result;

typedef struct qs_ctx qs_ctx;
typedef struct qs_kernel qs_kernel;

#define QS_ISOLATION_REQUIRED 1 /* every library that is loaded counts as this */
#define QS_ISOLATION_PREFERRED 2
#define QS_ISOLATION_NOT_NEEDED 3

/* The table; static, const, lives as long as the library. */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor; /* that the backend was compiled with */
    uint32_t isolation;            /* QS_ISOLATION_* */
    const char* id;                /* "cuda": [a-z0-9_]+ */
    const char* name;              /* "NVIDIA CUDA" */
    const char* version;           /* of the backend itself */
    const char* license;           /* SPDX expression */
    double open_seconds;           /* how long open() may take; 0 = the host's own limit */

    /* Cheap: within 2 s, loads no vendor runtime. kv: n options. */
    int32_t (*probe)(const qs_host* host, const qs_kv* kv, uint32_t n, qs_probe* out, qs_error* error);
    /* Heavy work belongs here. *out is NULL unless QS_OK is returned. */
    int32_t (*open)(const qs_host* host, const qs_kv* kv, uint32_t n, qs_ctx** out, qs_error* error);
    void (*close)(qs_ctx* ctx); /* NULL allowed; kernels are destroyed before */
    /* JSON object with the versions (plugin, runtime, driver, ...). Text functions write at most cap bytes with a final NUL
     * and set *need to the bytes wanted with it; buf may be NULL when cap is 0. */
    int32_t (*describe)(qs_ctx* ctx, char* buf, uint64_t cap, uint64_t* need, qs_error* error);
    /* How many devices; `dev` below is 0 .. count-1. They do not change until close(). */
    int32_t (*device_count)(qs_ctx* ctx, uint32_t* out, qs_error* error);
    /* What device `dev` is; the same answer whenever it is asked. */
    int32_t (*device_get)(qs_ctx* ctx, uint32_t dev, qs_device* out, qs_error* error);
    /* A measured roof. kind "read_bw" "write_bw" (work: bytes a run; of the memory), "cache_bw" (the same, read
     * again and again out of the nearest cache), "f32" "bf16" "i8" (work: operations a run, a multiplication and an
     * addition count two). Same threads as the kernels. */
    int32_t (*roof)(qs_ctx* ctx, uint32_t dev, const char* kind, const qs_run_opts* opts, qs_run_result* result,
                    double* work, qs_error* error);
    /* Can you do this problem, and in how many ways? Cheap; asked for every shape. */
    int32_t (*query)(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, qs_support* out, qs_error* error);
    /* Way number `index` of 0 .. n_variants-1, as query() counted them for the same problem. */
    int32_t (*variant_get)(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, uint32_t index, qs_variant* out,
                           qs_error* error);
    /* Takes the weights ("weight", "scale", ..., "bias"; for quantize "source"): repack, upload and compile, once. */
    int32_t (*prepare)(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, const char* variant,
                       const qs_tensor* const* in, uint32_t n_in, qs_kernel** out, qs_kernel_info* info,
                       qs_error* error);
    /* One run. act: "act" (and "act_scale"), empty for dequantize and quantize. outs: "out", for quantize and quant_act
     * also "out_scale", for quantize_stats "out_sums", too. */
    int32_t (*execute)(qs_kernel* kernel, const qs_tensor* const* act, uint32_t n_act, qs_tensor* const* outs,
                       uint32_t n_outs, qs_error* error);
    /* The timed loop: only the backend knows how to wait for its device. Every sample ends when the result is complete. */
    int32_t (*bench)(qs_kernel* kernel, const qs_tensor* const* act, uint32_t n_act, const qs_run_opts* opts,
                     qs_run_result* result, qs_error* error);
    /* Text of what was run: "stablehlo" "hlo_with_config" "ptx" "asm" "source"; QS_NOT_FOUND when there is none. */
    int32_t (*artifact)(qs_kernel* kernel, const char* what, char* buf, uint64_t cap, uint64_t* need, qs_error* error);
    void (*kernel_destroy)(qs_kernel* kernel); /* NULL allowed */
    void (*cancel)(qs_ctx* ctx);               /* any thread: what runs returns QS_CANCELLED soon */
    /* A later addition by name and version, or NULL; the interface it points to is documented with its name. */
    const void* (*extension)(const char* name, uint32_t version);
} qs_backend;

/* The one exported symbol. NULL when host_major is not the backend's. */
QS_EXPORT const qs_backend* quantscope_backend_query(uint32_t host_major, uint32_t host_minor);
typedef const qs_backend* (*quantscope_backend_query_fn)(uint32_t host_major, uint32_t host_minor);

#ifdef __cplusplus
}
#endif
#endif
