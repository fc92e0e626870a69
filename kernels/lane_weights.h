// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Weights in the layout that the fast products read. Every vector lane is an output channel.
//
// A panel is 64 channels: four vectors of 16 lanes. A step is one 32-bit word of codes for each of the 64 channels. So
// a panel is one sequential stream in memory, and every decoded vector is multiplied by one broadcast value of x. A
// word holds `perWord` codes of consecutive k, the first in the lowest bits. A group is the k that share a scale; it is
// padded to whole words, and x is padded with zeros there.
//
// The order of x in the "x stream" depends on the products. F32: one float for code q of a word. Bf16: a pair for codes
// q and q + perWord/2. I8: a quad of bytes for codes q + b * perWord/4, b = 0..3.

#include "kernels/fixed_levels.h"
#include "kernels/matmul.h"
#include "kernels/matmul_operands.h"
#include "kernels/stored_weight.h"

#include <cstdint>

namespace qs {

inline constexpr std::size_t kPanel = 64; ///< output channels of a panel
inline constexpr std::size_t kLanes = 16; ///< lanes of a vector
/// The kinds of codes. Table4, Table2, Table1: indices of 4, 2 and 1 bits into a table. E4, E5: 8-bit floats with 4 and
/// 5 exponent bits and any bias.
enum class LaneCodes : std::uint8_t { Table4, Table2, Table1, Int8, E4, E5, Bf16, F16, F32 };
inline constexpr std::size_t kLaneCodes = 9;
/// The arithmetic of a product. Fixed: 16-bit integers; both x and the levels are rounded, see FixedLevels.
enum class LaneProducts : std::uint8_t { F32, Bf16, I8, Fixed };

/// Finds the kind of codes of a weight. Returns nullptr and sets *codes, or returns the reason for a refusal.
const char* laneCodesOf(const MatmulProblem& problem, LaneCodes* codes);

/// The fixed-point levels of a weight with 2 or 4 bits per code; nullopt if fixedLevels() refuses them.
std::optional<FixedLevels> fixedLevelsOf(const WeightFormat& format);

/// A weight in this layout.
struct LaneWeights {
    /// int8Offset: the value added to Int8 codes for storage, 0 or 128.
    LaneWeights(const MatmulProblem& problem, const WeightOperand& operand, LaneProducts products, int int8Offset,
                ThreadTeam& team);

    LaneCodes codes{};
    LaneProducts products{};
    std::size_t n = 0, k = 0, perWord = 1;
    std::size_t block = 0;                  ///< k that share a scale
    std::size_t groups = 1, groupSteps = 1; ///< steps = groups * groupSteps
    std::size_t steps = 0, panels = 0;
    /// The scales change with k, and perhaps with blocks of channels. The products multiply them into x.
    bool scalePerK = false;
    /// scalePerK only: how many different scales a panel has for one k. 1: its 64 lanes share them; else 4.
    std::size_t sets = 1;
    /// Every laneBlock channels use lanePad lanes. If they are equal, no lane is skipped.
    std::size_t laneBlock = 0, lanePad = 0;
    /// I8: value = code * step + bias, where step is the difference of neighbouring levels.
    int bias = 0;
    int int8Offset = 0;
    /// For each panel: first the scales that change with k, [set][half][stream] floats; then the codes, [step][64]
    /// words.
    Aligned<std::uint32_t> stream;
    Aligned<float> scales; ///< [panel][group][64]; empty: no scales, or they are in `stream`
    /// The levels of Table4, Table2 and Table1, repeated to 16. E4, E5: every entry is the smallest normal number of
    /// the 8-bit float.
    alignas(64) float table[16] = {};
    /// The levels in bf16 for an index that is not shifted: table16[s][i] is the level of code i >> s.
    alignas(64) std::uint16_t table16[4][32] = {};
    FixedLevels fixed; ///< Fixed only
    /// One flag per output channel: it contains the NaN code of an 8-bit float. Empty: no channel does.
    std::vector<std::uint8_t> nanChannel;
    std::vector<float> addend; ///< bias of the output channels, one per lane; empty: no bias

    std::size_t xHalves() const { return products == LaneProducts::Bf16 ? 2 : 1; }
    std::size_t xFloats() const { return steps * perWord; }
    /// Words of the x stream for one row: floats, bf16 pairs or byte quads. Fixed: pairs of 16-bit integers.
    std::size_t streamSize() const {
        return steps * perWord / (products == LaneProducts::F32 ? 1 : products == LaneProducts::I8 ? 4 : 2);
    }
    std::size_t scaleWords() const { return scalePerK ? (sets * xFloats() + 15) / 16 * 16 : 0; }
    std::size_t panelWords() const { return scaleWords() + steps * kPanel; }
    const std::uint32_t* words(std::size_t panel) const { return stream.data() + panel * panelWords() + scaleWords(); }
    const float* scalesPerK(std::size_t panel, std::size_t set) const {
        return reinterpret_cast<const float*>(stream.data() + panel * panelWords()) + set * xFloats();
    }
    std::size_t channel(std::size_t lane) const { ///< output channel of a lane; n or more: the lane has no channel
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
