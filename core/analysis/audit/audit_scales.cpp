// SPDX-License-Identifier: GPL-3.0-or-later
// Scales and zero points of quantized layers against their codes.
//
// A scale comes from the largest value of its group. So for values of one spread, a group with a large scale has small
// codes: ln scale and ln (spread of the codes) have a negative correlation. It is computed over sampled rows, after the
// mean of each row and of each column of groups is taken away, because large rows have large scales whatever their codes
// are. Scales that were reversed or shuffled leave a correlation of 0, within 1 / sqrt(n) of n groups.
//
// Values of a uniform distribution, as the first weights of torch.nn.Linear, have a correlation of 0 too: below the
// largest of a group the others are uniform again. ln scale then deviates by 1 / n for groups of n (the range of a
// group by sqrt(2) / n). Normal values deviate by 3 / n (n = 8) to 15 / n (n = 128). So scales that deviate by little
// more than those of uniform values say nothing.
//
// Zero points that are one off add one step to all values. A matrix with a mean of its own adds more steps where steps
// are small. So the mean of a row in steps is shift + mean / step, a straight line over 1 / step, which begins at the
// shift.
#include "core/analysis/audit/audit_checks.h"
#include "core/base/tensor_name.h"
#include "core/model/derived_tensor.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>

namespace qs {
namespace {

constexpr double kBelongs = -6;   ///< correlation x sqrt(n) of scales that belong to their codes is below
constexpr double kForeign = -2.5; ///< that of scales that do not is above
/// The same of whole rows, and the correlation itself. Rows of one layer alone may be of such different sizes that they say
/// nothing, as in the first layers of a network: these are above.
constexpr double kRowsBelong = -6, kClear = -0.3;
constexpr double kFewestGroups = 64;
constexpr double kAlikeScales = 1.5;     ///< times the deviation of scales of uniform values: below, scales say nothing
constexpr double kScaleRounding = 0.004; ///< largest error of ln scale in 16 bits, relative to uniform values
constexpr double kOneOff = 0.2;          ///< from one step, of the mean in steps

/// Rows of groups; every row has as many as the first.
struct GroupTable {
    std::vector<double> scales, spreads; ///< ln of the scale, and of the codes' standard deviation
    std::size_t perRow = 0;
    std::size_t rows() const { return perRow ? scales.size() / perRow : 0; }
};

/// Takes the mean of each row and of each column away.
std::vector<double> centred(std::vector<double> values, std::size_t perRow) {
    const std::size_t rows = values.size() / perRow;
    const auto level = [&](std::size_t lines, std::size_t length, std::size_t lineStep, std::size_t step) {
        for (std::size_t line = 0; line < lines; ++line) {
            double mean = 0;
            for (std::size_t i = 0; i < length; ++i) mean += values[line * lineStep + i * step] / double(length);
            for (std::size_t i = 0; i < length; ++i) values[line * lineStep + i * step] -= mean;
        }
    };
    if (perRow >= 2) level(rows, perRow, perRow, 1);
    level(perRow, rows, 1, perRow);
    return values;
}

double correlationOf(const std::vector<double>& a, const std::vector<double>& b) {
    const double ab = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    const double aa = std::inner_product(a.begin(), a.end(), a.begin(), 0.0);
    const double bb = std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
    const double least = 1e-6 * double(a.size()); // all scales are equal
    return aa > least && bb > least ? ab / std::sqrt(aa * bb) : 0;
}

/// The root of the mean square of centred values.
double deviationOf(const std::vector<double>& centred) {
    const double squares = std::inner_product(centred.begin(), centred.end(), centred.begin(), 0.0);
    return std::sqrt(squares / double(centred.size()));
}

/// A straight line through points, by least squares.
class Line {
public:
    void add(double x, double y) { ++n_, x_ += x, y_ += y, xx_ += x * x, xy_ += x * y, yy_ += y * y; }
    /// Its height at x = 0 and the standard error of that; the error is infinite if the points do not tell.
    std::pair<double, double> beginning() const {
        const double meanX = x_ / n_, meanY = y_ / n_;
        const double xx = xx_ - n_ * meanX * meanX, xy = xy_ - n_ * meanX * meanY, yy = yy_ - n_ * meanY * meanY;
        if (n_ < 8 || !(xx > 1e-9 * xx_)) return {0, INFINITY};
        const double slope = xy / xx, rest = std::max(0.0, yy - slope * xy) / (n_ - 2);
        return {meanY - slope * meanX, std::sqrt(rest * (1 / n_ + meanX * meanX / xx))};
    }

private:
    double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0, yy_ = 0;
};

/// The distance of neighbouring levels of a group of integers times a scale: the least difference of its values. 0 if
/// there are too few values.
double stepOf(std::vector<float>& values) {
    std::ranges::sort(values);
    const double range = double(values.back()) - double(values.front());
    double step = INFINITY;
    for (std::size_t i = 1; i < values.size(); ++i)
        if (const double gap = double(values[i]) - double(values[i - 1]); gap > range / 512) step = std::min(step, gap);
    return std::isfinite(step) && step > 0 ? step : 0;
}

class Fitting {
public:
    Fitting(const TensorFacts& facts, const LayerCoding& coding) : facts_(facts), coding_(coding) {}

    GroupFit run() {
        const bool perRow = coding_.rows == 1 && coding_.columns >= std::uint64_t(facts_.columns) && !coding_.isFlat;
        if (perRow)
            addWholeRows();
        else if (coding_.rows == 1 && coding_.columns >= 8 && std::uint64_t(facts_.columns) % coding_.columns == 0)
            addGroups();
        GroupFit out;
        out.ofRows = perRow;
        if (table_.rows() >= 2 && double(table_.scales.size()) >= kFewestGroups) {
            const auto scales = centred(table_.scales, table_.perRow), spreads = centred(table_.spreads, table_.perRow);
            out.follows = correlationOf(scales, spreads);
            out.n = double(scales.size());
            if (out.follows == 0) out.n = 0;
            out.reversed = correlationOf(reversed(scales), spreads);
            const double uniform = (coding_.hasOffsets && !perRow ? std::sqrt(2.0) : 1.0) /
                                   double(perRow ? std::uint64_t(facts_.columns) : coding_.columns);
            out.areAlike = deviationOf(scales) < kAlikeScales * uniform + kScaleRounding;
        }
        if (zeroGroups_ > 0) {
            out.zero = zeros_ / zeroGroups_, out.zeroGroups = zeroGroups_;
            std::tie(out.shift, out.shiftError) = rowMeans_.beginning();
        }
        return out;
    }

private:
    /// Scales per row: the magnitudes of all rows are known.
    void addWholeRows() {
        table_.perRow = 1;
        for (std::size_t i = 0; i < facts_.rowMost.size(); ++i) {
            const double most = double(facts_.rowMost[i]), rms = double(facts_.rowRms[i]);
            if (!(most > 0 && rms > 0)) continue;
            table_.scales.push_back(std::log(most));
            table_.spreads.push_back(std::log(rms / most));
        }
    }

    void addGroups() {
        const auto group = std::size_t(coding_.columns);
        for (const auto& row : facts_.sample) {
            const std::size_t groups = row.size() / group;
            if (table_.perRow == 0) table_.perRow = groups;
            if (groups == 0 || groups != table_.perRow) return;
            std::vector<double> scales, spreads;
            rowZeros_ = rowSteps_ = rowGroups_ = 0;
            for (std::size_t g = 0; g < groups; ++g)
                addGroup(std::span(row).subspan(g * group, group), scales, spreads);
            if (rowGroups_ > 0) rowMeans_.add(rowSteps_ / rowGroups_, rowZeros_ / rowGroups_);
            if (scales.size() != groups) continue; // a group of zeros, for example
            table_.scales.insert(table_.scales.end(), scales.begin(), scales.end());
            table_.spreads.insert(table_.spreads.end(), spreads.begin(), spreads.end());
        }
    }

    void addGroup(std::span<const float> values, std::vector<double>& scales, std::vector<double>& spreads) {
        double sum = 0, squares = 0;
        for (const float v : values) sum += double(v), squares += double(v) * double(v);
        const double n = double(values.size()), mean = sum / n, spread = std::sqrt(squares / n - mean * mean);
        const auto [low, high] = std::ranges::minmax(values);
        const double range =
            coding_.hasOffsets ? double(high) - double(low) : std::max(std::fabs(double(low)), std::fabs(double(high)));
        if (!(range > 0 && spread > 0) || !std::isfinite(spread)) return;
        scales.push_back(std::log(range));
        spreads.push_back(std::log(spread / range));
        if (coding_.levels != LayerCoding::Levels::Integers || coding_.bits > 5 || !coding_.hasOffsets) return;
        if (low >= 0 || high <= 0) return; // values of one sign have a mean of their own
        std::vector<float> sorted(values.begin(), values.end());
        const double step = stepOf(sorted);
        if (!(step > 0)) return;
        zeros_ += mean / step, zeroGroups_ += 1;
        rowZeros_ += mean / step, rowSteps_ += 1 / step, rowGroups_ += 1;
    }

    /// The scales of each row, or of the matrix with a scale per row, from the last to the first.
    std::vector<double> reversed(const std::vector<double>& scales) const {
        std::vector<double> out = scales;
        if (table_.perRow == 1) {
            std::ranges::reverse(out);
            return out;
        }
        for (std::size_t row = 0; row < table_.rows(); ++row)
            std::reverse(out.begin() + std::ptrdiff_t(row * table_.perRow),
                         out.begin() + std::ptrdiff_t((row + 1) * table_.perRow));
        return out;
    }

    const TensorFacts& facts_;
    const LayerCoding& coding_;
    GroupTable table_;
    double zeros_ = 0, zeroGroups_ = 0;
    double rowZeros_ = 0, rowSteps_ = 0, rowGroups_ = 0; ///< of one row: means in steps, and 1 / step
    Line rowMeans_;                                      ///< the means of rows in steps, over 1 / step
};

double medianOf(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

GroupFit fitOfGroups(const TensorFacts& facts) {
    const auto coding = facts.info->derived ? facts.info->derived->coding() : std::nullopt;
    if (!coding || facts.rows < 2 || facts.isConstant() || coding->scales == LayerCoding::Scales::Exponents) return {};
    return Fitting(facts, *coding).run();
}

/// Layers that are compared with each other. The size of a row says as much as its largest value does, and how much
/// depends on what the matrix does. So scales of whole rows are compared within a role.
std::string kindOf(const TensorFacts& facts) {
    std::string kind = facts.info->typeId();
    return facts.groups.ofRows ? kind + ' ' + placeOf(facts.info->name).inLayer : kind;
}

/// True if the scales of whole rows are foreign in this layer alone: in all others they clearly belong to their codes.
bool isAlone(std::vector<double> alike, double root) {
    std::ranges::sort(alike, std::greater());
    return alike.size() >= 4 && alike[1] * root < kRowsBelong && alike[1] < kClear;
}

void findScales(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    std::map<std::string, std::vector<double>> byKind; // correlations
    for (const TensorFacts& facts : audited.tensors)
        if (facts.groups.n > 0) byKind[kindOf(facts)].push_back(facts.groups.follows);
    for (const TensorFacts& facts : audited.tensors) {
        const GroupFit& fit = facts.groups;
        const double root = std::sqrt(fit.n);
        if (fit.n == 0 || fit.areAlike || fit.follows * root < kForeign) continue;
        const auto& alike = byKind[kindOf(facts)];
        const double usual = medianOf(alike);
        if (fit.reversed * root < kBelongs)
            out.push_back(
                {&self, facts.info->name,
                 fmt::format("correlation of scales with the spread of their codes: {:.2f} over {:.0f} groups, "
                             "and {:.2f} with the scales in reverse order",
                             fit.follows, fit.n, fit.reversed)});
        else if (fit.ofRows ? isAlone(alike, root) : alike.size() >= 4 && usual * root < kBelongs)
            out.push_back(
                {&self, facts.info->name,
                 fmt::format("correlation of scales with the spread of their codes: {:.2f} over {:.0f} groups; "
                             "in {} layers of the same kind the median is {:.2f}",
                             fit.follows, fit.n, alike.size(), usual)});
        else if (!fit.ofRows && fit.n >= 1024 && fit.follows * root > -1 && usual > -0.03)
            out.push_back(
                {&self, facts.info->name,
                 fmt::format("correlation of scales with the spread of their codes: {:.2f} over {:.0f} groups; "
                             "scales that come from the largest value of a group have a clearly negative one",
                             fit.follows, fit.n)});
    }
}

void findAlikeScales(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    std::size_t layers = 0;
    const TensorFacts* first = nullptr;
    for (const TensorFacts& facts : audited.tensors) {
        const GroupFit& fit = facts.groups;
        const bool belong = fit.follows * std::sqrt(fit.n) < kForeign;
        if (fit.areAlike && !belong && layers++ == 0) first = &facts;
    }
    if (first)
        out.push_back({&self, layers == 1 ? std::string(first->info->name) : std::string(),
                       fmt::format("{} quantized layer{} {} nearly one scale in all groups{}", layers,
                                   layers == 1 ? "" : "s", layers == 1 ? "has" : "have",
                                   layers == 1 ? "" : ", the first is " + quotedName(first->info->name))});
}

/// True if all values are one step too high or too low, and that is no mean of the matrix itself.
bool isOneOff(const GroupFit& fit) {
    if (fit.zeroGroups < kFewestGroups || std::fabs(std::fabs(fit.zero) - 1) > kOneOff) return false;
    const double apart = std::fabs(fit.shift - std::copysign(1.0, fit.zero));
    return apart < kOneOff + 2 * fit.shiftError && std::fabs(fit.shift) > 4 * fit.shiftError;
}

void findZeroPoints(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const TensorFacts& facts : audited.tensors) {
        const GroupFit& fit = facts.groups;
        if (!isOneOff(fit)) continue;
        out.push_back({&self, facts.info->name,
                       fmt::format("the mean of its values is {:.2f} steps, over {:.0f} groups, and {:.2f} steps of it "
                                   "do not depend on how large a step is: all are one step too {}",
                                   fit.zero, fit.zeroGroups, fit.shift, fit.zero > 0 ? "high" : "low")});
    }
}

void findNeighbours(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    std::map<std::string, std::vector<const TensorFacts*>> byRole;
    for (const TensorFacts& facts : audited.tensors) {
        const bool isQuantized = facts.info->packed || (facts.info->derived && facts.info->derived->coding());
        if (!isQuantized || !(facts.rms > 0)) continue;
        const TensorPlace place = placeOf(facts.info->name);
        if (place.layer >= 0) byRole[place.inLayer].push_back(&facts);
    }
    for (const auto& [role, alike] : byRole) {
        if (alike.size() < 4) continue;
        for (const TensorFacts* facts : alike) {
            std::vector<double> others;
            for (const TensorFacts* other : alike)
                if (other != facts) others.push_back(double(other->rms));
            const auto [low, high] = std::ranges::minmax(others);
            const double times = double(facts->rms) / medianOf(others);
            const bool isFactor = std::fabs(std::log2(times)) > 0.8 && std::fabs(std::log2(times)) < 4.2;
            const double whole = std::log2(times) - std::round(std::log2(times));
            if (high > 1.35 * low || !isFactor || std::fabs(whole) > 0.2) continue;
            out.push_back(
                {&self, facts->info->name,
                 fmt::format("its values are {:.2f} times as large as those of {} in the {} other layers, which "
                             "differ by {:.0f} % among themselves",
                             times, role, others.size(), (high / low - 1) * 100)});
        }
    }
}

} // namespace qs
