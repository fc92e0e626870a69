// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/analysis_summary.h"

#include "core/base/text.h"
#include "core/layouts/offers.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs::cli {
namespace {

constexpr std::size_t kMostReasons = 8;

void mergeTotals(SpecTotal& into, const SpecTotal& from) {
    into.tensors += from.tensors, into.refused += from.refused, into.kept += from.kept, into.elements += from.elements;
    into.bytesBefore += from.bytesBefore, into.bytesAfter += from.bytesAfter;
    into.allBytes += from.bytesAfter - from.bytesBefore;
    into.sums.merge(from.sums);
    into.bpw = into.elements ? 8.0 * double(into.bytesAfter) / double(into.elements) : 0;
}

std::string offersFor(const TensorAnalysis& row, const Model& model) {
    const TensorInfo* tensor = model.find(row.tensor);
    const bool nonFinite = row.nan + row.inf > 0; // the reason itself already says how to leave these values out
    if (!tensor || nonFinite || row.status != Status::Refused) return {};
    return offersText(specsForRefused(row.spec, std::span(&tensor, 1), nonFinite));
}

} // namespace

void RefusalReasons::add(const AnalysisRow& row) {
    if (row->status == Status::Ok) return;
    const auto known = std::ranges::find_if(reasons_, [&](const auto& r) { return r.first->reason == row->reason; });
    if (known != reasons_.end())
        ++known->second;
    else if (reasons_.size() < kMostReasons)
        reasons_.emplace_back(row, 1);
    else
        ++more_;
}

std::string RefusalReasons::text(const Model& model) const {
    std::string out;
    for (const auto& [row, rows] : reasons_)
        out +=
            fmt::format("{} {}: {}\n", rows, statusId(row->status), oneSentence(row->reason + offersFor(*row, model)));
    if (more_) out += fmt::format("{} more rows for other reasons; --json lists them all.\n", more_);
    return out.empty() ? out : "\n" + out;
}

std::vector<std::string> AnalysisSummary::saidRemarks() const {
    std::vector<std::string> out = remarks;
    if (rows > remarkedRows)
        for (std::string& sentence : out) sentence = fmt::format("Of the first {} rows: {}", remarkedRows, sentence);
    return out;
}

void AnalysisSummary::add(const std::vector<AnalysisRow>& some, const Model* model) {
    if (rows == 0) remarks = remarksOf(some), remarkedRows = some.size();
    for (const auto& row : some) {
        reasons.add(row);
        if (!first) first = row;
        ++rows, measured += row->status == Status::Ok;
    }
    for (auto& total : qs::totals(some, rows == some.size() ? model : nullptr)) { // the first call also counts the
                                                                                  // bytes of the whole model
        const auto known =
            std::ranges::find_if(totals, [&](const SpecTotal& t) { return t.specAsTyped == total.specAsTyped; });
        if (known == totals.end())
            totals.push_back(std::move(total));
        else
            mergeTotals(*known, total);
    }
}

} // namespace qs::cli
