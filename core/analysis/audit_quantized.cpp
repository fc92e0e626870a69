// SPDX-License-Identifier: GPL-3.0-or-later
// Floats that were quantized before: few distinct values per block, or values at equal steps per row.
#include "core/analysis/audit_checks.h"
#include "core/quant/formats.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

constexpr std::size_t kBlocks[] = {256, 128, 64, 32};
constexpr std::size_t kMostLevels = 16;

/// Relative error that rounding to the tensor's type leaves in a value.
double roundingOf(DType dtype) { return dtype == DType::BF16 ? 0x1p-8 : dtype == DType::F16 ? 0x1p-11 : 0x1p-23; }

std::vector<float> distinct(std::span<const float> values) {
    std::vector<float> out(values.begin(), values.end());
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// Something to tell: not nearly all zeros, not a mask of 0 and 1.
bool tells(std::span<const float> values, const std::vector<float>& sorted) {
    const auto zeros = std::size_t(std::count(values.begin(), values.end(), 0.0f));
    return sorted.size() >= 2 && values.size() - zeros >= 4 && (sorted.size() > 2 || sorted.front() < 0);
}

/// Few values besides 0, each of them several times: what is sparse has few for another reason.
bool fewOf(std::span<const float> values, const std::vector<float>& sorted) {
    const auto zeros = std::size_t(std::count(values.begin(), values.end(), 0.0f));
    const std::size_t levels = sorted.size() - (zeros > 0), rest = values.size() - zeros;
    return sorted.size() <= kMostLevels && levels * 3 <= rest * 2;
}

/// Steps that all values are whole multiples of, at most 255 from end to end; 0: none.
int equalSteps(const std::vector<float>& sorted, double rounding) {
    if (sorted.size() < 3 || sorted.size() > 256) return 0;
    const double range = double(sorted.back()) - double(sorted.front());
    std::vector<double> outward(sorted.begin(), sorted.end()); // the small ones tell the step, the large ones refine it
    const auto fits = [&](double first, double step) {
        double upper = 0, lower = 0;
        for (const double v : outward) {
            const double at = std::round((v - first) / step);
            upper += at * (v - first), lower += at * at;
            if (lower > 0) step = upper / lower;
        }
        const double steps = range / step;
        if (!(steps < 255.5)) return 0;
        std::size_t told = 0; // far out, values of 16 bits are rounded by as much as a step
        for (const double v : outward) {
            const double at = (v - first) / step, slack = 0.02 + std::fabs(v) * rounding / step;
            if (slack > 0.3) continue;
            if (std::fabs(at - std::round(at)) > slack) return 0;
            ++told;
        }
        return told * 2 >= outward.size() ? int(std::round(steps)) : 0;
    };
    double least = range, gap = range;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (sorted[i] != 0) least = std::min(least, std::fabs(double(sorted[i])));
        if (i > 0) gap = std::min(gap, double(sorted[i]) - double(sorted[i - 1]));
    }
    std::sort(outward.begin(), outward.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    for (const double part : {1.0, 2.0, 3.0}) // of what lies next to 0, one, two or three steps
        if (const int steps = fits(0, least / part)) return steps;
    // With an offset: the smallest gap, made exact by the range.
    std::sort(outward.begin(), outward.end());
    const double steps = std::round(range / gap);
    return steps >= 2 && steps < 256 ? fits(double(sorted.front()), range / steps) : 0;
}

/// The values are levels of the format times one scale.
bool matches(const FormatTraits& format, const std::vector<float>& sorted, double rounding) {
    const double most = std::max(std::fabs(double(sorted.front())), std::fabs(double(sorted.back())));
    std::set<float> tops;
    for (const float level : format.levels)
        if (level != 0) tops.insert(std::fabs(level));
    for (const float top : tops) {
        const double scale = most / double(top);
        const bool all = std::all_of(sorted.begin(), sorted.end(), [&](float v) {
            const double at = double(v) / scale;
            const auto next = std::lower_bound(format.levels.begin(), format.levels.end(), float(at));
            double off = 1e9;
            if (next != format.levels.end()) off = std::min(off, std::fabs(double(*next) - at));
            if (next != format.levels.begin()) off = std::min(off, std::fabs(double(*(next - 1)) - at));
            return off <= std::fabs(at) * 2 * rounding + 1e-6;
        });
        if (all) return true;
    }
    return false;
}

/// The format of fewest levels that all blocks hold; "": none that is known here.
std::string formatOf(const std::vector<std::vector<float>>& blocks, double rounding) {
    const FormatTraits* found = nullptr;
    for (const FormatTraits& format : formats()) {
        if (format.levels.size() < 2 || format.levels.size() > kMostLevels || format.kind == FormatKind::Superblock ||
            format.id == std::string_view("codebook") || (found && found->levels.size() <= format.levels.size()))
            continue;
        if (std::all_of(blocks.begin(), blocks.end(),
                        [&](const auto& block) { return matches(format, block, rounding); }))
            found = &format;
    }
    return found ? found->title : "";
}

/// The largest blocks that hold the levels of a format, else the largest that hold few values.
std::string blocksText(const TensorFacts& facts, double rounding) {
    std::string unknown;
    for (const std::size_t size : kBlocks) {
        std::size_t tested = 0, few = 0, most = 0;
        std::vector<std::vector<float>> kept;
        for (const auto& row : facts.sample)
            for (std::size_t begin = 0; begin + size <= row.size(); begin += size) {
                const std::span block = std::span(row).subspan(begin, size);
                auto sorted = distinct(block);
                if (!tells(block, sorted)) continue;
                ++tested;
                if (!fewOf(block, sorted)) continue;
                ++few, most = std::max(most, sorted.size());
                if (kept.size() < 64) kept.push_back(std::move(sorted));
            }
        if (tested < 8 || few * 100 < tested * 99) continue;
        const auto format = formatOf(kept, rounding);
        const auto text = fmt::format("{} of {} blocks of {} hold at most {} values, {}", few, tested, size, most,
                                      format.empty() ? "of no format that is known here"
                                                     : fmt::format("those of {} times a scale", format));
        if (!format.empty()) return text;
        if (unknown.empty()) unknown = text;
    }
    return unknown;
}

std::string rowsText(const TensorFacts& facts, double rounding) {
    std::size_t tested = 0, even = 0;
    int most = 0;
    for (const auto& row : facts.sample) {
        const auto sorted = distinct(row);
        if (row.size() < 32 || !tells(row, sorted)) continue;
        ++tested;
        const int steps = equalSteps(sorted, rounding);
        even += steps > 0, most = std::max(most, steps);
    }
    if (tested < 4 || even * 100 < tested * 99) return {};
    return fmt::format(
        "the values of {} of {} rows lie on at most {} equal steps, as integers of {} bits times a scale "
        "do",
        even, tested, most, most < 16 ? 4 : 8);
}

/// 8-bit floats: too many values to be few, but levels of one format all the same.
std::string floatsText(const TensorFacts& facts, double rounding) {
    const FormatTraits* found = nullptr; // the coarsest: what has fewer bits of mantissa has those levels too
    std::string text;
    for (const FormatTraits& format : formats()) {
        if (format.kind != FormatKind::Float || format.levels.size() <= kMostLevels) continue;
        if (found && found->shape.mantissa <= format.shape.mantissa) continue;
        for (const std::size_t size : {std::size_t(4096), std::size_t(128), std::size_t(32)}) {
            std::size_t tested = 0, fit = 0;
            for (const auto& row : facts.sample)
                for (std::size_t begin = 0; begin < row.size() && tested - fit < 8; begin += size) {
                    const auto part = std::span(row).subspan(begin, std::min(size, row.size() - begin));
                    const auto sorted = distinct(part);
                    if (part.size() < 32 || sorted.size() < 12 || !tells(part, sorted)) continue;
                    ++tested, fit += matches(format, sorted, rounding);
                }
            if (tested < 4 || fit * 100 < tested * 99) continue;
            found = &format;
            text = fmt::format("the values of {} of {} {} are those of {} times a scale", fit, tested,
                               size == 4096 ? std::string("rows") : fmt::format("blocks of {}", size), format.title);
            break;
        }
    }
    return text;
}

} // namespace

void condense(TensorFacts& facts) {
    const bool plain = facts.rows > 0 && !facts.info->packed && !facts.info->derived && facts.hasValues;
    if (plain && !facts.isConstant()) {
        const double rounding = roundingOf(facts.info->dtype);
        facts.grain = blocksText(facts, rounding);
        if (facts.grain.empty()) facts.grain = rowsText(facts, rounding);
        if (facts.grain.empty()) facts.grain = floatsText(facts, rounding);
    }
    facts.sample.clear();
    facts.sample.shrink_to_fit();
}

void findAlreadyQuantized(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const TensorFacts& facts : audited.tensors)
        if (!facts.grain.empty()) out.push_back({&self, facts.info->name, facts.grain});
}

} // namespace qs
