// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/analysis.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <set>

namespace qs {
namespace {

/// Counts the rows of one spec that store more bits than their sources.
struct LargerRows {
    std::string spec;
    std::size_t rows = 0, measured = 0;
    const TensorAnalysis* first = nullptr;
};

std::vector<LargerRows> largerRows(const std::vector<AnalysisRow>& rows) {
    std::vector<LargerRows> out;
    for (const AnalysisRow& row : rows) {
        LargerRows* of = nullptr;
        for (LargerRows& known : out)
            if (known.spec == row->specAsTyped) of = &known;
        if (!of) of = &out.emplace_back(LargerRows{row->specAsTyped, 0, 0, nullptr});
        of->measured += row->status == Status::Ok;
        of->rows += row->isLarger();
        if (row->isLarger() && !of->first) of->first = row.get();
    }
    std::erase_if(out, [](const LargerRows& one) { return one.rows == 0; });
    return out;
}

} // namespace

std::vector<std::string> remarksOf(const std::vector<AnalysisRow>& rows) {
    std::vector<std::string> out;
    for (const LargerRows& one : largerRows(rows)) {
        const std::string why =
            one.first->larger.empty() ? fmt::format("stores {:.4f}", one.first->bpw) : one.first->larger;
        out.push_back(fmt::format("{} stores more bits than the source in {} of {} tensors; the first, {}, {}.",
                                  one.spec, one.rows, one.measured, escapeForPeople(one.first->tensor, 80), why));
    }
    std::set<std::string> halves;
    bool f32 = false;
    for (const AnalysisRow& row : rows)
        if (row->status == Status::Ok && (row->dtype == DType::F16 || row->dtype == DType::BF16)) {
            halves.insert(info(row->dtype).id);
            f32 = f32 || row->decodedAs == DType::F32;
        }
    std::string types;
    for (const std::string& type : halves) types += (types.empty() ? "" : " and ") + type;
    if (!types.empty() && f32)
        out.push_back(
            fmt::format("Errors are those of the f32 values that codes decode to; a file of {} rounds them once "
                        "more: --decoded source, or Spec > Errors as the source's type, measures that.",
                        types));
    if (!types.empty() && !f32)
        out.push_back(fmt::format("Errors are those of the decoded values as a file of {} holds them.", types));
    return out;
}

} // namespace qs
