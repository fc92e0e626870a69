// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/cuda/coder.h"

#include "kernels/kernel_set.h"

#include <bit>
#include <cfloat>

namespace qs::cuda {
namespace {

/// Sets the rule that makes a scale from the largest magnitude of a group. Returns null, or why the format has no such
/// rule.
const char* ruleOf(const FormatTraits& format, bool scaled, ScaleRule& rule) {
    const bool searched = format.encoder == Encoder::RoundInteger || format.encoder == Encoder::RoundFloat ||
                          format.encoder == Encoder::NearestLevel;
    if (!searched && format.encoder != Encoder::Sign) return "its code depends on more than the value and its scale";
    rule = ScaleRule::None;
    if (!scaled) return nullptr;
    if (!searched || format.scaledBy != GroupStatistic::AbsMax)
        return "its scale is a mean, which only the cpu backend sums in the right order";
    rule = format.encoder == Encoder::RoundInteger ? ScaleRule::Integer
           : format.encoder == Encoder::RoundFloat ? ScaleRule::Float
                                                   : ScaleRule::Bound;
    return nullptr;
}

class Search {
public:
    explicit Search(const FormatTraits& format) : run_(runFor(format)) {}

    /// Finds all thresholds, and the codes between them, over all finite values.
    void fill(Coder& to) {
        const std::uint32_t first = orderOf(std::bit_cast<std::uint32_t>(-FLT_MAX)),
                            last = orderOf(std::bit_cast<std::uint32_t>(FLT_MAX));
        to.stored = {code(first)};
        between(first, code(first), last, code(last), to);
    }

private:
    std::uint8_t code(std::uint32_t order) const {
        static constexpr GroupParams one{1, 1};
        const float v = std::bit_cast<float>(bitsOf(order));
        Run run = run_;
        run.x = &v, run.n = 1, run.group = 1, run.given = &one;
        std::uint8_t code = 0;
        RunOut out;
        out.codes = &code;
        scalarKernels().quantize(run, out);
        return code;
    }
    /// Bisects, because the values with the same code form one interval.
    void between(std::uint32_t low, std::uint8_t below, std::uint32_t high, std::uint8_t above, Coder& to) {
        if (below == above) return;
        if (high - low == 1) {
            to.thresholds.push_back(high), to.stored.push_back(above);
            return;
        }
        const std::uint32_t middle = low + (high - low) / 2;
        const std::uint8_t at = code(middle);
        between(low, below, middle, at, to);
        between(middle, at, high, above, to);
    }

    Run run_;
};

} // namespace

std::string coderFor(const char* id, const plugin::WeightLayout& stored, Coder& to) {
    const std::string name = id ? id : "none";
    const FormatTraits* format = findFormat(name);
    if (!format || format->levels.empty() || format->codec) return "the cuda backend does not quantize to " + name + ", the cpu backend does";
    if (const char* why = ruleOf(*format, stored.scaleCount > 0, to.coding.rule))
        return "the cuda backend does not quantize to " + name + ", the cpu backend does: " + why;
    if (stored.meaning == plugin::CodeMeaning::Float) return "a float format has no codes to write";
    const bool alongRow = stored.rowStride > 0 && stored.rowBlock == 1;
    to.group = stored.columnStride ? stored.columnBlock : stored.columns;
    if (stored.scaleCount && !alongRow) return "a scale must belong to a row or to a block of a row";
    if (to.group % (8 / stored.bits) && to.group < stored.columns) return "a block must fill whole bytes";

    Search(*format).fill(to);
    const auto storedCode = [&](std::uint8_t code) {
        const auto wanted = std::bit_cast<std::uint32_t>(format->levels[code]);
        for (std::size_t s = 0; s < stored.levels.size(); ++s)
            if (std::bit_cast<std::uint32_t>(stored.levels[s]) == wanted) return int(s);
        return -1;
    };
    for (auto& code : to.stored) {
        const int at = storedCode(code);
        if (at < 0) return "the format has a level that no stored code stands for";
        code = std::uint8_t(at);
    }
    to.coding.count = int(to.thresholds.size());
    to.coding.range = format->levels.back();
    to.coding.bits = stored.bits, to.coding.highFirst = stored.order == plugin::CodeOrder::HighFirst;
    to.coding.padding = std::uint8_t(std::max(0, storedCode(std::uint8_t(std::max(0, format->zeroCode)))));
    return {};
}

} // namespace qs::cuda
