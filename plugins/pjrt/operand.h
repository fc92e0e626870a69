// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The operands of a problem: shapes, the stored weight and the activations.

#include "plugins/common/weight_layout.h"

namespace qs::pjrt {

using plugin::CodeMeaning;
using plugin::CodeOrder;
using plugin::ScaleShare;

struct Weight : plugin::WeightLayout {
    bool kn = false;              ///< true: stored as [K,N]; false: [N,K]
    std::int64_t rowMultiple = 1; ///< each stored row is padded to a multiple of this number of codes
    /// True if value = step * code + offset: the codes are integers, or the levels are evenly spaced.
    bool isAffine = false;
    int step = 1, offset = 0;

    bool isTable() const { return meaning == CodeMeaning::Level && !isAffine; }
    bool scalePerOutput() const { return share == (kn ? ScaleShare::Column : ScaleShare::Row); }
    bool scalePerInput() const { return share == (kn ? ScaleShare::Row : ScaleShare::Column); }
    bool blocks() const { return share == ScaleShare::BlockOfColumns || share == ScaleShare::BlockOfRows; }
    bool blocksAlongK() const { return share == (kn ? ScaleShare::BlockOfRows : ScaleShare::BlockOfColumns); }
};

enum class Act { F32, BF16, Int8Dynamic, Int8Given };
enum class Op { Matmul, Dequantize, QuantizeAct };

struct Operands {
    Op op = Op::Matmul;
    std::int64_t m = 0, n = 0, k = 0;
    Weight weight;
    Act act = Act::F32;
    bool bias = false;
    std::string out = "f32";
    std::string compute, accum; ///< required types of products and sums; empty: any
};

/// Reads a problem. Returns "" or one sentence: why it cannot be done.
std::string readOperands(const qs_problem& problem, Operands& out);

} // namespace qs::pjrt
