// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that look at a single fact.
#include "core/analysis/audit/audit_checks.h"

#include "core/base/tensor_name.h"
#include "core/base/text.h"
#include "core/layouts/serve.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace qs {
namespace {

std::string countedWord(std::uint64_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string placesText(const Channels& channels) {
    return fmt::format("{}{}", fmt::join(channels.first, ", "), channels.count > channels.first.size() ? ", ..." : "");
}

/// Index of an element in the tensor's shape, such as "[3, 17]".
std::string indexText(const TensorInfo& tensor, std::int64_t element) {
    std::vector<std::int64_t> index(tensor.shape.size());
    for (std::size_t axis = index.size(); axis-- > 0;) {
        index[axis] = element % tensor.shape[axis];
        element /= tensor.shape[axis];
    }
    return shapeText(index);
}

} // namespace

void findNotFinite(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const TensorFacts& facts : audited.tensors)
        if (facts.nan + facts.inf > 0)
            out.push_back({&self, facts.info->name,
                           fmt::format("{} NaN and {} Inf of {} values; the first at {}", facts.nan, facts.inf,
                                       facts.info->elements, indexText(*facts.info, facts.firstBad))});
}

void findChannels(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    const auto fields = storedFields(*audited.model); // scales of few groups may well be equal
    for (const TensorFacts& facts : audited.tensors) {
        if (facts.rows == 0 || facts.info->elements < 2) continue;
        if (facts.info->role == TensorRole::Part || fields.contains(facts.info->name)) continue;
        if (facts.isConstant()) {
            out.push_back({&self, facts.info->name,
                           fmt::format("all {} values are {}", facts.info->elements, significantText(facts.low))});
            continue;
        }
        std::vector<std::string> said;
        const auto say = [&](const Channels& channels, std::int64_t all, std::string_view what, std::string_view how) {
            if (channels.count)
                said.push_back(
                    fmt::format("{} of {} {} ({})", countedWord(channels.count, what), all, how, placesText(channels)));
        };
        say(facts.zeroRows, facts.rows, "row", "all 0");
        say(facts.equalRows, facts.rows, "row", "of one value");
        say(facts.zeroColumns, facts.columns, "column", "all 0");
        say(facts.equalColumns, facts.columns, "column", "of one value");
        if (!said.empty()) out.push_back({&self, facts.info->name, fmt::format("{}", fmt::join(said, "; "))});
    }
}

void findDuplicates(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    std::map<std::tuple<bool, std::array<std::uint64_t, 2>, std::vector<std::int64_t>>, const TensorFacts*> seen;
    for (const TensorFacts& facts : audited.tensors) {
        // Small tensors and constant tensors can be equal without being copies, such as norms of ones or biases of
        // zeros.
        if (facts.info->elements < 256 || facts.isConstant()) continue;
        const auto [at, fresh] = seen.try_emplace({facts.hasValues, facts.hash, facts.info->shape}, &facts);
        if (!fresh)
            out.push_back({&self, facts.info->name,
                           fmt::format("the same {} as in {}: {} twice", facts.hasValues ? "values" : "bytes",
                                       quotedName(at->second->info->name), bytesText(facts.info->bytes))});
    }
}

void findElementType(const AuditedModel& audited, const AuditCheck& self, Findings& out) {
    for (const TensorFacts& facts : audited.tensors) {
        if (facts.rows == 0 || facts.asLabelled.n < 256) continue;
        // Standard deviation of log2 |x|: 1.4 for uniform, 1.6 for normal, 1.9 for Laplacian weights.
        const double label = facts.asLabelled.std(), other = facts.asOther.std();
        // Scales and norms of F16 lie close together too. But they have one sign, and quantized values have a grain.
        const bool isWeight = facts.info->isWeight() && facts.low < 0 && facts.high > 0 && facts.grain.empty();
        const bool natural = label > 0.6 && label < 6;
        if (!isWeight || natural || !(other > 1.1 && other < 3)) continue;
        const bool f16 = facts.info->dtype == DType::F16;
        out.push_back({&self, facts.info->name,
                       fmt::format("magnitudes as {}: standard deviation of {:.1f} binades, as {}: {:.1f}, as weights "
                                   "have",
                                   f16 ? "F16" : "BF16", label, f16 ? "BF16" : "F16", other)});
    }
}

} // namespace qs
