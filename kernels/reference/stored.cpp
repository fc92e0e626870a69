// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference/reference.h"

#include <algorithm>

namespace qs::reference {
namespace {

Run runOf(const char* format, GroupStatistic statistic) {
    Run run = runFor(*findFormat(format));
    run.statistic = statistic;
    return run;
}

} // namespace

void quantizeInt8Stored(const float* x, std::size_t n, std::size_t group, std::int8_t* q, float* scales) {
    const Run run = runOf("int8", GroupStatistic::AbsMax);
    for (std::size_t begin = 0, g = 0; begin < n; begin += group, ++g) {
        const std::size_t end = std::min(begin + group, n);
        const GroupParams params = groupParams(scalarKernels(), run, x + begin, end - begin);
        scales[g] = params.scale;
        for (std::size_t i = begin; i < end; ++i) q[i] = std::int8_t(encode(run, params, x[i]) - run.zeroCode);
    }
}

void quantizeTernaryPacked(const float* x, std::size_t n, std::size_t group, std::uint8_t* packed, float* scales) {
    const Run run = runOf("ternary", GroupStatistic::MeanAbsTwn);
    for (std::size_t begin = 0, g = 0; begin < n; begin += group, ++g) {
        const std::size_t count = std::min(group, n - begin);
        const GroupParams params = groupParams(scalarKernels(), run, x + begin, count);
        scales[g] = params.scale;
        for (std::size_t i = 0; i < count; i += 4) {
            int byte = 0;
            for (std::size_t k = 0; k < 4 && i + k < count; ++k)
                byte |= encode(run, params, x[begin + i + k]) << (2 * k);
            *packed++ = std::uint8_t(byte);
        }
    }
}

} // namespace qs::reference
