// SPDX-License-Identifier: GPL-3.0-or-later
// Detects floats that were quantized before. Signs are few distinct values per block, values at equal steps, and the
// levels of 8-bit floats.
#include "core/analysis/audit/audit_checks.h"
#include "core/analysis/audit/audit_lattice.h"
#include "core/quant/spec/formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

constexpr std::size_t kBlocks[] = {256, 128, 64, 32};
constexpr std::size_t kMostLevels = 16;

/// Largest relative error of rounding to the tensor's type.
double roundingOf(DType dtype) { return dtype == DType::BF16 ? 0x1p-8 : dtype == DType::F16 ? 0x1p-11 : 0x1p-23; }

std::vector<float> distinct(std::span<const float> values) {
    std::vector<float> out(values.begin(), values.end());
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// True if the block can be judged: it is not nearly all zeros and not a mask of 0 and 1.
bool tells(std::span<const float> values, const std::vector<float>& sorted) {
    const auto zeros = std::size_t(std::count(values.begin(), values.end(), 0.0f));
    return sorted.size() >= 2 && values.size() - zeros >= 4 && (sorted.size() > 2 || sorted.front() < 0);
}

/// True if there are few distinct values besides 0, and most of them repeat. Sparse blocks have few values for another
/// reason.
bool fewOf(std::span<const float> values, const std::vector<float>& sorted) {
    const auto zeros = std::size_t(std::count(values.begin(), values.end(), 0.0f));
    const std::size_t levels = sorted.size() - (zeros > 0), rest = values.size() - zeros;
    return sorted.size() <= kMostLevels && levels * 3 <= rest * 2;
}

/// True if one scale exists such that all values are levels of the format times this scale.
bool matches(const FormatTraits& format, const std::vector<float>& sorted, double rounding) {
    const double most = std::max(std::fabs(double(sorted.front())), std::fabs(double(sorted.back())));
    std::set<float> tops;
    for (const float level : format.levels)
        if (level != 0) tops.insert(std::fabs(level));
    for (const float top : tops) {
        const double scale = most / double(top);
        const bool all = std::ranges::all_of(sorted, [&](float v) {
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

/// Title of the format with the fewest levels that matches all blocks; "" if no known format does.
std::string formatOf(const std::vector<std::vector<float>>& blocks, double rounding) {
    const FormatTraits* found = nullptr;
    for (const FormatTraits& format : formats()) {
        if (format.levels.size() < 2 || format.levels.size() > kMostLevels || format.kind == FormatKind::Superblock ||
            !format.bitWidths.empty() || (found && found->levels.size() <= format.levels.size()))
            continue;
        if (std::ranges::all_of(blocks, [&](const auto& block) { return matches(format, block, rounding); }))
            found = &format;
    }
    return found ? found->title : "";
}

/// Describes the largest blocks that match a format; else the largest blocks with few distinct values; else "".
std::string blocksText(const TensorFacts& facts, double rounding) {
    std::string unknown;
    for (const std::size_t size : kBlocks) {
        std::size_t blocks = 0, tested = 0, few = 0, most = 0;
        for (const auto& row : facts.sample) blocks += row.size() / size;
        std::vector<std::vector<float>> kept;
        // Tensors that are not quantized are given up after a hundredth of the blocks.
        for (const auto& row : facts.sample)
            for (std::size_t begin = 0; begin + size <= row.size() && (tested - few) * 100 <= blocks; begin += size) {
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

/// Result of testing groups of values that may share a scale: how many of them lie at equal steps.
struct AtSteps {
    std::size_t tested = 0, fit = 0;
    int most = 0; ///< largest number of steps in a group
    bool all() const { return tested >= 4 && fit * 10 >= tested * 9; }
};
template<class ForEachGroup> AtSteps atSteps(const ForEachGroup& forEachGroup, DType dtype) {
    AtSteps out;
    forEachGroup([&](std::span<const float> group) {
        const auto sorted = distinct(group);
        if (!tells(group, sorted)) return true;
        ++out.tested;
        if (const auto lattice = latticeOf(sorted, dtype)) ++out.fit, out.most = std::max(out.most, lattice->steps);
        // Tensors that are not quantized are given up after eight groups.
        return out.tested < 48 && (out.tested < 8 || out.fit * 2 >= out.tested);
    });
    return out;
}

std::string stepsText(const AtSteps& found, const std::string& groups) {
    return fmt::format("the values of {} of {} {} lie on at most {} equal steps, as integers of {} bits times a scale "
                       "do",
                       found.fit, found.tested, groups, found.most, std::bit_width(unsigned(std::max(1, found.most))));
}

/// Describes integers times a scale per row, per block or per column; "" if there are none.
std::string integersText(const TensorFacts& facts) {
    const DType dtype = facts.info->dtype;
    std::string text;
    // Values with a common scale per block also have one in every smaller block. So start small and stop at the first
    // failure.
    for (const std::size_t size : {std::size_t(32), std::size_t(64), std::size_t(128), std::size_t(256), SIZE_MAX}) {
        const auto blocks = [&](const auto& look) {
            for (std::size_t at = 0;; at += size == SIZE_MAX ? 1 : size) {
                bool any = false;
                for (const auto& row : facts.sample) { // first one block of each row
                    if (size == SIZE_MAX ? at > 0 || row.size() < 32 : at + size > row.size()) continue;
                    any = true;
                    if (!look(size == SIZE_MAX ? std::span(row) : std::span(row).subspan(at, size))) return;
                }
                if (!any) return;
            }
        };
        const AtSteps found = atSteps(blocks, dtype);
        if (!found.all()) break;
        text = stepsText(found, size == SIZE_MAX ? std::string("rows") : fmt::format("blocks of {}", size));
    }
    if (!text.empty()) return text;
    const auto columns = [&](const auto& look) {
        const std::size_t length = facts.sample.empty() ? 0 : facts.sample.front().size();
        std::vector<float> column;
        for (std::size_t c = 0; c < length && facts.sample.size() >= 32; c += std::max<std::size_t>(1, length / 48)) {
            column.clear();
            for (const auto& row : facts.sample) column.push_back(row[c]);
            if (!look(std::span<const float>(column))) return;
        }
    };
    const AtSteps found = atSteps(columns, dtype);
    return found.all() ? stepsText(found, "columns") : std::string();
}

/// Describes levels of an 8-bit float. These have too many distinct values for blocksText(), but match one format.
std::string floatsText(const TensorFacts& facts, double rounding) {
    // The format with the fewest mantissa bits, because formats with more bits contain its levels.
    const FormatTraits* found = nullptr;
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
    // A type of 8 bits says by itself that its values are those of such floats.
    const bool plain = facts.rows > 0 && !facts.info->packed && !facts.info->derived && facts.hasValues &&
                       info(facts.info->dtype).bits > 8;
    if (plain && !facts.isConstant()) {
        const double rounding = roundingOf(facts.info->dtype);
        facts.grain = blocksText(facts, rounding);
        if (facts.grain.empty()) facts.grain = integersText(facts);
        if (facts.grain.empty()) facts.grain = floatsText(facts, rounding);
    }
    double squares = 0;
    for (const float rms : facts.rowRms) squares += double(rms) * double(rms);
    if (!facts.rowRms.empty()) facts.rms = float(std::sqrt(squares / double(facts.rowRms.size())));
    facts.groups = fitOfGroups(facts);
    facts.rowMost = {};
    facts.sample.clear();
    facts.sample.shrink_to_fit();
}

void findAlreadyQuantized(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const TensorFacts& facts : audited.tensors)
        if (!facts.grain.empty()) out.push_back({&self, facts.info->name, facts.grain});
}

} // namespace qs
