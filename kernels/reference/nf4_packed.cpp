// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/reference/reference.h"

#include <algorithm>

namespace qs::reference {

void quantizeNf4Packed(const float* x, std::size_t n, std::size_t block, std::uint8_t* packed, float* absmax,
                       ErrorSums* sums) {
    Run run = runFor(*findFormat("nf4"));
    for (std::size_t begin = 0, g = 0; begin < n; begin += block, ++g) {
        const std::size_t end = std::min(begin + block, n);
        const GroupParams params = paramsFromAbsMax(run, absMax(x + begin, end - begin, false));
        absmax[g] = params.scale;
        for (std::size_t i = begin; i + 1 < end; i += 2)
            packed[i / 2] = std::uint8_t(encode(run, params, x[i]) << 4 | encode(run, params, x[i + 1]));
        if (!sums) continue;
        ErrorSums block16;
        run.x = x, run.n = n;
        RunOut out;
        out.sums = &block16;
        quantizeGroup(run, out, params, begin, end - begin, 0);
        sums->n += block16.n, sums->se2 += block16.se2, sums->sw2 += block16.sw2;
        sums->maxAbs = std::max(sums->maxAbs, block16.maxAbs);
    }
}

void dequantizeNf4Packed(const std::uint8_t* packed, std::size_t n, std::size_t block, const float* absmax,
                         const float* levels, float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const int code = i % 2 ? packed[i / 2] & 15 : packed[i / 2] >> 4;
        out[i] = levels[code] * absmax[i / block];
    }
}

} // namespace qs::reference
