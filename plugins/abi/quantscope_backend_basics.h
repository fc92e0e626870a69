/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper functions for backends in C or C++: errors, structs of different sizes, options, texts, the timed loop. A
 * backend need not use them. C99; there is nothing to link. Include this file after quantscope_backend.h. It uses
 * clock_gettime() of POSIX: with -std=c99 define _POSIX_C_SOURCE as 199309L or later.
 */
#ifndef QUANTSCOPE_BACKEND_BASICS_H
#define QUANTSCOPE_BACKEND_BASICS_H
#ifndef QUANTSCOPE_BACKEND_H
#error "include quantscope_backend.h first"
#endif

#include <stddef.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies a struct of the other side (rule 2). Fields that this struct does not have become 0; all if it is NULL. */
static inline void qs_take(void* mine, size_t size, const void* theirs) {
    uint32_t given = 0;
    memset(mine, 0, size);
    if (theirs) memcpy(&given, theirs, sizeof given);
    if (theirs) memcpy(mine, theirs, given < size ? given : size);
}
/* Writes the fields that the caller's struct has, and does not change its struct_size. */
static inline void qs_give(void* theirs, const void* mine, size_t size) {
    uint32_t given = 0;
    if (!theirs) return;
    memcpy(&given, theirs, sizeof given);
    if (given > sizeof given)
        memcpy((char*)theirs + sizeof given, (const char*)mine + sizeof given,
               (given < size ? given : size) - sizeof given);
}

/* Copies a text into a field of `room` bytes, with a NUL at its end. A text that is too long is cut after a whole UTF-8
 * character. QS_PUT does the same for a field that is an array. */
static inline void qs_put(char* field, size_t room, const char* text, size_t length) {
    size_t n = length < room ? length : room - 1;
    while (n > 0 && n < length && ((unsigned char)text[n] & 0xC0) == 0x80) --n;
    if (n > 0) memcpy(field, text, n); /* `text` may be NULL when it is empty */
    field[n] = 0;
}
#define QS_PUT(field, text) qs_put(field, sizeof(field), text, strlen(text))

/* Fills *error if `error` is not NULL, and returns the code. */
static inline int32_t qs_fail(qs_error* error, int32_t code, const char* sentence) {
    qs_error mine;
    memset(&mine, 0, sizeof mine);
    mine.code = code;
    QS_PUT(mine.msg, sentence);
    qs_give(error, &mine, sizeof mine);
    return code;
}

/* The value of an option, or NULL. If it is given twice, the last value counts. */
static inline const char* qs_option(const qs_kv* kv, uint32_t n, const char* key) {
    while (kv && n-- > 0)
        if (kv[n].key && !strcmp(kv[n].key, key)) return kv[n].value;
    return NULL;
}

/* The tensor with this role, or NULL. */
static inline const qs_tensor* qs_find(const qs_tensor* const* tensors, uint32_t n, const char* role) {
    for (uint32_t i = 0; tensors && i < n; ++i)
        if (tensors[i] && tensors[i]->role && !strcmp(tensors[i]->role, role)) return tensors[i];
    return NULL;
}

static inline int qs_is(const char* text, const char* wanted) { return text && !strcmp(text, wanted); }

/* Returns a text to the caller, for describe() and artifact(). */
static inline int32_t qs_give_text(const char* text, size_t length, char* buf, uint64_t cap, uint64_t* need) {
    if (need) *need = (uint64_t)length + 1;
    if (buf && cap) {
        const size_t n = length < cap ? length : (size_t)cap - 1;
        memcpy(buf, text, n);
        buf[n] = 0;
    }
    return QS_OK;
}

static inline uint64_t qs_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int qs_should_stop(const qs_host* host) {
    return host && host->should_stop && host->should_stop(host->user);
}

/*
 * The loop of bench(), for runs that are complete when they return. run(arg, set) does one run with copy number `set`
 * of the weights, 0 .. buffer_sets-1, and returns a code. Another code than QS_OK ends the loop. Samples, clock and
 * count are written to *result. Returns QS_CANCELLED if the host asks to stop.
 */
static inline int32_t qs_time_runs(const qs_host* host, const qs_run_opts* opts, qs_run_result* result,
                                   int32_t (*run)(void* arg, uint32_t set), void* arg) {
    qs_run_opts o;
    qs_run_result r;
    int32_t code = QS_OK;
    uint32_t turn = 0;
    uint64_t begin = 0;
    qs_take(&o, sizeof o, opts);
    qs_take(&r, sizeof r, result);
    const uint32_t sets = o.buffer_sets ? o.buffer_sets : 1, chain = o.chain ? o.chain : 1;
    const uint32_t room = r.samples_ns ? r.cap : 0, asked = o.iters ? o.iters : 1;
    const uint32_t wanted = asked < room ? asked : room;
    for (uint32_t i = 0; i < o.warmup && !code; ++i)
        code = qs_should_stop(host) ? QS_CANCELLED : run(arg, turn++ % sets);
    begin = qs_now_ns();
    for (r.n = 0; r.n < wanted && !code;) {
        const uint64_t start = qs_now_ns();
        if (qs_should_stop(host)) code = QS_CANCELLED;
        for (uint32_t i = 0; i < chain && !code; ++i) code = run(arg, turn++ % sets);
        const uint64_t end = qs_now_ns();
        if (!code) r.samples_ns[r.n++] = (end - start) / chain;
        if (o.max_seconds > 0 && (double)(end - begin) * 1e-9 > o.max_seconds) break;
    }
    r.clock = QS_CLOCK_HOST;
    r.timing_valid = 1;
    qs_give(result, &r, sizeof r);
    return code;
}

#ifdef __cplusplus
}
#endif
#endif
