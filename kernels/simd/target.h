// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Instruction sets are enabled for regions of functions, never for whole files. If a file were compiled with -mavx512f,
// the linker could keep its copy of an inline function for all callers. Code between BEGIN and END is also in an
// unnamed namespace.

#define QS_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define QS_TARGET_BEGIN(features)                                                                                      \
    QS_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define QS_TARGET_END QS_PRAGMA(clang attribute pop)
#else
#define QS_TARGET_BEGIN(features) QS_PRAGMA(GCC push_options) QS_PRAGMA(GCC target(features))
#define QS_TARGET_END QS_PRAGMA(GCC pop_options)
#endif

#define QS_INLINE inline __attribute__((always_inline))
