// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/lane_weights.h"

#include "kernels/small_float.h"

#include <algorithm>
#include <cmath>

namespace qs {
namespace {

int codeBits(LaneCodes codes) {
    constexpr int bits[kLaneCodes] = {4, 2, 1, 8, 8, 8, 16, 16, 32};
    return bits[int(codes)];
}

/// The value of each code. Codes that the format does not use are NaN.
std::vector<float> tableOf(const WeightFormat& format) {
    const std::size_t count = std::size_t(1) << format.bits;
    std::vector<float> levels = format.levels;
    if (levels.empty())
        for (std::size_t i = 0; i < count; ++i) levels.push_back(float(int(i) + format.codeBias));
    while (levels.size() < count) levels.push_back(std::nanf(""));
    return levels;
}

/// The smallest normal number, a power of two, of the 8-bit float with `mantissa` mantissa bits whose values are `levels`. NaN codes may
/// differ. Returns 0 if the levels are something else, or too small for f32: half of that number must be normal.
float leastNormal(std::span<const float> levels, int mantissa) {
    if (levels.size() != 256) return 0;
    const unsigned one = 1u << mantissa; // its code
    const float least = levels[one];
    int exponentOfLeast = 0;
    if (std::frexp(least, &exponentOfLeast) != 0.5f || !std::isnormal(least / 2)) return 0;
    for (unsigned code = 0; code < 256; ++code) {
        const unsigned exponent = (code & 0x7f) >> mantissa, rest = code & (one - 1);
        const float parts = float(exponent ? one + rest : rest) / float(one);
        const float value = std::ldexp(parts * least, exponent ? int(exponent) - 1 : 0);
        if (!std::isnan(levels[code]) && levels[code] != (code & 0x80 ? -value : value)) return 0;
    }
    return least;
}

} // namespace

const char* laneCodesOf(const MatmulProblem& problem, LaneCodes* codes) {
    const WeightFormat& w = problem.weight;
    switch (w.element) {
    case NumberType::F32: *codes = LaneCodes::F32; return nullptr;
    case NumberType::F16: *codes = LaneCodes::F16; return nullptr;
    case NumberType::Bf16: *codes = LaneCodes::Bf16; return nullptr;
    case NumberType::Fp8E4m3: *codes = LaneCodes::E4; return nullptr;
    default: break;
    }
    if (w.bits == 8) {
        const bool e4 = leastNormal(w.levels, 3) > 0, e5 = !e4 && leastNormal(w.levels, 2) > 0;
        *codes = e4 ? LaneCodes::E4 : e5 ? LaneCodes::E5 : LaneCodes::Int8;
        const bool plain = w.levels.empty() && w.codeBias == (w.element == NumberType::I8 ? 0 : -128);
        return plain || e4 || e5 ? nullptr : "the vector kernels take bytes as integers -128..127 and as floats only";
    }
    *codes = w.bits == 4 ? LaneCodes::Table4 : w.bits == 2 ? LaneCodes::Table2 : LaneCodes::Table1;
    if (w.bits != 2 && !w.levels.empty() && w.levels.size() < std::size_t(1) << w.bits)
        return "the vector kernels take whole tables only";
    if (w.bits == 2 && !w.levels.empty() && w.levels.size() < 3) return "the vector kernels take whole tables only";
    for (const float level : w.levels)
        if (!std::isfinite(level)) return "the vector kernels take finite tables only";
    return nullptr;
}

std::optional<FixedLevels> fixedLevelsOf(const WeightFormat& format) {
    std::vector<float> levels = format.bits == 2 || format.bits == 4 ? tableOf(format) : std::vector<float>();
    for (float& level : levels)
        if (std::isnan(level)) level = 0; // a code that the format does not use
    return fixedLevels(levels);
}

LaneWeights::LaneWeights(const MatmulProblem& problem, const WeightOperand& operand, LaneProducts wanted, int offset,
                         ThreadTeam& team)
    : products(wanted), n(problem.n), k(problem.k), int8Offset(offset) {
    laneCodesOf(problem, &codes);
    const StoredWeight weight(problem, operand);
    const std::size_t bits = std::size_t(codeBits(codes));
    perWord = 32 / bits;
    if (bits <= 4) {
        const std::vector<float> levels = tableOf(problem.weight);
        for (std::size_t i = 0; i < 16; ++i) {
            const float level = levels[i % levels.size()];
            table[i] = std::isnan(level) ? 0.0f : level; // a code that the format does not use
        }
        for (std::size_t i = 0; i < std::size_t(4) * 32; ++i)
            table16[i / 32][i % 32] = f32ToBf16(table[(i % 32 >> i / 32) & ((1u << bits) - 1)]);
        bias = int(table[0]);
        if (products == LaneProducts::Fixed) fixed = fixedLevelsOf(problem.weight).value_or(FixedLevels{});
    }
    if (codes == LaneCodes::E4 || codes == LaneCodes::E5) {
        std::fill_n(table, 16, leastNormal(weight.levels(), codes == LaneCodes::E4 ? 3 : 2));
        nanChannel.assign(n, 0);
    }
    // Either one scale for each group of k, or scales that change with every k, perhaps in blocks of channels.
    const std::size_t alongK = weight.blockAlongK(), alongN = weight.blockAlongN();
    scalePerK = weight.hasScales() && alongK == 1 && k > 1;
    block = scalePerK || alongK == 0 ? k : alongK;
    groups = (k + block - 1) / block;
    groupSteps = (block + perWord - 1) / perWord;
    steps = groups * groupSteps;
    laneBlock = lanePad = n;
    if (scalePerK && alongN < n) {
        laneBlock = alongN;
        lanePad = (laneBlock + kLanes - 1) / kLanes * kLanes;
        sets = lanePad % kPanel == 0 ? 1 : kPanel / kLanes;
    }
    const std::size_t lanes = (n + laneBlock - 1) / laneBlock * lanePad;
    panels = (lanes + kPanel - 1) / kPanel;
    stream = Aligned<std::uint32_t>(panels * panelWords());
    if (weight.hasScales() && !scalePerK) scales = Aligned<float>(panels * groups * kPanel);
    if (problem.bias) {
        addend.assign(panels * kPanel, 0.0f);
        for (std::size_t lane = 0; lane < addend.size(); ++lane)
            if (channel(lane) < n) addend[lane] = operand.bias[channel(lane)];
    }
    team.run([&](int worker) {
        const auto [begin, end] = shareOf(panels, worker, team.size());
        std::vector<std::uint8_t> scratch;
        for (std::size_t panel = begin; panel < end; ++panel) {
            fillPanel(weight, panel, scratch);
            if (weight.hasScales()) fillScales(weight, panel);
        }
    });
    if (std::none_of(nanChannel.begin(), nanChannel.end(), [](auto nan) { return nan != 0; })) nanChannel.clear();
}

void LaneWeights::fillPanel(const StoredWeight& weight, std::size_t panel, std::vector<std::uint8_t>& scratch) {
    const std::size_t bits = 32 / perWord, size = std::size_t(weight.codeBytes());
    scratch.resize(kLanes * k * size);
    // Stored bytes are signed, or unsigned and larger by 128. The kernels want one of these. `other`: the sign bit must
    // change.
    const bool other = codes == LaneCodes::Int8 && (weight.levels()[0] == -128.0f) != (int8Offset == 128);
    for (std::size_t lane = 0; lane < kPanel; lane += kLanes) {
        // 16 lanes hold consecutive channels, because laneBlock starts at a multiple of 16 lanes.
        const std::size_t first = channel(panel * kPanel + lane);
        if (first >= n) continue;
        std::size_t count = 1;
        while (count < kLanes && channel(panel * kPanel + lane + count) == first + count && first + count < n) ++count;
        weight.readCodes(first, first + count, scratch.data());
        for (std::size_t i = 0; i < count; ++i) {
            std::uint32_t* out = stream.data() + panel * panelWords() + scaleWords() + lane + i;
            const std::uint8_t* row = scratch.data() + i * k * size;
            if (!nanChannel.empty())
                for (std::size_t j = 0; j < k; ++j)
                    if (std::isnan(weight.levels()[row[j]])) nanChannel[first + i] = 1;
            for (std::size_t g = 0; g < groups; ++g) {
                const std::size_t end = std::min((g + 1) * block, k);
                std::uint32_t* word = out + g * groupSteps * kPanel;
                for (std::size_t j = g * block; j < end; j += perWord, word += kPanel) {
                    std::uint32_t value = 0;
                    const std::size_t have = std::min(perWord, end - j);
                    if (size == 1)
                        for (std::size_t q = 0; q < have; ++q) value |= std::uint32_t(row[j + q]) << (bits * q);
                    else
                        std::memcpy(&value, row + j * size, have * size);
                    *word = other ? value ^ 0x80808080u : value;
                }
            }
        }
    }
}

void LaneWeights::fillScales(const StoredWeight& weight, std::size_t panel) {
    if (!scalePerK) {
        float* out = scales.data() + panel * groups * kPanel;
        for (std::size_t lane = 0; lane < kPanel; ++lane) {
            const std::size_t c = channel(panel * kPanel + lane);
            for (std::size_t g = 0; c < n && g < groups; ++g) out[g * kPanel + lane] = weight.scale(c, g * block);
        }
        return;
    }
    const std::size_t halves = xHalves(), size = streamSize(), half = perWord / halves;
    for (std::size_t set = 0; set < sets; ++set) {
        const std::size_t c = channel(panel * kPanel + set * kLanes);
        auto* out = reinterpret_cast<float*>(stream.data() + panel * panelWords()) + set * xFloats();
        for (std::size_t j = 0; c < n && j < k; ++j) {
            const std::size_t step = j / perWord, q = j % perWord;
            out[q / half * size + step * half + q % half] = weight.scale(c, j);
        }
    }
}

} // namespace qs
