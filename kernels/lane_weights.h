// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Weights as the fast products read them: a vector lane is an output channel. A panel is 64 channels, four vectors of
// 16; a step is one 32-bit word of codes for each of them, so that a panel is one sequential stream and every decoded
// vector meets one broadcast value of x. A word holds `perWord` codes of consecutive k, the first lowest. Groups of
// words that share a scale are padded to whole words; x is padded with zeros there.
//
// The order in which x meets the words of a step ("x stream") depends on what is multiplied: single floats take code q
// of the word at a time, pairs of bf16 codes q and q + perWord/2, quads of bytes codes q + b * perWord/4.

#include "kernels/fixed_levels.h"
#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"
#include "kernels/stored_weight.h"

#include <cstdint>

namespace qs {

inline constexpr std::size_t kPanel = 64; ///< output channels
inline constexpr std::size_t kLanes = 16; ///< of a vector
/// E4 and E5: 8-bit floats with 4 and 5 bits of exponent, whatever its bias.
enum class LaneCodes : std::uint8_t { Table4, Table2, Table1, Int8, E4, E5, Bf16, F16, F32 };
inline constexpr std::size_t kLaneCodes = 9;
/// Fixed: of 16-bit integers, both rounded; see FixedLevels.
enum class LaneProducts : std::uint8_t { F32, Bf16, I8, Fixed };

/// How a weight is taken; nullptr when it is, else why not.
const char* laneCodesOf(const MatmulProblem& problem, LaneCodes* codes);

/// Of tables of 4 and 16 levels that fit.
std::optional<FixedLevels> fixedLevelsOf(const WeightFormat& format);

struct LaneWeights {
    /// int8Offset: what Int8 codes are stored larger by, 0 or 128.
    LaneWeights(const MatmulProblem& problem, const WeightOperand& operand, LaneProducts products, int int8Offset,
                ThreadTeam& team);

    LaneCodes codes{};
    LaneProducts products{};
    std::size_t n = 0, k = 0, perWord = 1;
    std::size_t block = 0;                  ///< k that share a scale
    std::size_t groups = 1, groupSteps = 1; ///< steps = groups * groupSteps
    std::size_t steps = 0, panels = 0;
    bool scalePerK = false;                 ///< scales change with k (and blocks of channels): they are folded into x
    std::size_t sets = 1;                   ///< scalePerK: 1 when the 64 lanes of a panel share them, else 4
    std::size_t laneBlock = 0, lanePad = 0; ///< every laneBlock channels take lanePad lanes; equal: none is skipped
    int bias = 0;                           ///< I8: value = code * codeStep + bias
    int int8Offset = 0;
    /// Of a panel: scales that change with k, [set][half][stream] floats, then [step][64] words. One stream in memory.
    Aligned<std::uint32_t> stream;
    Aligned<float> scales;            ///< [panel][group][64]; empty: none, or in the stream
    alignas(64) float table[16] = {}; ///< 8-bit floats: 2 to the difference of the biases
    /// The table in bf16, for an index whose first bits do not count.
    alignas(64) std::uint16_t table16[4][32] = {};
    FixedLevels fixed;                    ///< Fixed
    std::vector<std::uint8_t> nanChannel; ///< an 8-bit float is no number there; empty: nowhere
    std::vector<float> addend;            ///< bias of the output channels, by lane; empty: none

    std::size_t xHalves() const { return products == LaneProducts::Bf16 ? 2 : 1; }
    std::size_t xFloats() const { return steps * perWord; }
    /// Words of the x stream: floats, pairs or quads.
    std::size_t streamSize() const {
        return steps * perWord / (products == LaneProducts::F32 ? 1 : products == LaneProducts::I8 ? 4 : 2);
    }
    std::size_t scaleWords() const { return scalePerK ? (sets * xFloats() + 15) / 16 * 16 : 0; }
    std::size_t panelWords() const { return scaleWords() + steps * kPanel; }
    const std::uint32_t* words(std::size_t panel) const { return stream.data() + panel * panelWords() + scaleWords(); }
    const float* scalesPerK(std::size_t panel, std::size_t set) const {
        return reinterpret_cast<const float*>(stream.data() + panel * panelWords()) + set * xFloats();
    }
    std::size_t channel(std::size_t lane) const { ///< n or more: no channel
        const std::size_t rest = lane % lanePad;
        return rest < laneBlock ? lane / lanePad * laneBlock + rest : n;
    }
    bool scaled() const { return scalePerK || scales.size(); }
    std::size_t bytes() const { return stream.size() * 4 + scales.size() * 4; }

private:
    void fillPanel(const StoredWeight& weight, std::size_t panel, std::vector<std::uint8_t>& codes);
    void fillScales(const StoredWeight& weight, std::size_t panel);
};

} // namespace qs
