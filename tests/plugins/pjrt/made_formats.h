// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Every weight format that the backend pjrt supports.

#include "kernels/format.h"
#include "made_problem.h"

#include <cmath>

namespace qs::test {

inline std::vector<float> smallFloats(int mantissa, int bias, unsigned codes) {
    std::vector<float> values;
    for (unsigned code = 0; code < codes; ++code) {
        const int exponent = int(code >> mantissa), rest = int(code) & ((1 << mantissa) - 1);
        values.push_back(exponent == 0 ? std::ldexp(float(rest), 1 - bias - mantissa)
                                       : std::ldexp(float(rest + (1 << mantissa)), exponent - bias - mantissa));
    }
    return values;
}

inline std::vector<MadeFormat> madeFormats() {
    const std::vector<float> nf4(nf4Levels().begin(), nf4Levels().end());
    const std::vector<float> e2m1 = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
    std::vector<float> learned;
    for (int i = 0; i < 256; ++i) learned.push_back(std::sin(float(i)) * 3);
    const std::vector<float> polynomial(nf4PolyLevels().begin(), nf4PolyLevels().end());
    std::vector<MadeFormat> list;
    list.push_back({.format = "nf4", .packing = "pair_hi_first", .bits = 4, .codebook = nf4, .values = nf4});
    list.push_back({.format = "nf4", .packing = "planar", .bits = 4, .codebook = nf4, .values = nf4});
    list.push_back({.format = "int8", .dtype = "i8"});
    list.push_back({.format = "int8", .codeBias = -127, .codebook = {}, .values = {}, .codes = 255});
    list.push_back({.format = "int4", .packing = "pair_lo_first", .bits = 4, .codeBias = -8, .codebook = {}});
    list.push_back({.format = "ternary",
                    .packing = "quad_lo_first",
                    .bits = 2,
                    .codeBias = -1,
                    .codebook = {},
                    .values = {},
                    .codes = 3});
    list.push_back({.format = "ternary",
                    .packing = "planar",
                    .bits = 2,
                    .codebook = {-1, 0, 1},
                    .values = {-1, 0, 1},
                    .codes = 3});
    list.push_back(
        {.format = "binary", .packing = "octet_lo_first", .bits = 1, .codebook = {-1, 1}, .values = {-1, 1}});
    list.push_back(
        {.format = "fp8_e4m3", .dtype = "fp8_e4m3", .codebook = {}, .values = smallFloats(3, 7, 127), .codes = 127});
    list.push_back(
        {.format = "fp8_e5m2", .codebook = {}, .values = smallFloats(2, 15, 124), .codes = 124, .scaleDtype = "f16"});
    list.push_back({.format = "mxfp4",
                    .packing = "pair_lo_first",
                    .bits = 4,
                    .codebook = e2m1,
                    .values = e2m1,
                    .scaleDtype = "e8m0"});
    list.push_back({.format = "codebook", .codebook = learned, .values = learned, .scaleDtype = "bf16"});
    list.push_back(
        {.format = "nf4", .packing = "pair_hi_first", .bits = 4, .codebook = polynomial, .values = polynomial});
    for (const char* dense : {"f32", "bf16", "f16"})
        list.push_back({.format = dense,
                        .dtype = dense,
                        .bits = dense == std::string("f32") ? 32u : 16u,
                        .codebook = {},
                        .scaleDtype = "none"});
    return list;
}

/// A scale for each row, column, block of columns or block of rows, or one for the whole tensor.
inline std::vector<MadeShape> granularities() {
    return {{0, 0, 0, false, 1, -1, 32},
            {0, 0, 0, false, 0, -1, 16},
            {0, 0, 0, false, -1, 0, 0},
            {0, 0, 0, false, -1, 1, 0},
            {0, 0, 0, false, -1, -1, 0}};
}

} // namespace qs::test
