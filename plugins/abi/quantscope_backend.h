/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QuantScope backend interface, version 2.0: the only header that a backend needs. Plain C99; needs <stdint.h> alone.
 *
 * A backend is a shared library that exports ONE symbol, quantscope_backend_query(), which returns a table of
 * functions. It runs operations on quantized weights. A *variant* is one way in which it computes an operation; the
 * host compares error and speed of all variants.
 *
 *   query ... variant_get ... prepare -> kernel ... execute (correct?) ... bench (how fast?) ... kernel_destroy
 *
 * Rules
 *  1. quantscope_backend_query() may be called many times and has no side effects: it loads nothing, prints nothing and
 *     starts no thread.
 *  2. Many structs begin with the field struct_size. The side that makes such a struct sets it to zero, then sets
 *     struct_size to the sizeof that it was compiled with. New fields are added at the end only. So a struct may be
 *     SMALLER than yours: read and write only min(its size, your size); a field beyond its end counts as 0. A function
 *     is unsupported if it is NULL or lies beyond the table's struct_size. These structs are passed as pointers or
 *     arrays of pointers, never by value and never side by side in an array. qs_kv never changes.
 *  3. The caller allocates every output. Only qs_ctx and qs_kernel belong to the backend; close() and kernel_destroy()
 *     free them. Input strings and arrays are valid only until the call returns: copy what you keep.
 *  4. A function that returns int32_t returns one of the codes below. If the code is not 0 and `error` is not NULL, it
 *     fills *error. QS_UNIMPLEMENTED means "declined", which is not a failure.
 *  5. A context is used by one thread at a time, but not always by the same thread. Only cancel() may be called from
 *     another thread during a call. Threads that the backend starts must end in close().
 *  6. The backend must not change signal handlers, locale, floating-point environment, working directory or standard
 *     output. They belong to the host.
 *  7. The library is never unloaded. It stays until the process ends.
 *  8. Host tensors are little-endian, row-major, dense and aligned to 64 bytes. The backend checks `bytes` against dims
 *     and dtype, and returns QS_INVALID_ARGUMENT if they do not fit. It must not round a shape: it declines it instead.
 *  9. A number format is passed as a name plus a description of the stored data, never as an enum. Decline what you do
 *     not know. If you need another layout, repack in prepare(), where the cost is measured and shown.
 * 10. Times are in nanoseconds if the name ends in _ns, in milliseconds if it ends in _ms. Sizes are in bytes.
 */
#ifndef QUANTSCOPE_BACKEND_H
#define QUANTSCOPE_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QS_ABI_MAJOR 2u /* a backend returns NULL from its query function if the host's number differs */
#define QS_ABI_MINOR 0u /* a larger number has only more fields and functions at the end */

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

/* One option as the user gave it, e.g. {"path", "/opt/libtpu.so"} or {"threads", "2"}. This struct never changes. */
typedef struct {
    const char* key;   /* NUL-terminated UTF-8, never NULL; valid during the call */
    const char* value; /* the same */
} qs_kv;

typedef struct {
    uint32_t struct_size;
    int32_t code;   /* out: the code that the function returns */
    char msg[1024]; /* out: one sentence, UTF-8, NUL-terminated */
    char hint[256]; /* out: what the user can do about it, or empty */
} qs_error;

/* Functions of the host. Valid until close() of the context that open() made with it. */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor; /* version of the interface that the host was compiled with */
    uint32_t pad;
    void* user; /* pass it as the first argument of both functions */
    /* Writes a line to the log; any thread. level: 0 debug, 1 info, 2 warning, 3 error. The host copies msg. */
    void (*log)(void* user, int32_t level, const char* msg);
    /* Returns 0 until the user asks to stop; any thread. Long loops call it every few milliseconds. */
    int32_t (*should_stop)(void* user);
} qs_host;

#define QS_PROBE_UNAVAILABLE 0
#define QS_PROBE_AVAILABLE 1
#define QS_PROBE_NEEDS_CONFIG 2
#define QS_PROBE_COMPILE_ONLY 3

typedef struct {
    uint32_t struct_size;
    int32_t state; /* out: QS_PROBE_* */
    int32_t score; /* out: backends with a higher score are tried first; 0 if the order does not matter */
    uint32_t pad;
    char reason[256]; /* out: why it is not available, in one sentence: "libcuda.so.1 is not installed" */
    char hint[256];   /* out: what the user can do about it, or empty */
} qs_probe;

#define QS_DEVICE_CPU 1
#define QS_DEVICE_GPU 2
#define QS_DEVICE_TPU 3
#define QS_DEVICE_SIMULATED 4
#define QS_DEVICE_COMPILE_ONLY 5

/* roof() of this device measures the CPUs of the host with all their threads. Other backends on the same CPUs are
 * compared with these roofs. The host also uses them to detect that another program runs on the machine. */
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
 * How the numbers of an operand are stored. Integer formats: value = (code + code_bias) * scale. Codebook: value =
 * codebook[code] * scale. Float formats: value = the stored number * scale. Without scales, read the scale as 1.
 */
typedef struct {
    uint32_t struct_size;
    uint32_t bits;      /* bits of a code: 1 2 4 8 16 32 */
    const char* format; /* "f32" "f16" "bf16" "nf4" "int8" "int4" "fp8_e4m3" "ternary" "binary" "codebook", or others */
    /*
     * Where code i of a row lies. Each row starts at a byte. K is the number of codes in a row.
     *   "none"            one code in each element of the tensor's dtype
     *   "pair_hi_first"   byte j = code[2j] << 4 | code[2j+1]                       (nf4)
     *   "pair_lo_first"   byte j = code[2j] | code[2j+1] << 4                       (int4)
     *   "quad_lo_first"   byte j = code[4j] | code[4j+1] << 2 | ... << 6            (ternary)
     *   "octet_lo_first"  byte j = code[8j] | code[8j+1] << 1 | ... << 7            (binary)
     *   "planar"          P = 8/bits planes; bits p*bits.. of byte j = code[p*K/P + j]
     */
    const char* packing;
    const char* scale_dtype; /* "none" "f32" "bf16" "f16" "e8m0" */
    const char* zero_dtype;  /* dtype of the zero points; "none": there are none */
    int32_t pack_axis;       /* axis of the logical shape along which codes share bytes; -1 = codes share no bytes */
    int32_t block_axis;      /* axis that is cut into blocks of `block` elements, each with a scale; -1 = no blocks */
    int32_t channel_axis;    /* if block is 0: axis with one scale per index; -1 = one scale for the tensor, or none */
    int32_t code_bias;       /* added to a code: 0 for int8 stored as i8; -1 for ternary codes 0 1 2 */
    /* Elements per scale on block_axis. 0 = a scale per index of channel_axis or per tensor. The last block of a row
     * may be shorter. */
    uint64_t block;
    /* Each stored row is padded to a multiple of this number of codes; the padding decodes to 0. The tensor's dims
     * count the padding, n and k do not. 0 = rows are not padded. */
    uint64_t row_multiple;
    /* Valid during the call: copy what you keep. */
    const float* codebook; /* codebook_n values, or NULL */
    uint32_t codebook_n;   /* 0 without a codebook */
    uint32_t pad;
} qs_format;

#define QS_PROBLEM_W_IS_KN 1u /* y = x W with W [K,N]; without this flag y = x W^T with W [N,K] */
#define QS_PROBLEM_BIAS 2u    /* y[m,n] += bias[n] */
/* act->format is "int8" or "fp8_e4m3" but x arrives as f32. Each run quantizes every row of x:
   int8:     s = max|x| / 127 + FLT_MIN, q = round_half_even(x / s)
   fp8_e4m3: s = max|x| / 448 (1 where that is 0), q = the nearest e4m3 to x / s within +-448, half to even */
#define QS_PROBLEM_DYNAMIC_ACT 4u

/*
 * op "matmul":    y[M,N] = x[M,K] * W
 *    "dequantize": out[N,K] (f32 or bf16) = decoded weight; m = 1
 *    "quantize": weight (f32) [N,K] -> codes and scales as `weight` describes; m = 1; the input is the tensor "source"
 *    "quantize_stats": the same, and the tensor "out_sums" of four f64. With W the weight and V its decoded codes:
 *                 sum (V-W)^2, sum W^2, max |V-W|, max |W|
 *    "quant_act":  x (f32) [M,K] -> i8 [M,K] and f32 [M]; n = 1
 */
typedef struct {
    uint32_t struct_size;
    uint32_t flags;          /* QS_PROBLEM_* */
    const char* op;          /* see above; valid during the call, like all that this struct points to */
    int64_t m, n, k;         /* elements, not bytes: rows of x, columns of y, length of the sums; 1 or more */
    const qs_format* weight; /* NULL for quant_act */
    const qs_format* act;    /* NULL for dequantize and quantize */
    const char* compute;     /* required type of the products, "f32" "bf16" "i8"; NULL = the variant chooses */
    const char* accum;       /* required type of the sums, "f32" "i32" "bf16"; NULL = the variant chooses */
    const char* out;         /* type of the result: "f32" "bf16" */
} qs_problem;

/*
 * A tensor in host memory. The backend reads an input from `data` and writes an output to `out`. Roles: "act"
 * "act_scale" "weight" "scale" "scale2" "zero" "bias" "source" "out" "out_scale" "out_sums".
 */
typedef struct {
    uint32_t struct_size;
    uint32_t rank;     /* 0..4 */
    const char* role;  /* one of the roles above; valid during the call, like `dtype` */
    const char* dtype; /* "f32" "bf16" "f16" "i8" "u8" "i32" "fp8_e4m3" "f64" */
    int64_t dims[4];   /* dims of the stored tensor; for packed weights they count bytes */
    const void* data;  /* in: memory of the host, valid during the call; NULL in an output */
    void* out;         /* out: memory of the host, valid during the call; NULL in an input */
    uint64_t bytes;    /* size of data or out */
} qs_tensor;

#define QS_SUPPORT_NO 0
#define QS_SUPPORT_EMULATED 1 /* runs, but without the machine's own instructions for this arithmetic */
#define QS_SUPPORT_NATIVE 2

typedef struct {
    uint32_t struct_size;
    int32_t level;       /* out: QS_SUPPORT_* */
    uint32_t n_variants; /* out: variant_get() takes 0 .. n_variants-1; 0 if level is NO */
    uint32_t pad;
    char reason[256]; /* out: why it is not supported, or what is emulated */
} qs_support;

#define QS_VARIANT_APPROX 1u       /* decodes to other values than the format's own; see qs_variant::levels */
#define QS_VARIANT_EXPERIMENTAL 2u /* not chosen by default */
#define QS_VARIANT_BASELINE 4u     /* only for comparison: another library, or a product without quantization */
#define QS_VARIANT_REPACKS 8u      /* prepare() changes the layout of the weights */

#define QS_MOST_LEVELS 16

typedef struct {
    uint32_t struct_size;
    uint32_t flags;   /* out: QS_VARIANT_* */
    char id[64];      /* out: "nf4_gemv_bf16_avx512"; [a-z0-9_.]+; the same in every version */
    char title[128];  /* out: name for people */
    char note[256];   /* out: types of products and sums, for people: "bf16 products, f32 sums" */
    char compute[16]; /* out: type of the products: "f32" "bf16" "i8" "fp8_e4m3"; empty: not known */
    /* out: largest NMSE that the arithmetic of this variant can cause, against an f64 evaluation of the same operands.
     * 0 = the host's limit for `compute`; negative = the result must be exact. The host accepts at most 1e-3. */
    double nmse_limit;
    /* out, with QS_VARIANT_APPROX: the value to which this variant decodes each code, in place of the codebook. If they
     * are given, levels_n is codebook_n; the host then checks nmse_limit with these values, and also shows the distance
     * from the format's own product. If levels_n is 0, the host checks nmse_limit with the format's own values. */
    uint32_t levels_n, pad;
    float levels[QS_MOST_LEVELS]; /* out: the first levels_n of them */
} qs_variant;

#define QS_FUSION_UNKNOWN 0
#define QS_FUSION_FUSED 1        /* weights are decoded inside the product */
#define QS_FUSION_MATERIALISED 2 /* the whole decoded weight is written to memory first */
#define QS_FUSION_FOLDED 3       /* the compiler made the decoded weights constants: no quantized product any more */

/* In every number -1 means unknown. */
typedef struct {
    uint32_t struct_size;
    int32_t fusion;                           /* out: QS_FUSION_* */
    double repack_ms, upload_ms, compile_ms;  /* out: times of the steps of prepare() */
    double flops, bytes_accessed;             /* out: of one run, as the vendor's compiler counts them */
    int64_t arg_bytes, out_bytes, temp_bytes; /* out: device memory of one run: inputs, outputs, temporaries */
    int64_t peak_bytes, code_bytes;           /* out: most device memory at one time; size of the machine code */
    int64_t weight_bytes;                     /* out: bytes of weights and scales that one run must read */
    int64_t copy_bytes; /* out: memory for one more copy of the weights, padding included; 0 or less = not known */
} qs_kernel_info;

#define QS_RUN_COLD 1u /* weights must come from memory, not from a cache: use buffer_sets copies in turn */

typedef struct {
    uint32_t struct_size;
    uint32_t warmup;       /* runs before the first sample, which are not timed */
    uint32_t iters;        /* number of samples to take */
    uint32_t chain;        /* runs in one sample; samples_ns holds the time of ONE run: the sample's time / chain */
    uint32_t buffer_sets;  /* number of copies of the weights; each run uses the next one; 1 = warm */
    uint32_t flags;        /* QS_RUN_* */
    double max_seconds;    /* take no more samples after this time; at least one sample is taken */
    uint64_t memory_bytes; /* for roof(): most memory that it may read through; 0 = the backend chooses */
} qs_run_opts;

#define QS_CLOCK_HOST 1
#define QS_CLOCK_DEVICE 2

typedef struct {
    uint32_t struct_size;
    uint32_t cap;         /* in: length of samples_ns */
    uint32_t n;           /* out: samples written */
    int32_t clock;        /* out: QS_CLOCK_* */
    int32_t timing_valid; /* out: 0 for compile-only devices and simulators */
    uint32_t pad;
    uint64_t* samples_ns; /* the caller's array of `cap` elements */
    qs_tensor* last_out;  /* the caller's, or NULL: write the result of the last run to it; the host checks it again */
} qs_run_result;

typedef struct qs_ctx qs_ctx;
typedef struct qs_kernel qs_kernel;

#define QS_ISOLATION_REQUIRED 1 /* run in a process of its own; the host does this for every library that it loads */
#define QS_ISOLATION_PREFERRED 2
#define QS_ISOLATION_NOT_NEEDED 3

/* The table of functions. It is static and const, and valid as long as the library. */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_major, abi_minor; /* version of the interface that the backend was compiled with */
    uint32_t isolation;            /* QS_ISOLATION_* */
    const char* id;                /* e.g. "cuda"; [a-z0-9_]+ */
    const char* name;              /* e.g. "NVIDIA CUDA" */
    const char* version;           /* version of the backend itself */
    const char* license;           /* SPDX expression */
    double open_seconds;           /* most seconds that open() may take; 0 = the host's own limit */

    /* Says whether the backend can be used. Must end within 2 s and must not load a vendor runtime. kv: n options. */
    int32_t (*probe)(const qs_host* host, const qs_kv* kv, uint32_t n, qs_probe* out, qs_error* error);
    /* Loads libraries, finds devices, starts threads; it may take long. Sets *out to NULL unless it returns QS_OK. */
    int32_t (*open)(const qs_host* host, const qs_kv* kv, uint32_t n, qs_ctx** out, qs_error* error);
    void (*close)(qs_ctx* ctx); /* ctx may be NULL; the host destroys all kernels before */
    /* A JSON object with the versions (plugin, runtime, driver, ...). All functions that return text write at most cap
     * bytes, the final NUL included, and set *need to the size of the whole text with its NUL. If cap is 0, buf may be
     * NULL. */
    int32_t (*describe)(qs_ctx* ctx, char* buf, uint64_t cap, uint64_t* need, qs_error* error);
    /* The number of devices. It does not change until close(). `dev` below is 0 .. count-1. */
    int32_t (*device_count)(qs_ctx* ctx, uint32_t* out, qs_error* error);
    /* What device `dev` is. The answer does not change until close(). */
    int32_t (*device_get)(qs_ctx* ctx, uint32_t dev, qs_device* out, qs_error* error);
    /* Measures a roof. kind "read_bw" or "write_bw": of the memory; *work is the bytes of one run. "cache_bw": the
     * same, but read again and again from the nearest cache. "f32" "bf16" "i8": *work is the operations of one run,
     * where a multiplication and an addition count as two. Uses the same threads as the kernels. */
    int32_t (*roof)(qs_ctx* ctx, uint32_t dev, const char* kind, const qs_run_opts* opts, qs_run_result* result,
                    double* work, qs_error* error);
    /* Can the backend do this problem, and in how many variants? Must be fast: the host asks for every shape. */
    int32_t (*query)(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, qs_support* out, qs_error* error);
    /* Describes variant `index`, 0 .. n_variants-1, where n_variants is from query() with the same problem. */
    int32_t (*variant_get)(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, uint32_t index, qs_variant* out,
                           qs_error* error);
    /* Makes a kernel for a problem and a variant: repacks, uploads and compiles. in: "weight", "scale", ..., "bias";
     * for quantize "source". */
    int32_t (*prepare)(qs_ctx* ctx, uint32_t dev, const qs_problem* problem, const char* variant,
                       const qs_tensor* const* in, uint32_t n_in, qs_kernel** out, qs_kernel_info* info,
                       qs_error* error);
    /* Does one run; the result is complete when it returns. act: "act" and, where needed, "act_scale"; none for
     * dequantize and quantize. outs: "out"; for quantize and quant_act also "out_scale"; for quantize_stats also
     * "out_sums". */
    int32_t (*execute)(qs_kernel* kernel, const qs_tensor* const* act, uint32_t n_act, qs_tensor* const* outs,
                       uint32_t n_outs, qs_error* error);
    /* Times runs in a loop. It is part of the backend, because only the backend can wait for its device. Every sample
     * ends when its result is complete. */
    int32_t (*bench)(qs_kernel* kernel, const qs_tensor* const* act, uint32_t n_act, const qs_run_opts* opts,
                     qs_run_result* result, qs_error* error);
    /* The program that runs, as text. what: "stablehlo" "hlo_with_config" "ptx" "asm" "source". Returns QS_NOT_FOUND if
     * there is no such text. */
    int32_t (*artifact)(qs_kernel* kernel, const char* what, char* buf, uint64_t cap, uint64_t* need, qs_error* error);
    void (*kernel_destroy)(qs_kernel* kernel); /* kernel may be NULL */
    void (*cancel)(qs_ctx* ctx);               /* any thread; the call that runs now returns QS_CANCELLED soon */
    /* For later additions to this interface: returns the one with this name and version, or NULL. */
    const void* (*extension)(const char* name, uint32_t version);
} qs_backend;

/* The one exported symbol. Returns NULL if host_major is not the major version of the backend. */
QS_EXPORT const qs_backend* quantscope_backend_query(uint32_t host_major, uint32_t host_minor);
typedef const qs_backend* (*quantscope_backend_query_fn)(uint32_t host_major, uint32_t host_minor);

#ifdef __cplusplus
}
#endif
#endif
