/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/plugins/abi/layout.h"

const qs_layout_row* qs_layout_of_c(size_t* count) {
    static const qs_layout_row rows[] = {
#include "tests/plugins/abi/layout.inc"
    };
    *count = sizeof rows / sizeof *rows;
    return rows;
}
