/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of the structs as compiled, beside the layout listed in layout.inc. */
#ifndef QS_TESTS_ABI_LAYOUT_H
#define QS_TESTS_ABI_LAYOUT_H
#include "plugins/abi/quantscope_backend.h"

#include <stddef.h>

typedef struct {
    const char* type;
    const char* field;           /* NULL: the row is about the struct itself */
    size_t offset, size;         /* as compiled */
    size_t wantOffset, wantSize; /* as listed in layout.inc; for a struct: number of fields, sizeof */
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
