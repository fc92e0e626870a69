// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/spec/calibration.h"

#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/dialect.h"

#include <algorithm>

namespace qs {
namespace {

constexpr const CalibrationTraits* kCalibrations[] = {&kAbsMaxCalibration,     &kMinMaxCalibration,  &kRmsCalibration,
                                                      &kFixedCalibration,      &kAbsMeanCalibration, &kStdCalibration,
                                                      &kPercentileCalibration, &kMseCalibration,     &kSnrCalibration,
                                                      &kHqqCalibration,        &kMadCalibration};

bool takesEnds(const CalibrationTraits& row, bool symmetric) {
    return row.ends == Ends::Either || (row.ends == Ends::Symmetric) == symmetric;
}

std::vector<const CalibrationTraits*> rowsOf(const QuantSpec& spec) {
    const Dialect& dialect = dialectOf(spec);
    if (dialect.calibrations) return {dialect.calibrations->begin(), dialect.calibrations->end()};
    const bool unscaled = spec.scaleKind() == ScaleKind::None;
    std::vector<const CalibrationTraits*> out;
    for (const CalibrationTraits* row : kCalibrations)
        if (row->takes(spec.traits()) && row->isThreshold == unscaled && takesEnds(*row, spec.isSymmetric()))
            out.push_back(row);
    return out;
}

} // namespace

std::span<const CalibrationTraits* const> calibrationRows() { return kCalibrations; }

const CalibrationTraits* findCalibration(std::string_view id) {
    for (const CalibrationTraits* row : kCalibrations)
        if (id == row->id) return row;
    return nullptr;
}

const CalibrationTraits* calibrationOf(const QuantSpec& spec) {
    if (spec.calibration) return findCalibration(spec.calibration->id);
    const auto rows = rowsOf(spec);
    return rows.empty() ? nullptr : rows.front();
}

std::vector<std::string_view> calibrationIds(const FormatTraits& format) {
    std::vector<std::string_view> out;
    for (const CalibrationTraits* row : kCalibrations)
        if (row->takes(format)) out.push_back(row->id);
    return out;
}

std::vector<std::string_view> calibrationsOf(const QuantSpec& spec) {
    std::vector<std::string_view> out;
    for (const CalibrationTraits* row : rowsOf(spec)) out.push_back(row->id);
    return out;
}

bool hasFractionalZeros(const QuantSpec& spec) {
    const CalibrationTraits* row = calibrationOf(spec);
    return row && row->findsZero;
}

std::vector<std::string_view> words(std::string_view list) {
    std::vector<std::string_view> out;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        if (end > 0) out.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return out;
}

} // namespace qs
