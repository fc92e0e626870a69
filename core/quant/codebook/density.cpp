// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/codebook/density.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace qs {
namespace {

constexpr std::size_t kPieces = 768;

std::vector<double> midpoints(std::span<const double> levels) {
    std::vector<double> out;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) out.push_back((levels[i] + levels[i + 1]) / 2);
    return out;
}

Mass massOf(double lo, double hi, double mass) {
    return {mass, mass * (lo + hi) / 2, mass * (lo * lo + lo * hi + hi * hi) / 3};
}

void add(Mass& into, const Mass& more) { into.w += more.w, into.x += more.x, into.xx += more.xx; }

/// Squared error of one level at the mean.
double spread(const Mass& m) { return m.w > 0 ? std::max(0.0, m.xx - m.x * m.x / m.w) : 0; }

/// Places that cut the density into pieces of about equal shares of the cube root of its density.
std::vector<double> companded(const Density& density, std::span<const double> shares) {
    const double range = density.highest() - density.lowest(), thin = std::max(range, 1e-300) / 65536;
    std::vector<double> sums;
    double sum = 0;
    for (const DensityCell& cell : density.cells()) {
        const double width = std::max(cell.hi - cell.lo, thin);
        sums.push_back(sum += std::cbrt(cell.mass / width) * width);
    }
    std::vector<double> out;
    for (const double share : shares) {
        const auto at = std::size_t(std::lower_bound(sums.begin(), sums.end(), share * sum) - sums.begin());
        const std::size_t i = std::min(at, sums.size() - 1);
        const double before = i == 0 ? 0 : sums[i - 1], here = sums[i] - before;
        const DensityCell& cell = density.cells()[i];
        out.push_back(cell.lo +
                      (cell.hi - cell.lo) * (here > 0 ? std::clamp((share * sum - before) / here, 0.0, 1.0) : 0));
    }
    return out;
}

} // namespace

double Mass::error(double level) const { return std::max(0.0, xx - 2 * level * x + level * level * w); }

Density::Density(std::vector<DensityCell> cells) : cells_(std::move(cells)) {
    std::erase_if(cells_, [](const DensityCell& cell) { return !(cell.mass > 0); });
    Mass sum;
    for (const DensityCell& cell : cells_) {
        add(sum, massOf(cell.lo, cell.hi, cell.mass));
        sums_.push_back(sum);
    }
}

/// `index` is of the first cell that is not all at or below x.
Mass Density::before(std::size_t index, double x) const {
    Mass sum = index == 0 ? Mass{} : sums_[index - 1];
    if (index == cells_.size() || !(cells_[index].lo < x)) return sum;
    const DensityCell& cell = cells_[index];
    add(sum, massOf(cell.lo, x, cell.mass * (x - cell.lo) / (cell.hi - cell.lo)));
    return sum;
}

Mass Density::upTo(double x) const {
    const auto at = std::partition_point(cells_.begin(), cells_.end(), [x](const DensityCell& c) { return c.hi <= x; });
    return before(std::size_t(at - cells_.begin()), x);
}

Mass Density::upTo(double x, std::size_t& near) const {
    near = std::min(near, cells_.size());
    while (near > 0 && !(cells_[near - 1].hi <= x)) --near;
    while (near < cells_.size() && cells_[near].hi <= x) ++near;
    return before(near, x);
}

double Density::entropyBits(double atom) const {
    double bits = 0;
    const double all = total().w;
    for (const DensityCell& cell : cells_) {
        const double width = cell.hi - cell.lo;
        bits -= cell.mass / all * std::log2(cell.mass / all / (width > atom * 1e-9 ? width : atom));
    }
    return bits;
}

double CodebookFit::sqnrDb() const { return 10 * std::log10(power / mse); }

CodebookFit fitOf(const Density& density, std::span<const double> levels, std::span<const double> boundaries) {
    CodebookFit fit;
    fit.levels.assign(levels.begin(), levels.end());
    fit.boundaries = boundaries.empty() ? midpoints(levels) : std::vector<double>(boundaries.begin(), boundaries.end());
    const Mass total = density.total();
    fit.share.resize(levels.size()), fit.error.resize(levels.size());
    if (!(total.w > 0)) return fit;
    Mass before;
    std::size_t cell = 0;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const Mass up = k + 1 < levels.size() ? density.upTo(fit.boundaries[k], cell) : total;
        const Mass here = up - before;
        before = up;
        fit.share[k] = std::max(0.0, here.w / total.w);
        // Around the level, so that a narrow cell far from 0 keeps its digits.
        fit.error[k] = fit.share[k] > 0 ? here.error(levels[k]) / total.w : 0;
        fit.mse += fit.error[k];
        if (fit.share[k] > 0) fit.entropyBits -= fit.share[k] * std::log2(fit.share[k]);
        fit.dead += !(fit.share[k] > 0);
    }
    fit.entropyBits = std::max(0.0, fit.entropyBits);
    fit.power = total.xx / total.w;
    return fit;
}

std::vector<double> compandedLevels(const Density& density, std::size_t count) {
    std::vector<double> shares;
    for (std::size_t k = 0; k < count; ++k) shares.push_back((double(k) + 0.5) / double(count));
    return density.empty() ? std::vector<double>(count) : companded(density, shares);
}

namespace {

// cost[k][j]: the pieces before j in k groups. The best last cut never moves left as j or k grows, so a row is found by
// halving. `sums`: of the pieces before each, and of all.
std::vector<double> bestLevelsOfSums(const std::vector<Mass>& sums, std::size_t count) {
    const std::size_t pieces = sums.size() - 1, groups = std::min(count, pieces);
    const auto cost = [&](std::size_t from, std::size_t to) { return spread(sums[to] - sums[from]); };
    std::vector<double> previous(pieces + 1), next(pieces + 1);
    std::vector<std::vector<std::uint16_t>> cut(groups, std::vector<std::uint16_t>(pieces + 1));
    for (std::size_t j = 0; j <= pieces; ++j) previous[j] = cost(0, j);
    struct Part {
        std::size_t from, to, least, most;
    };
    for (std::size_t k = 1; k < groups; ++k) {
        std::fill(next.begin(), next.end(), std::numeric_limits<double>::infinity());
        std::vector<Part> parts = {{k, pieces + 1, k - 1, pieces}};
        while (!parts.empty()) {
            const Part part = parts.back();
            parts.pop_back();
            if (part.from >= part.to) continue;
            const std::size_t j = (part.from + part.to) / 2;
            std::size_t best = std::max<std::size_t>(part.least, cut[k - 1][j]);
            for (std::size_t i = best; i <= std::min(part.most, j); ++i)
                if (const double c = previous[i] + cost(i, j); c < next[j]) next[j] = c, best = i;
            cut[k][j] = std::uint16_t(best);
            parts.push_back({part.from, j, part.least, best});
            parts.push_back({j + 1, part.to, best, part.most});
        }
        std::swap(previous, next);
    }
    std::vector<double> levels;
    for (std::size_t k = groups, end = pieces; k-- > 0;) {
        const std::size_t begin = k == 0 ? 0 : cut[k][end];
        const Mass here = sums[end] - sums[begin];
        levels.push_back(here.w > 0 ? here.x / here.w : 0);
        end = begin;
    }
    while (levels.size() < count) levels.push_back(levels.front()); // fewer values than levels
    std::ranges::sort(levels);
    return levels;
}

} // namespace

std::vector<double> bestLevelsOfPieces(const Density& density, std::size_t count) {
    if (density.empty()) return std::vector<double>(count);
    std::vector<double> shares;
    for (std::size_t i = 1; i < kPieces; ++i) shares.push_back(double(i) / double(kPieces));
    auto cuts = companded(density, shares);
    cuts.push_back(density.highest());
    for (const DensityCell& cell : density.cells()) // an atom is a piece of its own where there are few
        if (density.cells().size() <= kPieces) cuts.push_back(cell.lo), cuts.push_back(cell.hi);
    std::ranges::sort(cuts);
    std::vector<Mass> sums(1);
    for (const double cut : cuts)
        if (const Mass sum = density.upTo(cut); sum.w > sums.back().w) sums.push_back(sum);
    return bestLevelsOfSums(sums, count);
}

std::vector<double> bestLevelsOfAtoms(const Density& density, std::size_t count) {
    if (density.empty()) return std::vector<double>(count);
    std::vector<Mass> sums(1);
    for (const DensityCell& cell : density.cells()) {
        sums.push_back(sums.back());
        add(sums.back(), massOf(cell.lo, cell.hi, cell.mass));
    }
    return bestLevelsOfSums(sums, count);
}

std::vector<double> lloydMax(const Density& density, std::vector<double> levels, int rounds, double least) {
    std::ranges::sort(levels);
    double last = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> cells(levels.size()); // of the boundaries, which hardly move from round to round
    for (int round = 0; round < rounds; ++round) {
        const auto boundaries = midpoints(levels);
        Mass before;
        double error = 0;
        bool isSorted = true;
        for (std::size_t k = 0; k < levels.size(); ++k) {
            if (round == 0 && k > 0) cells[k] = cells[k - 1];
            const Mass up = k < boundaries.size() ? density.upTo(boundaries[k], cells[k]) : density.total();
            const Mass here = up - before;
            before = up;
            error += here.error(levels[k]);
            if (here.w > 0) levels[k] = here.x / here.w;
            isSorted = isSorted && (k == 0 || levels[k - 1] <= levels[k]);
        }
        if (!isSorted) std::ranges::sort(levels); // the last digits of an empty cell's neighbours
        if (!(last - error > least * error)) break;
        last = error;
    }
    return levels;
}

double shannonBoundDb(const Density& density, double bits, double atom) {
    const Mass total = density.total();
    const double entropy = density.entropyBits(atom);
    const double least = std::exp2(2 * (entropy - bits)) / (2 * std::numbers::pi * std::numbers::e);
    return 10 * std::log10(total.xx / total.w / least);
}

} // namespace qs
