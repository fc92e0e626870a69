// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/double_quant.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace qs {
namespace {

constexpr std::size_t kPlaces = 65536;

/// torch.linspace(0.1, 1, n), multiplied and added at once as its kernels do.
std::vector<float> tenthToOne(int n) {
    const float step = (1.0f - 0.1f) / float(n - 1);
    std::vector<float> out;
    for (int i = 0; i < n; ++i)
        out.push_back(i < n / 2 ? std::fma(step, float(i), 0.1f) : std::fma(-step, float(n - 1 - i), 1.0f));
    return out;
}

/// The index of the nearest value for each place from -1 to 1.
const std::array<std::uint8_t, kPlaces>& nearestByPlace() {
    static const auto table = [] {
        std::array<std::uint8_t, kPlaces> out{};
        const auto map = dynamicMap();
        std::size_t index = 0;
        for (std::size_t i = 0; i < kPlaces; ++i) {
            const float value = -1.0f + 2.0f * float(i) / float(kPlaces - 1);
            while (index + 1 < map.size() && 0.5f * (map[index] + map[index + 1]) < value) ++index;
            out[i] = std::uint8_t(index);
        }
        return out;
    }();
    return table;
}

using EightLanes = std::array<float, 8>;
void add(EightLanes& into, const float* x) {
    for (std::size_t k = 0; k < 8; ++k) into[k] += x[k];
}

/// Four columns of eight lanes, added up row by row through four levels.
std::array<EightLanes, 4> cascade(const float* x, std::size_t rows) {
    std::array<std::array<EightLanes, 4>, 4> level{};
    const std::size_t power = std::max<std::size_t>(4, rows <= 1 ? 0 : std::size_t(std::bit_width(rows - 1)) / 4);
    const std::size_t step = std::size_t(1) << power, mask = step - 1;
    const auto addRow = [&](std::size_t row) {
        for (std::size_t c = 0; c < 4; ++c) add(level[0][c], x + (row * 4 + c) * 8);
    };
    std::size_t row = 0;
    while (row + step <= rows) {
        for (std::size_t j = 0; j < step; ++j) addRow(row++);
        for (std::size_t j = 1; j < 4; ++j) {
            for (std::size_t c = 0; c < 4; ++c) add(level[j][c], level[j - 1][c].data()), level[j - 1][c] = {};
            if ((row & (mask << (j * power))) != 0) break;
        }
    }
    while (row < rows) addRow(row++);
    for (std::size_t j = 1; j < 4; ++j)
        for (std::size_t c = 0; c < 4; ++c) add(level[0][c], level[j][c].data());
    return level[0];
}

} // namespace

bool isBnb(const QuantSpec& spec) { return spec.effectiveDialect() == "bnb"; }
bool isDoubleQuantized(const QuantSpec& spec) { return isBnb(spec) && spec.effectiveScaleType() == "u8dq"; }

bool isFlattened(const QuantSpec& spec, std::span<const std::int64_t> shape) {
    return shape.size() > 1 && isBnb(spec) && shape.back() % std::int64_t(spec.blockSize()) != 0;
}

float torchSum(std::span<const float> x) {
    if (x.size() < 8) { // less than a vector: four columns of one lane
        std::array<float, 4> columns{};
        std::size_t i = 0;
        for (; x.size() >= 4 && i < 4; ++i) columns[i] = 0.0f + x[i];
        for (; i < x.size(); ++i) columns[0] += x[i];
        return ((columns[0] + columns[1]) + columns[2]) + columns[3];
    }
    const std::size_t vectors = x.size() / 8, rows = vectors / 4;
    auto columns = cascade(x.data(), rows);
    for (std::size_t i = rows * 4; i < vectors; ++i) add(columns[0], x.data() + 8 * i);
    for (std::size_t c = 1; c < 4; ++c) add(columns[0], columns[c].data());
    float sum = 0;
    for (const float value : x.subspan(vectors * 8)) sum += value;
    for (const float lane : columns[0]) sum += lane;
    return sum;
}

std::span<const float> dynamicMap() {
    static const std::vector<float> map = [] {
        std::vector<float> out{0.0f, 1.0f};
        for (int i = 0; i < 7; ++i) {
            const auto ends = tenthToOne((1 << i) + 1);
            const float power = float(std::pow(10.0, i - 6));
            for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
                const float value = power * ((ends[k] + ends[k + 1]) / 2.0f);
                out.push_back(value), out.push_back(-value);
            }
        }
        std::sort(out.begin(), out.end());
        return out;
    }();
    return map;
}

NestedScales nestScales(std::span<const float> scales) {
    NestedScales out;
    if (scales.empty()) return out;
    out.offset = torchSum(scales) / float(scales.size());
    out.codes.reserve(scales.size()); // there may be very many
    const auto& nearest = nearestByPlace();
    std::vector<float> rest;
    for (std::size_t begin = 0; begin < scales.size(); begin += kNestedBlock) {
        rest.clear();
        float most = 0;
        for (const float scale : scales.subspan(begin, std::min(kNestedBlock, scales.size() - begin))) {
            rest.push_back(scale - out.offset);
            most = std::max(most, std::fabs(rest.back()));
        }
        out.absMax.push_back(most);
        const float inverse = 1.0f / most;
        for (const float value : rest) {
            const float within = std::clamp(value * inverse, -1.0f, 1.0f);
            const float place = (within + 1.0f) * 0.5f * float(kPlaces - 1) + 0.5f;
            out.codes.push_back(most > 0 && std::isfinite(place) ? nearest[std::size_t(place)] : std::uint8_t(0));
        }
    }
    return out;
}

std::vector<float> unnestScales(const NestedScales& nested) {
    const auto map = dynamicMap();
    std::vector<float> out;
    out.reserve(nested.codes.size());
    for (std::size_t i = 0; i < nested.codes.size(); ++i)
        out.push_back(map[nested.codes[i]] * nested.absMax[i / kNestedBlock] + nested.offset);
    return out;
}

std::span<const float> bnbBoundaries(const QuantSpec& spec) {
    const auto between = [](std::span<const float> levels) {
        std::vector<float> out;
        for (std::size_t i = 0; i + 1 < levels.size(); ++i) out.push_back((levels[i] + levels[i + 1]) / 2.0f);
        return out;
    };
    static const std::vector<float> nf4 = between(nf4Levels()), fp4 = between(findFormat("fp4")->levels);
    return spec.format == "nf4" ? nf4 : fp4;
}

} // namespace qs
