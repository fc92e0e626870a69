// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Codes and scales of the scalar kernels for a problem with operation "quantize".

#include "kernels/kernel_set.h"
#include "tests/plugins/support/abi_problem.h"

#include <algorithm>

namespace qs::test {

struct ReferenceCodes {
    std::int64_t block = 0, blocks = 0; ///< columns per scale; scales per row
    bool smallFloat = false;
    std::vector<unsigned char> codes;
    std::vector<float> scales;
};

inline ReferenceCodes referenceCodes(const Case& c, const AbiProblem& problem) {
    ReferenceCodes to;
    const FormatTraits& format = *findFormat(c.weight);
    const bool nf4 = c.weight == "nf4";
    to.block = nf4 || c.scale == "block" ? std::int64_t(c.block) : c.k, to.blocks = (c.k + to.block - 1) / to.block;
    to.smallFloat = format.kind == FormatKind::Float;
    const int bits = int(problem.problem.weight->bits);
    const std::int64_t rowBytes = ((nf4 ? to.blocks * to.block : c.k) * bits + 7) / 8;
    to.codes.resize(std::size_t(c.n * rowBytes)), to.scales.resize(std::size_t(c.n * to.blocks));
    std::vector<float> row(std::size_t(to.blocks * to.block));
    std::vector<std::uint8_t> plain(row.size());
    for (std::int64_t r = 0; r < c.n; ++r) {
        std::copy_n(&problem.source[std::size_t(r * c.k)], c.k, row.begin());
        unsigned char* codes = &to.codes[std::size_t(r * rowBytes)];
        float* scales = &to.scales[std::size_t(r * to.blocks)];
        if (nf4) {
            scalarKernels().quantizeNf4Packed(row.data(), row.size(), std::size_t(to.block), codes, scales, nullptr);
            continue;
        }
        Run run = runFor(format);
        run.x = row.data(), run.n = std::size_t(c.k), run.group = std::size_t(to.block);
        RunOut out;
        out.codes = plain.data(), out.scales = scales;
        scalarKernels().quantize(run, out);
        const int perByte = 8 / bits, bias = problem.problem.weight->code_bias;
        const auto stored = [&](std::int64_t i) {
            const std::size_t at = i < c.k ? plain[std::size_t(i)] : std::size_t(format.zeroCode);
            return to.smallFloat ? unsigned(format.bytes[at])
                                 : unsigned(int(format.levels[at]) - bias) & ((1u << bits) - 1);
        };
        for (std::int64_t i = 0; i < rowBytes * perByte; ++i)
            codes[i / perByte] = static_cast<unsigned char>(codes[i / perByte] | stored(i) << (i % perByte * bits));
    }
    return to;
}

} // namespace qs::test
