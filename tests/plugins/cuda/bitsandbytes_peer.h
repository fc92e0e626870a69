// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The nf4 product of an installed bitsandbytes (0.50 or newer), called through the C interface of its CUDA library.

#include "tests/plugins/support/abi_problem.h"

namespace qs::test {

struct PeerRun {
    std::string problem; ///< what is missing or failed; if empty, the other fields are valid
    double nmse = 0;     ///< NMSE of the bf16 result
    double us = 0;       ///< median of 30 runs over more weight copies than the caches hold; 0 if the result is wrong
};
/// `library`: libbitsandbytes_cuda*.so, which loads the CUDA runtime. nf4 in blocks along the rows, x in bf16.
PeerRun bitsandbytesNf4(const std::string& library, const Case& c);

} // namespace qs::test
