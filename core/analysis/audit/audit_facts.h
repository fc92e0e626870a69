// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What one pass over a tensor tells the checks of an audit.

#include "core/base/job.h"
#include "core/model/model.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace qs {

/// Some of a tensor's rows or columns: how many, and the first few.
struct Channels {
    std::uint64_t count = 0;
    std::vector<std::int64_t> first; ///< ascending, at most 8
    void add(std::int64_t index);
};

/// log2 |x| of the values that are not 0, under one reading of the bits: weights spread over a few binades.
struct LogSpread {
    double n = 0, s1 = 0, s2 = 0;
    void add(float x);
    double std() const; ///< 0 when there are none
};

struct TensorFacts {
    const TensorInfo* info = nullptr;
    bool hasValues = false;             ///< floats were read; else only bytes
    std::int64_t rows = 0, columns = 0; ///< the matrix that the shape is taken for; 0 for rank below 2
    std::uint64_t nan = 0, inf = 0;
    std::int64_t firstBad = -1;          ///< element
    float low = 0, high = 0;             ///< of the finite values
    std::array<std::uint64_t, 2> hash{}; ///< of the values as f32, or of the bytes
    Channels zeroRows, equalRows;        ///< all 0; all one value that is not 0
    Channels zeroColumns, equalColumns;
    std::vector<float> columnRms;           ///< over sampled rows, or |x| of a vector; empty above 32,768 columns
    std::vector<float> rowRms;              ///< empty above 32,768 rows; 0 for one that is not finite
    std::vector<std::vector<float>> sample; ///< at most 64 finite rows, at most 4,096 values of each, evenly over it
    LogSpread asLabelled, asOther;          ///< 16-bit floats: the sample as F16 and as BF16, the label's first
    std::string grain;                      ///< why the sample was quantized before; "": it does not look like it
    bool isConstant() const { return hasValues && nan + inf == 0 && low == high; }
};

/// Reads the tensor once, on all cores.
Result<TensorFacts> gatherFacts(const Model& model, const TensorInfo& tensor, const Job& job);

} // namespace qs
