// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The facts about a tensor that the checks of an audit read. One pass over the tensor collects them.

#include "core/base/job.h"
#include "core/model/model.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace qs {

/// Rows or columns of a tensor with some property: their number, and the first indices.
struct Channels {
    std::uint64_t count = 0;
    std::vector<std::int64_t> first; ///< indices in ascending order, at most 8
    void add(std::int64_t index);
};

/// Mean and deviation of log2 |x| over values that are not 0. Trained weights spread over only a few binades, so a
/// wrong element type shows as an unusual deviation.
struct LogSpread {
    double n = 0, s1 = 0, s2 = 0;
    void add(float x);
    double std() const; ///< standard deviation in binades; 0 without values
};

/// How the groups of a quantized layer, each with a scale of its own, fit their scales. See audit_scales.cpp.
struct GroupFit {
    double n = 0;          ///< groups that were compared; 0: none
    double follows = 0;    ///< correlation of ln scale with ln of the codes' spread; negative if they belong together
    double reversed = 0;   ///< the same with the scales of each row in reverse order; 0 if it has no meaning
    double zero = 0;       ///< mean of the values of a group in steps, over all groups
    double zeroGroups = 0; ///< groups that `zero` is the mean of
    double shift = 0;      ///< the part of `zero` that is the same number of steps in all rows
    double shiftError = 0; ///< its standard error
    bool ofRows = false;   ///< a group is a whole row
    bool areAlike = false; ///< the scales differ too little to say whether they belong to their codes
};

struct TensorFacts {
    const TensorInfo* info = nullptr;
    bool hasValues = false;             ///< true: values were read as floats; false: only bytes were read
    std::int64_t rows = 0, columns = 0; ///< of the tensor taken as a matrix; 0 for rank below 2
    /// Number of values that are NaN or infinite.
    std::uint64_t nan = 0, inf = 0;
    std::int64_t firstBad = -1;          ///< flat index of the first NaN or Inf; -1: none
    float low = 0, high = 0;             ///< least and largest finite value
    std::array<std::uint64_t, 2> hash{}; ///< of the values as f32, or of the bytes
    Channels zeroRows, equalRows;        ///< rows of zeros; rows of one value that is not 0
    Channels zeroColumns, equalColumns;  ///< the same for columns
    /// RMS of each column over sampled rows; |x| for a vector; empty above 32,768 columns.
    std::vector<float> columnRms;
    std::vector<float> rowRms; ///< RMS of each row; empty above 32,768 rows; 0 for a row with NaN or Inf
    /// At most 64 finite rows, evenly distributed; of each the first 4,096 values at most.
    std::vector<std::vector<float>> sample;
    /// The spread of the sample of a 16-bit tensor, read as its own type and as the other 16-bit float type.
    LogSpread asLabelled, asOther;
    std::vector<float> rowMost; ///< for a quantized layer: the largest magnitude of each row, until condense()
    GroupFit groups;            ///< of a quantized layer
    float rms = 0;              ///< root of the mean square of a matrix; 0 if it is not known
    std::string grain;          ///< why the tensor seems to have been quantized before; "" if it does not
    bool isConstant() const { return hasValues && nan + inf == 0 && low == high; }
};

/// Reads the tensor once, on all cores. Fails if the job is cancelled, or if the file changed or failed.
Result<TensorFacts> gatherFacts(const Model& model, const TensorInfo& tensor, const Job& job);

} // namespace qs
