// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/option_table.h"

#include <algorithm>

namespace qs::plan {

OptionTable::OptionTable(std::size_t mostUnits, std::size_t mostOptions, bool hasTimes)
    : error_(mostOptions), nsLow_(mostOptions), nsHigh_(mostOptions), isUnmeasured_(mostOptions),
      isUntimed_(mostOptions) {
    // Lists that grow would take up to three times the memory; pages that are never written take none.
    first_.reserve(mostUnits + 1), spec_.reserve(mostOptions), bytes_.reserve(mostOptions), loss_.reserve(mostOptions);
    if (hasTimes) ns_.reserve(mostOptions);
}

void OptionTable::add(std::span<const UnitOption> options, std::span<const RefusedSpec> refused) {
    const bool hasTimes = ns_.capacity() > 0;
    for (const RefusedSpec& one : refused)
        refused_.push_back({std::uint32_t(size()), std::uint16_t(one.spec), reasons_.idOf(one.reason)});
    for (const UnitOption& one : options) {
        const std::size_t at = spec_.size();
        spec_.push_back(one.spec == kKeep ? kKept : std::uint16_t(one.spec));
        bytes_.push_back(one.bytes), loss_.push_back(one.loss);
        if (hasTimes) ns_.push_back(one.ns);
        error_.set(at, one.error), nsLow_.set(at, one.nsRange.low), nsHigh_.set(at, one.nsRange.high);
        isUnmeasured_.set(at, !one.isMeasured), isUntimed_.set(at, !one.isTimed);
    }
    first_.push_back(std::uint32_t(spec_.size()));
}

UnitOption OptionTable::option(std::size_t at) const {
    UnitOption out;
    out.spec = spec_[at] == kKept ? kKeep : spec_[at];
    out.bytes = bytes_[at], out.loss = loss_[at], out.error = error_[at];
    out.isMeasured = !isUnmeasured_[at], out.isTimed = !isUntimed_[at];
    out.ns = ns_.empty() ? 0 : ns_[at], out.nsRange = {nsLow_[at], nsHigh_[at]};
    return out;
}

std::vector<RefusedSpec> OptionTable::refused(std::size_t unit) const {
    std::vector<RefusedSpec> out;
    for (auto one = std::ranges::lower_bound(refused_, unit, {}, &Refused::unit);
         one != refused_.end() && one->unit == unit; ++one)
        out.push_back({one->spec, reasons_.text(one->reason)});
    return out;
}

} // namespace qs::plan
