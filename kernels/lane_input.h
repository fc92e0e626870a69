// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/lane_kernels.h"

namespace qs {

/// The activations x of one run as the x stream that LaneWeights describes: rounded, reordered, padded with zeros.
class LaneInput {
public:
    /// What is kept of each row: the words of the stream; the floats, if scales are multiplied in later; or lookup
    /// tables, one for every four bits of codes.
    enum class Keep { Words, Floats, Tables };
    /// Allocates for a run. `slots`: how many rows are kept at a time. Sums and scales are kept for all rows.
    void reset(const MatmulProblem& problem, const LaneWeights& weights, std::size_t slots, Keep keep);
    /// Whether words of the stream are the f32 of x, with zeros behind a row at most. Then read() is not needed.
    bool isPlain(const MatmulProblem& problem, const LaneWeights& weights) const {
        return keep_ == Keep::Words && weights.products == LaneProducts::F32 && problem.act == NumberType::F32 &&
               weights.groups == 1 && weights.xHalves() == 1;
    }
    /// Reads row `row` of x into slot `slot`. Threads may call it at the same time with different rows and slots.
    void read(const MatmulProblem& problem, const LaneWeights& weights, const MatmulInput& in, std::size_t row,
              std::size_t slot, const LaneKernels& kernels);

    /// Words from one slot to the next.
    std::size_t rowWords() const { return rowWords_; }
    const std::uint32_t* words(std::size_t slot) const { return words_.data() + slot * rowWords_; }
    /// Keep::Floats only: the reordered floats of a row. For bf16 products, the low elements of all pairs come first,
    /// then the high elements; each half has streamSize() floats.
    const float* floats(std::size_t slot) const { return floats_.data() + slot * rowFloats_; }
    /// I8 products only: the sum of x in each group, [groups].
    const std::int32_t* sums(std::size_t row) const { return sums_.data() + row * groups_; }
    /// Scale of a row; NaN if the row holds NaN or Inf and is quantized within the run; 1 if x has no scales.
    float scale(std::size_t row) const { return scales_[row]; }

private:
    void orderFloats(const LaneWeights& weights, const float* x, float* out) const;
    void orderBytes(const LaneWeights& weights, const std::int8_t* q, std::size_t row, std::uint32_t* out,
                    const LaneKernels& kernels);

    std::size_t rowWords_ = 0, rowFloats_ = 0, groups_ = 0;
    Keep keep_ = Keep::Words;
    Aligned<std::uint32_t> words_;
    Aligned<float> floats_;
    std::vector<std::int32_t> sums_;
    std::vector<float> scales_;
};

} // namespace qs
