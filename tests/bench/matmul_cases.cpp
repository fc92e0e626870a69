// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/matmul_cases.h"

#include "kernels/format.h"

#include <algorithm>
#include <cstring>

namespace qs::bench {
namespace {

std::uint64_t nextRandom() {
    static std::uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

Aligned<std::uint8_t> randomCodes(const WeightFormat& f, std::size_t bytes) {
    Aligned<std::uint8_t> codes(bytes);
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        std::uint64_t r = nextRandom();
        if (f.element == NumberType::F32) r = (r & 0x807fffff807fffffu) | 0x3f0000003f000000u;
        if (f.element == NumberType::Bf16) r = (r & 0x807f807f807f807fu) | 0x3f003f003f003f00u;
        if (f.id.rfind("fp8", 0) == 0) r &= 0xbfbfbfbfbfbfbfbfu;
        if (f.id == "ternary") r &= ~((r & 0x5555555555555555u) << 1); // code 3 becomes 1
        std::memcpy(codes.data() + i, &r, 8);
    }
    return codes;
}

} // namespace

std::vector<MatmulCase> matmulCases() {
    using enum NumberType;
    const std::vector<float> nf4(nf4Levels().begin(), nf4Levels().end());
    const auto packed = [](const char* id, int bits, Packing packing, std::size_t block, int bias,
                           std::vector<float> levels) {
        WeightFormat f;
        f.id = id, f.bits = bits, f.element = bits == 8 && levels.empty() ? I8 : U8, f.packing = packing,
        f.packAxis = bits == 8 ? -1 : 1;
        f.scale = F32, f.block = block, f.blockAxis = block ? 1 : -1, f.channelAxis = block ? -1 : 0;
        f.codeBias = bias, f.levels = std::move(levels);
        return f;
    };
    const auto plain = [](const char* id, NumberType type) {
        WeightFormat f;
        f.id = id, f.bits = int(bytesOf(type)) * 8, f.element = type;
        return f;
    };
    const WeightFormat nf4b64 = packed("nf4", 4, Packing::PairHiFirst, 64, 0, nf4);
    const WeightFormat int8 = packed("int8", 8, Packing::None, 0, 0, {});
    const WeightFormat int8b64 = packed("int8", 8, Packing::None, 64, 0, {});
    const WeightFormat int4 = packed("int4", 4, Packing::PairLoFirst, 64, -8, {});
    const WeightFormat ternary = packed("ternary", 2, Packing::QuadLoFirst, 0, -1, {});
    const WeightFormat binary = packed("binary", 1, Packing::OctetLoFirst, 0, 0, {-1, 1});
    return {{"nf4:block=64", nf4b64, F32},
            {"nf4:block=16", packed("nf4", 4, Packing::PairHiFirst, 16, 0, nf4), F32},
            {"nf4:block=128", packed("nf4", 4, Packing::PairHiFirst, 128, 0, nf4), F32},
            {"int8", int8, F32},
            {"int8, act int8", int8, I8},
            {"int8:block=64, act int8", int8b64, I8},
            {"int4:block=64", int4, F32},
            {"int4:block=64, act int8", int4, I8},
            {"ternary", ternary, F32},
            {"ternary, act int8", ternary, I8},
            {"binary", binary, F32},
            {"binary, act int8", binary, I8},
            {"fp8_e4m3", plain("fp8_e4m3", Fp8E4m3), F32},
            {"fp8_e5m2", packed("fp8_e5m2", 8, Packing::None, 0, 0, floatTable(*findFormat("fp8_e5m2"))), F32},
            {"bf16", plain("bf16", Bf16), F32},
            {"f32", plain("f32", F32), F32}};
}

MatmulProblem problemOf(const MatmulCase& c, const MatmulShape& shape) {
    MatmulProblem p;
    p.m = shape.m, p.n = shape.n, p.k = shape.k, p.weightIsKn = shape.kn, p.weight = c.format, p.act = c.act;
    p.dynamicAct = c.act == NumberType::I8;
    return p;
}

RandomWeight::RandomWeight(const MatmulProblem& p)
    : rowBytes_(p.cols() * std::size_t(p.weight.bits) / 8),
      scaleCols_(p.weight.blockAxis == 1 ? (p.cols() + p.weight.block - 1) / p.weight.block : 0),
      codes_(randomCodes(p.weight, p.rows() * rowBytes_)),
      scales_(std::max<std::size_t>(storedScales(p, scaleCols_), 1)) {
    for (std::size_t i = 0; i < scales_.size(); ++i) scales_[i] = 0.01f + float(nextRandom() % 1000) * 1e-5f;
}
WeightOperand RandomWeight::operand() const {
    WeightOperand all;
    all.codes = codes_.data(), all.rowBytes = rowBytes_, all.scales = scales_.data(), all.scaleCols = scaleCols_;
    return all;
}

Aligned<float> randomRows(std::size_t m, std::size_t k) {
    Aligned<float> x(m * k);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(int(nextRandom() % 2001) - 1000) * 1e-3f;
    return x;
}

} // namespace qs::bench
