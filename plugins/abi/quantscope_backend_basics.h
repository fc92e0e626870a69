/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every backend in C or C++ would write again: errors, structs of another size, options, texts, the timed loop.
 * Optional, C99, nothing to link; include it after quantscope_backend.h. clock_gettime() is POSIX: with -std=c99 also
 * define _POSIX_C_SOURCE as 199309L or later.
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

/* Rule 2: a struct as this header knows it. What the caller's smaller one lacks is zero; NULL gives zeros. */
static inline void qs_take(void* mine, size_t size, const void* theirs) {
    uint32_t given = 0;
    memset(mine, 0, size);
    if (theirs) memcpy(&given, theirs, sizeof given);
    if (theirs) memcpy(mine, theirs, given < size ? given : size);
}
/* Writes as much as the caller's struct holds; its struct_size stays what he said. */
static inline void qs_give(void* theirs, const void* mine, size_t size) {
    uint32_t given = 0;
    if (!theirs) return;
    memcpy(&given, theirs, sizeof given);
    if (given > sizeof given)
        memcpy((char*)theirs + sizeof given, (const char*)mine + sizeof given,
               (given < size ? given : size) - sizeof given);
}

/* Text into a field of `room` bytes: cut at a whole UTF-8 character, ends with NUL. QS_PUT: into a field that is an array. */
static inline void qs_put(char* field, size_t room, const char* text, size_t length) {
    size_t n = length < room ? length : room - 1;
    while (n > 0 && n < length && ((unsigned char)text[n] & 0xC0) == 0x80) --n;
    if (n > 0) memcpy(field, text, n); /* `text` may be NULL when it is empty */
    field[n] = 0;
}
#define QS_PUT(field, text) qs_put(field, sizeof(field), text, strlen(text))

/* Fills the caller's error, if there is one, and returns the code. */
static inline int32_t qs_fail(qs_error* error, int32_t code, const char* sentence) {
    qs_error mine;
    memset(&mine, 0, sizeof mine);
    mine.code = code;
    QS_PUT(mine.msg, sentence);
    qs_give(error, &mine, sizeof mine);
    return code;
}

/* The value of an option, or NULL. The last one counts. */
static inline const char* qs_option(const qs_kv* kv, uint32_t n, const char* key) {
    while (kv && n-- > 0)
        if (kv[n].key && !strcmp(kv[n].key, key)) return kv[n].value;
    return NULL;
}

/* The tensor of that role, or NULL. */
static inline const qs_tensor* qs_find(const qs_tensor* const* tensors, uint32_t n, const char* role) {
    for (uint32_t i = 0; tensors && i < n; ++i)
        if (tensors[i] && tensors[i]->role && !strcmp(tensors[i]->role, role)) return tensors[i];
    return NULL;
}

static inline int qs_is(const char* text, const char* wanted) { return text && !strcmp(text, wanted); }

/* What describe() and artifact() do with their text. */
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
 * The loop of bench() for runs that are complete when they return. run(arg, set) does one run on the copy `set` of the
 * weights, of opts->buffer_sets, and returns a code, which ends the loop unless it is QS_OK. Samples, clock and count go
 * to *result; QS_CANCELLED when the host says stop.
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
