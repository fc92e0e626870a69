// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What KernelSet::quantize measures, for codes that were made elsewhere: random, thinned out, with zero points, or by
// another program's division.

#include "kernels/kernel_set.h"

#include <vector>

namespace qs {

/// One per worker: it keeps scratch.
class CodeMeasure {
public:
    /// `run` has its scales given; the codes of NaN and Inf are not counted.
    void operator()(const Run& run, const std::uint8_t* codes, const RunOut& out);

private:
    void wholeGroups(const Run& run, const std::uint8_t* codes, const float* decoded, const RunOut& out);
    std::vector<float> decoded_, scales_, errors_, places_;
};

/// The figures of one group; or, with a `stride` of 1, of elements that are groups of their own, from number `group` on.
void measureDecoded(const float* x, const float* decoded, std::size_t n, const GroupParams* params, std::size_t stride,
                    const Run& run, const RunOut& out, std::size_t group);

} // namespace qs
