/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a compiler makes of the header, beside what layout.inc says. */
#ifndef QS_TESTS_ABI_LAYOUT_H
#define QS_TESTS_ABI_LAYOUT_H
#include "plugins/abi/quantscope_backend.h"

#include <stddef.h>

typedef struct {
    const char* type;
    const char* field;           /* NULL: the row is the struct itself */
    size_t offset, size;         /* as compiled */
    size_t wantOffset, wantSize; /* as committed; of a struct: the number of its fields, sizeof */
} qs_layout_row;

#ifdef __cplusplus
extern "C" {
#endif
const qs_layout_row* qs_layout_of_c(size_t* count);
#ifdef __cplusplus
}
#endif

#define STRUCT(type, bytes, fields) {#type, NULL, 0, sizeof(type), fields, bytes},
#define FIELD(type, field, at, bytes) {#type, #field, offsetof(type, field), sizeof(((type*)0)->field), at, bytes},

#endif
