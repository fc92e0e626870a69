// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/value/deviation.h"

#include "core/base/decibel.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace qs::value {

std::optional<double> Deviation::nmse() const {
    if (!finite || !(power > 0)) return std::nullopt;
    return errorPower / power;
}

std::optional<double> Deviation::sqnrCell() const { return qs::sqnrCell(nmse()); }
std::optional<double> Deviation::sqnrDb() const { return qs::sqnrDb(nmse()); }

Deviation deviation(std::span<const float> should, std::span<const float> is) {
    assert(should.size() == is.size());
    Deviation out;
    for (std::size_t i = 0; i < should.size(); ++i) {
        const double w = double(should[i]), e = double(is[i]) - w;
        out.power += w * w;
        out.errorPower += e * e;
        out.maxAbs = std::max(out.maxAbs, std::abs(e));
    }
    out.finite = std::isfinite(out.power) && std::isfinite(out.errorPower);
    return out;
}

} // namespace qs::value
