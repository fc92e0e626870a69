// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/lane_kernels.h"

namespace qs {

/// The activations of one run as the x stream of LaneWeights: rounded, put in order, padded with zeros.
class LaneInput {
public:
    /// What is kept of a row: its stream; floats to be folded with scales first; tables for four bits of codes.
    enum class Keep { Words, Floats, Tables };
    /// `slots`: rows whose words are kept at a time; sums and scales are kept of all.
    void reset(const MatmulProblem& problem, const LaneWeights& weights, std::size_t slots, Keep keep);
    /// Different rows into different slots, from different threads at a time.
    void read(const MatmulProblem& problem, const LaneWeights& weights, const MatmulInput& in, std::size_t row,
              std::size_t slot, const LaneKernels& kernels);

    std::size_t rowWords() const { return m_rowWords; }
    const std::uint32_t* words(std::size_t slot) const { return m_words.data() + slot * m_rowWords; }
    /// With Keep::Floats: halves of the stream before they become words.
    const float* floats(std::size_t slot) const { return m_floats.data() + slot * m_rowFloats; }
    const std::int32_t* sums(std::size_t row) const { return m_sums.data() + row * m_groups; }
    float scale(std::size_t row) const { return m_scales[row]; }

private:
    void orderFloats(const LaneWeights& weights, const float* x, float* out) const;
    void orderBytes(const LaneWeights& weights, const std::int8_t* q, std::size_t row, std::uint32_t* out,
                    const LaneKernels& kernels);

    std::size_t m_rowWords = 0, m_rowFloats = 0, m_groups = 0;
    Keep m_keep = Keep::Words;
    Aligned<std::uint32_t> m_words;
    Aligned<float> m_floats;
    std::vector<std::int32_t> m_sums;
    std::vector<float> m_scales;
};

} // namespace qs
