// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/double_quant.h"

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

} // namespace

// Four columns of eight lanes, added up row by row through four levels.
TorchSum::TorchSum(std::uint64_t count) : rows_(count / 32) {
    power_ = std::max(4u, rows_ <= 1 ? 0u : unsigned(std::bit_width(rows_ - 1)) / 4);
}

void TorchSum::addRow(const float* x) {
    for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t k = 0; k < 8; ++k) level_[0][c][k] += x[c * 8 + k];
    ++row_;
    const std::uint64_t mask = (std::uint64_t(1) << power_) - 1;
    if ((row_ & mask) != 0) return;
    for (std::size_t j = 1; j < 4; ++j) {
        for (std::size_t c = 0; c < 4; ++c) {
            for (std::size_t k = 0; k < 8; ++k) level_[j][c][k] += level_[j - 1][c][k];
            level_[j - 1][c] = {};
        }
        if ((row_ & (mask << (j * power_))) != 0) break;
    }
}

void TorchSum::add(std::span<const float> x) {
    if (!rest_.empty()) {
        const auto more = x.first(std::min(x.size(), 32 - rest_.size()));
        rest_.insert(rest_.end(), more.begin(), more.end());
        x = x.subspan(more.size());
        if (rest_.size() < 32) return;
        addRow(rest_.data());
        rest_.clear();
    }
    for (; x.size() >= 32; x = x.subspan(32)) addRow(x.data());
    rest_.assign(x.begin(), x.end());
}

float TorchSum::sum() const {
    const std::span<const float> x = rest_;
    if (rows_ == 0 && x.size() < 8) { // less than a vector: four columns of one lane
        std::array<float, 4> columns{};
        std::size_t i = 0;
        for (; x.size() >= 4 && i < 4; ++i) columns[i] = 0.0f + x[i];
        for (; i < x.size(); ++i) columns[0] += x[i];
        return ((columns[0] + columns[1]) + columns[2]) + columns[3];
    }
    const auto add = [](Lanes& into, const float* more) {
        for (std::size_t k = 0; k < 8; ++k) into[k] += more[k];
    };
    auto columns = level_[0];
    for (std::size_t j = 1; j < 4; ++j)
        for (std::size_t c = 0; c < 4; ++c) add(columns[c], level_[j][c].data());
    const std::size_t vectors = x.size() / 8;
    for (std::size_t i = 0; i < vectors; ++i) add(columns[0], x.data() + 8 * i);
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
        std::ranges::sort(out);
        return out;
    }();
    return map;
}

void NestedGrid::encode(std::uint64_t index, std::span<const float> scales, std::uint8_t* codes) const {
    const auto& nearest = nearestByPlace();
    for (std::size_t i = 0; i < scales.size();) {
        const float most = absMax[std::size_t((index + i) / kNestedBlock)], inverse = 1.0f / most;
        const auto stop = std::min(scales.size(), i + std::size_t(kNestedBlock - (index + i) % kNestedBlock));
        for (; i < stop; ++i) {
            const float within = std::clamp((scales[i] - offset) * inverse, -1.0f, 1.0f);
            const float place = (within + 1.0f) * 0.5f * float(kPlaces - 1) + 0.5f;
            codes[i] = most > 0 && std::isfinite(place) ? nearest[std::size_t(place)] : std::uint8_t(0);
        }
    }
}

void NestedGrid::decode(std::uint64_t index, std::span<const std::uint8_t> codes, float* scales) const {
    const auto map = dynamicMap();
    for (std::size_t i = 0; i < codes.size(); ++i)
        scales[i] = map[codes[i]] * absMax[std::size_t((index + i) / kNestedBlock)] + offset;
}

void NestedGridOf::add(std::span<const float> scales) {
    sum_.add(scales);
    for (const float scale : scales) {
        if (seen_++ % kNestedBlock == 0) least_.push_back(scale), most_.push_back(scale);
        least_.back() = std::min(least_.back(), scale), most_.back() = std::max(most_.back(), scale);
    }
}

// A difference to the offset is rounded, and no larger scale has a smaller one.
NestedGrid NestedGridOf::grid() const {
    NestedGrid grid;
    if (count_ == 0) return grid;
    grid.offset = sum_.sum() / float(count_);
    for (std::size_t i = 0; i < most_.size(); ++i)
        grid.absMax.push_back(std::max(std::fabs(least_[i] - grid.offset), std::fabs(most_[i] - grid.offset)));
    return grid;
}

std::vector<float> unnestScales(const NestedScales& nested) {
    std::vector<float> out(nested.codes.size());
    nested.grid.decode(0, nested.codes, out.data());
    return out;
}

std::vector<float> middlesOf(std::span<const float> levels) {
    std::vector<float> out;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) out.push_back((levels[i] + levels[i + 1]) / 2.0f);
    return out;
}

} // namespace qs
