// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What a problem's operands are, read once from the text of the ABI: shapes, where codes lie, what a code means, which
// scale belongs to it.

#include "plugins/abi/quantscope_backend.h"

#include <cstdint>
#include <string>
#include <vector>

namespace qs::pjrt {

/// Where the codes of a row lie in its bytes.
enum class Order { OnePerElement, HighFirst, LowFirst, Planar };
/// What a scale is shared by. Rows and columns are those of the stored matrix.
enum class ScaleOf { None, Tensor, Row, Column, BlockOfColumns, BlockOfRows };
/// How a code becomes a number before its scale.
enum class Meaning {
    Float,   ///< it is one
    Integer, ///< step * code + bias
    Table,   ///< table[code]
};

struct Weight {
    std::string format;
    std::int64_t rows = 0, cols = 0; ///< as stored: [N,K], or [K,N] when `kn`
    bool kn = false;
    int bits = 32, perByte = 1;
    Order order = Order::OnePerElement;
    ScaleOf scale = ScaleOf::None;
    std::string scaleDtype = "none";
    std::int64_t block = 0;
    std::int64_t rowMultiple = 0; ///< stored rows hold a multiple of so many codes; 0: theirs
    Meaning meaning = Meaning::Float;
    int step = 1, bias = 0;
    std::vector<float> table; ///< 2^bits entries; also of an Integer that came as a codebook

    std::int64_t scaleCount() const; ///< as the host stores them
    bool scalePerOutput() const { return scale == (kn ? ScaleOf::Column : ScaleOf::Row); }
    bool scalePerInput() const { return scale == (kn ? ScaleOf::Row : ScaleOf::Column); }
    bool blocks() const { return scale == ScaleOf::BlockOfColumns || scale == ScaleOf::BlockOfRows; }
    bool blocksAlongK() const { return scale == (kn ? ScaleOf::BlockOfRows : ScaleOf::BlockOfColumns); }
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
    std::string compute, accum; ///< demanded; empty: any
};

/// Empty, or one sentence about what cannot be done.
std::string readOperands(const qs_problem& problem, Operands& out);

/// The 256 values of an 8-bit float by its format id; empty when it is none.
std::vector<float> fp8Table(const std::string& format);

} // namespace qs::pjrt
