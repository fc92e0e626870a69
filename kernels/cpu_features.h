// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What this processor has that a library does not find out by itself.

namespace qs {

/// The value that OPENBLAS_CORETYPE needs before libopenblas is loaded, or nullptr when its own detection is right.
/// OpenBLAS asks for vendor and model number: it takes a processor with AVX-512 that it does not know for a Haswell or
/// a Zen, and computes with vectors of half the width.
const char* openblasCoreType();

} // namespace qs
