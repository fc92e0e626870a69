// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The nf4 product of an installed bitsandbytes (0.50 and newer), called through the C interface of its CUDA library.

#include "tests/plugins/support/abi_problem.h"

namespace qs::test {

struct PeerRun {
    std::string problem; ///< what is missing or went wrong; empty: the rest holds
    double nmse = 0;     ///< of the result, which is bf16
    double us = 0;       ///< median of 30 runs over copies of the weight that no cache holds; 0: the result is wrong
};
/// `library`: libbitsandbytes_cuda*.so; it brings the CUDA runtime along. nf4 in blocks along the rows, x in bf16.
PeerRun bitsandbytesNf4(const std::string& library, const Case& c);

} // namespace qs::test
